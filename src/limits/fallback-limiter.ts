// What becomes of limits while the store that replicas share them in is away: this process gives out its part of them
// (degrade), nobody is limited (open), or every call is told to come again (closed).
import { Failure } from '../errors.ts';
import { createLimiter, type Limiter, type LimiterOptions } from './limiter.ts';
import { toLimitStatus } from './rate-limit-failures.ts';
import type { FallbackName } from './redis-settings.ts';

export interface FallbackOptions extends Omit<LimiterOptions, 'share'> {
  fallback: FallbackName;
  /** How many processes share the limits. */
  replicas: number;
}

/** The limiter for the outage of that number: what one knew counts in the next, where that comes soon. */
export type FallbackLimiter = (outage: number) => Limiter;

/** Within which all requests of any key have come back. */
const remembersMs = 60_000;

export function createFallbackLimiter({ fallback, replicas, ...options }: FallbackOptions): FallbackLimiter {
  if (fallback === 'open') return () => openLimiter;
  if (fallback === 'closed') return () => closedLimiter;
  let last: { outage: number; usedAtMs: number; limiter: Limiter } | undefined;
  return (outage) => {
    const nowMs = performance.now();
    if (!last || (last.outage !== outage && nowMs - last.usedAtMs > remembersMs))
      last = { outage, usedAtMs: nowMs, limiter: createLimiter({ ...options, share: 1 / replicas }) };
    last.outage = outage;
    last.usedAtMs = nowMs;
    return last.limiter;
  };
}

const tellFull: Limiter['takeRequest'] = async ({ limits }, tell) =>
  tell(toLimitStatus({ ...limits, charactersPerMonth: undefined }, 0, 0));

const openLimiter: Limiter = {
  takeRequest: tellFull,
  reportStatus: tellFull,
  takeSynthesis: async (_caller, _chars, { signal }) => {
    signal.throwIfAborted();
    return { end() {} };
  },
  running: async () => 0,
};

const refuse = async () => {
  const message = 'The limits of keys cannot be looked at for the moment; try again.';
  throw new Failure('storage_unavailable', { message, retryAfterSeconds: 1 });
};

const closedLimiter: Limiter = {
  takeRequest: refuse,
  reportStatus: async () => {},
  takeSynthesis: refuse,
  running: async () => 0,
};
