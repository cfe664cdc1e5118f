// Idempotency-Key (draft-ietf-httpapi-idempotency-key-header): the same request under the same key of the same caller
// gets the same answer for a day, so that a client whose connection broke may simply ask again. Another request under
// that key, or the same one while it still runs, is refused. A request that failed leaves no trace: it may be repeated.
// Answers are remembered in this process; after a restart the cache of audio still answers with the same clip.
import { createHash } from 'node:crypto';
import { Failure } from '../errors.ts';
import { idempotencyKeyCharsMax, idempotencyKeysMax, idempotencyMs } from './limits.ts';

interface Remembered<Answer> {
  fingerprint: string;
  /** Undefined while the request runs. */
  answer: Answer | undefined;
  untilMs: number;
}

export interface Once<Answer> {
  key: string;
  callerId: string;
  /** What makes two requests the same. */
  request: unknown;
  /** Answers, and says until when its answer is worth repeating. */
  work(): Promise<{ answer: Answer; usefulUntilMs: number }>;
}

export class Idempotency<Answer> {
  /** By caller and by key, so that one caller's keys push out none of another's. */
  readonly #remembered = new Map<string, Map<string, Remembered<Answer>>>();
  #size = 0;

  async once({ key, callerId, request, work }: Once<Answer>): Promise<Answer> {
    const fingerprint = createHash('sha256').update(JSON.stringify(request)).digest('base64');
    const before = this.#remembered.get(callerId)?.get(key);
    if (before && Date.now() < before.untilMs) return repeat(before, fingerprint);
    if (before) this.#forget(callerId, key);
    if (this.#size >= idempotencyKeysMax) this.#makeRoom();
    const entry: Remembered<Answer> = { fingerprint, answer: undefined, untilMs: Infinity };
    this.#remember(callerId, key, entry);
    try {
      const { answer, usefulUntilMs } = await work();
      entry.answer = answer;
      entry.untilMs = Math.min(Date.now() + idempotencyMs, usefulUntilMs);
      return answer;
    } finally {
      if (entry.answer === undefined) this.#forget(callerId, key);
    }
  }

  /** Answers that are no longer true are forgotten: the next request under their keys is a new one. */
  forgetAnswers(callerId: string, isOver: (answer: Answer) => boolean): void {
    for (const [key, { answer }] of this.#remembered.get(callerId) ?? [])
      if (answer !== undefined && isOver(answer)) this.#forget(callerId, key);
  }

  #remember(callerId: string, key: string, entry: Remembered<Answer>): void {
    const own = this.#remembered.get(callerId) ?? new Map<string, Remembered<Answer>>();
    this.#remembered.set(callerId, own.set(key, entry));
    this.#size++;
  }

  #forget(callerId: string, key: string): void {
    const own = this.#remembered.get(callerId)!;
    own.delete(key);
    this.#size--;
    if (own.size === 0) this.#remembered.delete(callerId);
  }

  /** Whoever has the most gives up the oldest answer. What still runs is never forgotten. */
  #makeRoom(): void {
    let [callerId, own] = this.#remembered.entries().next().value!;
    for (const [otherId, others] of this.#remembered) if (others.size > own.size) [callerId, own] = [otherId, others];
    for (const [key, { answer }] of own) if (answer !== undefined) return void this.#forget(callerId, key);
  }
}

function repeat<Answer>({ fingerprint, answer }: Remembered<Answer>, asked: string): Answer {
  if (fingerprint !== asked) {
    throw new Failure('idempotency_conflict', { message: 'This Idempotency-Key was used for another request.' });
  }
  if (answer === undefined) {
    throw new Failure('idempotency_conflict', { message: 'The request with this Idempotency-Key is still running.' });
  }
  return answer;
}

/** The key that a request carries, if any, or a Failure if it cannot be one. */
export function parseIdempotencyKey(given: string | string[] | undefined): string | undefined {
  if (given === undefined) return undefined;
  const key = String(given);
  if (/^[ -~]+$/.test(key) && key.length <= idempotencyKeyCharsMax) return key;
  const message = `must be 1 to ${idempotencyKeyCharsMax} printable ASCII characters`;
  throw new Failure('invalid_request', { details: [{ field: 'Idempotency-Key', reason: 'format', message }] });
}
