// Rules for text that begins with a letter, in languages with a table: abbreviations, Roman numerals, months after a
// day, sums with the currency first, addresses, and all-caps words. Words of other scripts are transliterated.
import anyAscii from 'any-ascii';
import { toRows } from '../platform/keyed-rows.ts';
import type { BesideRows } from './language-table.ts';
import { contextRule } from './number-contexts.ts';
import {
  endSource,
  firstOf,
  matchAt,
  type Rule,
  rule,
  ruleAt,
  startSource,
  sticky,
  textAfter,
  textBefore,
  toSource,
  wordSet,
} from './rule.ts';
import type { Verbalizer } from './verbalizer.ts';
import { addressRuleFor } from './web-addresses.ts';

/** The end of an abbreviation inside a word: c/8, p.5 and C/Mayor begin with one, but C/C++ does not. */
const goesOnPattern = /^(?:[^/]\p{L}|\/\p{L}(?!\p{Ll})|[\p{L}\d]\d)/u;

/**
 * Creates a rule for the abbreviations in a table's rows. Spaces inside an abbreviation are optional. A row with a
 * hyphen at its start matches the end of a word.
 */
function abbreviationRule(tables: readonly BesideRows[], start = startSource): Rule {
  const says = new Map<string, { say: string; isAfter: RegExp; isBefore: RegExp }[]>();
  /** Written forms, and sources of patterns for the ends of words. */
  const starts: string[] = [];
  const ends = new Set<string>();
  for (const { rows, before = '', after = '' } of tables) {
    const [isAfter, isBefore] = [new RegExp(`(?:${before})$`, 'u'), new RegExp(`^(?:${after})`, 'u')];
    const written = toRows(rows).map(([key, say]) => [key.startsWith('-'), key.replace(/^-/, ''), say] as const);
    const initial = written.map(([isEnd, key, say]) => [isEnd, key[0]!.toUpperCase() + key.slice(1), say] as const);
    for (const [isEnd, key, say] of [...written, ...initial]) {
      const plain = key.replaceAll(' ', '');
      says.set(plain, [...(says.get(plain) ?? []), { say, isAfter, isBefore }]);
      const [head = '', ...parts] = key
        .replaceAll(' ', '\0')
        .replace(/\.(?=[^\0])/g, '.\0')
        .split('\0');
      const forms = parts.reduce((all, part) => all.flatMap((form) => [form + part, `${form} ${part}`]), [head]);
      if (isEnd) for (const form of forms) ends.add(toSource(form));
      else starts.push(...forms);
    }
  }
  starts.sort((a, b) => b.length - a.length);
  const keys = Map.groupBy(starts, (form) => form.slice(0, 2));
  const ending = ends.size > 0 ? sticky(String.raw`(\p{L}{3,24})(${[...ends].join('|')})(?![\p{L}\d])`) : undefined;
  const keyAt = (text: string, at: number): readonly [stem: string, key: string] | undefined => {
    const fits = (form: string) =>
      text.startsWith(form, at) && !goesOnPattern.test(text.slice(at + form.length - 1, at + form.length + 2));
    const form = keys.get(text.slice(at, at + 2))?.find(fits) ?? keys.get(text[at]!)?.find(fits);
    if (form !== undefined) return ['', form];
    const [, stem, key] = (ending && matchAt(ending, text, at)) ?? [];
    return key === undefined ? undefined : [stem!, key];
  };
  // An elided word may precede: l'art. 5
  const beginning = sticky(String.raw`${start}(\p{L}{1,6}')?`);
  return (place) => {
    const { text, at } = place;
    const begins = matchAt(beginning, text, at);
    if (!begins) return undefined;
    const [, elided = ''] = begins;
    const behind = elided === '' ? undefined : keyAt(text, at + elided.length);
    const [stem, key] = behind ?? keyAt(text, at) ?? [];
    if (key === undefined) return undefined;
    const kept = (behind ? elided : '') + stem;
    const length = kept.length + key.length;
    const [head, tail] = [textBefore(place, 40), textAfter(place, length, 24)];
    const readings = says.get(key.replaceAll(' ', ''))!;
    const found = readings.find(({ isAfter, isBefore }) => isAfter.test(head) && isBefore.test(tail));
    return found && { say: kept + found.say, length };
  };
}

