// Generates texts of any length from ordinary sentences, all different, so that nothing is cached.
import { sentences } from '../sentences.ts';

let count = 0;

/** A text of about this many characters, and never more. */
export function textOf(chars: number): string {
  const start = (count++ * 7) % sentences.length;
  let text = `Number ${count}.`;
  for (let n = start; ; n++) {
    const sentence = sentences[n % sentences.length]!;
    if (text.length + 1 + sentence.length > chars) return text;
    text += ` ${sentence}`;
  }
}

/** The chunks of one long stream. */
export const chunksOf = (count: number, chars = 5000): string[] => Array.from({ length: count }, () => textOf(chars));
