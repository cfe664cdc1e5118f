// Work in the background, such as the segments of jobs: it runs on the processors that interactive speech leaves, after a
// moment without any, and owners take turns. When interactive speech needs a processor, the work begun last is interrupted,
// and runs from its beginning later. So that a job ends even if somebody always speaks, work that has waited for long runs
// all the same, one piece now and then, and is not interrupted.
import { availableParallelism } from 'node:os';
import { SlotQueue } from '../runtime/slot-queue.ts';

export interface Background {
  /** Interactive speech begins; the result is called when it has ended. */
  enter(): () => void;
  /** Begins nothing for a while. */
  rest(ms: number): void;
  run<Result>(owner: string, signal: AbortSignal, work: (by: AbortSignal) => Promise<Result>): Promise<Result>;
}

/** Between two segments of a stream is a gap in which it is of no use to begin. */
const quietMs = 200;
/** Work that has waited this long runs whatever else is spoken, one piece in this time. */
const patienceMs = 10_000;

export function createBackground(
  processors: number = availableParallelism(),
  now: () => number = () => performance.now(),
): Background {
  // One processor is left to the event loop.
  const runningMax = Math.max(1, processors - 1);
  const running: AbortController[] = [];
  let interactive = 0;
  let quietUntilMs = -Infinity;
  let lateBegunMs = -Infinity;
  const isCrowded = () => interactive > 0 && running.length + interactive > runningMax;
  const roomMs = () => {
    if (interactive > 0) return running.length + interactive < runningMax ? 0 : Infinity;
    return Math.max(0, quietUntilMs - now());
  };
  /** Until the work that has waited longest runs all the same. */
  const lateMs = () => Math.max(0, queue.urgentAtMs - now(), lateBegunMs + patienceMs - now());
  const queue: SlotQueue = new SlotQueue({ slotsMax: runningMax, delayMs: () => Math.min(roomMs(), lateMs()), now });
  const rest = (ms: number) => {
    quietUntilMs = Math.max(quietUntilMs, now() + ms);
  };

  return {
    rest,
    enter() {
      interactive++;
      while (isCrowded() && running.length > 0)
        running.pop()!.abort(new Error('interactive speech needs the processor'));
      let hasLeft = false;
      return () => {
        if (hasLeft) return;
        hasLeft = true;
        interactive--;
        rest(quietMs);
        queue.admit();
      };
    },
    async run(owner, signal, work) {
      const urgentAtMs = now() + patienceMs;
      for (;;) {
        const making = new AbortController();
        const onAdmit = () => {
          if (roomMs() <= 0) running.push(making);
          else lateBegunMs = now();
        };
        const release = await queue.take({ owner, signal, urgentAtMs, onAdmit });
        try {
          return await work(AbortSignal.any([signal, making.signal]));
        } catch (error) {
          signal.throwIfAborted();
          if (!making.signal.aborted) throw error;
        } finally {
          const at = running.indexOf(making);
          if (at >= 0) running.splice(at, 1);
          release();
        }
      }
    },
  };
}
