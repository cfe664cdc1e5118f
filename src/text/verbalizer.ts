// Speaks numbers, dates, times, sums and measures in a language, by its table (language-table.ts) and CLDR data.
// Methods convert written text to words. They return undefined for text of any other kind.

import { toRows } from '../platform/keyed-rows.ts';
import { agreementOf } from './agreement.ts';
import { hasTable, type LanguageTable, type NumberRules, readTable } from './language-table.ts';
import { type Currency, type Noun, Nouns } from './nouns.ts';
import { NumberFormat, namedDigitsMax } from './number-words.ts';
import { startSource } from './rule.ts';

/** A written number without its separators. */
interface Amount {
  minus: boolean;
  whole: string;
  fraction: string;
}

/** Maximum length of the numbers whose spoken forms are cached. */
const smallDigitsMax = 3;
const quintillionZeros = 18;

/** Regions with their own number names, and their own CLDR data. */
const regions = new Set(['pt-PT', 'fr-CH', 'fr-BE', 'de-CH']);

const verbalizers = new Map<string, Verbalizer>();

/** The verbalizer of a language; undefined if the language has no table. */
export function verbalizerFor(languageCode: string): Verbalizer | undefined {
  const [language = '', ...rest] = languageCode.split('-');
  const key = language.toLowerCase();
  if (!hasTable(key)) return undefined;
  const region = `${key}-${rest.at(-1)?.toUpperCase()}`;
  const name = regions.has(region) ? region : key;
  let verbalizer = verbalizers.get(name);
  if (!verbalizer) {
    verbalizer = new Verbalizer(readTable(key), name);
    verbalizers.set(name, verbalizer);
  }
  return verbalizer;
}

export class Verbalizer {
  readonly table: LanguageTable;
  readonly nouns: Nouns;
  readonly agreement: ReturnType<typeof agreementOf>;
  /** Names of signs. */
  readonly signs: ReadonlyMap<string, string>;
  readonly #format: NumberFormat;
  readonly #corrections: readonly (readonly [wrong: string, right: string])[];
  readonly #months: readonly string[];
  readonly #fractions: ReadonlyMap<string, readonly string[]>;
  readonly #hours: Noun | undefined;
  /** Cache of spoken numbers below a thousand, by form and number. */
  readonly #small = new Map<string, string>();

