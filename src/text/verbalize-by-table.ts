// Verbalizes clean text in languages that have a table. A language's rules are created when the language is first read.

import { toRows } from '../platform/keyed-rows.ts';
import { oncePer } from '../platform/runtime/once-per.ts';
import { digitRulesFor, fractionRulesFor, moneyRulesFor, phoneRuleFor, powerRuleFor } from './number-rules.ts';
import {
  byFirst,
  charBefore,
  endSource,
  type Place,
  type Reading,
  type Rule,
  type RulesFor,
  ruleAt,
  startingWith,
  startSource,
  textBefore,
} from './rule.ts';
import { type Kind, type RuleLists, tableRulesOf } from './table-rules.ts';
import { breakStrength, type SpokenToken, type Token } from './tokenize.ts';
import { type Verbalizer, verbalizerFor } from './verbalizer.ts';
import { sayNamePart } from './web-addresses.ts';
import { abbreviationRulesFor, identifierRuleFor, latinAddressRuleFor, letterRulesFor, toLatin } from './word-rules.ts';

const ruleSetOf = oncePer(toRules);

/** Verbalizes `text` in a language that has a table. The breaks of `tokens` must be set. */
export function readByTable(text: string, tokens: readonly Token[], languageCode: string): SpokenToken[] {
  const v = verbalizerFor(languageCode)!;
  const rules = ruleSetOf(v);
  return readByRules(text, tokens, rules, !rules.monthFirst.test(languageCode));
}

function toRules(v: Verbalizer): RuleSet {
  const { special, digit, point, letter, sign } = tableRulesOf(v) ?? sharedRulesOf(v);
  const signs = [...sign, (place: Place) => readSign(place, v)];
  return {
    rulesFor: { digit: byFirst(digit), point: byFirst(point), letter: byFirst(letter), sign: byFirst(signs) },
    monthFirst: new RegExp(`^(?:${v.table.month_first ?? '(?!)'})$`, 'i'),
    easyWordEnd: easyWordEnd(v, special),
  };
}

/** The rules of all languages whose tables state none. */
function sharedRulesOf(v: Verbalizer): RuleLists {
  const { beside = [], ...lists } = v.table.abbreviations ?? {};
  const rows = [...Object.values(lists), ...beside.map(({ rows }) => rows)].join('\n');
  const abbreviations = abbreviationRulesFor(v);
  const [besideRule] = abbreviations;
  const money = moneyRulesFor(v);
  return {
    digit: [identifierRuleFor(v), latinAddressRuleFor(v), ...digitRulesFor(v, money.last)],
    point: [],
    letter: letterRulesFor(v, abbreviations, money.first),
    sign: [
      phoneRuleFor(v),
      money.first,
      ...fractionRulesFor(v),
      perRule(v),
      startingWith(/[§±→²³]/, besideRule),
      ...joiningRules(v),
      startingWith(/[\^⁺⁻⁰¹²³⁴-⁹]/, powerRuleFor(v)),
      topicRule(v),
      cliticRule(v),
    ],
    special: toRows(rows).flatMap(([key]) => [key, ...key.split(' ')]),
  };
}

function easyWordEnd(v: Verbalizer, special: readonly string[]): RuleSet['easyWordEnd'] {
  const { easy = String.raw`(?=\p{Lu}?\p{Ll}{3,}$)\p{Script=Latin}+` } = v.table.words;
  const pattern = new RegExp(`^(?:${easy})$`, 'u');
  // A long word with a full stop is an abbreviation only if it is in the table, or has an ending from it.
  const known = new Set(special.flatMap((key) => [key, key[0]!.toUpperCase() + key.slice(1)]));
  const endings = special.flatMap((key) => (/^-.*\.$/.test(key) ? key.slice(1) : []));
  return (text, { from, to }) => {
    const isStopped = text[to - 1] === '.';
    const end = isStopped || /[,;:!?]/.test(text[to - 1]!) ? to - 1 : to;
    const word = text.slice(from, end);
    if (!pattern.test(word) || known.has(word) || /\d ?$/.test(text.slice(Math.max(0, from - 2), from))) return 0;
    const written = text.slice(from, to);
    const isKnown =
      isStopped &&
      (v.table.rules || word.length < 6 || known.has(written) || endings.some((each) => written.endsWith(each)));
    return isKnown ? 0 : end;
  };
}

