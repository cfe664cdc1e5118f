// Speaking ahead: the next segments of a request are begun while the present one is read, so many at once and no more,
// and leave in their order. A reader that stops, stops the engine: nothing is begun but by a pull. For one that is slow
// nothing is made ahead any more, and what was is let go, to be spoken when its turn comes: sound that waits is large.

export interface Begun<Cut, Piece> {
  cut: Cut;
  pieces: AsyncIterable<Piece>;
}

/** A reader is slow who leaves a piece untaken for so long. */
const slowAfterMs = 2000;

interface Place<Cut, Piece> {
  cut: Cut;
  /** Undefined while it is not begun. */
  speech: Speech<Piece> | undefined;
}

interface Speech<Piece> {
  next(): Promise<IteratorResult<Piece>>;
  end(): void;
}

/**
 * Yields each cut with the pieces of its sound, in order. Begins at most `atOnce` cuts that are not read to their end.
 * When the reader returns early, what was begun is told to end.
 */
export async function* prefetch<Cut, Piece>(
  cuts: Iterator<Cut>,
  speak: (cut: Cut, signal: AbortSignal) => AsyncIterable<Piece>,
  atOnce: number,
): AsyncGenerator<Begun<Cut, Piece>> {
  const line: Place<Cut, Piece>[] = [];
  let ahead = atOnce;
  const begin = (cut: Cut) => {
    const leaving = new AbortController();
    return beginNow(speak(cut, leaving.signal), () => leaving.abort(new Error('nobody waits for it')));
  };
  const fill = () => {
    while (line.length < ahead) {
      const { done, value } = cuts.next();
      if (done) return;
      line.push({ cut: value, speech: begin(value) });
    }
  };
  const letGo = () => {
    ahead = 1;
    for (const place of line.slice(1)) {
      place.speech?.end();
      place.speech = undefined;
    }
  };
  let untaken: NodeJS.Timeout | undefined;
  const watched = (speech: Speech<Piece>) => async () => {
    clearTimeout(untaken);
    const result = await speech.next();
    untaken = setTimeout(letGo, slowAfterMs).unref();
    return result;
  };
  try {
    for (;;) {
      fill();
      const [first] = line;
      if (!first) return;
      first.speech ??= begin(first.cut);
      const next = watched(first.speech);
      yield { cut: first.cut, pieces: { [Symbol.asyncIterator]: () => ({ next }) } };
      line.shift();
    }
  } finally {
    clearTimeout(untaken);
    for (const { speech } of line) speech?.end();
  }
}

/** Pulls the first piece now; the rest follow as they are read. A failure waits for the reader. */
function beginNow<Piece>(source: AsyncIterable<Piece>, callOff: () => void): Speech<Piece> {
  const iterator = source[Symbol.asyncIterator]();
  let first: Promise<IteratorResult<Piece>> | undefined = iterator.next();
  first.catch(() => {});
  const next = () => {
    const result = first ?? iterator.next();
    first = undefined;
    return result;
  };
  // One that waits for its first piece would hear of its end only when it is there.
  const end = () => {
    callOff();
    iterator.return?.()?.catch(() => {});
  };
  return { next, end };
}
