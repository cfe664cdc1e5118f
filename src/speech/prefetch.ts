// Starts the next segments of a request, up to a limit, while the current segment is read, and yields them in order. A
// segment starts only when the reader reads, so a reader that stops also stops the engine. For a slow reader (pace.ts),
// prefetched segments are dropped and spoken again later, because buffered audio is large.
import { type Pace, slowMs } from '../platform/pace.ts';

export interface Begun<Cut, Piece> {
  cut: Cut;
  pieces: AsyncIterable<Piece>;
}

/** A source of cuts, synchronous or asynchronous. */
export interface CutSource<Cut> {
  next(): IteratorResult<Cut, undefined> | Promise<IteratorResult<Cut, undefined>>;
  return?(value: undefined): unknown;
}

/** Shared by all calls, because creating an error captures a stack trace, which is slow. */
const unwanted = new Error('nobody waits for it');

interface Entry<Cut, Piece> {
  cut: Cut;
  /** The speech of the cut; undefined before it starts and after it was dropped. */
  speech: Speech<Piece> | undefined;
}

interface Speech<Piece> {
  next(): Promise<IteratorResult<Piece>>;
  end(): void;
}

/**
 * Yields each cut with the pieces of its audio, in order. Starts at most `atOnce` unfinished cuts. If the reader
 * returns early, the source of cuts and all started speech are stopped.
 */
export async function* prefetch<Cut, Piece>(
  cuts: CutSource<Cut>,
  speak: (cut: Cut, signal: AbortSignal) => AsyncIterable<Piece>,
  atOnce: number,
  pace?: Pace | undefined,
): AsyncGenerator<Begun<Cut, Piece>> {
  const queue: Entry<Cut, Piece>[] = [];
  let begunMax = atOnce;
  let hasLeft = false;
  const begin = (cut: Cut) => {
    const leaving = new AbortController();
    return beginNow(speak(cut, leaving.signal), () => leaving.abort(unwanted));
  };
  const add = (cut: Cut) => {
    if (!hasLeft) queue.push({ cut, speech: begin(cut) });
  };
  const pull = pullCuts(cuts, () => !hasLeft && queue.length < begunMax, add);
  const dropPrefetched = () => {
    begunMax = 1;
    for (const entry of queue.slice(1)) {
      entry.speech?.end();
      entry.speech = undefined;
    }
  };
  const unwatch = pace?.after(slowMs, dropPrefetched);
  try {
    for (;;) {
      pull.fill();
      const [first] = queue;
      if (!first) {
        if (pull.isOver()) return;
        await pull.next();
        continue;
      }
      first.speech ??= begin(first.cut);
      const { next } = first.speech;
      yield { cut: first.cut, pieces: { [Symbol.asyncIterator]: () => ({ next }) } };
      queue.shift();
    }
  } finally {
    hasLeft = true;
    unwatch?.();
    for (const { speech } of queue) speech?.end();
    endCuts(cuts);
  }
}

/** Closes the source without waiting, because an asynchronous source first completes its pending cut. */
function endCuts<Cut>(cuts: CutSource<Cut>): void {
  const ended = cuts.return?.(undefined);
  if (ended instanceof Promise) ended.catch(() => {});
}

/** Pulls cuts while there is room, one at a time if the source is asynchronous. */
function pullCuts<Cut>(cuts: CutSource<Cut>, hasRoom: () => boolean, add: (cut: Cut) => void) {
  /** Set while a cut is awaited. */
  let awaited: Promise<void> | undefined;
  /** Set when the source has ended; contains `error` if the source failed. */
  let over: { error?: unknown } | undefined;
  const take = ({ done, value }: IteratorResult<Cut, undefined>) => {
    if (done) over = {};
    else add(value);
  };
  const fail = (error: unknown) => {
    over = { error };
  };
  const fill = () => {
    while (!over && !awaited && hasRoom()) {
      const next = cuts.next();
      if (!('then' in next)) take(next);
      else {
        awaited = next
          .then(take)
          .catch(fail)
          .then(() => {
            awaited = undefined;
            fill();
          });
      }
    }
  };
  return {
    fill,
    next: () => awaited,
    /** Whether the source has ended. Throws if the source has failed. */
    isOver(): boolean {
      if (over && 'error' in over) throw over.error;
      return over !== undefined;
    },
  };
}

/** Pulls the first piece at once; further pieces are pulled by the reader. The reader receives any failure. */
function beginNow<Piece>(source: AsyncIterable<Piece>, abort: () => void): Speech<Piece> {
  const iterator = source[Symbol.asyncIterator]();
  let first: Promise<IteratorResult<Piece>> | undefined = iterator.next();
  first.catch(() => {});
  const next = () => {
    const result = first ?? iterator.next();
    first = undefined;
    return result;
  };
  // `return` alone is too late: a generator that awaits its first piece handles `return` only afterwards.
  const end = () => {
    abort();
    iterator.return?.()?.catch(() => {});
  };
  return { next, end };
}
