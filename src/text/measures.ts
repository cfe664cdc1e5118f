// Speaks numbers with a unit, such as 10GB, 5 km/h, 20 m², 5-10 kg or 9.8 m/s², in languages whose table states how
// units are joined. A unit must follow its number directly, or after one space or hyphen, and must not look like a word
// or a name.

import { sourceOf } from './nouns.ts';
import {
  dashSource,
  endSource,
  matchAt,
  numberSource,
  type Place,
  type Reading,
  type Rule,
  rule,
  sticky,
  textAfter,
  wordBefore,
  wordSet,
} from './rule.ts';
import type { Verbalizer } from './verbalizer.ts';

const amountPattern = sticky(`(${numberSource})(?:(${dashSource}|\\sto\\s)(${numberSource}))?`);
const unitPattern = sticky(
  String.raw`([ -]?)(sq\.? |cu\.? |square |cubic )?(°\s?[CFK]${endSource}|°|[A-Za-zμΩ]{1,5})(\^?[²³]|(?:\^|(?<=[ckmf][mt]?))[23](?!\d))?(?:\/([A-Za-zμ]{1,5})([²³]|(?:\^|(?<=\/s))[23])?)?(?![\p{L}\d²³])(?:\.(?= \p{Ll}))?`,
);
/** A number above one, which selects the plural. */
const several = '2';

export class Measures {
  readonly #v: Verbalizer;
  readonly #onlyAttached: ReadonlySet<string>;
  readonly #notUnits: ReadonlySet<string>;
  readonly #attributive: RegExp;
  readonly #noun: RegExp;

  constructor(v: Verbalizer) {
    this.#v = v;
    const { only_attached, not_units, attributive, not_described } = v.table.units.joined!;
    this.#attributive = new RegExp(`^(?:${attributive})$`, 'iu');
    this.#noun = new RegExp(`^ (?!(?:${not_described})(?!\\p{L}))(?:\\p{Ll}{3}|\\p{Lu}{2})`, 'u');
    this.#onlyAttached = wordSet(only_attached);
    this.#notUnits = wordSet(not_units);
  }

  /** Speaks a number, or a range of two numbers, with a unit. */
  readonly rule: Rule = (place) => {
    const amount = matchAt(amountPattern, place.text, place.at);
    if (!amount) return undefined;
    const [{ length }, from, , to] = amount;
    const unit = this.#unitAt(place, place.at + length, to ?? from!);
    if (!unit) return undefined;
    const v = this.#v;
    const isDescribing =
      this.#attributive.test(wordBefore(place)) && this.#noun.test(textAfter(place, length + unit.length, 16));
    const { say } = isDescribing ? this.#unitAt(place, place.at + length, to ?? from!, '1')! : unit;
    const said = to === undefined ? v.numeral(from!) : `${v.numeral(from!)} ${v.table.numbers.range} ${v.numeral(to)}`;
    return { say: `${said} ${say}`, length: length + unit.length };
  };

  /** Speaks a fraction with a unit: 1/2 tsp, 3½ km. */
  measured =
    (amount: Rule, number: 'one' | 'many'): Rule =>
    (place) => {
      const reading = amount(place);
      if (!reading) return undefined;
      const unit = this.#unitAt(place, place.at + reading.length, number === 'many' ? several : '1');
      return unit ? { say: `${reading.say} ${unit.say}`, length: reading.length + unit.length } : reading;
    };

