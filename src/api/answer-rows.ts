// The table `answers`: replies stored under idempotency keys, so that a repeated request gets the same reply from every
// replica. Every row expires. A row without an answer is a request in progress, whose runner renews the row.
import { createColumns, type RowStore, toNames } from '../platform/store/row-store.ts';

export interface AnswerRow {
  ownerId: string;
  /** The idempotency key. */
  name: string;
  /** Hash of the request; the same for a repeated request. */
  fingerprint: string;
  /** The reply as JSON; null while the request is in progress. */
  answer: string | null;
  /** Id of the created resource. `deleteBySubject` finds rows by this id. */
  subject: string;
  untilMs: number;
  /** The process that runs the request; null once there is an answer. */
  runner: string | null;
}

const columns = createColumns<AnswerRow>('answers', toNames('ownerId name fingerprint answer subject untilMs runner'));

export type AnswerRows = ReturnType<typeof createAnswerRows>;

export function createAnswerRows(store: RowStore) {
  return {
    now: () => store.now(),
    /** Adds the row. If an unexpired row with this owner and name exists, returns that row instead. */
    async begin(row: AnswerRow, nowMs: number): Promise<AnswerRow | undefined> {
      const begin = `${columns.insert} on conflict (owner_id, name) do update set fingerprint = $3, answer = $4, subject = $5, until_ms = $6, runner = $7
        where answers.until_ms <= $8 returning owner_id`;
      const sql = `${columns.select} where owner_id = $1 and name = $2`;
      for (;;) {
        const begun = await store.query(begin, ...columns.valuesOf(row), nowMs);
        if (begun.length > 0) return undefined;
        const [before] = await store.query<AnswerRow>(sql, row.ownerId, row.name);
        // If the row was deleted after the insert, the insert is tried again.
        if (before) return before;
      }
    },
    /** Stores the answer, unless another process has taken over the request. */
    async finish({ ownerId, name, answer, subject, untilMs, runner }: AnswerRow): Promise<void> {
      const sql = `update answers set answer = $3, subject = $4, until_ms = $5, runner = null
        where owner_id = $1 and name = $2 and runner = $6`;
      await store.query(sql, ownerId, name, answer, subject, untilMs, runner);
    },
    /** Extends the lease of a request in progress, if the runner still holds the lease. */
    async renew(ownerId: string, name: string, runner: string, untilMs: number): Promise<void> {
      const sql = 'update answers set until_ms = $4 where owner_id = $1 and name = $2 and runner = $3';
      await store.query(sql, ownerId, name, runner, untilMs);
    },
    /** Deletes a request in progress, if the runner still holds the lease. */
    async release(ownerId: string, name: string, runner: string): Promise<void> {
      await store.query('delete from answers where owner_id = $1 and name = $2 and runner = $3', ownerId, name, runner);
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
