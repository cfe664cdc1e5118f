// Turns of work that nobody listens to, such as the segments of jobs: interactive speech goes before it. A segment is begun
// where a processor is left, after a moment without interactive speech, and turns go round the owners. When interactive
// speech needs the processor, the segment begun last is ended, and spoken again later. So that a job ends even where somebody
// always speaks, a segment that has waited for long is begun all the same, now and then, and not ended.
import { availableParallelism } from 'node:os';
import { SlotQueue } from '../../runtime/slot-queue.ts';

export interface BackgroundTurns {
  /** Interactive speech begins; the result is called when it has ended. */
  enter(): () => void;
  /** Runs the work in a turn, from its beginning again each time it has to make room. */
  run<Result>(owner: string, signal: AbortSignal, work: (signal: AbortSignal) => Promise<Result>): Promise<Result>;
}

/** Between two segments of one stream there is a gap, in which it is of no use to begin. */
const quietMs = 200;
/** A segment that has waited for so long is begun whatever else is spoken, one in so long. */
const patienceMs = 10_000;

export function createBackgroundTurns(
  processors: number = availableParallelism(),
  now: () => number = () => performance.now(),
): BackgroundTurns {
  // One is left to the event loop.
  const turnsMax = Math.max(1, processors - 1);
  const running: AbortController[] = [];
  let interactive = 0;
  let quietSinceMs = -Infinity;
  let lateBegunMs = -Infinity;
  const isCrowded = () => interactive > 0 && running.length + interactive > turnsMax;
  const roomMs = () => {
    if (interactive > 0) return running.length + interactive < turnsMax ? 0 : Infinity;
    return Math.max(0, quietSinceMs + quietMs - now());
  };
  /** Until the one that has waited longest is begun all the same. */
  const lateMs = () => Math.max(0, queue.urgentAtMs - now(), lateBegunMs + patienceMs - now());
  const queue: SlotQueue = new SlotQueue({ slotsMax: turnsMax, delayMs: () => Math.min(roomMs(), lateMs()), now });

  return {
    enter() {
      interactive++;
      while (isCrowded() && running.length > 0) running.pop()!.abort(new Error('interactive speech goes before it'));
      let hasLeft = false;
      return () => {
        if (hasLeft) return;
        hasLeft = true;
        interactive--;
        quietSinceMs = now();
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