  constructor(table: LanguageTable, languageCode: string) {
    this.table = table;
    this.nouns = new Nouns(table, languageCode);
    this.agreement = agreementOf(table);
    this.#format = new NumberFormat(languageCode);
    this.#corrections = Object.entries(table.numbers.corrections ?? {});
    const format = new Intl.DateTimeFormat(languageCode, { day: 'numeric', month: 'long' });
    this.#months = Array.from(
      { length: 12 },
      (_, month) => format.formatToParts(new Date(2024, month, 15)).find(({ type }) => type === 'month')!.value,
    );
    this.#fractions = new Map(toRows(table.signs.fractions ?? '').map(([key, words]) => [key, words.split(' | ')]));
    this.signs = new Map(toRows(table.signs.names));
    this.#hours = table.time.noun === undefined ? undefined : this.nouns.toNoun(table.time.noun);
  }

  /** Speaks a whole number in one of the table's forms. */
  number(digits: string | number, form = 'cardinal'): string {
    const written = `${digits}`.replace(/^0+(?=\d)/, '');
    if (written.length > smallDigitsMax) return this.#number(`${digits}`, written, form);
    const key = `${form} ${written}`;
    let said = this.#small.get(key);
    if (said === undefined) {
      said = this.#number(`${digits}`, written, form);
      this.#small.set(key, said);
    }
    return said;
  }

  #number(digits: string, written: string, form: string): string {
    const { quintillion } = this.table.numbers;
    if (quintillion !== undefined && written.length > quintillionZeros && written.length <= quintillionZeros + 3) {
      const rest = written.slice(-quintillionZeros);
      const head = `${this.number(written.slice(0, -quintillionZeros))} ${quintillion}`;
      return Number(rest) === 0 ? head : `${head} ${this.number(rest, form)}`;
    }
    if (written.length > (quintillion === undefined ? namedDigitsMax : quintillionZeros)) return this.digits(digits);
    const rule = this.table.forms[form] as NumberRules | string;
    const { rules, to, then, wrong, right = '' } = typeof rule === 'string' ? { rules: rule } : rule;
    if (to !== undefined && BigInt(written) > to) return this.number(written, then);
    const said = this.#format.format(BigInt(written), rules.startsWith('%') ? rules : `%spellout-${rules}`);
    const corrected = this.correct(said);
    return wrong === undefined ? corrected : corrected.replace(new RegExp(wrong, 'gu'), right);
  }

  correct(said: string): string {
    for (const [wrong, right] of this.#corrections) said = said.replaceAll(wrong, right);
    return said;
  }

  /** The form of a number in a gender and a case; the nominative, if the table lacks the case. */
  formOf(gender: string, inCase: string | undefined): string {
    const form = `${gender}-${inCase}`;
    return form in this.table.forms ? form : gender;
  }

  /** Speaks a year. One of two digits lies between 1950 and 2049. */
  year(digits: string, form = 'year'): string {
    const year = digits.length === 2 ? `${Number(digits) < 50 ? 20 : 19}${digits}` : digits;
    return this.number(year, year.length <= 4 ? form : 'cardinal');
  }

  /** Speaks the year of a date. */
  dateYear(digits: string): string {
    return this.year(digits, 'date_year' in this.table.forms ? 'date_year' : 'year');
  }

  /** Speaks digits one by one. Long runs are spoken in groups of three, with pauses between the groups. */
  digits(digits: string): string {
    const names = [...digits].map((digit) => this.number(digit));
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

  /** Speaks a number as written: 1.234,5 or -3 or 007. */
  numeral(written: string, form = 'cardinal'): string {
    const { minus, whole, fraction } = this.#amountOf(written);
    const { point, decimals_max, mark } = this.table.numbers;
    const head = minus ? `${this.table.numbers.minus} ` : '';
    const isCode = (fraction === '' || mark === '.') && /^0\d/.test(whole);
    const isBare = whole === '' && mark === '.';
    const said = isBare
      ? ''
      : isCode
        ? this.digits(whole)
        : this.number(whole || '0', fraction === '' ? form : 'cardinal');
    if (fraction === '') return head + said;
    const zeros = /^0*(?=\d)/.exec(fraction)![0];
    const rest = fraction.slice(zeros.length);
    const isNumber = rest.length <= decimals_max && zeros.length < 3;
    const single = (digits: string) => [...digits].map((digit) => this.number(digit));
    const decimals = isNumber ? [...single(zeros), this.number(rest)] : single(fraction);
    return `${head}${isBare ? '' : `${said} `}${point} ${isNumber || mark === '.' ? decimals.join(' ') : this.digits(fraction)}`;
  }

  #amountOf = (written: string): Amount =>
    this.table.numbers.mark === '.' ? toEnglishAmount(written) : toAmount(written);

  /** Speaks a number with the noun that it counts. */
  count = (written: string, noun: Noun, inCase?: string): string => {
    const amount = this.#amountOf(written);
    const value = Number(`${amount.whole || 0}.${amount.fraction || 0}`);
    const number = amount.fraction === '' ? amount.whole : `${amount.whole}.${amount.fraction}`;
    const name = this.nouns.nameFor(noun, number, inCase);
    const isMillions = value > 0 && amount.fraction === '' && /0{6}$/.test(amount.whole);
    const of = isMillions ? this.of(name) : ' ';
    return this.correct(`${this.numeral(written, this.formOf(noun.gender, inCase))}${of}${name}`);
  };

  /** The word between "million" and a noun, with surrounding spaces. */
  of(name: string): string {
    const { of, of_vowel } = this.table.numbers;
    if (of_vowel !== undefined && /^[aeiouéèêh]/i.test(name)) return ` ${of_vowel}`;
    return of === undefined ? ' ' : ` ${of} `;
  }

  monthName = (month: number): string | undefined => this.#months[month - 1];

  /** The number form of a day after the given text. */
  dayForm(before: string): string {
    const isAfter = (words: string) => new RegExp(`${startSource}(?:${words})[^\\p{L}\\d]*$`, 'iu').test(before);
    return Object.entries(this.table.date.after ?? {}).find(([words]) => isAfter(words))?.[1] ?? 'day';
  }

  date(day: number, month: number, year?: string, before = ''): string | undefined {
    const name = this.monthName(month);
    if (!name || day < 1 || day > 31) return undefined;
    const form = this.dayForm(before);
    const d = this.number(day, form);
    const y = year === undefined ? '' : this.dateYear(year);
    const { say, short = say.replace(/\{month\}.*/, '{month}') } = this.table.date;
    return fill((y === '' ? short : say).replace(form === 'day' ? '' : /^.*(?=\{d\})/, ''), { d, month: name, y });
  }

  time(hour: number, minute: number, second?: number, wordBefore = ''): string | undefined {
    const { time } = this.table;
    if (hour > 24 || minute > 59 || (second ?? 0) > 59) return undefined;
    const after = Object.entries(time.after ?? {}).find(([words]) =>
      new RegExp(`^(?:${words})$`, 'iu').test(wordBefore),
    );
    const h = this.number(hour, after?.[1].form ?? time.form);
    const hours = this.#hours === undefined ? '' : this.nouns.nameFor(this.#hours, `${hour}`);
    const zero = time.zero && minute > 0 && minute < 10 ? `${this.number(0)} ` : '';
    const template = minute === 0 && second === undefined ? (after?.[1].full ?? time.full) : time.say;
    const said = fill(template, { h, hours, m: `${zero}${this.number(minute)}` });
    return second === undefined ? said : said + fill(time.seconds, { s: this.number(second) });
  }

  /**
   * Speaks a sum of money, with its cents after the currency. `isOne` selects the singular for a sum before a noun, as
   * in 'a five-dollar bill'.
   */
  money(written: string, currency: string, isOne = false, inCase?: string): string | undefined {
    const names = this.nouns.currency(currency);
    return names && this.#sum(written, names, this.table.money.say, isOne, inCase);
  }

  #sum(written: string, names: Currency, say: string, isOne: boolean, inCase?: string): string {
    const { minus, whole, fraction } = this.#amountOf(written);
    const count = (amount: string) =>
      isOne ? `${this.numeral(amount)} ${this.nouns.nameFor(names.noun, '1')}` : this.count(amount, names.noun, inCase);
    const head = minus ? `${this.table.numbers.minus} ` : '';
    if (fraction !== '' && Number(fraction) === 0) return head + count(whole || '0');
    if (!names.cent || fraction.length !== 2) return count(written);
    const cents = this.number(fraction, this.formOf(names.cent.gender, inCase));
    const named = `${cents} ${this.nouns.nameFor(names.cent, `${Number(fraction)}`, inCase)}`;
    if (Number(whole) === 0) return head + named;
    return head + fill(say, { sum: count(whole), c: this.number(fraction), cents: named });
  }

  /** Speaks a measure. 1,80 m may be "one metre eighty", unless the unit goes on, as in m/s. */
  measure(written: string, symbol: string, goesOn = false, inCase?: string): string | undefined {
    const unit = this.nouns.unit(symbol);
    const { meters } = this.table.units.marks ?? {};
    if (!unit || symbol !== 'm' || goesOn || meters === undefined) return unit && this.count(written, unit, inCase);
    return this.#sum(written, { noun: unit, cent: this.nouns.unit('cm') }, meters, false, inCase);
  }

  /** Speaks a fraction with an optional whole number and unit. */
  fraction(over: string, under: string, whole?: string, unit?: Noun, inCase?: string): string | undefined {
    if (Number(under) === 0) return undefined;
    const { numbers } = this.table;
    const key = `${over}/${under}`;
    const [alone = `${this.number(over)} ${numbers.over} ${this.number(under)}`, mixed = `{n} ${alone}`] =
      this.#fractions.get(`${key} ${inCase}`) ?? this.#fractions.get(key) ?? [];
    // The number before "einhalb" is part of the same word.
    const form = /^\{n\}\p{L}/u.test(mixed) ? 'm' : (unit?.gender ?? 'cardinal');
    const n = whole === undefined ? '' : this.number(whole, form);
    if (!unit) return whole === undefined ? alone : fill(mixed, { n });
    const name = this.nouns.nameFor(unit, numbers.fraction_as ?? '1');
    const [
      aloneOf = `${alone}${this.of(name)}{unit}`,
      mixedOf = numbers.of === undefined ? `${mixed} {units}` : mixed.replace('{n}', '{count}'),
    ] = this.#fractions.get(`${key} ${unit.gender}-${inCase}`) ?? this.#fractions.get(`${key} ${unit.gender}`) ?? [];
    const units = this.nouns.nameFor(unit, `${whole}.5`);
    const count = whole === undefined ? '' : this.count(whole, unit);
    return this.correct(fill(whole === undefined ? aloneOf : mixedOf, { n, unit: name, units, count }));
  }

  /** Speaks a telephone number digit by digit, or in pairs if the table states so. Groups are separated by pauses. */
  telephone(written: string): string {
    const groups = written.match(/\d+/g) ?? [];
    const said = groups.map((group) => {
      const isPair = this.table.numbers.phone_pairs && group.length === 2 && !group.startsWith('0');
      return isPair ? this.number(group) : this.digits(group);
    });
    return `${written.trimStart().startsWith('+') ? `${this.signs.get('+')!} ` : ''}${said.join(', ')}`;
  }
}