  #unitOf(symbol: string) {
    const { nouns } = this.#v;
    return nouns.unit(symbol) ?? (symbol.length > 1 ? nouns.unit(symbol.toLowerCase()) : undefined);
  }

  #raise(power: string): string | undefined {
    const { square, cubic } = this.#v.table.units.joined!;
    return /^(?:\^?[²2]|sq)/.test(power) ? square : /^(?:\^?[³3]|cu)/.test(power) ? cubic : undefined;
  }

  /** The unit at index `at`, in the spoken form that `count` requires, and the unit's length in the text. */
  #unitAt({ text }: Place, at: number, amount: string, count = amount): Reading | undefined {
    const match = matchAt(unitPattern, text, at);
    if (!match) return undefined;
    const [written, gap, area, symbol, power, perSymbol, perPower] = match;
    const unit = this.#unitOf(symbol!.replace(/\s/, ''));
    if (
      !unit ||
      (gap && this.#onlyAttached.has(symbol!) && !perSymbol && !power) ||
      this.#notUnits.has(amount + symbol)
    )
      return undefined;
    const { nouns, table } = this.#v;
    const raised = this.#raise(power ?? area ?? '');
    const noun = nouns.nameFor(unit, gap !== '-' && count !== '1' ? several : '1');
    const name = raised === undefined ? noun : `${raised} ${noun}`;
    if (perSymbol === undefined) return { say: name, length: written.length };
    const per = this.#unitOf(perSymbol);
    if (!per) return { say: name, length: written.indexOf('/') };
    const one = nouns.nameFor(per, '1');
    const isTime = perSymbol === 's';
    const said = !perPower
      ? one
      : isTime
        ? `${one} ${/[²2]/.test(perPower) ? table.units.joined!.squared : table.units.joined!.cubed}`
        : `${this.#raise(perPower)} ${one}`;
    return { say: `${name} ${table.numbers.per} ${said}`, length: written.length };
  }
}

/** A range of money must not be followed by a digit or a percent sign. */
const sumEndSource = String.raw`(?!\d|[.,]\d|\s?[%‰°])`;

interface Sum {
  from: string;
  to: string | undefined;
  magnitude: string | undefined;
  currency: string;
  isOne?: boolean;
}

function saySum(v: Verbalizer, { from, to, magnitude, currency, isOne = false }: Sum): string | undefined {
  const { noun } = v.nouns.currency(currency) ?? {};
  if (!noun) return undefined;
  const { range } = v.table.numbers;
  const number = to === undefined ? v.numeral(from) : `${v.numeral(from)} ${range} ${v.numeral(to)}`;
  const scale = magnitude === undefined ? undefined : v.nouns.magnitude(magnitude.toLowerCase());
  if (scale) return `${number} ${v.nouns.nameFor(scale, '2')} ${v.nouns.nameFor(noun, isOne ? '1' : '2')}`;
  const said = v.money(to ?? from, currency, isOne);
  if (to === undefined) return said;
  // If the first sum has cents, its currency is spoken too.
  return `${/\.\d\d$/.test(from) ? v.money(from, currency) : v.numeral(from)} ${range} ${said}`;
}

/** The sign as it is written in the table: "us$" becomes "US$". */
const nameOf = (v: Verbalizer, sign: string | undefined): string | undefined =>
  sign === undefined || v.nouns.currency(sign) ? sign : sign.toUpperCase();

/** The rules for sums with the currency first, and for sums with the currency last. */
export function sumRulesFor(v: Verbalizer): Record<'sum_first' | 'sum_last', Rule> {
  const signs = sourceOf(v.nouns.currencyKeys.filter((key) => !/^[A-Z]{3}$/.test(key)));
  const codes = v.nouns.codeSource;
  const magnitudes = `(?:\\s?(${v.nouns.magnitudeSource})${endSource})?`;
  const attributive = new RegExp(`^(?:${v.table.money.attributive ?? '(?!)'})$`, 'iu');
  const first = rule(
    `(?i:(?:(${signs})|(${codes})(?=\\s?\\d))\\s?([-−])?(${numberSource})(?:${dashSource}(?:\\1)?(${numberSource})${sumEndSource})?${magnitudes})`,
    ([written, sign, code, minus, from, to, magnitude], place) => {
      const isOne = attributive.test(wordBefore(place)) && /^[ -]\p{Ll}/u.test(textAfter(place, written.length, 2));
      const said = saySum(v, { from: from!, to, magnitude, currency: nameOf(v, sign) ?? code!, isOne });
      return said && minus ? `${v.table.numbers.minus} ${said}` : said;
    },
  );
  const last = rule(
    `(${numberSource})(?:${dashSource}(${numberSource}))?(?i:${magnitudes})\\s?(${signs}|(?:${codes})${endSource})(?!\\s?\\d)`,
    ([, from, to, magnitude, currency]) => saySum(v, { from: from!, to, magnitude, currency: currency! }),
  );
  return { sum_first: first, sum_last: last };
}
