// Idempotency-Key (draft-ietf-httpapi-idempotency-key-header): a request that is repeated with the same key gets the
// same answer for a day, from any replica. A different request with the same key is rejected, as is a repetition while
// the first request runs. A key can be used again after its request failed or its process died: while a request runs,
// its process renews a lease, by the clock of the database.
import { createHash } from 'node:crypto';
import { Failure } from '../platform/errors.ts';
import { isDead, processName } from '../platform/runtime/id.ts';
import { createColumns, type RowStore, toNames } from '../platform/store/row-store.ts';
import { answerLeaseMs, answerRenewalMs, idempotencyMs } from './call-limits.ts';

interface Once<Answer> {
  key: string;
  callerId: string;
  /** The values that identify the request. Requests with the same values count as the same request. */
  request: unknown;
  /** Returns the answer, the id of the resource that it describes, and the time until which the answer is valid. */
  work(): Promise<{ answer: Answer; subject: string; usefulUntilMs: number }>;
}

export type Idempotency = ReturnType<typeof createIdempotency>;

/** Largest number of expired rows that a request deletes. */
const deletedAtOnce = 20;

interface IdempotencyOptions {
  rows: AnswerRows;
  /** Whether the resource that an answer describes still exists. */
  isAlive(subject: string): Promise<boolean>;
  /** Name of this process, which owns the leases. */
  runner?: string;
  leaseMs?: number;
}

export function createIdempotency(options: IdempotencyOptions) {
  const { rows, isAlive, runner = processName, leaseMs = answerLeaseMs } = options;
  const repeatOrTake = async (begun: AnswerRow, nowMs: number): Promise<AnswerRow | undefined> => {
    const { ownerId, name } = begun;
    const before = await rows.begin(begun, nowMs);
    if (before?.answer && !(await isAlive(before.subject))) await rows.deleteBySubject(ownerId, before.subject);
    // The lease of a dead process on this machine is released at once.
    else if (before && before.answer === null && before.runner !== null && isDead(before.runner))
      await rows.release(ownerId, name, before.runner);
    else return before;
    return rows.begin(begun, nowMs);
  };

  return {
    async once<Answer>({ key, callerId, request, work }: Once<Answer>): Promise<Answer> {
      const fingerprint = createHash('sha256').update(JSON.stringify(request)).digest('base64');
      const nowMs = await rows.now();
      const untilMs = nowMs + leaseMs;
      const begun = { ownerId: callerId, name: key, fingerprint, answer: null, subject: '', untilMs, runner };
      await rows.deleteExpired(nowMs);
      const before = await repeatOrTake(begun, nowMs);
      if (before) return repeat(before, fingerprint);
      // A failed renewal is retried. If no renewal succeeds in time, the lease expires.
      const renew = async () => rows.renew(callerId, key, runner, (await rows.now()) + leaseMs);
      const renewing = setInterval(() => void renew().catch(() => {}), Math.min(answerRenewalMs, leaseMs / 3)).unref();
      try {
        const { answer, subject, usefulUntilMs } = await work();
        const lastMs = Math.min((await rows.now()) + idempotencyMs, usefulUntilMs);
        await rows.finish({ ...begun, answer: JSON.stringify(answer), subject, untilMs: lastMs });
        return answer;
      } catch (error) {
        await rows.release(callerId, key, runner).catch(() => {});
        throw error;
      } finally {
        clearInterval(renewing);
      }
    },
  };
}

function repeat({ fingerprint, answer }: AnswerRow, expected: string) {
  if (fingerprint !== expected) {
    throw new Failure('idempotency_conflict', { message: 'Another request used this Idempotency-Key. Use a new one.' });
  }
  if (answer === null) {
    const message = 'The first request with this Idempotency-Key is still running. Try again later.';
    throw new Failure('idempotency_conflict', { message, retryAfterSeconds: 0 });
  }
  return JSON.parse(answer);
}

/**
 * A row of the table `answers`, which all replicas share. Every row expires. A row without an answer is a request in
 * progress, whose runner renews the row.
 */
interface AnswerRow {
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

type AnswerRows = ReturnType<typeof createAnswerRows>;

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
    /** Deletes at most `deletedAtOnce` expired rows. */
    async deleteExpired(nowMs: number): Promise<void> {
      const expired = 'select owner_id, name from answers where until_ms <= $1 limit $2';
      await store.query(`delete from answers where (owner_id, name) in (${expired})`, nowMs, deletedAtOnce);
    },
  };
}
