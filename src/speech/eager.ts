// Reads a source as fast as it gives, whoever reads on: so that what the source holds, such as a turn at an engine, is
// given back when it has said all, and not when a slow reader has heard it. To be used for what is small enough to wait.

export async function* eagerly<Piece>(source: AsyncIterable<Piece>, whenOver: () => void): AsyncGenerator<Piece> {
  const pieces: Piece[] = [];
  let ended: { error?: unknown } | undefined;
  let hasLeft = false;
  let wake = () => {};
  const pump = async () => {
    try {
      for await (const piece of source) {
        if (hasLeft) break;
        pieces.push(piece);
        wake();
      }
      ended = {};
    } catch (error) {
      ended = { error };
    } finally {
      whenOver();
      wake();
    }
  };
  void pump();
  try {
    for (;;) {
      const piece = pieces.shift();
      if (piece !== undefined) yield piece;
      else if (!ended) await new Promise<void>((resolve) => (wake = resolve));
      else if ('error' in ended) throw ended.error;
      else return;
    }
  } finally {
    hasLeft = true;
  }
}