export function abbreviationRulesFor({ table }: Verbalizer): [beside: Rule, ...Rule[]] {
  const { always, before_number, after_number = '', before_name = '', beside = [] } = table.abbreviations!;
  const number = String.raw` ?(?:\d|[IVXLC]{2,}(?!\w)|[IVX](?!\p{L}|\.\p{L}|\. \p{Lu}))`;
  return [
    abbreviationRule([...beside, { rows: after_number, before: String.raw`\d ?` }], ''),
    abbreviationRule([{ rows: always }]),
    abbreviationRule([{ rows: before_number, after: number }]),
    abbreviationRule([{ rows: before_name, after: String.raw` ?["']?\p{Lu}` }]),
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
  const first = firstOf([...names.keys()].flatMap((key) => [key, key.toUpperCase()]));
  return ruleAt(first, `${startSource}(\\p{L}{3,5})\\.?${endSource}`, ([written, stem], place) => {
    const key = stem!.toLowerCase();
    const name = names.get(key) ?? (key === 'sept' ? v.monthName(9) : key === 'mrt' ? v.monthName(3) : undefined);
    if (name === undefined || name.toLowerCase() === key) return undefined;
    const isDate = /\d(?:\.|er|º|:[ae])? (?:de )?$/.test(textBefore(place, 8));
    const isBeforeYear = /^ (?:de )?\d{4}/.test(textAfter(place, written.length, 8));
    return (written.endsWith('.') ? isDate || isBeforeYear : isDate && isBeforeYear) ? name : undefined;
  });
}

const vowelPattern = /[AEIOUYÄÖÜÅÉÈÓÁÍÚ]/;
/** Groups of consonants at the start, inside and at the end of words that can be pronounced in most languages. */
const onset = '(?:[BCFGPTDKVW]R|[BCFGPKSV]L|S[CKLMNPTVWZ]?|SCH|CH|SH|TH|PH|QU?|[CRD]Z|[BCDFGHJKLMNPRTVWXZ]|GN|KN)?';
const middle = '[LNRMSXZCPTK]?';
const coda = '(?:[LNRM][TDKPCSZGF]?|S[TKPS]?|[KPTBDG]S?|[CFXZ]|CK|CT|PT|LM|RM|RN|NS[KT]|CH|SCH|LL|TT)?';
const pronounceablePattern = new RegExp(
  `^${onset}(?:[AEIOUYÄÖÜÅÉÈÓÁÍÚÃÕ]{1,3}(?:${middle}${onset}(?=[AEIOUYÄÖÜÅÉÈÓÁÍÚÃÕ])|${coda}$)){1,4}$`,
);
const isPronounceable = (capitals: string): boolean =>
  capitals === 'OK' || (capitals.length > 2 && pronounceablePattern.test(capitals));

/** Rule for all-caps words that are spelled out: those in the table, and those that cannot be pronounced. */
function capitalsRule(v: Verbalizer): Rule {
  const spelled = wordSet(v.table.words.spelled);
  const said = new Map(toRows(v.table.words.said ?? ''));
  return rule(
    `${startSource}(\\p{L}{1,5}')?(\\p{Lu}{2,6})(?:(s)|:(\\p{Ll}{1,4}))?(?![\\p{L}\\p{M}])`,
    (match, place) => {
      const [written, elided = '', capitals = '', plural = '', ending = plural] = match;
      const known = said.get(capitals);
      if (known !== undefined) return elided + known + ending;
      // In a shouted text, only the words of the list are spelled.
      const isShouted =
        /\p{Lu}{3} $|\p{Lu}{2}[ ,] ?$/u.test(textBefore(place, 4)) ||
        /^[ ,!]{1,2}\p{Lu}{2}/u.test(textAfter(place, written.length, 4));
      const isSpelled =
        spelled.has(capitals) ||
        !vowelPattern.test(capitals) ||
        (!isShouted && !isPronounceable(capitals) && !/^[IVXLC]{2,}$/.test(capitals));
      return isSpelled ? `${elided}${[...capitals].join(' ')}${ending && ` ${ending}`}` : undefined;
    },
  );
}

/** The Latin form of a word. A Greek letter, also before a small Latin letter as in Δt, is spoken by its name. */
export function toLatin(word: string, greek?: ReadonlyMap<string, string>, substitute = 'x'): string {
  const [, letter = '', rest = ''] = (word.length < 3 && /^(\p{Script=Greek})([a-z]?)$/u.exec(word)) || [];
  const name = greek?.get(letter.toLowerCase());
  if (name !== undefined) return `${name} ${rest}`.trimEnd();
  if (/^[\p{Script=Latin}']*$/u.test(word)) return word.normalize('NFKC');
  const composed = word.normalize('NFC').replace(/\p{M}/gu, '');
  if (/^[\p{Script=Latin}']*$/u.test(composed)) return composed;
  const ascii = anyAscii(composed)
    .replace(/[^A-Za-z' ]+/g, '')
    .trim();
  return ascii === '' ? substitute : ascii;
}

/** Rule for all other words. */
function wordRule({ table }: Verbalizer): Rule {
  const greek = new Map(toRows(table.words.greek ?? ''));
  return rule(String.raw`[\p{L}\p{M}]+(?:'[\p{L}\p{M}]+)*(?:'(?=\d))?`, ([word]) => toLatin(word, greek));
}

/** Rule for what nobody can follow by ear: hashes, UUIDs and embedded data. They are named. */
export function identifierRuleFor({ table }: Verbalizer): Rule {
  const { identifier, link } = table.words;
  const hash = String.raw`(?=[a-f]{0,40}\d)(?=\d{0,40}[a-f])[\da-f]{16,128}|[\da-fA-F]{8}(?:-[\da-fA-F]{4}){3}-[\da-fA-F]{12}`;
  const data = String.raw`data:[\w.+\/-]{0,80}(?:;[\w=-]{1,40}){0,4},[^\s<>"')]{1,2000}`;
  return ruleAt(/[\da-fA-F]/, `${startSource}(?:(?:${hash})${endSource}|(${data}))`, ([, embedded]) =>
    embedded === undefined ? identifier : link,
  );
}

/** Rule for chemical formulas with a number: CO2, C6H12O6. */
export function formulaRuleFor(v: Verbalizer): Rule {
  const element =
    '(?:A[glsu]|B[aeir]?|C[adlorsu]?|F[er]?|H[eg]?|I|K|Li|M[gno]|N[aei]?|O|P[bt]?|S[ein]?|Ti?|U|Xe|Z[nr])';
  const atoms = String.raw`${element}\d{0,2}`;
  return ruleAt(/[A-Z]/, String.raw`${startSource}(?=[A-Z][A-Za-z]{0,5}\d)(?:${atoms}){2,8}${endSource}`, ([written]) =>
    written
      .match(/\p{L}|\d+/gu)!
      .map((part) => (/\d/.test(part) ? v.number(part) : part.toUpperCase()))
      .join(' '),
  );
}

/** Rule for a unit after a power of ten, or after a word such as "per": 10⁸ m/s, per km. */
const bareUnitRule = ({ nouns, table }: Verbalizer): Rule =>
  rule(
    String.raw`(?:(?<=\d⁻?[⁰¹²³⁴-⁹]{1,2} |\^[-−]?\d{1,3} )|(?<=(?<!\p{L})(?:${table.units.bare ?? '(?!)'}) )(?!\p{L}(?![\p{L}²³]))(?<one>))(${nouns.unitSource})(?!'?[\p{L}\d²³])`,
    (match) => nouns.nameFor(nouns.unit(match[2]!)!, match.groups!.one === undefined ? '1000000' : '1'),
  );

export const letterRulesFor = (v: Verbalizer, abbreviations: readonly Rule[], money: Rule): Rule[] => [
  identifierRuleFor(v),
  latinAddressRuleFor(v),
  bareUnitRule(v),
  formulaRuleFor(v),
  ...abbreviations,
  money,
  monthRule(v),
  contextRule(v, true),
  capitalsRule(v),
  wordRule(v),
];

export const latinAddressRuleFor = (v: Verbalizer): Rule => addressRuleFor(v, toLatin);
