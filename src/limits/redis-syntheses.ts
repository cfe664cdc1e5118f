// Concurrency slots for syntheses in Redis: taken together with the characters of the quota, waited for in a queue, and
// held by a lease until the synthesis ends.
import { Failure } from '../errors.ts';
import { accountIdOf, chainOf, type Limited, reportStatus, type Synthesis, type TakeOptions } from './limiter.ts';
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

export function createRedisSyntheses(accounts: RedisAccounts, leases: SlotLeases) {
  const polling = createSlotPolling<Granted>();

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

  /** Holds a slot, also for a synthesis that was admitted without Redis, so that Redis learns of it later. */
  const hold = (chain: Chain, slot: Slot, local?: Synthesis): Synthesis => {
    leases.hold(chain, slot);
    let isOver = false;
    return {
      end(spokenChars) {
        if (isOver) return;
        isOver = true;
        local?.end(spokenChars);
        void leases.end(chain, slot, spokenChars);
        polling.wake(chain.accountId);
      },
    };
  };

  return {
    async take(caller: Limited, chars: number, { signal, report }: TakeOptions): Promise<Synthesis> {
      const chain = chainOf(caller);
      for (const [i, { limits }] of chain.entries()) checkFitsQuota(chars, limits.charactersPerMonth, i === 0);
      let full = 0;
      const request = () => requestSlot({ accounts, leases }, caller, chars, (decider) => (full = decider));
      const granted = await waitForSlot(caller, signal, request).catch((error: unknown) => {
        // Nobody in this replica waits any more.
        if (signal.aborted && polling.isEmptyOf(accountIdOf(caller))) leaveQueue(caller, false).catch(() => {});
        throw error;
      });
      if (!granted) {
        const reply = await leaveQueue(caller, true);
        const refusal = tooManyAtOnce(chain[full]!.limits, full === 0);
        await reportStatus(() => accounts.statusOf(caller, reply), report, refusal);
      }
      const { reply, slot } = granted!;
      await reportStatus(() => accounts.statusOf(caller, reply), report, refusalOf(caller, reply, chars));
      return hold(toChain(caller), slot);
    },
    hold,
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
  caller: Limited,
  chars: number,
  onFull: (decider: number) => void,
): Promise<Granted | undefined> {
  const chain = toChain(caller);
  for (let attempt = 0; attempt <= ledgerReadsMax * chain.ownerIds.length; attempt++) {
    const slot = accounts.newSlot(chars);
    const reply = await accounts.takeSlot(caller, slot).catch((error: unknown) => {
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
