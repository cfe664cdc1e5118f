// A sign: a character of English text that is neither a letter nor a digit, with its context, and how it is read: as a
// word, as punctuation after the word before, as punctuation before the word after, or as a separator of the two.
import { charBefore, type Place } from '../rule.ts';

export interface Sign extends Place {
  char: string;
  /** How often it is repeated, and the end of the run. */
  repeats: number;
  end: number;
  /** Its neighbours; a space where there are none. */
  before: string;
  after: string;
}

export interface SignReading {
  kind: 'said' | 'mark' | 'open' | 'join';
  say: string;
  length: number;
}

export function signAt(place: Place): Sign {
  const { text, at } = place;
  const char = String.fromCodePoint(text.codePointAt(at)!);
  let end = at + char.length;
  while (text.startsWith(char, end)) end += char.length;
  return { ...place, char, repeats: (end - at) / char.length, end, before: charBefore(place), after: text[end] ?? ' ' };
}

export const isLetterOrDigit = (char: string): boolean => /[\p{L}\p{N}]/u.test(char);

const lengthOf = ({ at, end }: Sign): number => end - at;

export const said = (sign: Sign, say: string, length = lengthOf(sign)): SignReading => ({ kind: 'said', say, length });
export const marked = (sign: Sign, say: string): SignReading => ({ kind: 'mark', say, length: lengthOf(sign) });
export const opens = (sign: Sign, say: string): SignReading => ({ kind: 'open', say, length: lengthOf(sign) });
export const joins = (sign: Sign, say: string): SignReading => ({ kind: 'join', say, length: lengthOf(sign) });
/** Not read; separates the words on both sides. */
export const silent = (sign: Sign, length = lengthOf(sign)): SignReading => ({ kind: 'open', say: '', length });