/** Rule for "/h" after a measure or a sum. */
function perRule(v: Verbalizer): Rule {
  const names = new Map(toRows(v.table.units.per ?? ''));
  const isCurrency = new RegExp(`(?:${v.nouns.signSource}|${v.nouns.codeSource})$`, 'u');
  const source = String.raw`\/(m[²³23]|\p{L}{1,12})([²³])?${endSource}(?:\.(?=[,;:)]| [\p{Ll}+–]))?`;
  return ruleAt(/\//, source, ([, written, power], place) => {
    const isHouse = /^\p{Lu}$/u.test(written!) && /\d$/.test(textBefore(place, 1));
    if (isHouse || !/\d[^;/]{0,12}$/.test(textBefore(place, 14))) return undefined;
    const area = power === undefined ? undefined : v.nouns.unit(written! + power);
    const unit = area ?? v.nouns.unit(written!);
    const name = (area ? undefined : names.get(written!)) ?? (unit ? v.nouns.nameFor(unit, '1', 'acc') : undefined);
    const raised = power === undefined || area ? '' : ` ${v.table.units.marks?.squared ?? v.signs.get(power)}`;
    const { per, per_price = per } = v.table.numbers;
    const isPrice = isCurrency.test(textBefore(place, 4));
    return name === undefined ? undefined : v.correct(`${isPrice ? per_price : per} ${name}${raised}`);
  });
}

