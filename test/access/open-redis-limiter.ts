// Opens a limiter on a real Redis server, as one of several replicas. It has its own clock, a number as its ledger, and
// one caller.
import { createFallbackLimiter, type FallbackName } from '../../src/access/fallback-limiter.ts';
import type { LimiterOptions } from '../../src/access/limiter.ts';
import type { LimitStatus } from '../../src/access/rate-limit.ts';
import { openRedisLimiter } from '../../src/access/redis-limiter.ts';
import { openRedis } from '../../src/store/redis.ts';
import { silent, usual } from '../conformance/limited-descendants.ts';

export interface ReplicaOptions extends Partial<Pick<LimiterOptions, 'spentSince' | 'now'>> {
  url: string;
  prefix: string;
  fallback?: FallbackName;
  /** Time limit for an answer from Redis. The default is longer than any pause on a busy machine. */
  answerMs?: number;
}

export async function openReplica({ url, prefix, fallback = 'closed', answerMs = 5_000, ...rest }: ReplicaOptions) {
  const options = { spentSince: async () => 0, ...rest };
  const logged: string[] = [];
  const redis = await openRedis({
    ...{ url, prefix, answerMs },
    onAway: () => logged.push('away'),
    onBack: () => logged.push('back'),
  });
  const limiter = openRedisLimiter({
    ...{ redis, prefix, ...options },
    fallback: createFallbackLimiter({ fallback, replicas: 2, ...options }),
  });
  const never = new AbortController().signal;
  const caller = (limits = {}, keyId = 'key') => ({ callerId: 'owner', keyId, limits: { ...usual, ...limits } });
  return {
    ...{ redis, limiter, logged },
    request: (limits = {}, keyId = 'key') => limiter.takeRequest(caller(limits, keyId), silent),
    speak: (chars: number, limits = {}) =>
      limiter.takeSynthesis(caller(limits), chars, { signal: never, report: silent }),
    async limitStatus(limits = {}): Promise<LimitStatus> {
      let found: LimitStatus | undefined;
      await limiter.reportStatus(caller(limits), (one) => (found = one));
      return found!;
    },
    async close() {
      await limiter.close();
      redis.close();
    },
  };
}
