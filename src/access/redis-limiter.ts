// The limits of API keys where several replicas share them through Redis or Valkey: the contract of limiter.ts, with one
// round trip for each decision and the clock of the server. While Redis is away, the fallback limiter decides.
import { Failure } from '../errors.ts';
import { createId } from '../runtime/id.ts';
import { type Redis, RedisAway } from '../store/redis.ts';
import type { FallbackLimiter } from './fallback-limiter.ts';
import { type Rate, takeOne } from './gcra.ts';
import { rateOf } from './limit-status.ts';
import { chainOf, type Limiter, type LimiterOptions, reportStatus } from './limiter.ts';
import { tooManyRequests } from './rate-limit-failures.ts';
import { createRedisAccounts, type EndedKey, markEnded } from './redis-account.ts';
import { createRedisSyntheses } from './redis-syntheses.ts';
import { openSlotLeases } from './slot-leases.ts';

export interface RedisLimiter extends Limiter {
  /** Makes all replicas reject the key, if Redis is available. */
  markEnded(ended: EndedKey): Promise<void>;
  /** Charges a failed attempt of an address. Returns when all attempts are available again, in microseconds from now. */
  takeAttempt(address: string, rate: Rate): Promise<number>;
  readonly state: LimiterState;
  /** Settles when Redis knows of every slot that was freed. */
  close(): Promise<void>;
}

/** For the metrics. */
export interface LimiterState {
  isAway: boolean;
  /** How often Redis has become unavailable. */
  outages: number;
  /** How many requests and syntheses the fallback limiter has decided. */
  decidedAlone: number;
}

export interface RedisLimiterOptions extends Omit<LimiterOptions, 'share'> {
  redis: Redis;
  prefix: string;
  fallback: FallbackLimiter;
}

export function openRedisLimiter({ redis, prefix, fallback, spentSince, now }: RedisLimiterOptions): RedisLimiter {
  const accounts = createRedisAccounts({ redis, prefix, replica: createId('rep'), spentSince, now });
  const leases = openSlotLeases(redis, accounts);
  const syntheses = createRedisSyntheses(accounts, leases);
  let decidedAlone = 0;

  const orFallback = async <T>(shared: () => Promise<T>, alone: (limiter: Limiter) => Promise<T>): Promise<T> => {
    try {
      return await shared();
    } catch (error) {
      if (!(error instanceof RedisAway)) throw error;
      decidedAlone++;
      return alone(fallback(redis.outages));
    }
  };

  return {
    takeRequest: (caller, report) =>
      orFallback(
        async () => {
          const reply = await accounts.takeRequest(caller);
          const { outcome, decider, owners, nowUs } = reply;
          if (outcome === 'ended') throw new Failure('invalid_api_key');
          const { limits } = chainOf(caller)[decider]!;
          const { waitUs } = takeOne(owners[decider]!.fullAtUs, nowUs, rateOf(limits));
          const refusal = outcome === 'taken' ? undefined : tooManyRequests(limits, waitUs, decider === 0);
          await reportStatus(() => accounts.statusOf(caller, reply), report, refusal);
        },
        (alone) => alone.takeRequest(caller, report),
      ),

    reportStatus: (caller, report) =>
      orFallback(
        async () => report(await accounts.statusOf(caller, await accounts.read(caller))),
        (alone) => alone.reportStatus(caller, report),
      ),

    takeSynthesis: (caller, chars, options) =>
      orFallback(
        () => syntheses.take(caller, chars, options),
        (alone) => syntheses.takeAlone(alone, caller, chars, options),
      ),

    running: (owner, accountId = owner) =>
      orFallback(
        () => accounts.running(owner, accountId),
        (alone) => alone.running(owner),
      ),

    markEnded: (ended) => markEnded({ redis, prefix }, ended),
    async takeAttempt(address, rate) {
      const { owners, nowUs } = await accounts.takeNamed(`address ${address}`, rate);
      return owners[0]!.fullAtUs - nowUs;
    },
    get state() {
      return { isAway: redis.isAway, outages: redis.outages, decidedAlone };
    },
    close: () => leases.close(),
  };
}
