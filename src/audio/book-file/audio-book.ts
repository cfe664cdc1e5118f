// Types and helpers for joining the finished files of chapters into one file with metadata.
import { createHeadCutter } from '../file-head.ts';
import type { Origin } from '../origin.ts';

/** Sample counts are at the rate of the encoder: the format's `encodedRateHz`, or else the requested rate. */
export interface BookChapter {
  title: string;
  /** Number of samples that the chapter's encoder received. */
  sampleCount: number;
  /** Number of samples of silence after the chapter in the joined file. */
  gapSampleCount: number;
  /** The chapter's finished file, as the encoder of the format wrote it. May be read more than once. */
  file(): AsyncIterable<Uint8Array>;
}

export interface BookTags {
  title?: string | undefined;
  author?: string | undefined;
  narrator?: string | undefined;
  publisher?: string | undefined;
  /** A year or a date, such as "1859" or "1859-11-24". */
  date?: string | undefined;
  /** BCP-47 tag. */
  language?: string | undefined;
  cover?: BookCover | undefined;
  /** Origin to write into the file. Undefined: no origin is written. */
  origin?: Origin | undefined;
}

/** Largest cover that every format can store. */
export const coverBytesMax = 8 * 2 ** 20;

export interface BookCover {
  contentType: 'image/jpeg' | 'image/png' | 'image/webp' | 'image/gif';
  bytes: Uint8Array;
}

/** Position of a chapter in the joined file, counted from the first sample that players do not skip. */
export interface ChapterSpan {
  startSample: number;
  /** The end of the chapter's audio, before the gap. */
  endSample: number;
}

/** Where the chapters and their frames are in the joined file. */
export interface BookPlan {
  chapters: readonly ChapterSpan[];
  /** Number of samples of the complete book. */
  sampleCount: number;
  /**
   * Number of frames of each chapter and of the silence after it. In a format without frames, a frame is one sample.
   */
  frames: readonly { sound: number; silence: number }[];
  /** Length of a frame in samples. */
  frameSamples: number;
}

/** The mark of a chapter, from its start to the start of the next chapter. */
export interface ChapterMark {
  title: string;
  startSeconds: number;
  endSeconds: number;
}

export interface BookPart {
  /** Sample rate of the response. The encoder accepts samples at `rateHz`. */
  sampleRateHz: number;
  rateHz: number;
  chapters: readonly BookChapter[];
  plan: BookPlan;
  marks: readonly ChapterMark[];
  tags: BookTags;
}

export const wrongFile = (index: number, what: string): Error =>
  new Error(`The file of chapter ${index + 1} of a book ${what}; it is damaged or belongs to other audio.`);

/** Yields the audio of a chapter's file without its header. Fails if the audio does not have `byteCount` bytes. */
export async function* bytesAfterHead(
  chapter: Pick<BookChapter, 'file'>,
  { index, byteCount }: { index: number; byteCount: number },
): AsyncGenerator<Uint8Array> {
  const cut = createHeadCutter(true);
  let seen = 0;
  for await (const chunk of chapter.file()) {
    const audio = cut(chunk);
    seen += audio.length;
    if (audio.length > 0) yield audio;
  }
  if (seen !== byteCount) throw wrongFile(index, `has ${seen} bytes of audio, not ${byteCount}`);
}
