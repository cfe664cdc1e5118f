// Speaks words in capitals, words with special pronunciations and Greek letters, in languages whose table states which
// capitals are pronounceable: FBI and CPUs are spelled; NASA and shouted words are not. Words of other scripts are
// transliterated.
import anyAscii from 'any-ascii';
import { type LanguageTable, toRows } from './language-table.ts';
import { charBefore, type Place, wordAfter, wordBefore, wordSet } from './rule.ts';

const spell = (letters: string): string => [...letters.toUpperCase()].join(' ');
const toTitle = (capitals: string): string => capitals[0] + capitals.slice(1).toLowerCase();

/** Longer words in capitals are not acronyms. */
const capitalsMax = 24;

export class CapitalWords {
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
    this.special = new Map(
      toRows(words.said ?? '').flatMap(([keys, say]) => keys.split(' ').map((key) => [key, say] as const)),
    );
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

  /** The spoken form of a word. Its neighbours show whether the whole text is in capitals. */
  say(word: string, place: Place): string {
    if (this.special.has(word) && charBefore(place) !== '/') return this.special.get(word)!;
    if (!/^[\p{Script=Latin}\p{M}']*$/u.test(word)) return this.#transliterate(word);
    // drum'n'bass
    if (/\p{L}'n'\p{L}/iu.test(word)) return word.replace(/(?<=^\p{L}+)'n'(?=\p{L}+$)/iu, ` ${this.#andWord} `);
    // Combining marks that have no composed form.
    if (/\p{M}/u.test(word)) return word.replace(/\p{M}/gu, '');
    const match = /^([A-Z]{2,})('?s|S'|'S)?$/.exec(word);
    if (match && word.length <= capitalsMax) {
      const [, capitals, ending] = match;
      const said = this.#sayCapitals(capitals!, place, word.length);
      if (!ending) return said;
      return / .$|^.$/.test(said) ? `${said}'s` : `${said}${ending.toLowerCase()}`;
    }
    return this.#vowelless.test(word) && !this.#interjections.has(word) ? spell(word) : word;
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

  #transliterate(word: string): string {
    const letter = this.#greek.get(word.toLowerCase());
    if (letter !== undefined) return letter;
    const ascii = anyAscii(word.normalize('NFC'))
      .replace(/[^A-Za-z0-9' ]+/g, '')
      .trim();
    // Some rare ideographs have no transliteration; they still get a word.
    return ascii === '' ? 'character' : ascii;
  }
}
