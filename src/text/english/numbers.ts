// Numbers in English words, as plain functions of strings of ASCII digits: cardinals to the quintillions (beyond, digit
// by digit), ordinals, decimals, years, digits in groups. Words are separated by spaces, never hyphens.

import { wordTable } from '../word-table.ts';

const ones =
  'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen'.split(
    ' ',
  );
const tens = ['', '', 'twenty', 'thirty', 'forty', 'fifty', 'sixty', 'seventy', 'eighty', 'ninety'];
const scales = ['', 'thousand', 'million', 'billion', 'trillion', 'quadrillion', 'quintillion'];
const irregularOrdinals = wordTable(`
  one first; two second; three third; five fifth; eight eighth; nine ninth; twelve twelfth
`);

/** The longest number that has a name. */
export const cardinalDigitsMax = scales.length * 3;

/** 1905 as "one thousand nine hundred five". */
export function sayCardinal(written: string | number): string {
  const digits = `${written}`;
  const number = digits.replace(/^0+(?=\d)/, '');
  if (number.length > cardinalDigitsMax) return sayDigits(digits);
  if (number === '0') return 'zero';
  const words: string[] = [];
  for (let end = number.length, scale = 0; end > 0; end -= 3, scale++) {
    const group = Number(number.slice(Math.max(0, end - 3), end));
    if (group > 0) words.unshift(scale === 0 ? sayBelowThousand(group) : `${sayBelowThousand(group)} ${scales[scale]}`);
  }
  return words.join(' ');
}

function sayBelowThousand(number: number): string {
  const hundreds = Math.floor(number / 100);
  const rest = number % 100;
  const words = hundreds > 0 ? [ones[hundreds]!, 'hundred'] : [];
  if (rest >= 20) words.push(tens[Math.floor(rest / 10)]!);
  if (rest >= 20 ? rest % 10 > 0 : rest > 0) words.push(ones[rest >= 20 ? rest % 10 : rest]!);
  return words.join(' ');
}

/** "21" as "twenty first". */
export const sayOrdinal = (digits: string | number): string =>
  sayCardinal(digits).replace(/\w+$/, (last) => irregularOrdinals.get(last) ?? `${last.replace(/y$/, 'ie')}th`);

/** "twenty" as "twenties": the last word in the plural. */
export const toPlural = (words: string): string =>
  words.replace(/(?:y|([sx]))?$/, (end) => (end === 'y' ? 'ies' : end === '' ? 's' : `${end}es`));

/** Digit by digit; long runs in groups of three, the last of three or four, with pauses between. */
export function sayDigits(digits: string): string {
  const names = [...digits].map((digit) => ones[Number(digit)]!);
  if (names.length <= 5) return names.join(' ');
  const groups: string[] = [];
  for (let at = 0; at < names.length; ) {
    const left = names.length - at;
    const size = left <= 4 ? left : left === 5 ? 2 : 3;
    groups.push(names.slice(at, at + size).join(' '));
    at += size;
  }
  return groups.join(', ');
}

/** "1905" as "nineteen oh five", "2024" as "twenty twenty four": years and four-digit names. */
export function sayYear(digits: string): string {
  const year = Number(digits);
  const century = Math.floor(year / 100);
  const rest = year % 100;
  if (year < 1000 || digits.length > 4 || (century % 10 === 0 && rest < 10)) return sayCardinal(digits);
  if (rest === 0) return `${sayCardinal(century)} hundred`;
  return `${sayCardinal(century)} ${sayMinutes(rest)}`;
}

/** Three digits as in street, room and aircraft numbers: "747" as "seven forty seven". */
export function sayHundred(digits: string): string {
  const rest = Number(digits.slice(-2));
  if (digits.length !== 3 || rest === 0 || digits.startsWith('0')) return sayCardinal(digits);
  return `${ones[Number(digits[0])]} ${sayMinutes(rest)}`;
}

/** "05" as "oh five". */
export const sayMinutes = (rest: number): string => (rest < 10 ? `oh ${ones[rest]}` : sayCardinal(rest));

/** A number as written: "1,234.50", "3 000", "007", ".5". */
export function sayNumber(written: string): string {
  const [whole = '', fraction] = written.replace(/[, ]/g, '').split('.');
  const zeros = whole.length > 1 && whole.startsWith('0');
  const words = whole === '' ? '' : zeros ? sayDigits(whole) : sayCardinal(whole);
  if (fraction === undefined || fraction === '') return words;
  return `${words} point ${[...fraction].map((digit) => ones[Number(digit)]!).join(' ')}`.trimStart();
}

/** "two" or "one to two". */
export const sayRange = (from: string, to: string | undefined): string =>
  to === undefined ? sayNumber(from) : `${sayNumber(from)} to ${sayNumber(to)}`;

export interface Noun {
  one: string;
  many: string;
}

/** A noun from "meter", or with an irregular plural from "foot, feet". */
export function toNoun(words: string): Noun {
  const [one = '', many = `${one}s`] = words.split(', ');
  return { one, many };
}

/** "1 foot" as "one foot", "6 feet" as "six feet". */
export const countNoun = (digits: string, { one, many }: Noun): string =>
  `${sayNumber(digits)} ${digits === '1' ? one : many}`;
