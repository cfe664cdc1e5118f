// The table `answers`: what was answered under which name of whose choosing, so that the same question gets the same answer
// from whichever process it comes to. A row without an answer is a question that is being worked on; every row has an end.
import { createColumns } from './columns.ts';
import type { RowStore } from './row-store.ts';

export interface AnswerRow {
  ownerId: string;
  name: string;
  /** What makes two questions the same. */
  fingerprint: string;
  /** JSON; null while it is worked on. */
  answer: string | null;
  /** What the answer is about: an id by which it may be forgotten. */
  subject: string;
  untilMs: number;
}

export interface AnswerRows {
  /** Adds the row, unless one of that owner and name is in force at that time; answers that one then. */
  begin(row: AnswerRow, nowMs: number): Promise<AnswerRow | undefined>;
  finish(row: AnswerRow): Promise<void>;
  forget(ownerId: string, name: string): Promise<void>;
  forgetAbout(ownerId: string, subject: string): Promise<void>;
  /** Drops rows that are over, at most `limit`. */
  forgetOver(nowMs: number, limit: number): Promise<void>;
}

const columns = createColumns<AnswerRow>(['ownerId', 'name', 'fingerprint', 'answer', 'subject', 'untilMs']);

export function createAnswerRows(store: RowStore): AnswerRows {
  return {
    async begin(row, nowMs) {
      const begin = `insert into answers (${columns.names}) values (${columns.places})
        on conflict (owner_id, name) do update set fingerprint = $3, answer = $4, subject = $5, until_ms = $6
        where answers.until_ms <= $7 returning owner_id`;
      const sql = `select ${columns.selected} from answers where owner_id = $1 and name = $2`;
      for (;;) {
        const begun = await store.query(begin, ...columns.valuesOf(row), nowMs);
        if (begun.length > 0) return undefined;
        const [before] = await store.query<AnswerRow>(sql, row.ownerId, row.name);
        // It may have been forgotten just now.
        if (before) return before;
      }
    },
    async finish({ ownerId, name, answer, subject, untilMs }) {
      const sql = 'update answers set answer = $3, subject = $4, until_ms = $5 where owner_id = $1 and name = $2';
      await store.query(sql, ownerId, name, answer, subject, untilMs);
    },
    async forget(ownerId, name) {
      await store.query('delete from answers where owner_id = $1 and name = $2', ownerId, name);
    },
    async forgetAbout(ownerId, subject) {
      await store.query('delete from answers where owner_id = $1 and subject = $2', ownerId, subject);
    },
    async forgetOver(nowMs, limit) {
      const over = 'select owner_id, name from answers where until_ms <= $1 limit $2';
      await store.query(`delete from answers where (owner_id, name) in (${over})`, nowMs, limit);
    },
  };
}
