// Numbers with a unit, in the languages whose table says how units are joined: 10GB, 5 km/h, 20 m², 5-10 kg, 9.8 m/s². A
// unit is one only right after its number or after a space, where it is not more likely a word or a name.
import {
  dashSource,
  endSource,
  numberSource,
  type Place,
  type Reading,
  type Rule,
  textAfter,
  wordBefore,
} from './rule.ts';
import { matchAt, sticky } from './sticky.ts';
import type { Verbalizer } from './verbalizer.ts';
import { wordSet } from './word-table.ts';

const amountPattern = sticky(`(${numberSource})(?:(${dashSource}|\\sto\\s)(${numberSource}))?`);
const unitPattern = sticky(
  String.raw`([ -]?)(sq\.? |cu\.? |square |cubic )?(°\s?[CFK]${endSource}|°|[A-Za-zμΩ]{1,5})(\^?[²³]|(?:\^|(?<=[ckmf][mt]?))[23](?!\d))?(?:\/([A-Za-zμ]{1,5})([²³]|(?:\^|(?<=\/s))[23])?)?(?![\p{L}\d²³])(?:\.(?= \p{Ll}))?`,
);
/** More than one, for the plural. */
const several = '2';

export class Measures {
  readonly #v: Verbalizer;
  readonly #onlyAttached: ReadonlySet<string>;
  readonly #notUnits: ReadonlySet<string>;
  readonly #attributive: RegExp;
  readonly #noun: RegExp;
  readonly #square: string;
  readonly #cubic: string;
  readonly #squared: string;
  readonly #cubed: string;

  constructor(v: Verbalizer) {
    this.#v = v;
    const { square, cubic, squared, cubed, only_attached, not_units, attributive, not_described } =
      v.table.units.joined!;
    this.#attributive = new RegExp(`^(?:${attributive})$`, 'iu');
    this.#noun = new RegExp(`^ (?!(?:${not_described})(?!\\p{L}))\\p{Ll}{3}`, 'u');
    this.#onlyAttached = wordSet(only_attached);
    this.#notUnits = wordSet(not_units);
    this.#square = square;
    this.#cubic = cubic;
    this.#squared = squared;
    this.#cubed = cubed;
  }

  /** A number, or a range of two, with a unit. */
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

  /** The same with a fraction: 1/2 tsp, 3½ km. */
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
    return /^(?:\^?[²2]|sq)/.test(power) ? this.#square : /^(?:\^?[³3]|cu)/.test(power) ? this.#cubic : undefined;
  }

  /** The words for the unit at `at` after that number, in the form after `count`, and its length in the text. */
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
        ? `${one} ${this.#raise(perPower) === this.#square ? this.#squared : this.#cubed}`
        : `${this.#raise(perPower)} ${one}`;
    return { say: `${name} ${table.numbers.per} ${said}`, length: written.length };
  }
}