/** Fills the placeholders of a template. */
export const fill = (template: string, words: Readonly<Record<string, string>>): string =>
  template.replace(/\{(\w+)\}/g, (_, name: string) => words[name] ?? '').trimEnd();

/** Parses a number in which commas and spaces only separate thousands. */
function toEnglishAmount(written: string): Amount {
  const [whole = '', fraction = ''] = written.replace(/[^\d.]/g, '').split('.');
  return { minus: /^[-−]/.test(written), whole, fraction };
}

/**
 * Splits a written number. The last comma or point is the decimal mark, except before groups of three digits, as in
 * 1.234 and 1,234,567.
 */
function toAmount(written: string): Amount {
  const minus = /^[-−]/.test(written);
  const plain = written.replace(/[^\d.,]/g, '');
  const isEnglish = /^\d{1,3}(?:,\d{3})+\.\d+$|^\d{1,3}(?:,\d{3}){2,}$/.test(plain);
  const isGrouped = /^[1-9]\d{0,2}(?:\.\d{3})+(?:,\d*)?$/.test(plain);
  const clean = isEnglish ? plain.replaceAll(',', '') : isGrouped ? plain.replaceAll('.', '') : plain;
  const [whole = '', fraction = ''] = clean.split(/[.,]/);
  return { minus, whole, fraction };
}
