// Rules for languages whose table states rules (written-rules.ts). Rules that are not patterns have only a name in the
// table: addresses, sums of money, measures, abbreviations with a full stop, and words.

import { toRows, toRowsByKey } from '../platform/keyed-rows.ts';
import { formsOf } from './forms.ts';
import type { LanguageTable, RuleRow, WrittenRule } from './language-table.ts';
import { Measures, sumRulesFor } from './measures.ts';
import { stoppedRuleFor } from './phrasing.ts';
import {
  charBefore,
  firstOf,
  type Place,
  type Rule,
  rule,
  startingWith,
  wordAfter,
  wordBefore,
  wordSet,
} from './rule.ts';
import type { Verbalizer } from './verbalizer.ts';
import { addressRuleFor, sayNamePart } from './web-addresses.ts';
import { formulaRuleFor, identifierRuleFor, toLatin } from './word-rules.ts';
import { type Form, toRule } from './written-rules.ts';

/** The kind of a first character. */
export type Kind = 'digit' | 'point' | 'letter' | 'sign';

export interface RuleLists extends Readonly<Record<Kind, readonly Rule[]>> {
  /** Words with a special pronunciation. */
  special: readonly string[];
}

/** The rules that the table states; undefined if it states none. */
export function tableRulesOf(v: Verbalizer): RuleLists | undefined {
  const { rules } = v.table;
  if (!rules) return undefined;
  const words = new CapitalWords(v.table);
  const sayWord = (word: string) => words.say(word, { text: word, at: 0, dayFirst: false });
  const signNames = new Map(toRows(v.table.signs.address));
  const name: Form = (written) => sayName(written, v, signNames, sayWord);
  const tag: Form = (written) => name(written.replaceAll('_', ' '));
  // #100DaysOfCode, #2024goals
  const topic: Form = (written) => tag(written.replace(/(?<!\d)\d{3,4}(?!\d)/g, (digits) => ` ${numberIn(digits)} `));
  const measures = new Measures(v);
  const measure: Form = (written) => measures.rule({ text: written.replace(' ', ''), at: 0, dayFirst: false })?.say;
  const formOf = formsOf(v, { name, tag, topic, measure });
  const numberIn = formOf('topic_number');
  const codes: Readonly<Record<string, Rule>> = {
    ...sumRulesFor(v),
    address: addressRuleFor(v, sayWord),
    measure: measures.rule,
    stopped: stoppedRuleFor(v.table),
    identifier: identifierRuleFor(v),
    formula: formulaRuleFor(v),
    word: rule(String.raw`[\p{L}\p{M}]+(?:'[\p{L}\p{M}]+)*`, ([word], place) => words.say(word, place)),
  };
  const toWritten = (row: WrittenRule): Rule => {
    const written = toRule(row, formOf);
    return row.measured ? measures.measured(written, row.measured) : written;
  };
  const toListed = (row: RuleRow): Rule => {
    const found = 'code' in row ? codes[row.code]! : toWritten(row);
    return row.first === undefined ? found : startingWith(firstOf(row.first), found);
  };
  const { digit, point, letter, sign } = rules;
  return {
    digit: digit.map(toListed),
    point: point.map(toListed),
    letter: letter.map(toListed),
    sign: sign.map(toListed),
    special: [...words.special.keys()],
  };
}

/** Speaks a name in a tag or a handle. Each word of the name begins with a capital. */
function sayName(
  written: string,
  v: Verbalizer,
  signNames: ReadonlyMap<string, string>,
  sayWord: (word: string) => string,
): string {
  const divided = written
    .replace(/([\p{Ll}\d])(?=\p{Lu})|(\p{Lu})(?=\p{Lu}\p{Ll})/gu, '$1$2 ')
    .replace(/(\p{L})(?=\d)|(\d)(?=\p{L})/gu, '$1$2 ');
  return divided
    .split(/(_|-|\.)|\s+/)
    .filter((part) => part)
    .map((part) => signNames.get(part) ?? sayNamePart(part, v, sayWord))
    .join(' ');
}

