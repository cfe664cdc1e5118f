// Work on large inputs in steps: a step at most, of all work that there is, runs in a turn of the event loop, so that
// whatever else the process does waits no longer than for one. Small inputs are worked on at once by the same code.
import { setImmediate } from 'node:timers';

/** Yields where it may be interrupted: at least once in `stepMs`. */
export type Steps<T> = Generator<void, T, void>;

const stepMs = 1;

/** Whoever has waited longest is first. */
const waiting: (() => void)[] = [];

/** Resolves in a turn of the event loop in which no other step runs. */
export const ownTurn = (): Promise<void> =>
  new Promise((resolve) => {
    waiting.push(resolve);
    if (waiting.length === 1) setImmediate(startNext);
  });

function startNext(): void {
  // An immediate that an immediate sets runs in the next turn.
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
      // What is done with it is a step of its own.
      if (isLong()) await ownTurn();
      return value;
    } while (!isLong());
  }
}
