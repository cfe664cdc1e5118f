// Texts to speak, made of the forty sentences: prose of any length, with a paragraph here and there.
import { sentences } from '../../test/sentences.ts';

const paragraphSentences = 8;

/** As many whole words as go into `chars` characters, from another sentence on for each `start`. */
export function passage(chars: number, start = 0): string {
  let text = '';
  for (let n = 0; text.length < chars; n++) {
    if (n > 0) text += n % paragraphSentences === 0 ? '\n\n' : ' ';
    text += sentences[(start + n) % sentences.length];
  }
  return `${text.slice(0, text.lastIndexOf(' ', chars - 1)).replace(/\W+$/, '')}.`;
}

/** A short text unlike that of any other number. */
export const shortText = (n: number): string => `${n}: ${sentences[n % sentences.length]}`;
