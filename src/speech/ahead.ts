// Speaking ahead: the next segments of a request are begun while the present one is read, so many at once and no more,
// and leave in their order. A reader that stops, stops the engine: nothing is begun but by a pull.

export interface Begun<Cut, Piece> {
  cut: Cut;
  pieces: AsyncIterable<Piece>;
}

/**
 * Yields each cut with the pieces of its sound, in order. Begins at most `atOnce` cuts that are not read to their end.
 * When the reader returns early, what was begun is told to end.
 */
export async function* speakAhead<Cut, Piece>(
  cuts: Iterator<Cut>,
  speak: (cut: Cut) => AsyncIterable<Piece>,
  atOnce: number,
): AsyncGenerator<Begun<Cut, Piece>> {
  const begun: (Begun<Cut, Piece> & { end(): void })[] = [];
  const begin = () => {
    const next = cuts.next();
    if (next.done) return false;
    begun.push({ cut: next.value, ...beginNow(speak(next.value)) });
    return true;
  };
  try {
    for (;;) {
      while (begun.length < atOnce && begin());
      const [first] = begun;
      if (!first) return;
      yield first;
      begun.shift();
    }
  } finally {
    for (const { end } of begun) end();
  }
}

/** Pulls the first piece now; the rest follow as they are read. A failure waits for the reader. */
function beginNow<Piece>(source: AsyncIterable<Piece>): { pieces: AsyncIterable<Piece>; end(): void } {
  const iterator = source[Symbol.asyncIterator]();
  let first: Promise<IteratorResult<Piece>> | undefined = iterator.next();
  first.catch(() => {});
  const next = () => {
    const result = first ?? iterator.next();
    first = undefined;
    return result;
  };
  const end = () => void iterator.return?.()?.catch(() => {});
  return { end, pieces: { [Symbol.asyncIterator]: () => ({ next }) } };
}
