// Implements the limiter of limiter.ts for several replicas that share Redis or Valkey. A decision takes one round trip
// and uses the server's clock. While Redis is unreachable, the fallback limiter decides.
import { Failure } from '../errors.ts';
import { createId } from '../runtime/id.ts';
import { type Redis, RedisAway } from '../store/redis.ts';
import type { FallbackLimiter } from './fallback-limiter.ts';
import type { EndedKeys } from './key-management.ts';
import {
  chainOf,
  type Limited,
  type Limiter,
  type LimiterOptions,
  reportStatus,
  type Synthesis,
  type TakeOptions,
} from './limiter.ts';
import { checkFitsQuota, type Rate, rateOf, takeOne, tooManyRequests } from './rate-limit.ts';
import { type Chain, createRedisAccounts, markEnded, type RedisAccounts, toChain } from './redis-account.ts';
import { createRedisSlots, type HeldSlot } from './redis-slots.ts';
import { openSlotLeases, type SlotLeases } from './slot-leases.ts';

interface RedisLimiter extends Limiter {
  /** Makes all replicas reject the key, if Redis is available. */
  markEnded(ended: EndedKeys): Promise<void>;
  /** Charges a failed attempt from an address. Resolves to the microseconds until all attempts are available again. */
  takeAttempt(address: string, rate: Rate): Promise<number>;
  readonly state: LimiterState;
  /** Resolves when all ended slots are released in Redis. */
  close(): Promise<void>;
}

/** The state of the limiter, for metrics. */
export interface LimiterState {
  isAway: boolean;
  /** Number of times that Redis became unavailable. */
  outages: number;
  /** Number of requests and syntheses that the fallback limiter decided. */
  decidedAlone: number;
}

interface RedisLimiterOptions extends Omit<LimiterOptions, 'share'> {
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

/** The slot of a running synthesis in Redis. A synthesis admitted during an outage also has a local slot. */
interface Held extends HeldSlot {
  local: Synthesis | undefined;
}

function createRedisSyntheses(accounts: RedisAccounts, leases: SlotLeases) {
  const slots = createRedisSlots(accounts, leases);
  const held = new WeakMap<Synthesis, Held>();

  const hold = (chain: Chain, holding: Held): Synthesis => {
    leases.hold(chain, holding.slot);
    const synthesis: Synthesis = {
      recorded(chars) {
        holding.slot.recordedChars = chars;
      },
      end(spokenChars) {
        if (!held.delete(synthesis)) return;
        holding.local?.end(spokenChars);
        void leases.end(chain, holding.slot, spokenChars);
        slots.wake(chain.accountId);
      },
    };
    held.set(synthesis, holding);
    return synthesis;
  };

  /** Takes a slot with `take`, for a synthesis that may continue another synthesis. */
  const follow = async (
    caller: Limited,
    { chars, replaces }: { chars: number; replaces: Synthesis | undefined },
    take: (before: Held | undefined) => Promise<Pick<Held, 'slot' | 'local'>>,
  ): Promise<Synthesis> => {
    const chain = toChain(caller);
    const before = replaces && held.get(replaces);
    // A replaced slot is no longer renewed, because a renewal would take the slot again.
    if (before) leases.release(chain, before.slot);
    const taken = await take(before).catch((error: unknown) => {
      if (before) leases.hold(chain, before.slot);
      throw error;
    });
    if (before) {
      held.delete(replaces);
      taken.slot.recordedChars = before.slot.recordedChars;
    }
    return hold(chain, { ...taken, chars: chars + (before?.chars ?? 0) });
  };

  return {
    async take(caller: Limited, chars: number, options: TakeOptions): Promise<Synthesis> {
      if (!options.isPart)
        for (const [i, { limits }] of chainOf(caller).entries())
          checkFitsQuota(chars, limits.charactersPerMonth, i === 0);
      return follow(caller, { chars, replaces: options.replaces }, async (before) => {
        const slot = await slots.take(caller, chars, options, before);
        before?.local?.end(before.chars);
        return { slot, local: undefined };
      });
    },
    /** Takes a slot from the fallback limiter while Redis is unreachable. The slot's lease is stored in Redis later. */
    takeAlone: (alone: Limiter, caller: Limited, chars: number, options: TakeOptions): Promise<Synthesis> =>
      follow(caller, { chars, replaces: options.replaces }, async (before) => {
        const local = await alone.takeSynthesis(caller, chars, { ...options, replaces: before?.local });
        if (before) leases.drop(toChain(caller), before.slot);
        return { slot: accounts.newSlot(chars + (before?.chars ?? 0)), local };
      }),
  };
}
