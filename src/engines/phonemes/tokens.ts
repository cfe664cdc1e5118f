// The words and signs of a text, with the ranges whose phonemes are given.
import type { PhonemeRange } from '../../text.ts';

/** A word or a punctuation mark: its range in the text (UTF-16) and its phonemes. */
export interface PhonemeWord {
  start: number;
  end: number;
  phonemes: string;
}

/** A word or a sign of a text, or a range of it whose phonemes are given. */
export interface Token {
  start: number;
  end: number;
  text: string;
  given?: string;
}

export function readTokens(text: string, pattern: RegExp, given: readonly PhonemeRange[] = []): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  for (const { from, to, phonemes } of [...given, { from: text.length, to: text.length, phonemes: undefined }]) {
    for (const { 0: found, index } of text.slice(at, from).matchAll(pattern))
      tokens.push({ start: at + index, end: at + index + found.length, text: found });
    if (phonemes !== undefined) tokens.push({ start: from, end: to, text: text.slice(from, to), given: phonemes });
    at = to;
  }
  return tokens;
}
