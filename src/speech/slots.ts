// Slots of the service: so many requests are spoken at once, so many wait, and further ones are refused with the time
// after which to try again. Slots go round the callers: a caller with a hundred requests waits behind itself.
import { type Release, SlotQueue } from '../concurrency/slot-queue.ts';
import { Failure } from '../errors.ts';

export type Slots = ReturnType<typeof createSlots>;

/** The weight of the newest hold in the mean from which waits are estimated. */
const holdWeight = 0.1;

export function createSlots({ speakingMax, waitingMax }: { speakingMax: number; waitingMax: number }) {
  let meanHoldMs = 1000;
  const overloaded = (): Failure => {
    const waitMs = (meanHoldMs * (queue.waiting + 1)) / speakingMax;
    return new Failure('overloaded', { retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)) });
  };
  const queue: SlotQueue = new SlotQueue({ slotsMax: speakingMax, waitingMax, refusal: overloaded });

  return {
    /** Resolves with the function that gives the slot back. Rejects when aborted or full. */
    async take(owner: string, signal: AbortSignal): Promise<Release> {
      const release = await queue.take({ owner, signal });
      const sinceMs = performance.now();
      let isHeld = true;
      return () => {
        if (isHeld) meanHoldMs += holdWeight * (performance.now() - sinceMs - meanHoldMs);
        isHeld = false;
        release();
      };
    },
    get speaking(): number {
      return queue.held;
    },
    get waiting(): number {
      return queue.waiting;
    },
  };
}
