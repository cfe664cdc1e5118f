// A circuit breaker: after several failures in a row its engine is not called for a while, longer each time, and requests
// fail at once. Then one segment probes the engine, and only when it succeeds do the others follow. An engine that states
// itself how long it wants to rest is not called for that time.
import { Failure } from '../errors.ts';

export interface Breaker {
  /** How long until the engine may be called again; 0 for now. */
  restMs(): number;
  /** Throws `engine_unavailable`, with the wait, while the engine may not be called. */
  check(): void;
  /** Begins a try, or throws as `check` does. Every try must be ended. */
  begin(): Try;
  readonly state: 'closed' | 'open' | 'half_open';
}

export interface Try {
  /** The first sound has come. */
  isHeard(): void;
  wentWell(): void;
  /** `wantedRestMs` is what the engine states. */
  failed(wantedRestMs?: number): void;
  /** Cancelled: it shows nothing about the engine. */
  calledOff(): void;
}

const failuresMax = 5;
const restMsFirst = 2_000;
const restMsMax = 60_000;
/** So that many services do not return at the same moment. */
const restJitter = 0.2;
/** The wait that is reported while a segment probes the engine. */
const tryMs = 1_000;

export function createCircuitBreaker(now: () => number = () => performance.now()): Breaker {
  let failures = 0;
  let restMsNext = restMsFirst;
  /** Until when the engine is not called; undefined while the breaker is closed. */
  let openUntil: number | undefined;
  let probe: object | undefined;

  const close = () => {
    failures = 0;
    restMsNext = restMsFirst;
    openUntil = undefined;
  };
  const open = (wantedRestMs = 0) => {
    const restMs = restMsNext * (1 - restJitter * Math.random());
    openUntil = now() + Math.min(Math.max(restMs, wantedRestMs), restMsMax);
    restMsNext = Math.min(restMsNext * 2, restMsMax);
  };
  const restMs = () => {
    if (openUntil === undefined) return 0;
    const leftMs = openUntil - now();
    return leftMs > 0 ? leftMs : probe ? tryMs : 0;
  };

  const check = () => {
    const waitMs = restMs();
    if (waitMs > 0) throw unavailable(waitMs);
  };

  return {
    restMs,
    check,
    get state() {
      if (openUntil === undefined) return 'closed';
      return openUntil > now() ? 'open' : 'half_open';
    },
    begin() {
      check();
      const own = {};
      let isProbe = openUntil !== undefined;
      if (isProbe) probe = own;
      let isOver = false;
      const end = (report: () => void) => () => {
        if (isOver) return;
        isOver = true;
        if (probe === own) probe = undefined;
        report();
      };
      return {
        isHeard() {
          if (isOver || !isProbe) return;
          isProbe = false;
          if (probe === own) probe = undefined;
          close();
        },
        wentWell: end(() => {
          // A try begun before the breaker opened shows nothing about the engine now.
          if (isProbe || openUntil === undefined) close();
        }),
        failed: (wantedRestMs = 0) =>
          end(() => {
            failures++;
            if (isProbe || (openUntil === undefined && (failures >= failuresMax || wantedRestMs > 0)))
              open(wantedRestMs);
          })(),
        calledOff: end(() => {}),
      };
    },
  };
}

function unavailable(waitMs: number): Failure {
  const message = 'The speech engine has failed again and again, and is left in peace for a moment.';
  return new Failure('engine_unavailable', { message, retryAfterSeconds: waitMs / 1000 });
}
