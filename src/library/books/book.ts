// A book: its metadata, and its chapters as plain text in reading order. An empty line ends a paragraph.

/** Parts of a book: front matter, main text, notes, and back matter such as an index or a colophon. */
export type BookPart = 'front' | 'body' | 'notes' | 'back';

export const bookParts: readonly BookPart[] = ['front', 'body', 'notes', 'back'];

export interface BookChapter {
  title: string;
  /** The text of the chapter, which begins with the printed heading. */
  text: string;
  part: BookPart;
  /** Level of the chapter's heading, 1 to 6; absent if the chapter has no heading. */
  headingLevel?: number;
}

export interface BookCover {
  contentType: string;
  bytes: Uint8Array;
}

/** Further metadata of a book. Each value is a single line. */
export interface BookMetadata {
  publisher?: string;
  date?: string;
  description?: string;
  identifier?: string;
  rights?: string;
  series?: string;
}

export interface Book {
  title: string;
  /** The author, or several authors separated by commas; empty if the book states none. */
  author: string;
  /** The language tag in canonical form; empty if the book states none. */
  language: string;
  cover?: BookCover;
  metadata: BookMetadata;
  chapters: BookChapter[];
  /** Warnings about content that was left out, or that was read differently from the book's own structure. */
  warnings: string[];
}

export type BookKind = 'text' | 'markdown' | 'html' | 'epub';

// A fault in a book: a stable reason, and a message for the person who provided the book. The message is a predicate
// that follows the words "The book".

export type BookFaultReason =
  | 'empty'
  | 'encrypted'
  | 'damaged'
  | 'format'
  | 'too_large'
  | 'too_deep'
  | 'too_slow'
  | 'unreadable';

export class BookFault extends Error {
  readonly reason: BookFaultReason;

  constructor(reason: BookFaultReason, message: string) {
    super(message);
    this.reason = reason;
  }
}

// Limits on books. A book of a million words has six million characters, which compress to about 4 MB. Pictures other
// than the cover are not read.

/** Maximum size of a book file. */
export const bookBytesMax = 64 << 20;
/** For an EPUB: unpacked size of one file, unpacked size of all files that are read, and number of files. */
export const bookFileBytesMax = 32 << 20;
export const bookUnpackedBytesMax = 192 << 20;
export const bookFilesMax = 20_000;
/**
 * Maximum compression ratio of all but small files. Prose compresses to a quarter, a table that repeats one word to a
 * fiftieth, and a zip bomb to a thousandth.
 */
export const packingRatioMax = 200;
export const unratedFileBytes = 1 << 20;
export const coverBytesMax = 8 << 20;
/** Maximum number of characters of all chapters together. */
export const bookCharsMax = 20_000_000;
export const bookChaptersMax = 2_000;
/** Maximum length of a title and of other metadata. */
export const titleCharsMax = 300;
export const metadataCharsMax = 4_000;
/** Maximum nesting depth of markup. */
export const elementDepthMax = 1_000;
export const packageElementsMax = 200_000;
/**
 * Limits on the process that reads a book: CPU time, and heap in addition to 100 MB for the program. They suffice for
 * 20 MB of Markdown.
 */
export const readingCpuSecondsMax = 5;
export const readingMegabytesMax = 128;
