// The contract of a book: chapters whose finished files are joined into one, and what the file says of itself.

/** All numbers of samples are at the rate of the encoder: `encodedRateHz` of the format, where it has one. */
export interface BookChapter {
  title: string;
  /** The samples that its encoder was given. */
  sampleCount: number;
  /** Silence after it in the joined file. */
  gapSampleCount: number;
  /** Its finished file, as the encoder of the format wrote it; may be read more than once. */
  file(): AsyncIterable<Uint8Array>;
}

export interface BookTags {
  title?: string | undefined;
  author?: string | undefined;
  narrator?: string | undefined;
  publisher?: string | undefined;
  /** A year or a date, such as "1859" or "1859-11-24". */
  date?: string | undefined;
  /** BCP-47. */
  language?: string | undefined;
  cover?: BookCover | undefined;
}

/** What every format has room for. */
export const coverBytesMax = 8 * 2 ** 20;

export interface BookCover {
  contentType: 'image/jpeg' | 'image/png' | 'image/webp' | 'image/gif';
  bytes: Uint8Array;
}

/** Where a chapter is in the sound of the joined file, after what players skip. */
export interface ChapterSpan {
  startSample: number;
  /** The end of its sound, before the gap. */
  endSample: number;
}

export interface BookTimeline {
  chapters: readonly ChapterSpan[];
  /** Of the whole. */
  sampleCount: number;
}

/** A chapter's mark: from its start to that of the next. */
export interface ChapterMark {
  title: string;
  startSeconds: number;
  endSeconds: number;
}

export interface BookPart {
  /** Of the response; the encoder takes its samples at `rateHz`. */
  sampleRateHz: number;
  rateHz: number;
  chapters: readonly BookChapter[];
  plan: BookPlan;
  marks: readonly ChapterMark[];
  tags: BookTags;
}

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

export interface BookPlan extends BookTimeline {
  /** The frames of each chapter, and those of silence after it; a frame is one sample where the format has none. */
  frames: readonly { sound: number; silence: number }[];
  /** In samples. */
  frameSamples: number;
}
