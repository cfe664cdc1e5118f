// The limiter while Redis is unreachable: each replica enforces its share of the limits (degrade), nothing is limited
// (open), or every call fails (closed).
import { Failure } from '../errors.ts';
import { createLimiter, type Limiter, type LimiterOptions } from './limiter.ts';
import { toLimitStatus } from './rate-limit.ts';

export type FallbackName = 'degrade' | 'open' | 'closed';

interface FallbackOptions extends Omit<LimiterOptions, 'share'> {
  fallback: FallbackName;
  /** Number of processes that share the limits. */
  replicas: number;
}

/** Returns the limiter for an outage. Outages in quick succession share a limiter, so that its counts are kept. */
export type FallbackLimiter = (outage: number) => Limiter;

/** Time after which any used rate limit is available in full again. */
const reusedWithinMs = 60_000;

export function createFallbackLimiter({ fallback, replicas, ...options }: FallbackOptions): FallbackLimiter {
  if (fallback === 'open') return () => openLimiter;
  if (fallback === 'closed') return () => closedLimiter;
  let last: { outage: number; usedAtMs: number; limiter: Limiter } | undefined;
  return (outage) => {
    const nowMs = performance.now();
    if (!last || (last.outage !== outage && nowMs - last.usedAtMs > reusedWithinMs))
      last = { outage, usedAtMs: nowMs, limiter: createLimiter({ ...options, share: 1 / replicas }) };
    last.outage = outage;
    last.usedAtMs = nowMs;
    return last.limiter;
  };
}

const reportFull: Limiter['takeRequest'] = async ({ limits }, report) =>
  report(toLimitStatus({ ...limits, charactersPerMonth: undefined }, 0, 0));

const openLimiter: Limiter = {
  takeRequest: reportFull,
  reportStatus: reportFull,
  takeSynthesis: async (_caller, _chars, { signal }) => {
    signal.throwIfAborted();
    return { end() {} };
  },
  running: async () => 0,
};

const reject = async () => {
  const message = 'Redis is unavailable, so the limits of keys cannot be checked. Try again later.';
  throw new Failure('storage_unavailable', { message, retryAfterSeconds: 1 });
};

const closedLimiter: Limiter = {
  takeRequest: reject,
  reportStatus: async () => {},
  takeSynthesis: reject,
  running: async () => 0,
};
