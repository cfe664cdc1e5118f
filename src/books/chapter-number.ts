// The value of a chapter's number, as digits or as a Roman numeral.
import { parseRoman } from '../text/roman.ts';

/** Undefined where it is no number. */
export function chapterNumberOf(text: string): number | undefined {
  const plain = text.replace(/[^\p{L}\p{N}]/gu, '');
  return /^\d{1,4}$/.test(plain) ? Number(plain) : parseRoman(plain.toUpperCase());
}
