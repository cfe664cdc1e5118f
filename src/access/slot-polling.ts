// Queue for concurrency slots that other replicas can release too. Per owner, only the head of the queue polls for a slot:
// every 20 ms, and at once when one of its account is given back here or the request before it was answered.
import { SlotQueue, SlotTimeout } from '../runtime/slot-queue.ts';
import { slotWaitMs } from './limiter.ts';

interface Polling {
  accountId: string;
  turns: SlotQueue;
  isWoken: boolean;
  endPause(): void;
}

const pollEveryMs = 20;

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
    /** The first answer of `poll` that is not undefined; undefined after `slotWaitMs`. Rejects when the signal aborts. */
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
    /** A slot of the account was given back here. */
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
    // An answer counts even when the signal has aborted meanwhile: it may be a slot, which the caller then gives back.
    const answer = await poll();
    if (answer === undefined) continue;
    polling.isWoken = true;
    return answer;
  }
}

/** Waits until the time is over, the owner is woken, or the signal aborts. */
async function pause(polling: Polling, ms: number, signal: AbortSignal): Promise<void> {
  if (polling.isWoken || ms <= 0 || signal.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  polling.endPause = resolve;
  const end = () => resolve();
  signal.addEventListener('abort', end, { once: true });
  await promise;
  clearTimeout(timer);
  signal.removeEventListener('abort', end);
}
