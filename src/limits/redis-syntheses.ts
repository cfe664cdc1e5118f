// Concurrency slots for syntheses in Redis: taken together with the characters of the quota, waited for in a queue, and
// held by a lease until the synthesis ends.
import { Failure } from '../errors.ts';
import { rateOf } from './limit-status.ts';
import type { Limited, Synthesis, TakeOptions } from './limiter.ts';
import { checkFitsQuota, tooManyAtOnce, tooManyCharacters } from './rate-limit-failures.ts';
import { type AccountReply, ledgerReadsMax, type RedisAccounts, type Slot } from './redis-account.ts';
import type { SlotLeases } from './slot-leases.ts';
import { createSlotPolling } from './slot-polling.ts';

interface Granted {
  reply: AccountReply;
  slot: Slot;
}

export function createRedisSyntheses(accounts: RedisAccounts, leases: SlotLeases) {
  const polling = createSlotPolling<Granted>();

  const waitForSlot = async (caller: Limited, chars: number, signal: AbortSignal): Promise<Granted | undefined> => {
    const { callerId } = caller;
    const request = () => requestSlot({ accounts, leases }, caller, chars);
    signal.throwIfAborted();
    const direct = polling.isEmpty(callerId) ? await request() : undefined;
    const granted = direct ?? (await polling.wait(callerId, signal, request));
    if (!signal.aborted) return granted;
    if (granted?.reply.outcome === 'taken') await leases.end(callerId, granted.slot, 0);
    throw signal.reason;
  };

  /** Holds a slot, also for a synthesis that was admitted without Redis, so that Redis learns of it later. */
  const hold = (owner: string, slot: Slot, local?: Synthesis): Synthesis => {
    leases.hold(owner, slot);
    let isOver = false;
    return {
      end(spokenChars) {
        if (isOver) return;
        isOver = true;
        local?.end(spokenChars);
        void leases.end(owner, slot, spokenChars);
        polling.wake(owner);
      },
    };
  };

  return {
    async take(caller: Limited, chars: number, { signal, report }: TakeOptions): Promise<Synthesis> {
      const { callerId, limits } = caller;
      const { charactersPerMonth: most } = limits;
      if (most !== undefined) checkFitsQuota(chars, most);
      const granted = await waitForSlot(caller, chars, signal).catch((error: unknown) => {
        // Nobody in this replica waits any more.
        if (signal.aborted && polling.isEmpty(callerId)) accounts.leaveQueue(callerId, undefined, true).catch(() => {});
        throw error;
      });
      if (!granted) {
        const reply = await accounts.leaveQueue(callerId, rateOf(limits), polling.isEmpty(callerId));
        report(await accounts.statusOf(caller, reply));
        throw tooManyAtOnce(limits);
      }
      const { reply, slot } = granted;
      report(await accounts.statusOf(caller, reply));
      if (reply.outcome === 'characters') {
        const waitMs = reply.month.endsMs - reply.nowUs / 1000;
        throw tooManyCharacters(chars, most!, most! - reply.spentChars!, waitMs);
      }
      return hold(callerId, slot);
    },
    hold,
  };
}

/** Requests a slot once; undefined where none is free. */
async function requestSlot(
  { accounts, leases }: { accounts: RedisAccounts; leases: SlotLeases },
  { callerId, limits }: Limited,
  chars: number,
): Promise<Granted | undefined> {
  const { charactersPerMonth, concurrency } = limits;
  for (let attempt = 0; attempt <= ledgerReadsMax; attempt++) {
    const slot = accounts.newSlot(chars);
    const request = { slot, rate: rateOf(limits), charactersPerMonth, concurrency };
    const reply = await accounts.takeSlot(callerId, request).catch((error: unknown) => {
      // Redis may have taken the slot all the same.
      leases.drop(callerId, slot);
      throw error;
    });
    if (reply.outcome === 'full') return undefined;
    if (reply.outcome === 'unread') await accounts.counted(callerId, reply);
    else if (reply.outcome !== 'late') return { reply, slot };
  }
  throw new Failure('storage_unavailable', {}, new Error('the count of the month cannot be determined'));
}
