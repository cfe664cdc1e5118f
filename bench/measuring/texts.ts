// Builds texts from the forty sentences: prose of any length, in paragraphs of eight sentences.
import { sentences } from '../../test/sentences.ts';

const paragraphSentences = 8;

/** Returns as many complete words as fit into `chars` characters, beginning with sentence `start`. */
export function passage(chars: number, start = 0): string {
  let text = '';
  for (let n = 0; text.length < chars; n++) {
    if (n > 0) text += n % paragraphSentences === 0 ? '\n\n' : ' ';
    text += sentences[(start + n) % sentences.length];
  }
  return `${text.slice(0, text.lastIndexOf(' ', chars - 1)).replace(/\W+$/, '')}.`;
}

/** A short text that differs for each number. */
export const shortText = (n: number): string => `${n}: ${sentences[n % sentences.length]}`;
