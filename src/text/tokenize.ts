// Splits clean text into tokens at spaces. In scripts without spaces, splits between words (Intl.Segmenter). Numbers,
// addresses and abbreviations stay whole.

import type { PhonemeRange } from './flat-text.ts';

export interface Token {
  /** Range in the clean text. */
  from: number;
  to: number;
  /** Whether the token follows the previous token without a space. */
  glued: boolean;
  /** A value of `breakStrength`, set by `markBreaks`. */
  breakAfter: number;
}

const runPattern = /[^ \n]+/g;
const unspacedPattern =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\p{Script=Tibetan}\p{Script=Yi}]/u;
const openingPattern = /^[\p{Ps}\p{Pi}'"]+$/u;
const asciiPattern = /^[!-~]+$/;
/** A dash or an ellipsis between two words separates them like a space. */
const divisionPattern = /(?:[—―]|-{2,3}|\.{3}|…)(?=["'“‘«(]?\p{L})/gu;

export function tokenize(text: string, languageCode: string): Token[] {
  const tokens: Token[] = [];
  const unspaced = unspacedPattern.test(text);
  for (const { 0: run, index } of text.matchAll(runPattern)) {
    const first = tokens.length;
    if (unspaced && unspacedPattern.test(run)) pushWords(tokens, run, index, languageCode);
    else pushDivided(tokens, run, index);
    if (tokens.length > first) tokens[first]!.glued = false;
  }
  return tokens;
}

const push = (tokens: Token[], from: number, to: number) =>
  tokens.push({ from, to, glued: true, breakAfter: breakStrength.word });

function pushDivided(tokens: Token[], run: string, at: number): void {
  let from = 0;
  if (run.length > 3 && !run.includes('://')) {
    for (const { 0: sign, index } of run.matchAll(divisionPattern)) {
      if (index === from) continue;
      push(tokens, at + from, at + index + sign.length);
      from = index + sign.length;
    }
  }
  push(tokens, at + from, at + run.length);
}

function pushWords(tokens: Token[], run: string, at: number, languageCode: string): void {
  let from = 0;
  let to = 0;
  let ascii = false;
  for (const { segment, index, isWordLike } of segmenterFor(languageCode, 'word').segment(run)) {
    const plain = asciiPattern.test(segment);
    const opens = openingPattern.test(segment);
    // Punctuation joins the previous word, and an opening bracket joins the next word. A run of ASCII, such as an
    // address, stays whole.
    const starts = (isWordLike || opens) && !(plain && ascii) && !openingPattern.test(run.slice(from, index));
    if (starts && index > from) {
      push(tokens, at + from, at + index);
      from = index;
    }
    to = index + segment.length;
    ascii = plain;
  }
  if (to > from) push(tokens, at + from, at + to);
}

/** Strength of the prosodic break after a token. `cling` means no break, as between "the" and its noun. */
export const breakStrength = Object.freeze({ cling: 0, word: 1, phrase: 2, clause: 3, sentence: 4, paragraph: 5 });

export interface SpokenToken {
  /** Words to speak, with the punctuation that shapes their intonation. */
  say: string;
  /** UTF-16 range in the source, without surrounding punctuation. */
  from: number;
  to: number;
  /** Whether the token follows the previous token without a space, as in Chinese or Thai. */
  glued: boolean;
  /** A value of `breakStrength`. */
  breakAfter: number;
  /** Ranges of `say` with stated phonemes. */
  phonemes?: readonly PhonemeRange[];
}

const segmenters = new Map<string, Intl.Segmenter>();
/** Maximum number of cached `Intl.Segmenter` objects, because callers may send any language code. */
const segmentersMax = 200;

export function segmenterFor(languageCode: string, granularity: 'word' | 'sentence'): Intl.Segmenter {
  const key = `${granularity} ${languageCode}`;
  let segmenter = segmenters.get(key);
  if (!segmenter) {
    segmenter = new Intl.Segmenter(languageCode, { granularity });
    if (segmenters.size >= segmentersMax) segmenters.clear();
    segmenters.set(key, segmenter);
  }
  return segmenter;
}
