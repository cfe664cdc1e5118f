// Those who wait for a place that is given back elsewhere too: of all who wait here for one of the same owner's, the
// first asks for it, again and again, and at once when one is given back here; the others wait behind.
import { slotWaitMs } from './limiter.ts';

export interface SlotQueue<Answer> {
  /** Whether anybody waits. */
  isEmpty(owner: string): boolean;
  /** What `ask` gets that is not undefined, or undefined where the wait is over. Rejects when the signal aborts. */
  wait(owner: string, signal: AbortSignal, ask: () => Promise<Answer | undefined>): Promise<Answer | undefined>;
  /** A place was given back here. */
  wake(owner: string): void;
}

interface Waiter<Answer> {
  ask(): Promise<Answer | undefined>;
  settle(answer: Promise<Answer | undefined>): void;
  /** What ended the wait while its question was under way. */
  over: Promise<undefined> | undefined;
}

interface Line<Answer> {
  waiting: Waiter<Answer>[];
  /** Who is first asks now. */
  asking: Waiter<Answer> | undefined;
  isWoken: boolean;
  endPause(): void;
}

const askEveryMs = 20;

export function createSlotQueue<Answer>(): SlotQueue<Answer> {
  const lines = new Map<string, Line<Answer>>();

  const pause = (line: Line<Answer>) =>
    new Promise<void>((resolve) => {
      if (line.isWoken) return resolve();
      const timer = setTimeout(resolve, askEveryMs);
      line.endPause = () => {
        clearTimeout(timer);
        resolve();
      };
    });

  const walk = async (owner: string, line: Line<Answer>) => {
    let hasAnswer = false;
    while (line.waiting.length > 0) {
      if (!hasAnswer) await pause(line);
      line.isWoken = false;
      const [first] = line.waiting;
      if (!first) break;
      line.asking = first;
      const answer = first.ask();
      const outcome = await answer.catch(() => null);
      line.asking = undefined;
      hasAnswer = outcome !== undefined;
      if (hasAnswer || first.over) {
        line.waiting.splice(line.waiting.indexOf(first), 1);
        first.settle(hasAnswer ? answer : first.over!);
      }
    }
    lines.delete(owner);
  };

  const lineOf = (owner: string, waiter: Waiter<Answer>): Line<Answer> => {
    const known = lines.get(owner);
    if (known) {
      known.waiting.push(waiter);
      return known;
    }
    const line: Line<Answer> = { waiting: [waiter], asking: undefined, isWoken: false, endPause() {} };
    lines.set(owner, line);
    void walk(owner, line);
    return line;
  };

  return {
    isEmpty: (owner) => !lines.get(owner)?.waiting.length,
    wait(owner, signal, ask) {
      if (signal.aborted) return Promise.reject(signal.reason);
      return new Promise((resolve) => {
        const leave = (over: Promise<undefined>) => {
          // What is under way may still bring a place.
          waiter.over ??= over;
          over.catch(() => {});
          if (line.asking === waiter) return;
          const at = line.waiting.indexOf(waiter);
          if (at < 0) return;
          line.waiting.splice(at, 1);
          waiter.settle(over);
        };
        const abort = () => leave(Promise.reject(signal.reason));
        const timer = setTimeout(() => leave(Promise.resolve(undefined)), slotWaitMs);
        const waiter: Waiter<Answer> = {
          ask,
          over: undefined,
          settle(answer) {
            clearTimeout(timer);
            signal.removeEventListener('abort', abort);
            resolve(answer);
          },
        };
        signal.addEventListener('abort', abort, { once: true });
        const line = lineOf(owner, waiter);
      });
    },
    wake(owner) {
      const line = lines.get(owner);
      if (!line) return;
      line.isWoken = true;
      line.endPause();
    },
  };
}
