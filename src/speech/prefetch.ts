// Begins the next segments of a request while the present one is read, a limited number at once, and yields them in order.
// Segments are begun by reads only, so that a reader that stops, stops the engine. For a slow reader nothing is prefetched
// any more, and what was is dropped, to be spoken when its turn comes: buffered sound is large.

export interface Begun<Cut, Piece> {
  cut: Cut;
  pieces: AsyncIterable<Piece>;
}

/** Where cuts come from: at once, or later. */
export interface CutSource<Cut> {
  next(): IteratorResult<Cut, undefined> | Promise<IteratorResult<Cut, undefined>>;
  return?(value: undefined): unknown;
}

/** A reader that takes no piece for so long is slow. */
const slowAfterMs = 2000;
/** Shared error object: creating one per call would capture a stack trace. */
const unwanted = new Error('nobody waits for it');

interface Entry<Cut, Piece> {
  cut: Cut;
  /** Undefined until it is begun. */
  speech: Speech<Piece> | undefined;
}

interface Speech<Piece> {
  next(): Promise<IteratorResult<Piece>>;
  end(): void;
}

/**
 * Yields each cut with the pieces of its sound, in order. Begins at most `atOnce` cuts that are not read to their end.
 * When the reader returns early, what was begun is ended, and so are the cuts: none is taken any more.
 */
export async function* prefetch<Cut, Piece>(
  cuts: CutSource<Cut>,
  speak: (cut: Cut, signal: AbortSignal) => AsyncIterable<Piece>,
  atOnce: number,
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
  let untaken: NodeJS.Timeout | undefined;
  let isReading = false;
  const taken = (result: IteratorResult<Piece>) => {
    isReading = false;
    // One timer for all pieces: it starts again with each.
    untaken = untaken?.refresh() ?? setTimeout(() => isReading || dropPrefetched(), slowAfterMs).unref();
    return result;
  };
  const watched = (speech: Speech<Piece>) => () => {
    isReading = true;
    return speech.next().then(taken);
  };
  try {
    for (;;) {
      pull.fill();
      const [first] = queue;
      if (!first) {
        if (pull.isOver()) return;
        isReading = true;
        await pull.next();
        continue;
      }
      first.speech ??= begin(first.cut);
      const next = watched(first.speech);
      yield { cut: first.cut, pieces: { [Symbol.asyncIterator]: () => ({ next }) } };
      queue.shift();
    }
  } finally {
    hasLeft = true;
    clearTimeout(untaken);
    for (const { speech } of queue) speech?.end();
    endCuts(cuts);
  }
}

/** Not awaited: cuts that come later end only when the one that is awaited has come. What fails then concerns nobody. */
function endCuts<Cut>(cuts: CutSource<Cut>): void {
  const ended = cuts.return?.(undefined);
  if (ended instanceof Promise) ended.catch(() => {});
}

/** Adds cuts while there is room, one after the other where they come later. */
function pullCuts<Cut>(cuts: CutSource<Cut>, hasRoom: () => boolean, add: (cut: Cut) => void) {
  /** Set while a cut is awaited. */
  let awaited: Promise<void> | undefined;
  /** Set where there are no more cuts, with the reason if that is a failure. */
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
    /** Throws where the cuts have ended with a failure. */
    isOver(): boolean {
      if (over && 'error' in over) throw over.error;
      return over !== undefined;
    },
  };
}

/** Pulls the first piece now; the rest follow as they are read. A failure waits for the reader. */
function beginNow<Piece>(source: AsyncIterable<Piece>, abort: () => void): Speech<Piece> {
  const iterator = source[Symbol.asyncIterator]();
  let first: Promise<IteratorResult<Piece>> | undefined = iterator.next();
  first.catch(() => {});
  const next = () => {
    const result = first ?? iterator.next();
    first = undefined;
    return result;
  };
  // A generator that waits for its first piece would notice `return` only when the piece arrives.
  const end = () => {
    abort();
    iterator.return?.()?.catch(() => {});
  };
  return { next, end };
}
