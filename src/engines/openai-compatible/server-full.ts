// The error for a server that has no room for a request (429 or 503). The server is healthy and has not started the
// request, so another server can be tried.
import { Failure } from '../../platform/errors.ts';

export class ServerFull extends Failure {
  /** Milliseconds until the server may be called again; 0 if the server states no delay. */
  readonly retryAfterMs: number;

  constructor(retryAfterSeconds: number, cause: unknown) {
    super('engine_unavailable', { retryAfterSeconds }, cause);
    this.retryAfterMs = retryAfterSeconds * 1000;
  }
}
