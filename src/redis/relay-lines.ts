// The lines of an answer on their way: out of what has them, with a mark of how they ended, and in again at who asked.

/** What a question is answered with: a head at once, and lines as they come. */
export interface Answer {
  head: string;
  /** Throws where it is cut off. */
  lines: AsyncIterable<string>;
  /** Nobody reads on. */
  leave(): void;
}

/** Puts each line; answers the mark of how they ended. What cannot be put is thrown. */
export async function pourLines(
  lines: AsyncIterable<string>,
  putLine: (line: string) => Promise<void>,
): Promise<'e' | 'x'> {
  const source = lines[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await source.next().catch(() => undefined);
      if (!next) return 'x';
      if (next.done) return 'e';
      await putLine(next.value);
    }
  } finally {
    // Not waited for: it may be in the middle of making a line.
    source.return?.().catch(() => {});
  }
}

/** The lines taken so far and those to come; ends early where `takeLines` answers that nobody reads them. */
export async function* readLines(
  begun: string[],
  takeLines: () => Promise<[isSpoken: number, lines: string[]] | undefined>,
  rung: () => Promise<void>,
): AsyncGenerator<string> {
  let taken: Awaited<ReturnType<typeof takeLines>> = [1, begun];
  for (; taken; taken = await takeLines()) {
    let [isSpoken] = taken;
    for (const line of taken[1]) {
      if (line[0] === 'e') return;
      if (line[0] === 'x') isSpoken = 0;
      else yield line.slice(1);
    }
    if (!isSpoken) throw new Error('what was read was cut off at the replica that has it');
    await rung();
  }
}
