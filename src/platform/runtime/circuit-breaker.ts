// Circuit breaker for an engine, or another server. After several failures in a row, it pauses the engine, longer each
// time, and requests fail at once. Then one segment probes the engine; other segments follow only if the probe succeeds.
// If the engine states a retry delay, the pause lasts at least that long, but at most a minute.
import { Failure } from '../errors.ts';

const failuresMax = 5;
const restMsFirst = 2_000;
const restMsMax = 60_000;
/** Pauses are randomly shortened by up to this share, so that replicas do not call the engine at the same time. */
const restJitter = 0.2;
/** The wait that is reported while a segment probes the engine. */
const probeMs = 1_000;

/** A call to the engine. The caller must report its outcome once; later reports are ignored. */
export interface Try {
  /** Call when the first audio has arrived. */
  hasSound(): void;
  succeeded(): void;
  /** `wantedRestMs` is the retry delay that the engine stated. */
  failed(wantedRestMs?: number): void;
  /** Call when the request was cancelled, which is neither a success nor a failure. */
  cancelled(): void;
}

export class CircuitBreaker {
  readonly #now: () => number;
  #failures = 0;
  #restMsNext = restMsFirst;
  /** Time until which the engine is not called; undefined while the breaker is closed. */
  #openUntil: number | undefined;
  #probe: object | undefined;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  get state(): 'closed' | 'open' | 'half_open' {
    if (this.#openUntil === undefined) return 'closed';
    return this.#openUntil > this.#now() ? 'open' : 'half_open';
  }

  /** Milliseconds until the engine may be called again; 0 if it may be called now. */
  restMs(): number {
    if (this.#openUntil === undefined) return 0;
    const leftMs = this.#openUntil - this.#now();
    return leftMs > 0 ? leftMs : this.#probe ? probeMs : 0;
  }

  /** Throws `engine_unavailable` with the remaining wait if the engine may not be called now. */
  check(): void {
    const waitMs = this.restMs();
    if (waitMs <= 0) return;
    const message = 'The speech engine has failed repeatedly and is paused. Try again later.';
    throw new Failure('engine_unavailable', { message, retryAfterSeconds: waitMs / 1000 });
  }

  /** Begins a call. Throws like `check`. */
  begin(): Try {
    this.check();
    const own = {};
    let isProbe = this.#openUntil !== undefined;
    if (isProbe) this.#probe = own;
    let isOver = false;
    const leaveProbe = () => {
      if (this.#probe === own) this.#probe = undefined;
    };
    const end = (report: () => void) => {
      if (isOver) return;
      isOver = true;
      leaveProbe();
      report();
    };
    return {
      hasSound: () => {
        if (isOver || !isProbe) return;
        isProbe = false;
        leaveProbe();
        this.#close();
      },
      // A call that began before the breaker opened does not show that the engine works now.
      succeeded: () => end(() => (isProbe || this.#openUntil === undefined) && this.#close()),
      failed: (wantedRestMs = 0) => end(() => this.#countFailure(isProbe, wantedRestMs)),
      cancelled: () => end(() => {}),
    };
  }

  #close(): void {
    this.#failures = 0;
    this.#restMsNext = restMsFirst;
    this.#openUntil = undefined;
  }

  #countFailure(isProbe: boolean, wantedRestMs: number): void {
    this.#failures++;
    const isTooMany = this.#failures >= failuresMax || wantedRestMs > 0;
    if (!isProbe && (this.#openUntil !== undefined || !isTooMany)) return;
    const restMs = this.#restMsNext * (1 - restJitter * Math.random());
    this.#openUntil = this.#now() + Math.min(Math.max(restMs, wantedRestMs), restMsMax);
    this.#restMsNext = Math.min(this.#restMsNext * 2, restMsMax);
  }
}
