// The text of a document as blocks (headings, paragraphs and breaks), and the targets of its links.
import type { BookPart } from './book.ts';

export interface Block {
  kind: 'heading' | 'text' | 'break' | 'code';
  /** Level of a heading, 1 to 6; otherwise 0. */
  level: number;
  /** Words separated by one space; lines of verse and code are separated by a line feed. */
  text: string;
  /** The part of the book that the markup states. */
  part?: BookPart | undefined;
  /** Whether the block is part of a footnote or a side note. */
  isNote: boolean;
  /** Whether the block is in the main content of a page. */
  isMain: boolean;
}

export interface TextDocument {
  /** Title stated in the document. */
  title: string;
  language: string;
  /** Contents of `meta` elements by lower-case name. */
  meta: ReadonlyMap<string, string>;
  blocks: Block[];
  /** For each id, the number of the block that contains or follows it. */
  anchors: ReadonlyMap<string, number>;
}

/** Text of a break between scenes, such as an empty line or a rule. It is a pause and is not spoken. */
export const breakText = '* * *';

export const charsOf = (blocks: readonly Block[]): number => blocks.reduce((sum, { text }) => sum + text.length, 0);
