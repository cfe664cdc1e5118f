// Slots of the service: so many requests are spoken at once, so many wait, and further ones are refused with the time
// after which to try again. Slots go round the callers: a caller with a hundred requests waits behind itself. Whoever
// would wait longer than it may is refused at once, so that it is told early; and when the wait has lasted that long.
import { type Release, SlotQueue, SlotTimeout } from '../concurrency/slot-queue.ts';
import { Failure } from '../errors.ts';

export type Slots = ReturnType<typeof createSlots>;

/** The weight of the newest hold in the mean from which waits are estimated. */
const holdWeight = 0.1;

export function createSlots({ speakingMax, waitingMax }: { speakingMax: number; waitingMax: number }) {
  let meanHoldMs = 1000;
  /** How long until so many that wait, and one more, have had a slot. */
  const waitMsAfter = (waiting: number) => (meanHoldMs * (waiting + 1)) / speakingMax;
  const overloaded = (waitMs = waitMsAfter(queue.waiting)): Failure =>
    new Failure('overloaded', { retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)) });
  const queue: SlotQueue = new SlotQueue({ slotsMax: speakingMax, waitingMax, refusal: overloaded });

  const admit = async (owner: string, signal: AbortSignal, waitMsMax: number | undefined): Promise<Release> => {
    const before = queue.waitingBefore(owner);
    const waitMs = queue.held < speakingMax && before === 0 ? 0 : waitMsAfter(before);
    if (waitMsMax !== undefined && waitMs > waitMsMax) throw overloaded(waitMs);
    try {
      return await queue.take({ owner, signal, ...(waitMsMax !== undefined && { waitMsMax }) });
    } catch (error) {
      throw error instanceof SlotTimeout ? overloaded(waitMsAfter(before)) : error;
    }
  };

  return {
    /** Resolves with the function that gives the slot back. Rejects when aborted, full, or waited for too long. */
    async take(owner: string, signal: AbortSignal, waitMsMax?: number): Promise<Release> {
      const release = await admit(owner, signal, waitMsMax);
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
