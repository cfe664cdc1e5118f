// A book as it was read: what is known of it, and its chapters in reading order, as plain text in which an empty line ends
// a paragraph.

/** Front matter, what is told, its notes, and what follows: an index, a colophon. */
export type BookPart = 'front' | 'body' | 'notes' | 'back';

export const bookParts: readonly BookPart[] = ['front', 'body', 'notes', 'back'];

export interface BookChapter {
  title: string;
  /** Begins with its heading, as printed. */
  text: string;
  part: BookPart;
  /** 1 to 6; absent where it has no heading of its own. */
  headingLevel?: number;
}

export interface BookCover {
  contentType: string;
  bytes: Uint8Array;
}

/** What else a book states of itself, each in one line. */
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
  /** Several are separated by commas; empty where none is stated. */
  author: string;
  /** In canonical form; empty where none is stated. */
  language: string;
  cover?: BookCover;
  metadata: BookMetadata;
  chapters: BookChapter[];
  /** What was left out or read otherwise than stated, a sentence each. */
  warnings: string[];
}

export type BookKind = 'text' | 'markdown' | 'html' | 'epub';
