// A piece: the smallest stretch of speech, normally one word of the source, that is never divided while it fits a
// cut; and how good a place to breathe comes after it.

/** How good a place for a breath is, from bad (between "the" and its noun) to best. */
export const breath = Object.freeze({ cling: 0, word: 1, phrase: 2, clause: 3, sentence: 4, paragraph: 5 });

export interface Piece {
  /** What is spoken: words and the punctuation that colours them. */
  say: string;
  /** The source that it stands for, as UTF-16 indices; trimmed of the punctuation around it. */
  from: number;
  to: number;
  /** Whether it follows the piece before without a space, as words of Chinese or Thai do. */
  glued: boolean;
  /** The breath after it. */
  breath: number;
}
