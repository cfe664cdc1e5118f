// A sign: what stands in English text and is neither a letter nor a digit, with what is around it, and how it is read:
// said as a word, heard as a mark after the word before, opening the word after, or joining the two.
import { charBefore, type Place } from '../rule.ts';

export interface Sign extends Place {
  char: string;
  /** How often it is repeated, and where that ends. */
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
/** Nothing is said; the words on its sides are two words. */
export const silent = (sign: Sign, length = lengthOf(sign)): SignReading => ({ kind: 'open', say: '', length });
