// Splits work on large inputs into steps. The event loop runs at most one step per turn, so other work waits for one
// step at most. Small inputs are processed at once by the same code.
import { setImmediate } from 'node:timers';

/** Work that yields wherever it may be interrupted, at least every `stepMs`. */
export type Steps<T> = Generator<void, T, void>;

const stepMs = 1;

/** Waiting work, longest wait first. */
const waiting: (() => void)[] = [];

/** Resolves in a turn of the event loop in which no other step runs. */
export const ownTurn = (): Promise<void> =>
  new Promise((resolve) => {
    waiting.push(resolve);
    if (waiting.length === 1) setImmediate(startNext);
  });

function startNext(): void {
  // A `setImmediate` within a callback of `setImmediate` runs in the next turn.
  if (waiting.length > 1) setImmediate(startNext);
  waiting.shift()!();
}

export function atOnce<T>(steps: Steps<T>): T {
  let next = steps.next();
  while (!next.done) next = steps.next();
  return next.value;
}

export async function inSteps<T>(steps: Steps<T>): Promise<T> {
  for (;;) {
    await ownTurn();
    const sinceMs = performance.now();
    const isLong = () => performance.now() - sinceMs >= stepMs;
    do {
      const { done, value } = steps.next();
      if (!done) continue;
      // The caller processes the result, which counts as one more step.
      if (isLong()) await ownTurn();
      return value;
    } while (!isLong());
  }
}
