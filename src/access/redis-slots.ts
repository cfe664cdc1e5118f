// Takes concurrency slots in Redis and charges characters in the same step. A new slot replaces a held slot, or the
// caller waits in a queue until a slot is free.
import { Failure } from '../errors.ts';
import { onAbort } from '../runtime/abort.ts';
import { SlotQueue, SlotTimeout } from '../runtime/slot-queue.ts';
import { accountIdOf, chainOf, type Limited, reportStatus, slotWaitMs, type TakeOptions } from './limiter.ts';
import { tooManyAtOnce, tooManyCharacters } from './rate-limit.ts';
import {
  type AccountReply,
  ledgerReadsMax,
  type RedisAccounts,
  type Slot,
  type SlotOptions,
  toChain,
} from './redis-account.ts';
import type { SlotLeases } from './slot-leases.ts';

interface Granted {
  reply: AccountReply;
  slot: Slot;
}

/** A held slot and its characters. */
export interface HeldSlot {
  slot: Slot;
  chars: number;
}

export function createRedisSlots(accounts: RedisAccounts, leases: SlotLeases) {
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

  /** Replaces the held slot if it still exists in Redis; otherwise waits for a free slot. */
  const take = async (
    caller: Limited,
    chars: number,
    { signal, report, isPart = false, needsNoSlot = false }: TakeOptions,
    before: HeldSlot | undefined,
  ): Promise<Slot> => {
    const chain = chainOf(caller);
    const refundsRequest = !isPart;
    let full = 0;
    const taking = { caller, chars: chars + (before?.chars ?? 0), replaced: before?.slot, refundsRequest, needsNoSlot };
    const request = () => requestSlot({ accounts, leases }, taking, (decider) => (full = decider));
    const kept = before || needsNoSlot ? await request() : undefined;
    const granted =
      kept ??
      (await waitForSlot(caller, signal, request).catch((error: unknown) => {
        // If no other caller of the account waits in this process, the replica leaves the queue.
        if (signal.aborted && polling.isEmptyOf(accountIdOf(caller))) leaveQueue(caller, false).catch(() => {});
        throw error;
      }));
    if (!granted) {
      const reply = await leaveQueue(caller, refundsRequest);
      const refusal = tooManyAtOnce(chain[full]!.limits, full === 0);
      await reportStatus(() => accounts.statusOf(caller, reply), report, refusal);
    }
    const { reply, slot } = granted!;
    await reportStatus(() => accounts.statusOf(caller, reply), report, refusalOf(caller, reply, chars));
    return slot;
  };

  return {
    take,
    /** Called when a slot of the account was released. */
    wake: (accountId: string) => polling.wake(accountId),
  };
}

/** Returns the refusal if an owner has too few characters left in the month; undefined otherwise. */
function refusalOf(caller: Limited, { outcome, decider, owners, month, nowUs }: AccountReply, chars: number) {
  if (outcome !== 'characters') return undefined;
  const quota = chainOf(caller)[decider]!.limits.charactersPerMonth!;
  const left = quota - owners[decider]!.spentChars!;
  return tooManyCharacters({ chars, quota, left, isOwn: decider === 0 }, month.endsMs - nowUs / 1000);
}

/** Requests a slot once. If no slot is free, returns undefined and calls `onFull` with the index of the full owner. */
async function requestSlot(
  { accounts, leases }: { accounts: RedisAccounts; leases: SlotLeases },
  { caller, chars, ...options }: { caller: Limited; chars: number } & SlotOptions,
  onFull: (decider: number) => void,
): Promise<Granted | undefined> {
  const chain = toChain(caller);
  for (let attempt = 0; attempt <= ledgerReadsMax * chain.ownerIds.length; attempt++) {
    const slot = accounts.newSlot(chars);
    const reply = await accounts.takeSlot(caller, slot, options).catch((error: unknown) => {
      // Redis may have taken the slot despite the error.
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

interface Polling {
  accountId: string;
  turns: SlotQueue;
  isWoken: boolean;
  endPause(): void;
}

const pollEveryMs = 20;

/**
 * A queue for slots that other replicas can also release. Only the first caller per owner polls. A slot that is
 * released in this process triggers a poll at once.
 */
export function createSlotPolling<Answer>() {
  const pollings = new Map<string, Polling>();
  const pollingOf = (owner: string, accountId: string): Polling => {
    const known = pollings.get(owner);
    if (known) return known;
    const polling: Polling = { accountId, turns: new SlotQueue({ slotsMax: 1 }), isWoken: false, endPause() {} };
    pollings.set(owner, polling);
    return polling;
  };

  return {
    isEmpty: (owner: string) => !pollings.has(owner),
    isEmptyOf: (accountId: string) => !pollings.values().some((polling) => polling.accountId === accountId),
    /** Returns the first defined answer of `poll`, or undefined after `slotWaitMs`. Rejects when the signal aborts. */
    async wait(owner: string, accountId: string, signal: AbortSignal, poll: Poll<Answer>): Promise<Answer | undefined> {
      const endsMs = performance.now() + slotWaitMs;
      const polling = pollingOf(owner, accountId);
      const { turns } = polling;
      try {
        const release = await turns.take({ signal, waitMsMax: slotWaitMs });
        return await pollUntil(endsMs, { polling, signal }, poll).finally(release);
      } catch (error) {
        if (error instanceof SlotTimeout) return undefined;
        throw error;
      } finally {
        if (turns.held + turns.waiting === 0) pollings.delete(owner);
      }
    },
    /** Called when a slot of the account was released in this process. */
    wake(accountId: string): void {
      for (const polling of pollings.values()) {
        if (polling.accountId !== accountId) continue;
        polling.isWoken = true;
        polling.endPause();
      }
    },
  };
}

type Poll<Answer> = () => Promise<Answer | undefined>;

async function pollUntil<Answer>(
  endsMs: number,
  { polling, signal }: { polling: Polling; signal: AbortSignal },
  poll: Poll<Answer>,
) {
  for (;;) {
    await pause(polling, Math.min(pollEveryMs, endsMs - performance.now()), signal);
    signal.throwIfAborted();
    if (!polling.isWoken && performance.now() >= endsMs) return undefined;
    polling.isWoken = false;
    // An answer is returned even after an abort, because the caller must release a slot in the answer.
    const answer = await poll();
    if (answer === undefined) continue;
    polling.isWoken = true;
    return answer;
  }
}

/** Waits for `ms` milliseconds, or until a slot is released or the signal aborts. */
async function pause(polling: Polling, ms: number, signal: AbortSignal): Promise<void> {
  if (polling.isWoken || ms <= 0 || signal.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  polling.endPause = resolve;
  using _ = onAbort(signal, resolve);
  await promise;
  clearTimeout(timer);
}
