// SSML's say-as: speaks text as a stated kind, regardless of its form. Characters, digits and telephone numbers are
// spoken one by one in any language. Other kinds need a language with a table (verbalizer.ts).

import { toRows } from '../platform/keyed-rows.ts';
import { formsOf } from './forms.ts';
import { sayText } from './normalize-text.ts';
import { parseRoman } from './number-words.ts';
import { type Verbalizer, verbalizerFor } from './verbalizer.ts';

/** Kinds that engines can speak as written if they read numbers themselves. */
const plainKinds = new Set(['cardinal', 'number']);
const spelledKinds = new Set(['characters', 'spell-out', 'verbatim']);
/** Replaces text that must not be spoken. */
const bleep = 'beep';

/** Speaks text as this kind; undefined if the text or the language does not allow the kind. */
export function sayAs(
  { as, format }: { as: string; format: string },
  text: string,
  { languageCode, readsNumbers }: { languageCode: string; readsNumbers: boolean },
): string | undefined {
  const written = text.replace(/\s+/g, ' ').trim();
  if (as === 'expletive' || as === 'bleep') return bleep;
  const readNumber = () => (/\d/.test(written) ? sayText(written, { languageCode, spellOut: true }) : undefined);
  const verbalizer = verbalizerFor(languageCode);
  const byTable = verbalizer && sayByTable(as, format, written, verbalizer, readNumber);
  if (byTable) return byTable;
  const said = sayOneByOne(as, written);
  return said ?? (readsNumbers && plainKinds.has(as) ? written : undefined);
}

type Said = string | undefined;

/** `readNumber` reads text with a digit by the general rules. */
function sayByTable(as: string, format: string, written: string, v: Verbalizer, readNumber: () => Said): Said {
  const { spelled } = v.table.signs;
  if (spelled !== undefined && spelledKinds.has(as)) return spell(written, spelled, v);
  switch (as) {
    case 'cardinal':
    case 'number':
      return sayNumeral(written, v) ?? readNumber();
    case 'ordinal': {
      const plain = v.table.numbers.mark === '.' ? written.replace(/[, ]/g, '') : written;
      const value = /^(\d{1,21})\D{0,3}$/.exec(plain)?.[1] ?? parseRoman(plain);
      return value === undefined ? undefined : v.number(value, 'ordinal');
    }
    case 'digits':
      return spelled === undefined ? undefined : spell(written.replace(/\D/g, ''), '', v);
    case 'telephone':
      return /\d/.test(written) ? v.telephone(written) : undefined;
    case 'fraction':
      return sayFraction(written, v);
    case 'date':
      return sayDate(written, format, v) ?? (isDateFormat(format) ? undefined : readNumber());
    case 'time':
    case 'currency':
    case 'unit':
      return readNumber();
    default:
      return undefined;
  }
}

function spell(written: string, spelled: string, v: Verbalizer): string {
  const names = new Map(toRows(spelled));
  const say = (char: string) =>
    /\d/.test(char) ? v.number(char) : (names.get(char) ?? (/\p{L}/u.test(char) ? char.toUpperCase() : ''));
  return [...written].map(say).filter(Boolean).join(' ');
}

function sayNumeral(written: string, v: Verbalizer): string | undefined {
  const isGrouped = v.table.numbers.mark === '.' && /^[-−]?\d{1,3}(?:[, ]\d{3}){1,8}(?:\.\d{1,40})?$/.test(written);
  if (isGrouped || /^[-−]?\d{1,24}$/.test(written)) return v.numeral(written);
  const roman = parseRoman(written);
  return roman === undefined ? undefined : v.number(roman);
}

function sayFraction(written: string, v: Verbalizer): string | undefined {
  const [, whole, over, under] = /^(?:(\d{1,9})[ +]+)?(\d{1,9})\s?[/⁄]\s?(\d{1,9})$/.exec(written) ?? [];
  if (over === undefined || Number(under) === 0) return undefined;
  const { forms, numbers } = v.table;
  if (forms.fraction === undefined) return v.fraction(over, under!, whole);
  const said = formsOf(v)('fraction')(`${over}/${under}`);
  return whole === undefined ? said : `${v.number(whole)} ${numbers.and} ${said}`;
}

const isDateFormat = (format: string): boolean => /^[ymd]{1,3}$/.test(format);

/** The letters of the format, such as "dmy", give the order of the parts. */
function sayDate(written: string, format: string, v: Verbalizer): string | undefined {
  const parts = written.split(/[^\p{L}\d]+/u).filter(Boolean);
  if (!isDateFormat(format) || parts.length !== format.length || new Set(format).size < format.length) return undefined;
  const { y, m, d } = Object.fromEntries([...format].map((letter, i) => [letter, parts[i]!]));
  const month = m === undefined ? undefined : monthOf(m, v);
  const isWrong = (m !== undefined && !month) || !/^(?:[1-9]|[012]\d|3[01])?$/.test(d ?? '') || !/^\d*$/.test(y ?? '');
  if (isWrong) return undefined;
  if (d !== undefined && month !== undefined) return v.date(Number(d), month, y);
  const year = y === undefined ? '' : v.year(y);
  const head = month === undefined ? (d === undefined ? '' : v.number(d, 'ordinal')) : v.monthName(month)!;
  return [head, year].filter(Boolean).join(v.table.date.before_year ?? ' ');
}

function monthOf(written: string, v: Verbalizer): number | undefined {
  if (/^\d{1,2}$/.test(written)) return v.monthName(Number(written)) === undefined ? undefined : Number(written);
  const starts = (month: number) => v.monthName(month)!.toLowerCase().startsWith(written.toLowerCase());
  return written.length < 3 ? undefined : Array.from({ length: 12 }, (_, i) => i + 1).find(starts);
}

function sayOneByOne(as: string, written: string): string | undefined {
  const spaced = (pattern: RegExp) => (written.match(pattern) ?? []).join(' ').toUpperCase() || undefined;
  if (spelledKinds.has(as)) return spaced(/[\p{L}\p{N}]\p{M}*/gu);
  if (as === 'digits') return spaced(/\p{Nd}/gu);
  if (as !== 'telephone') return undefined;
  const groups = written.match(/\p{Nd}+/gu);
  return groups?.map((group) => [...group].join(' ')).join(', ');
}
