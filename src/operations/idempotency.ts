// Idempotency-Key (draft-ietf-httpapi-idempotency-key-header): the same request under the same key of the same caller
// gets the same answer for a day, from any replica and after a restart, so that a client whose connection broke may simply
// retry. A different request under that key, or the same one while it still runs, is rejected. The key of a failed request
// can be used again.
import { createHash } from 'node:crypto';
import { Failure } from '../errors.ts';
import type { AnswerRow, AnswerRows } from '../store/answer-rows.ts';
import { idempotencyKeyCharsMax, idempotencyMs, unaryCallMs } from './limits.ts';

export interface Once<Answer> {
  key: string;
  callerId: string;
  /** Requests with equal values are the same. */
  request: unknown;
  /** Returns the answer, the id of its subject, and until when the answer is valid. */
  work(): Promise<{ answer: Answer; subject: string; usefulUntilMs: number }>;
}

export interface Idempotency {
  once<Answer>(once: Once<Answer>): Promise<Answer>;
  /** Deletes the answers about a deleted subject: the next request under their keys is a new one. */
  forgetAbout(callerId: string, subject: string): Promise<void>;
}

/** After this, a request without an answer counts as dead with its process. */
const runningMs = unaryCallMs + 60_000;
const deletedAtOnce = 20;

export interface IdempotencyOptions {
  rows: AnswerRows;
  /** Whether the subject of an answer still exists. */
  isAlive(subject: string): Promise<boolean>;
}

export const createIdempotency = ({ rows, isAlive }: IdempotencyOptions): Idempotency => ({
  async once({ key, callerId, request, work }) {
    const fingerprint = createHash('sha256').update(JSON.stringify(request)).digest('base64');
    const nowMs = Date.now();
    const begun = { ownerId: callerId, name: key, fingerprint, answer: null, subject: '', untilMs: nowMs + runningMs };
    await rows.deleteExpired(nowMs, deletedAtOnce);
    let before = await rows.begin(begun, nowMs);
    if (before?.answer && !(await isAlive(before.subject))) {
      await rows.deleteBySubject(callerId, before.subject);
      before = await rows.begin(begun, nowMs);
    }
    if (before) return repeat(before, fingerprint);
    try {
      const { answer, subject, usefulUntilMs } = await work();
      const untilMs = Math.min(Date.now() + idempotencyMs, usefulUntilMs);
      await rows.finish({ ...begun, answer: JSON.stringify(answer), subject, untilMs });
      return answer;
    } catch (error) {
      await rows.delete(callerId, key).catch(() => {});
      throw error;
    }
  },
  forgetAbout: (callerId, subject) => rows.deleteBySubject(callerId, subject),
});

function repeat({ fingerprint, answer }: AnswerRow, expected: string) {
  if (fingerprint !== expected) {
    throw new Failure('idempotency_conflict', { message: 'This Idempotency-Key was used for another request.' });
  }
  if (answer === null) {
    const message = 'The request with this Idempotency-Key is still running.';
    throw new Failure('idempotency_conflict', { message, retryAfterSeconds: 0 });
  }
  return JSON.parse(answer);
}

/** The key of a request, if any; a Failure if malformed. */
export function parseIdempotencyKey(given: string | string[] | undefined): string | undefined {
  if (given === undefined) return undefined;
  const key = String(given);
  if (/^[ -~]+$/.test(key) && key.length <= idempotencyKeyCharsMax) return key;
  const message = `must be 1 to ${idempotencyKeyCharsMax} printable ASCII characters`;
  throw new Failure('invalid_request', { details: [{ field: 'Idempotency-Key', reason: 'format', message }] });
}