/** Rules for "/100 km" after a measure, and for the dot of a product, as in 3·10⁸. */
function joiningRules(v: Verbalizer): Rule[] {
  const { per, per_many = per, range, ratio = range } = v.table.numbers;
  const day = `(?:${v.table.date.days ?? '(?!)'}|${v.table.date.months})`;
  const [term, equal] = [String.raw`[\p{L}\d(][\p{L}\d.,²³()^]{0,12}`, ' ?[=≈≠<>≤≥]'];
  const [named, of] = [String.raw`(?<![\p{L}\d])[fghFGHP]'{0,2}`, String.raw`\(?(?:[A-Za-z]|\d{1,3})`];
  const applied = `(?<=${named})['(](?='{0,2}${of}\\))|(?<=${named}${of})\\)`;
  const subtracted = String.raw`(?:${term}${equal}|\d?[a-z][²³]? ?[-+])`;
  return [
    ruleAt(
      /\//,
      String.raw`(?<=\d ?[\p{L}µ€$£]{1,4})\/(?=(?:10{0,3} ?(?:${v.nouns.unitSource})|\d{1,4} ?(?:h|u|t|min|s))${endSource})`,
      () => per_many,
    ),
    // 230 V/50 Hz are two quantities and no rate.
    ruleAt(/\//, String.raw`(?<=\d ?[\p{L}µ]{1,4})\/(?=\d{1,4} ?(?:${v.nouns.unitSource})${endSource})`, () => ''),
    ruleAt(/[·⋅]/, String.raw`(?<=\d ?)[·⋅](?= ?\d)`, () => v.signs.get('*')),
    ruleAt(/⁄/, '⁄', () => v.table.numbers.over),
    // f'(x) = 2x
    ruleAt(/['()]/, applied, ([sign]) => v.signs.get(`f${sign}`) ?? ''),
    // Settings > Network
    ruleAt(/>/, String.raw`(?<=\p{L}["*]? )>(?= ["*]?\p{Lu}\p{L})`, () => ''),
    ruleAt(/§/, '§§', () => v.signs.get('§§')),
    ruleAt(/[-–]/, `(?<=(?<!\\p{L})${day}\\.? ?)[-–](?= ?${day}(?!\\p{L}))`, () => range),
    ruleAt(/−/, String.raw`(?<=[\p{L}\p{N})=≈≠<>≤≥^↧↥↤→] ?)−(?= ?[\p{L}\d(∞√])`, () => v.table.numbers.minus),
    ruleAt(/[-–]/, String.raw`(?<=[\p{L}\p{N})] )[-–](?= ${subtracted})`, () => v.table.numbers.minus),
    ruleAt(/[:/]/, String.raw`(?<=\d )[:/](?= ${term}${equal})`, () => v.signs.get('÷')),
    ruleAt(/:/, String.raw`(?<=(?<![\d.,])\d{1,3} ):(?= \d)`, () => ratio || undefined),
  ];
}

/** Rule for short words that begin with an apostrophe: 's avonds. */
const cliticRule = ({ table }: Verbalizer): Rule =>
  ruleAt(/'/, String.raw`${startSource}'(?:${table.words.clitics ?? '(?!)'})(?= \p{L})`, ([written]) => written);

/** Rule for #NameOfATopic. */
const topicRule = (v: Verbalizer): Rule =>
  ruleAt(/#/, String.raw`${startSource}#(?=[\d_]{0,40}\p{L})([\p{L}\p{M}\d_]{1,140})`, ([, name]) => {
    const years = name!.replace(/(?<!\d)(?:19|20)\d\d(?!\d)/g, (year) => ` ${v.year(year)} `);
    const words = years
      .replace(/([\p{Ll}\d])(?=\p{Lu})|(\p{L})(?=\p{Lu}\p{Ll}|\d)|_/gu, '$1$2 ')
      .trim()
      .split(/\s+/);
    const said = words.map((word) =>
      /^(?:\p{Lu}{2,3}|[B-DF-HJ-NP-TV-XZ]{4,6})$/u.test(word) ? [...word].join(' ') : sayNamePart(word, v, toLatin),
    );
    return `${v.table.words.hashtag} ${said.join(' ')}`;
  });

/** Reads the sign at the place; a sign is neither a letter nor a digit. */
function readSign(place: Place, v: Verbalizer): Reading {
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
    case ')':
      return marked(sign, char);
    case '—':
      return marked(sign, ',');
    case '(':
    case '"':
      return char === '(' || before === ' ' || before === '(' ? opens(sign, char) : marked(sign, char);
    case '–':
    case '−':
    case '-':
      return readDash(sign, v);
    case '/':
      if (before === ' ' && after === ' ') return marked(sign, ',');
      return isLetterOrDigit(before) && isLetterOrDigit(after) && repeats === 1 ? saidOf(sign, v) : silent(sign);
    default:
      return repeats > 1 ? silent(sign) : saidOf(sign, v);
  }
}

function saidOf(sign: Sign, { signs }: Verbalizer): Reading {
  const { char, before, after } = sign;
  const say = signs.get(char);
  if (say === undefined) return silent(sign);
  // These signs are spoken only between or before terms: a < b, but <name>; 2 * 3, but *note*.
  if (/[<>*|^~#\\_]/.test(char)) {
    const alone = after === ' ' && (before === ' ' || (before === '(' && /[<>]/.test(char)));
    if (!alone && !(/[~#<>]/.test(char) && /\d/.test(after))) return silent(sign);
  }
  return said(sign, say);
}

/** The start of a range: a number, possibly with a sign or a unit. */
const quantityPattern = /\d(?:\.| ?(?:[%€$°]|°?\p{L}{1,3}\.?)? ?)$/u;
/** The text before the dash in the name of a plane, a document or a code: Boeing 737-800, CVE-2024-3094. */
const typePattern =
  /(?:(?:Boeing|Airbus|Embraer|Tupolev|Antonov|[Nn][°ºo]|[Nn]r\.|[Nn]úm\.) \d{2,4}|(?<!\p{L})\p{Lu}{1,5}-\d{1,6})$/u;

/** Two numbers that are a code: 2025-0311, 00-950, L. 121-3 and 2019-222. */
const codePattern = /^(?:(?!0)\d+-0\d+|00-\d+|\d{3,}-\d|(?:19|20)\d\d-\d{3})$/;
/** A set after another one: 6-4, 3-6. */
const scorePattern = /\d[-–]\d[,;] \d$/;

function readDash(sign: Sign, v: Verbalizer): Reading {
  const { text, end, before, after, repeats } = sign;
  const { minus, range, score = range, next: adjacent = range } = v.table.numbers;
  if (repeats > 1) return before === ' ' && after === ' ' ? marked(sign, ',') : silent(sign);
  const isBetween = before !== ' ' && after !== ' ';
  const next = text.slice(end, end + 2);
  const [, unit = ''] = /\d ?(\p{L}{1,3}\.?|%) $/u.exec(textBefore(sign, 8)) ?? [];
  // After 2021 r. – a sum, there is a pause.
  const isOther = before === ' ' && unit !== '' && !text.slice(end, end + 20).includes(unit);
  if (/^ ?[\d€$]/.test(next) && (before === ' ') === (after === ' ') && !isOther && /\d/.test(textBefore(sign, 6))) {
    const [, first = ''] = /(?<![\p{L}\d.,][-–]?)(\d{1,8})$/u.exec(textBefore(sign, 10)) ?? [];
    const [, second = ''] = /^(\d{1,8})(?!\d|[.,:]\d)/.exec(text.slice(end, end + 10)) ?? [];
    if (codePattern.test(`${first}-${second}`) || typePattern.test(textBefore(sign, 20))) return silent(sign);
    const isFalling = first.length < 3 && Number(second) <= Number(first);
    const isAdjacent = first.length === 1 && Number(second) === Number(first) + 1;
    const isScore = second !== '' && (isFalling || scorePattern.test(textBefore(sign, 6)));
    if (quantityPattern.test(textBefore(sign, 8)))
      return sign.char === '−' ? said(sign, minus) : joined(sign, isScore ? score : isAdjacent ? adjacent : range);
  }
  if ((before === ' ' || before === '(') && /\d/.test(after)) return said(sign, minus);
  if (before === ' ' && after === ' ') return marked(sign, ',');
  return isBetween && !/\d/.test(before + after) && isLetterOrDigit(before) && isLetterOrDigit(after)
    ? joins(sign, '-')
    : silent(sign);
}

/** Rules by first character. More specific rules come first, because the first match applies. */
interface RuleSet {
  rulesFor: Readonly<Record<Kind, RulesFor>>;
  /** Pattern of the language codes whose dates have the month first. */
  monthFirst: RegExp;
  /** Fast path for most tokens: returns the end of a plain word without punctuation, or 0 if the rules must decide. */
  easyWordEnd(text: string, token: Token): number;
}

const letterPattern = /[\p{L}\p{M}]/u;

/** Verbalizes `text`. The breaks of `tokens` must be set. */
function readByRules(text: string, tokens: readonly Token[], rules: RuleSet, dayFirst: boolean): SpokenToken[] {
  const spokenTokens: SpokenToken[] = [];
  for (let t = 0; t < tokens.length; t++) {
    const spoken = new Verbalization();
    let at = tokens[t]!.from;
    while (at < tokens[t]!.to) {
      const place: Place = { text, at, dayFirst };
      at += readAt(place, spoken, tokens[t]!, rules);
      while (at > tokens[t]!.to && t < tokens.length - 1) t++;
      // The full stop of an abbreviation may also end the sentence.
      const { breakAfter: after, to } = tokens[t]!;
      if (spoken.to === at && text[at - 1] === '.' && after >= breakStrength.sentence && endsHere(text, at, to))
        spoken.mark('.');
    }
    // A token without a word keeps its own range.
    const { from, to } = spoken.from < 0 ? tokens[t]! : spoken;
    const numbered = t === 0 && tokens.length > 1 && /^\d{1,3}\.$/.test(text.slice(tokens[0]!.from, tokens[0]!.to));
    const say = numbered ? spoken.say.replace('.', ',') : spoken.say;
    spokenTokens.push({ say, from, to, glued: false, breakAfter: tokens[t]!.breakAfter });
  }
  return spokenTokens;
}

/** Whether the rest of the token is only closing punctuation. */
const endsHere = (text: string, at: number, to: number): boolean =>
  to - at < 4 && /^["')\]]*$/.test(text.slice(at, to));

/** Appends the spoken form of the text at the place to `spoken`. Returns the length of the text that was read. */
function readAt(place: Place, spoken: Verbalization, token: Token, rules: RuleSet): number {
  const { text, at } = place;
  const char = String.fromCodePoint(text.codePointAt(at)!);
  const easy = at === token.from && letterPattern.test(char) ? rules.easyWordEnd(text, token) : 0;
  if (easy > 0) {
    spoken.word(text.slice(at, easy), at, easy);
    return easy - at;
  }
  for (const rule of rulesAt(place, char, rules.rulesFor)) {
    const reading = rule(place);
    if (!reading) continue;
    spoken[reading.kind ?? 'word'](reading.say, at, at + reading.length);
    return reading.length;
  }
  return 1;
}

/** The rules for text that begins with this character. */
function rulesAt({ text, at }: Place, char: string, rulesFor: RuleSet['rulesFor']): readonly Rule[] {
  if (letterPattern.test(char)) return rulesFor.letter(char);
  if (/\d/.test(char)) return rulesFor.digit(char + (/\D/.exec(text.slice(at, at + 40))?.[0] ?? ' '));
  const isPoint = char === '.' && /\d/.test(text[at + 1] ?? '') && !/[\p{L}\d]/u.test(text[at - 1] ?? ' ');
  return isPoint ? rulesFor.point(char) : rulesFor.sign(char);
}

class Verbalization {
  say = '';
  /** Range of the text that is spoken as words, without surrounding punctuation. */
  from = -1;
  to = -1;
  /** Separator before the next word. */
  #gap = '';

  word(say: string, from: number, to: number): void {
    if (this.from < 0) {
      this.from = from;
      // Punctuation before the first word has no effect.
      this.say = this.say.replace(/^[.,;:!? ]+/, '');
      if (this.say === '') this.#gap = '';
    }
    this.to = to;
    if (say === '') return;
    this.say += this.#gap + say;
    this.#gap = ' ';
  }

  /** Appends punctuation after a word, unless similar punctuation precedes it. */
  mark(say: string): void {
    const last = this.say.at(-1) ?? '';
    const doubled = say === last || (/[,;:.!?]/.test(last) && /^[,;:.]/.test(say));
    const applies = say !== ',' || last === '' || /[\p{L}\p{N}"')]/u.test(last);
    if (doubled || !applies) return;
    this.say += say;
    this.#gap = ' ';
  }

  /** Appends punctuation before a word. An empty string only separates words. */
  open(say: string): void {
    if (say === '' || this.say.endsWith(say)) return;
    this.say += this.#gap + say;
    this.#gap = '';
  }

  /** Sets the separator between two parts of a word: a hyphen or a space. */
  join(say: string): void {
    this.#gap = say;
  }
}

/** A character that is neither a letter nor a digit, and its context. */
interface Sign extends Place {
  char: string;
  /** Number of repetitions, and the end of the run. */
  repeats: number;
  end: number;
  /** The neighbouring characters. A missing neighbour counts as a space. */
  before: string;
  after: string;
}

function signAt(place: Place): Sign {
  const { text, at } = place;
  const char = String.fromCodePoint(text.codePointAt(at)!);
  let end = at + char.length;
  while (text.startsWith(char, end)) end += char.length;
  return { ...place, char, repeats: (end - at) / char.length, end, before: charBefore(place), after: text[end] ?? ' ' };
}

const isLetterOrDigit = (char: string): boolean => /[\p{L}\p{N}]/u.test(char);

const toReading =
  (kind: Reading['kind']) =>
  ({ at, end }: Sign, say: string): Reading => ({ kind, say, length: end - at });

const said = toReading('word');
const marked = toReading('mark');
const opens = toReading('open');
const joins = toReading('join');
const joined = (sign: Sign, say: string): Reading => (say === '' ? silent(sign) : said(sign, say));
/** A silent sign, which only separates the words on both sides. */
const silent = (sign: Sign): Reading => opens(sign, '');
