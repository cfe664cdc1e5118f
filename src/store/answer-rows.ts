// The table `answers`: replies stored under idempotency keys, so that a repeated request gets the same reply from every
// replica. A row without an answer is a request in progress; every row expires.
import { createColumns } from './columns.ts';
import type { RowStore } from './row-store.ts';

export interface AnswerRow {
  ownerId: string;
  /** The idempotency key. */
  name: string;
  /** Hash of the request: the same for a repeat of it. */
  fingerprint: string;
  /** JSON; null while the request is in progress. */
  answer: string | null;
  /** The id of what was made, by which the row may be deleted. */
  subject: string;
  untilMs: number;
}

const columns = createColumns<AnswerRow>('answers', ['ownerId', 'name', 'fingerprint', 'answer', 'subject', 'untilMs']);

export type AnswerRows = ReturnType<typeof createAnswerRows>;

export function createAnswerRows(store: RowStore) {
  return {
    /** Adds the row, unless an unexpired row with its owner and name exists; returns that row then. */
    async begin(row: AnswerRow, nowMs: number): Promise<AnswerRow | undefined> {
      const begin = `${columns.insert} on conflict (owner_id, name) do update set fingerprint = $3, answer = $4, subject = $5, until_ms = $6
        where answers.until_ms <= $7 returning owner_id`;
      const sql = `${columns.select} where owner_id = $1 and name = $2`;
      for (;;) {
        const begun = await store.query(begin, ...columns.valuesOf(row), nowMs);
        if (begun.length > 0) return undefined;
        const [before] = await store.query<AnswerRow>(sql, row.ownerId, row.name);
        // It may have been deleted since the insert.
        if (before) return before;
      }
    },
    async finish({ ownerId, name, answer, subject, untilMs }: AnswerRow): Promise<void> {
      const sql = 'update answers set answer = $3, subject = $4, until_ms = $5 where owner_id = $1 and name = $2';
      await store.query(sql, ownerId, name, answer, subject, untilMs);
    },
    async delete(ownerId: string, name: string): Promise<void> {
      await store.query('delete from answers where owner_id = $1 and name = $2', ownerId, name);
    },
    async deleteBySubject(ownerId: string, subject: string): Promise<void> {
      await store.query('delete from answers where owner_id = $1 and subject = $2', ownerId, subject);
    },
    /** Deletes at most `limit` expired rows. */
    async deleteExpired(nowMs: number, limit: number): Promise<void> {
      const expired = 'select owner_id, name from answers where until_ms <= $1 limit $2';
      await store.query(`delete from answers where (owner_id, name) in (${expired})`, nowMs, limit);
    },
  };
}
