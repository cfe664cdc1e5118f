// Rules for text that begins with a letter, in languages with a table: abbreviations, Roman numerals, months after a
// day, sums with the currency first, addresses, and all-caps words. Words of other scripts are transliterated.
import anyAscii from 'any-ascii';
import { toRows } from './language-table.ts';
import { contextRules, signedMoneyRuleFor } from './number-rules.ts';
import {
  endSource,
  matchAt,
  type Rule,
  rule,
  startSource,
  sticky,
  textAfter,
  textBefore,
  toSource,
  wordSet,
} from './rule.ts';
import type { Verbalizer } from './verbalizer.ts';
import { addressRulesFor } from './web-addresses.ts';

/**
 * Creates a rule for the abbreviations in a table's rows. Spaces inside an abbreviation are optional. A row with a
 * hyphen at its start matches the end of a word.
 */
function abbreviationRule(
  rows: string,
  isThere: (before: string, after: string) => boolean,
  start = startSource,
): Rule {
  const says = new Map<string, string>();
  const sources: string[] = [];
  for (const [key, say] of toRows(rows)) {
    const end = key.replace(/^-/, '');
    const stem = end === key ? '' : String.raw`(?<stem>\p{L}{3,24})`;
    for (const written of new Set([end, end[0]!.toUpperCase() + end.slice(1)])) {
      const plain = written.replaceAll(' ', '');
      if (written !== end && says.has(plain)) continue;
      says.set(plain, say);
      sources.push(
        stem +
          toSource(written)
            .replaceAll(' ', ' ?')
            .replace(/\\\.(?=[^ ])/g, '\\. ?'),
      );
    }
  }
  // Longer patterns come first, and ends of words last.
  const rank = (source: string) => (source.startsWith('(?<stem>') ? 0 : source.length);
  sources.sort((a, b) => rank(b) - rank(a));
  const known = sticky(`${start}(?:${sources.join('|') || '(?!)'})(?![\\p{L}\\d])`);
  return (place) => {
    const match = matchAt(known, place.text, place.at);
    if (!match || !isThere(textBefore(place, 12), textAfter(place, match[0].length, 12))) return undefined;
    const { stem = '' } = match.groups ?? {};
    return { say: stem + says.get(match[0].slice(stem.length).replaceAll(' ', ''))!, length: match[0].length };
  };
}

function abbreviationRules(v: Verbalizer): Rule[] {
  const {
    always,
    before_number = '',
    after_number = '',
    before_name = '',
  } = v.table.abbreviations ?? { always: '', before_number: '' };
  return [
    abbreviationRule(after_number, (before) => /\d ?$/.test(before), ''),
    abbreviationRule(always, () => true),
    abbreviationRule(before_number, (_, after) => /^ ?(?:\d|[IVXLC]{2,}\b)/.test(after)),
    abbreviationRule(before_name, (_, after) => /^ ?["']?\p{Lu}/u.test(after)),
  ];
}

/** Rule for an abbreviated month after a day or before a year: 3. Okt. */
function monthRule(v: Verbalizer): Rule {
  const names = new Map<string, string>();
  for (let month = 1; month <= 12; month++) {
    const name = v.monthName(month)!;
    names.set(name.slice(0, 3).toLowerCase(), name);
    names.set(name.slice(0, 4).toLowerCase(), name);
  }
  return rule(`${startSource}(\\p{L}{3,5})\\.?${endSource}`, ([written, stem], place) => {
    const key = stem!.toLowerCase();
    const name = names.get(key) ?? (key === 'sept' ? v.monthName(9) : key === 'mrt' ? v.monthName(3) : undefined);
    if (name === undefined || name.toLowerCase() === key) return undefined;
    const isDate = /\d(?:\.|er|º|:[ae])? (?:de )?$/.test(textBefore(place, 8));
    const isBeforeYear = /^ (?:de )?\d{4}/.test(textAfter(place, written.length, 8));
    return (written.endsWith('.') ? isDate || isBeforeYear : isDate && isBeforeYear) ? name : undefined;
  });
}

/** Rule for all-caps words that are spelled out: those in the table, and those without a vowel. */
function capitalsRule(v: Verbalizer): Rule {
  const spelled = wordSet(v.table.words.spelled);
  const said = new Map(toRows(v.table.words.said ?? ''));
  return rule(`${startSource}(\\p{Lu}{2,6})(s)?(?![\\p{L}\\p{M}])`, ([, capitals, plural = '']) => {
    const known = said.get(capitals!);
    if (known !== undefined) return known + plural;
    const isSpelled = spelled.has(capitals!) || !/[AEIOUYÄÖÜÅÉÈÓÁÍÚ]/.test(capitals!);
    return isSpelled ? `${[...capitals!].join(' ')}${plural && ` ${plural}`}` : undefined;
  });
}

function toLatin(word: string): string {
  if (/^[\p{Script=Latin}']*$/u.test(word)) return word;
  const composed = word.normalize('NFC').replace(/\p{M}/gu, '');
  if (/^[\p{Script=Latin}']*$/u.test(composed)) return composed;
  const ascii = anyAscii(composed)
    .replace(/[^A-Za-z' ]+/g, '')
    .trim();
  return ascii === '' ? 'x' : ascii;
}

const wordRule = rule(String.raw`[\p{L}\p{M}]+(?:'[\p{L}\p{M}]+)*(?:'(?=\d))?`, ([word]) => toLatin(word));

export const letterRulesFor = (v: Verbalizer): Rule[] => [
  ...addressRuleFor(v),
  signedMoneyRuleFor(v),
  monthRule(v),
  ...abbreviationRules(v),
  ...contextRules(v, true),
  capitalsRule(v),
  wordRule,
];

export const addressRuleFor = (v: Verbalizer): Rule[] => addressRulesFor(v, toLatin);
