// A server that has no room for a request now: 429 or 503. It works, and the request was not begun.
import { Failure } from '../../errors.ts';

export class ServerFull extends Failure {
  /** When the server may be asked again; 0 if it did not say so. */
  readonly retryAfterMs: number;

  constructor(retryAfterSeconds: number, cause: unknown) {
    super('engine_unavailable', { retryAfterSeconds }, cause);
    this.retryAfterMs = retryAfterSeconds * 1000;
  }
}
