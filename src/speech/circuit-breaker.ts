// A circuit breaker: after so many failures in a row its engine is left in peace for a while, a longer one each time, so
// that callers are told at once instead of waiting for what will not come. Then one segment tries it out, and only if
// that goes well do the others follow. An engine that says itself how long it wants peace gets it at once.
import { Failure } from '../errors.ts';

export interface Breaker {
  /** How long until the engine may be asked again; 0 for now. */
  restMs(): number;
  /** A Failure `engine_unavailable` with the wait where the engine may not be asked. */
  check(): void;
  /** Asks for a try, where that may be. Every try has an end. */
  begin(): Try;
  readonly state: 'closed' | 'open' | 'half_open';
}

export interface Try {
  /** The engine does speak; how it ends is still to come. */
  isHeard(): void;
  wentWell(): void;
  /** `peaceMs` is what the engine asks for. */
  failed(peaceMs?: number): void;
  /** Nothing was learned from it. */
  calledOff(): void;
}

const failuresMax = 5;
const restMsFirst = 2_000;
const restMsMax = 60_000;
/** So that many services do not come back in the same moment. */
const restJitter = 0.2;
/** What callers are told while one segment is trying the engine out. */
const tryMs = 1_000;

export function createCircuitBreaker(now: () => number = () => performance.now()): Breaker {
  let failures = 0;
  let restMsNext = restMsFirst;
  /** Until when nobody asks; undefined while it is closed. */
  let openUntil: number | undefined;
  let probe: object | undefined;

  const close = () => {
    failures = 0;
    restMsNext = restMsFirst;
    openUntil = undefined;
  };
  const open = (peaceMs = 0) => {
    const restMs = restMsNext * (1 - restJitter * Math.random());
    openUntil = now() + Math.min(Math.max(restMs, peaceMs), restMsMax);
    restMsNext = Math.min(restMsNext * 2, restMsMax);
  };
  const restMs = () => {
    if (openUntil === undefined) return 0;
    const leftMs = openUntil - now();
    return leftMs > 0 ? leftMs : probe ? tryMs : 0;
  };

  const check = () => {
    const waitMs = restMs();
    if (waitMs <= 0) return;
    const message = 'The speech engine has failed again and again, and is left in peace for a moment.';
    throw new Failure('engine_unavailable', { message, retryAfterSeconds: waitMs / 1000 });
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
      const end = (learn: () => void) => () => {
        if (isOver) return;
        isOver = true;
        if (probe === own) probe = undefined;
        learn();
      };
      return {
        isHeard() {
          if (isOver || !isProbe) return;
          isProbe = false;
          if (probe === own) probe = undefined;
          close();
        },
        wentWell: end(() => {
          // One that was begun before the breaker opened says nothing of how it is now.
          if (isProbe || openUntil === undefined) close();
        }),
        failed: (peaceMs = 0) =>
          end(() => {
            failures++;
            if (isProbe || (openUntil === undefined && (failures >= failuresMax || peaceMs > 0))) open(peaceMs);
          })(),
        calledOff: end(() => {}),
      };
    },
  };
}
