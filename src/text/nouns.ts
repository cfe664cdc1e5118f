// The nouns that a language combines with numbers: units, currencies and their subunits, with gender and plurals. Names
// come from the language's table, or else from the CLDR (Intl).

import { toRows, toRowsByKey } from '../platform/keyed-rows.ts';
import { type LanguageTable, symbols } from './language-table.ts';
import { firstOf, toSource, wordSet } from './rule.ts';

export interface Noun {
  /** Form of a number before the noun. */
  gender: string;
  /** Names by plural category; empty if Intl provides the names. */
  names: readonly string[];
  /** The CLDR unit whose name Intl provides. */
  unit?: string;
}

export interface Currency {
  noun: Noun;
  cent: Noun | undefined;
}

/** CLDR units by symbol, and currencies by sign. They are the same in every language. */
const [cldrUnits, currencySigns] = [new Map(toRows(symbols.units)), new Map(toRows(symbols.currencies))];

/** Maximum number of decimals. Further decimals do not change the plural category. */
const decimalsMax = 6;

export const sourceOf = (keys: Iterable<string>): string =>
  [...keys]
    .sort((a, b) => b.length - a.length)
    .map(toSource)
    .join('|');

export class Nouns {
  readonly #languageCode: string;
  /** Plural rules by number of decimals, created on first use because creation is slow. */
  readonly #plurals: Intl.PluralRules[] = [];
  /** CLDR names by unit and plural category. */
  readonly #unitNames = new Map<string, string>();
  readonly #units = new Map<string, Noun>();
  #unitsByName: ReadonlyMap<string, Noun> | undefined;
  readonly #currencies = new Map<string, Currency>();
  readonly #magnitudes = new Map<string, Noun>();
  readonly #declensions = new Map<string, { like: string; endings: (readonly [ending: RegExp, say: string])[] }>();

  constructor({ units, money, declensions = {} }: LanguageTable, languageCode: string) {
    this.#languageCode = languageCode;
    for (const [name, { like, endings }] of Object.entries(declensions))
      this.#declensions.set(name, { like, endings: toRows(endings).map(([end, say]) => [new RegExp(`${end}$`), say]) });
    const [feminine, neuter] = [wordSet(units.feminine ?? ''), wordSet(units.neuter ?? '')];
    for (const [symbol, unit] of cldrUnits) {
      const gender = feminine.has(symbol) ? 'f' : neuter.has(symbol) ? 'n' : 'm';
      this.#units.set(symbol, { gender, names: [], unit });
    }
    for (const [symbol, unit] of toRowsByKey(units.cldr ?? ''))
      this.#units.set(symbol, { gender: 'm', names: [], unit });
    for (const [symbol, noun] of toRowsByKey(units.names))
      this.#units.set(symbol.replaceAll('_', ' '), this.toNoun(noun));
    for (const [code, words] of toRowsByKey(money.currencies)) {
      const [noun, cent] = words.split(' + ').map((name) => this.toNoun(name));
      this.#currencies.set(code, { noun: noun!, cent });
    }
    for (const [key, noun] of toRowsByKey(money.magnitudes))
      this.#magnitudes.set(key.replaceAll('_', ' '), this.toNoun(noun));
  }

  /**
   * Parses a noun such as "f Stunde, Stunden": its gender, and its names by plural category. For the gender c, the
   * number has its standalone form. The last name also applies to all further categories.
   */
  toNoun(row: string): Noun {
    const [letter = 'm'] = /^[cmfn](?= )/.exec(row) ?? [];
    return { gender: letter === 'c' ? 'cardinal' : letter, names: row.replace(/^[cmfn] /, '').split(', ') };
  }

  /** The name of a noun after `number`, which has a point as decimal mark. Decimals have no cases. */
  nameFor(noun: Noun, number: string, inCase?: string): string {
    const declension = inCase && this.#declensions.get(`${inCase}${number === '1' ? '-1' : ''}`);
    if (!declension || number.includes('.')) return this.#nameFor(noun, number);
    const decline = (word: string) => {
      const [ending = '', say = ''] = declension.endings.find(([pattern]) => pattern.test(word)) ?? [];
      return word.replace(ending, say);
    };
    return this.#nameFor(noun, declension.like).split(' ').map(decline).join(' ');
  }

  #nameFor({ names, unit }: Noun, number: string): string {
    const decimals = Math.min(/\.(\d+)/.exec(number)?.[1]?.length ?? 0, decimalsMax);
    const value = number.length > 15 ? 1e15 : Number(number || 0);
    const category = this.#categoryOf(value, decimals);
    if (unit !== undefined) return this.#unitName(unit, category, value, decimals);
    const order =
      names.length > 3 ? ['one', 'few', 'many', 'other'] : names.length > 2 ? ['one', 'few', 'many'] : ['one'];
    const index = order.indexOf(category);
    return names[index < 0 ? names.length - 1 : Math.min(index, names.length - 1)]!;
  }

  #categoryOf(value: number, decimals: number): string {
    let plurals = this.#plurals[decimals];
    if (!plurals) {
      plurals = new Intl.PluralRules(this.#languageCode, { minimumFractionDigits: decimals });
      this.#plurals[decimals] = plurals;
    }
    return plurals.select(value);
  }

  #unitName(unit: string, category: string, value: number, decimals: number): string {
    const key = `${unit} ${category}`;
    let name = this.#unitNames.get(key);
    if (name === undefined) {
      const options = { style: 'unit', unit, unitDisplay: 'long', minimumFractionDigits: decimals } as const;
      const parts = new Intl.NumberFormat(this.#languageCode, options).formatToParts(value);
      name = parts
        .filter(({ type }) => type === 'unit' || type === 'percentSign')
        .map((part) => part.value)
        .join(' ');
      this.#unitNames.set(key, name);
    }
    return name;
  }

  unit = (symbol: string): Noun | undefined => this.#units.get(symbol.replace('^2', '²').replace('^3', '³'));

  /** The unit with this symbol or name. */
  unitNamed(written: string): Noun | undefined {
    this.#unitsByName ??= new Map(
      [...this.#units.values()].flatMap((unit) => ['1', '2', '5', '0.5'].map((n) => [this.nameFor(unit, n), unit])),
    );
    return this.unit(written) ?? this.#unitsByName.get(written);
  }

  magnitude = (written: string): Noun | undefined => this.#magnitudes.get(written);

  currency(written: string): Currency | undefined {
    const code = currencySigns.get(written) ?? written;
    return this.#currencies.get(written) ?? this.#currencies.get(code);
  }

  get unitSource(): string {
    return sourceOf(this.#units.keys()).replaceAll('²', String.raw`(?:²|\^2)`).replaceAll('³', String.raw`(?:³|\^3)`);
  }

  /** The currency signs and codes in the table. */
  get currencyKeys(): readonly string[] {
    return [...this.#currencies.keys()];
  }

  get currencyFirst(): RegExp {
    return firstOf([...currencySigns.keys(), ...this.#currencies.keys()]);
  }

  get signSource(): string {
    return sourceOf([...currencySigns.keys(), ...this.#currencies.keys()].filter((key) => !/^[A-Z]{3}$/.test(key)));
  }

  get codeSource(): string {
    return sourceOf([...this.#currencies.keys()].filter((key) => /^[A-Z]{3}$/.test(key)));
  }

  get magnitudeSource(): string {
    return sourceOf(this.#magnitudes.keys());
  }
}
