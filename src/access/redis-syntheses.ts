// Syntheses whose limits are kept in Redis: each holds a slot there, by a lease, until it ends, or goes on as another.
import { chainOf, type Limited, type Limiter, type Synthesis, type TakeOptions } from './limiter.ts';
import { checkFitsQuota } from './rate-limit-failures.ts';
import { type Chain, type RedisAccounts, toChain } from './redis-account.ts';
import { createRedisSlots, type HeldSlot } from './redis-slots.ts';
import type { SlotLeases } from './slot-leases.ts';

/** What a running synthesis holds, in Redis and, where it was admitted without, here. */
interface Held extends HeldSlot {
  local: Synthesis | undefined;
}

export function createRedisSyntheses(accounts: RedisAccounts, leases: SlotLeases) {
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

  /** Takes a slot, by these means, for a synthesis that may go on from another. */
  const follow = async (
    caller: Limited,
    { chars, replaces }: { chars: number; replaces: Synthesis | undefined },
    take: (before: Held | undefined) => Promise<Pick<Held, 'slot' | 'local'>>,
  ): Promise<Synthesis> => {
    const chain = toChain(caller);
    const before = replaces && held.get(replaces);
    // Renewed meanwhile, a slot that has been replaced would be taken again.
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
    /** The same where Redis is away: holds the slot, so that Redis learns of it later. */
    takeAlone: (alone: Limiter, caller: Limited, chars: number, options: TakeOptions): Promise<Synthesis> =>
      follow(caller, { chars, replaces: options.replaces }, async (before) => {
        const local = await alone.takeSynthesis(caller, chars, { ...options, replaces: before?.local });
        if (before) leases.drop(toChain(caller), before.slot);
        return { slot: accounts.newSlot(chars + (before?.chars ?? 0)), local };
      }),
  };
}