const spell = (letters: string): string => [...letters.toUpperCase()].join(' ');
const toTitle = (capitals: string): string => capitals[0] + capitals.slice(1).toLowerCase();

/** Maximum length of an all-caps acronym. */
const capitalsMax = 24;

class CapitalWords {
  /** Words with a special pronunciation. */
  readonly special: ReadonlyMap<string, string>;
  readonly #spelled: ReadonlySet<string>;
  readonly #spoken: ReadonlySet<string>;
  readonly #common: ReadonlySet<string>;
  readonly #initials: ReadonlySet<string>;
  readonly #interjections: ReadonlySet<string>;
  readonly #greek: ReadonlyMap<string, string>;
  readonly #onset: RegExp;
  readonly #coda: RegExp;
  readonly #vowelless: RegExp;
  readonly #andWord: string;

  constructor({ words, signs }: LanguageTable) {
    const sound = words.sound!;
    this.special = new Map(toRowsByKey(words.said ?? ''));
    this.#spelled = wordSet(words.spelled);
    this.#spoken = wordSet(sound.spoken);
    this.#common = wordSet(sound.common);
    this.#initials = wordSet(sound.initials);
    this.#interjections = wordSet(sound.interjections);
    this.#greek = new Map(toRows(sound.greek));
    this.#onset = new RegExp(`^(?:${sound.onset})`);
    this.#coda = new RegExp(`(?:${sound.coda})$`);
    this.#vowelless = new RegExp(sound.vowelless);
    this.#andWord = new Map(toRows(signs.names)).get('&')!;
  }

  /** The spoken form of a word. Neighbouring words show whether the whole text is in capitals. */
  say(word: string, place: Place): string {
    if (this.special.has(word) && charBefore(place) !== '/') return this.special.get(word)!;
    if (!/^[\p{Script=Latin}\p{M}']*$/u.test(word)) return toLatin(word, this.#greek, 'character');
    // drum'n'bass
    if (/\p{L}'n'\p{L}/iu.test(word)) return word.replace(/^(\p{L}+)'n'(?=\p{L}+$)/iu, `$1 ${this.#andWord} `);
    // Combining marks without a composed form are removed.
    if (/\p{M}/u.test(word)) return word.replace(/\p{M}/gu, '');
    const match = /^([A-Z]{2,})('?s|S'|'S)?$/.exec(word);
    if (match && word.length <= capitalsMax) {
      const [, capitals, ending] = match;
      const said = this.#sayCapitals(capitals!, place, word.length);
      if (!ending) return said;
      return / .$|^.$/.test(said) ? `${said}'s` : `${said}${ending.toLowerCase()}`;
    }
    return this.#vowelless.test(word) && !this.#interjections.has(word) ? spell(word) : word.normalize('NFKC');
  }

  /** Whether the capitals could be pronounced as a word. */
  #isPronounceable = (capitals: string): boolean =>
    this.#onset.test(capitals) && this.#coda.test(capitals) && !/[^AEIOUY]{5}/.test(capitals);

  /** Whether a neighbouring word is in capitals too. */
  #isShouted(place: Place, length: number): boolean {
    return [wordBefore(place), wordAfter(place.text, place.at + length)].some(
      (word) =>
        /^[A-Z']{2,}$/.test(word) &&
        (this.#common.has(word) || (word.length > 3 && this.#isPronounceable(word) && !this.#spoken.has(word))),
    );
  }

  #sayCapitals(capitals: string, place: Place, length: number): string {
    const shouted = this.#isShouted(place, length);
    if (this.#common.has(capitals) && (shouted || !this.#initials.has(capitals))) return capitals.toLowerCase();
    if (this.#spoken.has(capitals)) return toTitle(capitals);
    if (this.#spelled.has(capitals) || (capitals.length < 4 && !shouted)) return spell(capitals);
    if (!this.#isPronounceable(capitals)) return spell(capitals);
    return shouted ? capitals.toLowerCase() : toTitle(capitals);
  }
}
