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
