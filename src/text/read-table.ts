// Verbalizes clean text of a language that has a table: its rules are made when the language is first read.
import { toRows } from './language-table.ts';
import { digitRulesFor, fractionRulesFor, phoneRuleFor, powerRuleFor, signedMoneyRuleFor } from './number-rules.ts';
import { type RuleSet, readByRules } from './read-rules.ts';
import { endSource, type Place, type Rule, rule, textBefore } from './rule.ts';
import { isLetterOrDigit, joins, marked, opens, type Sign, type SignReading, said, signAt, silent } from './signs.ts';
import type { SpokenToken } from './spoken-token.ts';
import { tableRulesOf } from './table-rules.ts';
import type { Token } from './tokenize.ts';
import { type Verbalizer, verbalizerFor } from './verbalizer.ts';
import { addressRuleFor, letterRulesFor } from './word-rules.ts';

interface Reader {
  rules: RuleSet;
  monthFirst: RegExp;
}

const readers = new WeakMap<Verbalizer, Reader>();

/** Verbalizes `text` of a language that has a table; its tokens already have their breaks. */
export function readByTable(text: string, tokens: readonly Token[], languageCode: string): SpokenToken[] {
  const v = verbalizerFor(languageCode)!;
  let reader = readers.get(v);
  if (!reader) {
    reader = { rules: toRules(v), monthFirst: new RegExp(`^(?:${v.table.month_first ?? '(?!)'})$`, 'i') };
    readers.set(v, reader);
  }
  return readByRules(text, tokens, reader.rules, !reader.monthFirst.test(languageCode));
}

function toRules(v: Verbalizer): RuleSet {
  const signs = new Map(toRows(v.table.signs.names));
  const readSignAt = (place: Place) => readSign(place, v, signs);
  const stated = tableRulesOf(v);
  if (stated) {
    const { digit, point, letter, sign } = stated.rulesFor;
    const easy = new RegExp(`^(?:${v.table.words.easy ?? '(?!)'})$`, 'u');
    return {
      digitStart: digit,
      pointStart: point,
      letterStart: letter,
      signStart: sign,
      readSign: readSignAt,
      easyWordEnd: (text, { from, to }) => {
        const end = /[,;:!?]/.test(text[to - 1]!) ? to - 1 : to;
        const word = text.slice(from, end);
        return easy.test(word) && !stated.words.special.has(word) ? end : 0;
      },
    };
  }
  const digitRules = [...addressRuleFor(v), ...digitRulesFor(v)];
  const letterRules = letterRulesFor(v);
  const signRules = [
    phoneRuleFor(v),
    signedMoneyRuleFor(v),
    ...fractionRulesFor(v),
    perRule(v),
    powerRuleFor(v, signs),
  ];
  const { always = '', before_number = '' } = v.table.abbreviations ?? {};
  const abbreviations = new Set(toRows(`${always}\n${before_number}`).map(([key]) => key));
  return {
    digitStart: () => digitRules,
    pointStart: () => [],
    letterStart: () => letterRules,
    signStart: () => signRules,
    readSign: readSignAt,
    easyWordEnd: (text, token) => easyWordEnd(text, token, abbreviations),
  };
}

const easyPattern = /^\p{Lu}?\p{Ll}{3,}$/u;
const latinPattern = /^\p{Script=Latin}+$/u;

function easyWordEnd(text: string, { from, to }: Token, abbreviations: ReadonlySet<string>): number {
  const end = /[,;:!?]/.test(text[to - 1]!) ? to - 1 : to;
  const word = text.slice(from, end);
  return easyPattern.test(word) &&
    !abbreviations.has(word) &&
    latinPattern.test(word) &&
    !/\d ?$/.test(text.slice(Math.max(0, from - 2), from))
    ? end
    : 0;
}

/** "/h" after a measure or a sum. */
function perRule(v: Verbalizer): Rule {
  const names = new Map(toRows(v.table.units.per ?? ''));
  return rule(String.raw`\/(m[²³]|\p{L}{1,12})${endSource}`, ([, written], place) => {
    const isHouse = /^\p{Lu}$/u.test(written!) && /\d$/.test(textBefore(place, 1));
    if (isHouse || !/\d[^;/]{0,12}$/.test(textBefore(place, 14))) return undefined;
    const unit = v.nouns.unit(written!);
    const name = names.get(written!) ?? (unit ? v.nouns.nameFor(unit, '1') : undefined);
    return name === undefined ? undefined : `${v.table.numbers.per} ${name}`;
  });
}

/** Reads the sign at the place, which is neither a letter nor a digit. */
function readSign(place: Place, v: Verbalizer, signs: ReadonlyMap<string, string>): SignReading {
  const sign = signAt(place);
  const { char, repeats, before, after } = sign;
  switch (char) {
    case '.':
      if (repeats > 1) return marked(sign, repeats > 2 ? '...' : '.');
      return isLetterOrDigit(before) && isLetterOrDigit(after) && /\d/.test(before + after)
        ? silent(sign)
        : marked(sign, '.');
    case ',':
    case ';':
    case ':':
    case '?':
    case '!':
      return marked(sign, char);
    case '—':
      return marked(sign, ',');
    case '(':
      return opens(sign, char);
    case ')':
      return marked(sign, char);
    case '"':
      return before === ' ' || before === '(' ? opens(sign, char) : marked(sign, char);
    case '–':
    case '−':
    case '-':
      return readDash(sign, v);
    case '/':
      if (before === ' ' && after === ' ') return marked(sign, ',');
      return isLetterOrDigit(before) && isLetterOrDigit(after) && repeats === 1 ? saidOf(sign, signs) : silent(sign);
    default:
      return repeats > 1 ? silent(sign) : saidOf(sign, signs);
  }
}

function saidOf(sign: Sign, signs: ReadonlyMap<string, string>): SignReading {
  const { char, before, after } = sign;
  const say = signs.get(char);
  if (say === undefined) return silent(sign);
  // Only between or before terms: a < b, but <name>; 2 * 3, but *note*.
  if (/[<>*|^~#\\_]/.test(char)) {
    const alone = before === ' ' && after === ' ';
    if (!alone && !(/[~#<>]/.test(char) && /\d/.test(after))) return silent(sign);
  }
  return said(sign, say);
}

/** What a range may begin with: a number, perhaps with a sign or a unit. */
const quantityPattern = /(?:\d[%€$°]?|\d ?[€%]|\p{L}\.?) ?$/u;

function readDash(sign: Sign, v: Verbalizer): SignReading {
  const { text, end, before, after, repeats } = sign;
  const { minus, range } = v.table.numbers;
  if (repeats > 1) return before === ' ' && after === ' ' ? marked(sign, ',') : silent(sign);
  const isBetween = before !== ' ' && after !== ' ';
  const next = text.slice(end, end + 2);
  if (/^ ?[\d€$]/.test(next) && (before === ' ') === (after === ' ') && /\d/.test(textBefore(sign, 6))) {
    if (quantityPattern.test(textBefore(sign, 8))) return said(sign, sign.char === '−' ? minus : range);
  }
  if ((before === ' ' || before === '(') && /\d/.test(after)) return said(sign, minus);
  if (before === ' ' && after === ' ') return marked(sign, ',');
  return isBetween && !/\d/.test(before + after) && isLetterOrDigit(before) && isLetterOrDigit(after)
    ? joins(sign, '-')
    : silent(sign);
}
