// The text of a document as it is read: headings, paragraphs and breaks, and the places that can be linked to.
import type { BookPart } from './book.ts';

export interface Block {
  kind: 'heading' | 'text' | 'break' | 'code';
  /** Of a heading, 1 to 6; else 0. */
  level: number;
  /** Words separated by one space, lines of verse and of code by a line feed. */
  text: string;
  /** The part that the markup states. */
  part?: BookPart | undefined;
  /** Whether it is a note below or beside the text. */
  isNote: boolean;
  /** Whether it stands in the main content of a page. */
  isMain: boolean;
}

export interface TextDocument {
  /** What the document calls itself. */
  title: string;
  language: string;
  /** Of `meta`, by their names in lower case. */
  meta: ReadonlyMap<string, string>;
  blocks: Block[];
  /** For each id, the number of the block that it stands in or before. */
  anchors: ReadonlyMap<string, number>;
}

/** What an empty line or a rule between scenes is written as: not spoken, but a pause. */
export const breakText = '* * *';

export const charsOf = (blocks: readonly Block[]): number => blocks.reduce((sum, { text }) => sum + text.length, 0);
