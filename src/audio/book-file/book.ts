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
