// English for SSML's say-as: what is written is a number, a date or a code, whatever it looks like. Words, by the same rules
// as everywhere; undefined where it is not of that kind.

import { parseRoman } from '../roman.ts';
import { sayCardinal, sayDigits, sayNumber, sayOrdinal, sayYear } from './numbers.ts';

const numberPattern = /^([-−])?((?:\d{1,24}|\d{1,3}(?:[, ]\d{3}){1,8})(?:\.\d{1,40})?)$/;
const symbolNames: Readonly<Record<string, string>> = {
  '.': 'dot',
  ',': 'comma',
  '-': 'dash',
  _: 'underscore',
  '/': 'slash',
  '\\': 'backslash',
  '@': 'at',
  '#': 'hash',
  '&': 'and',
  '*': 'star',
  '+': 'plus',
  '=': 'equals',
  ':': 'colon',
  $: 'dollar',
  '%': 'percent',
};

/** Reads text by the rules for all text. */
type Read = (text: string) => string;

export function sayAsEnglish(as: string, format: string, written: string, read: Read): string | undefined {
  switch (as) {
    case 'characters':
    case 'spell-out':
    case 'verbatim':
      return [...written].map(sayCharacter).filter(Boolean).join(' ');
    case 'cardinal':
    case 'number':
      return sayNumeral(written);
    case 'ordinal': {
      const number = written.replace(/(?<=\d)(?:st|nd|rd|th)$/i, '').replace(/[, ]/g, '');
      const value = /^\d{1,21}$/.test(number) ? number : parseRoman(number);
      return value === undefined ? undefined : sayOrdinal(value);
    }
    case 'digits':
      return /\d/.test(written) ? sayEachDigit(written) : undefined;
    case 'telephone':
      return sayTelephone(written);
    case 'fraction': {
      const [, whole, over, under] = /^(?:(\d{1,9})[ +]+)?(\d{1,9})\s?[/⁄]\s?(\d{1,9})$/.exec(written) ?? [];
      return over === undefined ? undefined : sayFraction(whole, Number(over), Number(under));
    }
    case 'date':
      return sayDate(written, format, read);
    case 'time':
    case 'currency':
    case 'unit':
      return /\d/.test(written) ? read(written) : undefined;
    default:
      return undefined;
  }
}

function sayCharacter(char: string): string {
  if (/\d/.test(char)) return sayDigits(char);
  return symbolNames[char] ?? (/\p{L}/u.test(char) ? char.toUpperCase() : '');
}

function sayNumeral(written: string): string | undefined {
  const [, minus, number] = numberPattern.exec(written) ?? [];
  const roman = parseRoman(written);
  if (number !== undefined) return `${minus ? 'minus ' : ''}${sayNumber(number)}`;
  return roman === undefined ? undefined : sayCardinal(roman);
}

const sayEachDigit = (written: string): string => [...written.replace(/\D/g, '')].map(sayDigits).join(' ');

/** A breath between the groups. */
function sayTelephone(written: string): string | undefined {
  const groups = written.match(/\d+/g);
  if (!groups) return undefined;
  const numbers = groups.map((group) => [...group].map(sayDigits).join(' ')).join(', ');
  return written.trimStart().startsWith('+') ? `plus ${numbers}` : numbers;
}

function sayFraction(whole: string | undefined, over: number, under: number): string | undefined {
  if (under === 0) return undefined;
  const names: Readonly<Record<number, string>> = { 1: 'over one', 2: over === 1 ? 'half' : 'halves', 4: 'quarter' };
  const name = names[under] ?? sayOrdinal(under);
  const parts = `${sayCardinal(over)} ${name}${over === 1 || under === 1 || under === 2 ? '' : 's'}`;
  return whole === undefined ? parts : `${sayCardinal(whole)} and ${parts}`;
}

/** The order of the parts is that of the letters of the format, such as "dmy"; without one, by the rules for all text. */
function sayDate(written: string, format: string, read: Read): string | undefined {
  if (!/^[ymd]{1,3}$/.test(format)) return /\d/.test(written) ? read(written) : undefined;
  const parts = written.split(/[^\p{L}\d]+/u).filter(Boolean);
  if (parts.length !== format.length || new Set(format).size < format.length) return undefined;
  const { y, m, d } = Object.fromEntries([...format].map((letter, i) => [letter, parts[i]!]));
  const month = m === undefined ? undefined : monthOf(m);
  const isWrong = (m !== undefined && !month) || !/^(?:[1-9]|[012]\d|3[01])?$/.test(d ?? '') || !/^\d*$/.test(y ?? '');
  if (isWrong) return undefined;
  const day = d === undefined ? '' : sayOrdinal(Number(d));
  const year = y === undefined ? '' : sayYear(y.length === 2 ? `${Number(y) < 50 ? 20 : 19}${y}` : y);
  const dayAndMonth = [month, day].filter(Boolean).join(' ');
  return [dayAndMonth, year].filter(Boolean).join(', ');
}

const months = 'January February March April May June July August September October November December'.split(' ');

function monthOf(written: string): string | undefined {
  if (/^\d{1,2}$/.test(written)) return months[Number(written) - 1];
  return months.find((name) => written.length >= 3 && name.toLowerCase().startsWith(written.toLowerCase()));
}
