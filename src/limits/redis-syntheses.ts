// Concurrency slots for syntheses in Redis: taken together with the characters of the quota, waited for in a queue, and
// held by a lease until the synthesis ends.
import { Failure } from '../errors.ts';
import {
  accountIdOf,
  chainOf,
  type Limited,
  type Limiter,
  reportStatus,
  type Synthesis,
  type TakeOptions,
} from './limiter.ts';
import { checkFitsQuota, tooManyAtOnce, tooManyCharacters } from './rate-limit-failures.ts';
import {
  type AccountReply,
  type Chain,
  ledgerReadsMax,
  type RedisAccounts,
  type Slot,
  toChain,
} from './redis-account.ts';
import type { SlotLeases } from './slot-leases.ts';
import { createSlotPolling } from './slot-polling.ts';

interface Granted {
  reply: AccountReply;
  slot: Slot;
}

/** What a running synthesis holds, in Redis and, where it was admitted without, here. */
interface Held {
  slot: Slot;
  chars: number;
  local: Synthesis | undefined;
}

export function createRedisSyntheses(accounts: RedisAccounts, leases: SlotLeases) {
  const polling = createSlotPolling<Granted>();
  const held = new WeakMap<Synthesis, Held>();

  const waitForSlot = async (
    caller: Limited,
    signal: AbortSignal,
    request: () => Promise<Granted | undefined>,
  ): Promise<Granted | undefined> => {
    signal.throwIfAborted();
    const direct = polling.isEmpty(caller.callerId) ? await request() : undefined;
    const granted = direct ?? (await polling.wait(caller.callerId, accountIdOf(caller), signal, request));
    if (!signal.aborted) return granted;
    if (granted?.reply.outcome === 'taken') await leases.end(toChain(caller), granted.slot, 0);
    throw signal.reason;
  };
  const leaveQueue = (caller: Limited, isRefunded: boolean) =>
    accounts.leaveQueue(caller, { isRefunded, isLast: polling.isEmptyOf(accountIdOf(caller)) });

  const hold = (chain: Chain, holding: Held): Synthesis => {
    leases.hold(chain, holding.slot);
    const synthesis: Synthesis = {
      end(spokenChars) {
        if (!held.delete(synthesis)) return;
        holding.local?.end(spokenChars);
        void leases.end(chain, holding.slot, spokenChars);
        polling.wake(chain.accountId);
      },
    };
    held.set(synthesis, holding);
    return synthesis;
  };

  /** Replaces the slot that is held, where Redis has not lost it; otherwise waits for one. */
  const takeSlot = async (
    caller: Limited,
    chars: number,
    { signal, report }: TakeOptions,
    before: Held | undefined,
  ): Promise<Slot> => {
    const chain = chainOf(caller);
    let full = 0;
    const taking = { caller, chars: chars + (before?.chars ?? 0), replaced: before?.slot };
    const request = () => requestSlot({ accounts, leases }, taking, (decider) => (full = decider));
    const kept = before && (await request());
    const granted =
      kept ??
      (await waitForSlot(caller, signal, request).catch((error: unknown) => {
        // Nobody in this replica waits any more.
        if (signal.aborted && polling.isEmptyOf(accountIdOf(caller))) leaveQueue(caller, false).catch(() => {});
        throw error;
      }));
    if (!granted) {
      const reply = await leaveQueue(caller, true);
      const refusal = tooManyAtOnce(chain[full]!.limits, full === 0);
      await reportStatus(() => accounts.statusOf(caller, reply), report, refusal);
    }
    const { reply, slot } = granted!;
    await reportStatus(() => accounts.statusOf(caller, reply), report, refusalOf(caller, reply, chars));
    return slot;
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
    if (before) held.delete(replaces);
    return hold(chain, { ...taken, chars: chars + (before?.chars ?? 0) });
  };

  return {
    async take(caller: Limited, chars: number, options: TakeOptions): Promise<Synthesis> {
      for (const [i, { limits }] of chainOf(caller).entries())
        checkFitsQuota(chars, limits.charactersPerMonth, i === 0);
      return follow(caller, { chars, replaces: options.replaces }, async (before) => {
        const slot = await takeSlot(caller, chars, options, before);
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

/** Why no slot was taken, if none was: too few characters are left in the month of an owner. */
function refusalOf(caller: Limited, { outcome, decider, owners, month, nowUs }: AccountReply, chars: number) {
  if (outcome !== 'characters') return undefined;
  const quota = chainOf(caller)[decider]!.limits.charactersPerMonth!;
  const left = quota - owners[decider]!.spentChars!;
  return tooManyCharacters({ chars, quota, left, isOwn: decider === 0 }, month.endsMs - nowUs / 1000);
}

/** Requests a slot once; undefined where none is free, and `onFull` is told whose. */
async function requestSlot(
  { accounts, leases }: { accounts: RedisAccounts; leases: SlotLeases },
  { caller, chars, replaced }: { caller: Limited; chars: number; replaced: Slot | undefined },
  onFull: (decider: number) => void,
): Promise<Granted | undefined> {
  const chain = toChain(caller);
  for (let attempt = 0; attempt <= ledgerReadsMax * chain.ownerIds.length; attempt++) {
    const slot = accounts.newSlot(chars);
    const reply = await accounts.takeSlot(caller, slot, replaced).catch((error: unknown) => {
      // Redis may have taken the slot all the same.
      leases.drop(chain, slot);
      throw error;
    });
    if (reply.outcome === 'full') {
      onFull(reply.decider);
      return undefined;
    }
    if (reply.outcome === 'unread') await accounts.counted(chain, reply.decider, reply);
    else if (reply.outcome !== 'late') return { reply, slot };
  }
  throw new Failure('storage_unavailable', {}, new Error('the count of the month cannot be determined'));
}
