// The concurrency slots of one key, first come, first served. The number of slots may differ from request to request.
import { type Release, SlotQueue, SlotTimeout } from '../concurrency/slot-queue.ts';

export interface KeySlots {
  /** Whether one of so many slots was free within that time. Rejects when the signal aborts. */
  take(slotsMax: number, waitMsMax: number, signal: AbortSignal): Promise<boolean>;
  giveBack(): void;
  readonly running: number;
}

export function createKeySlots(): KeySlots {
  const queue = new SlotQueue();
  const held: Release[] = [];

  return {
    async take(slotsMax, waitMsMax, signal) {
      try {
        held.push(await queue.take({ slotsMax, waitMsMax, signal }));
        return true;
      } catch (error) {
        if (error instanceof SlotTimeout) return false;
        throw error;
      }
    },
    giveBack: () => held.pop()?.(),
    get running() {
      return queue.held;
    },
  };
}
