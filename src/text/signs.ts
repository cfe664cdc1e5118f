// Signs: characters that are neither letters nor digits, with their context and how they are read: as a word, as
// punctuation after the previous word or before the next one, or as a separator.
import { charBefore, type Place } from './rule.ts';

export interface Sign extends Place {
  char: string;
  /** Number of repetitions, and the end of the run. */
  repeats: number;
  end: number;
  /** The neighbouring characters, or spaces if there are none. */
  before: string;
  after: string;
}

export interface SignReading {
  /** The method of Verbalization that receives the sign. */
  kind: 'word' | 'mark' | 'open' | 'join';
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

const toReading =
  (kind: SignReading['kind']) =>
  ({ at, end }: Sign, say: string, length = end - at): SignReading => ({ kind, say, length });

export const said = toReading('word');
export const marked = toReading('mark');
export const opens = toReading('open');
export const joins = toReading('join');
/** A sign that is not read, but separates the words on both sides. */
export const silent = (sign: Sign, length?: number): SignReading => opens(sign, '', length);
