// A book: its metadata, and its chapters in reading order as plain text, in which an empty line ends a paragraph.

/** Front matter, the text itself, its notes, and back matter such as an index or a colophon. */
export type BookPart = 'front' | 'body' | 'notes' | 'back';

export const bookParts: readonly BookPart[] = ['front', 'body', 'notes', 'back'];

export interface BookChapter {
  title: string;
  /** The text of the chapter. It begins with the heading as printed. */
  text: string;
  part: BookPart;
  /** Level of the chapter's heading, 1 to 6; absent if the chapter has no heading of its own. */
  headingLevel?: number;
}

export interface BookCover {
  contentType: string;
  bytes: Uint8Array;
}

/** Further metadata of a book, one line each. */
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
  /** The author, or several separated by commas; empty if none is stated. */
  author: string;
  /** The language tag in canonical form; empty if none is stated. */
  language: string;
  cover?: BookCover;
  metadata: BookMetadata;
  chapters: BookChapter[];
  /** Sentences about content that was left out, or that was not read as the book states. */
  warnings: string[];
}

export type BookKind = 'text' | 'markdown' | 'html' | 'epub';
