// Reads the finished file of a chapter in pieces, and checks that it is as long as its sound makes it: a file that is not
// would put all chapters after it in the wrong place.
import type { BookChapter } from './book.ts';

export const wrongFile = (index: number, what: string): Error =>
  new Error(`The file of chapter ${index + 1} of a book ${what}; it is damaged, or of another sound.`);

/** The bytes after the head; they must be `byteCount` where it is given. */
export async function* bytesAfter(
  chapter: Pick<BookChapter, 'file'>,
  { index, headBytes, byteCount }: { index: number; headBytes: number; byteCount?: number },
): AsyncGenerator<Uint8Array> {
  let seen = 0;
  for await (const chunk of chapter.file()) {
    const from = Math.max(0, headBytes - seen);
    seen += chunk.length;
    if (from < chunk.length) yield chunk.subarray(from);
  }
  const expected = headBytes + (byteCount ?? Math.max(0, seen - headBytes));
  if (seen !== expected) throw wrongFile(index, `has ${seen} bytes, not ${expected}`);
}

/**
 * Cuts a stream into parts, some at a time. `lengthAt` tells the length of the part that begins at an offset, and undefined
 * where more bytes are needed to tell. What is left at the end is returned.
 */
export async function* inParts(
  source: AsyncIterable<Uint8Array>,
  lengthAt: (bytes: Buffer, at: number) => number | undefined,
): AsyncGenerator<Buffer[], Buffer> {
  let rest = Buffer.alloc(0);
  for await (const chunk of source) {
    rest = Buffer.concat([rest, chunk]);
    const parts: Buffer[] = [];
    let at = 0;
    for (let length = lengthAt(rest, at); length !== undefined; length = lengthAt(rest, at)) {
      if (at + length > rest.length) break;
      parts.push(rest.subarray(at, at + length));
      at += length;
    }
    rest = rest.subarray(at);
    if (parts.length > 0) yield parts;
  }
  return rest;
}
