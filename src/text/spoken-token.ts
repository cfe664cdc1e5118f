// A spoken token: the words that one token of the source is read as, and the strength of the break after it. Tokens are
// the units that text is split between; one is split only if it alone is longer than a segment.

import type { PhonemeRange } from './flat-text.ts';

/** Strength of the prosodic break after a token, from none (between "the" and its noun) to the strongest. */
export const breakStrength = Object.freeze({ cling: 0, word: 1, phrase: 2, clause: 3, sentence: 4, paragraph: 5 });

export interface SpokenToken {
  /** Words to speak, with the punctuation that shapes their intonation. */
  say: string;
  /** UTF-16 range of its source, without the punctuation around it. */
  from: number;
  to: number;
  /** Whether no space separates it from the token before, as in Chinese or Thai. */
  glued: boolean;
  /** A value of `breakStrength`. */
  breakAfter: number;
  /** Ranges of `say` that are pronounced as stated. */
  phonemes?: readonly PhonemeRange[];
}
