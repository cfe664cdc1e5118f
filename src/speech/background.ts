// Runs background work, such as the segments of jobs, on processors that interactive speech leaves free. Accounts take
// turns. When interactive speech needs a processor, the newest work is interrupted and restarted later. Work that has
// waited for `patienceMs` runs anyway and is not interrupted, so that jobs finish even under constant load.
import { availableParallelism } from 'node:os';
import { onAbort } from '../platform/runtime/abort.ts';
import { FairQueue } from '../platform/runtime/fair-queue.ts';

export type Background = ReturnType<typeof createBackground>;

/** The processor of some work. */
export interface Place {
  /** Leaves the processor to other work. The work is not interrupted until it takes a processor again. */
  leave(): void;
  /** Waits for a processor, unless the work has one. */
  take(): Promise<void>;
}

/** Quiet time before work starts, so that no work starts in the short gap between two segments of a stream. */
const quietMs = 200;
/** Work that has waited this long starts even during interactive speech. Such starts are at least this far apart. */
const patienceMs = 10_000;

interface Waiting {
  owner: string;
  sinceMs: number;
  begin(release: () => void): void;
  making: AbortController;
}

export function createBackground(
  processors: number = availableParallelism(),
  now: () => number = () => performance.now(),
) {
  // One processor stays free for the event loop.
  const runningMax = Math.max(1, processors - 1);
  const queue = new FairQueue<Waiting>();
  /** Work that can be interrupted, newest last. */
  const running: AbortController[] = [];
  let held = 0;
  let interactive = 0;
  let quietUntilMs = -Infinity;
  let lateBegunMs = -Infinity;
  let timer: NodeJS.Timeout | undefined;
  const isCrowded = () => interactive > 0 && running.length + interactive > runningMax;
  const roomMs = () => {
    if (interactive > 0) return running.length + interactive < runningMax ? 0 : Infinity;
    return Math.max(0, quietUntilMs - now());
  };
  const rest = (ms: number) => {
    quietUntilMs = Math.max(quietUntilMs, now() + ms);
  };

  const hold = (making: AbortController) => {
    held++;
    if (roomMs() <= 0) running.push(making);
    else lateBegunMs = now();
    return () => {
      held--;
      const at = running.indexOf(making);
      if (at >= 0) running.splice(at, 1);
      admit();
    };
  };

  /** Starts the work that may start now. Work that has waited for `patienceMs` goes first. */
  const admit = () => {
    clearTimeout(timer);
    while (queue.count > 0 && held < runningMax) {
      const waiting = [...queue];
      const lateAtMs = patienceMs + Math.max(lateBegunMs, Math.min(...waiting.map(({ sinceMs }) => sinceMs)));
      const ms = Math.min(roomMs(), lateAtMs - now());
      if (ms > 0) {
        timer = setTimeout(admit, Math.ceil(ms));
        return;
      }
      const next = waiting.find(({ sinceMs }) => sinceMs + patienceMs <= now()) ?? waiting[0]!;
      queue.take(next);
      next.begin(hold(next.making));
    }
  };

  const take = async (waiting: Omit<Waiting, 'begin'>, signal: AbortSignal): Promise<() => void> => {
    signal.throwIfAborted();
    const begun = Promise.withResolvers<() => void>();
    const item = { ...waiting, begin: begun.resolve };
    using _ = onAbort(signal, () => {
      queue.remove(item);
      if (queue.count === 0) clearTimeout(timer);
      begun.reject(signal.reason);
    });
    queue.add(item);
    admit();
    return await begun.promise;
  };

  return {
    /** Starts no work for `ms` milliseconds, unless the work has waited for `patienceMs`. */
    rest,
    /** Call when interactive speech begins. Returns the function to call when that speech ends. */
    enter(): () => void {
      interactive++;
      while (isCrowded() && running.length > 0) running.pop()!.abort(new Error('paused for interactive speech'));
      let hasLeft = false;
      return () => {
        if (hasLeft) return;
        hasLeft = true;
        interactive--;
        rest(quietMs);
        admit();
      };
    },
    async run<Result>(
      owner: string,
      signal: AbortSignal,
      work: (by: AbortSignal, place: Place) => Promise<Result>,
    ): Promise<Result> {
      const sinceMs = now();
      for (;;) {
        const making = new AbortController();
        let release: (() => void) | undefined = await take({ owner, sinceMs, making }, signal);
        const place: Place = {
          leave() {
            release?.();
            release = undefined;
          },
          async take() {
            release ??= await take({ owner, sinceMs: now(), making }, signal);
          },
        };
        try {
          return await work(AbortSignal.any([signal, making.signal]), place);
        } catch (error) {
          signal.throwIfAborted();
          if (!making.signal.aborted) throw error;
        } finally {
          place.leave();
        }
      }
    },
  };
}
