// Verbalization rules. A rule is tried at one place in clean text. If it applies, it returns the spoken words and the
// length of the replaced text. Patterns are sticky and have bounded repetitions, so a rule costs the same at every
// place.

/** A place in clean text. */
export interface Place {
  text: string;
  at: number;
  /** Whether dates have the day first, as everywhere but in the United States. */
  dayFirst: boolean;
  /** The previous word, cached on first use. */
  wordBefore?: string;
}

export interface Reading {
  say: string;
  length: number;
  /**
   * Verbalization method that receives the text: `word` by default, or the method for punctuation after a word
   * (`mark`), before a word (`open`) or between words (`join`).
   */
  kind?: 'word' | 'mark' | 'open' | 'join' | undefined;
}

export interface Rule {
  (place: Place): Reading | undefined;
  /**
   * Pattern of the possible first characters of the text, or of the characters behind its first digits; absent if there
   * are many.
   */
  first?: RegExp | undefined;
}

/** A number with spaces, such as 3 000 and 1 234 567. 12 500 is excluded, because it may be two numbers. */
const spacedSource = String.raw`[1-9]\d{0,2}(?: 0\d{2}|(?: \d{3}){2,6})(?! ?\d|-\d{4})(?:\.\d{1,40})?`;
/** A written number: 1,234.50 or 1,00,000 or 3 000 or 3.14. */
export const numberSource = String.raw`(?:${spacedSource}|(?:\d{1,3}(?:,\d{3}){1,8}|\d{1,2}(?:,\d{2}){1,5},\d{3})(?!\d)(?:\.\d{1,40})?|\d{1,24}(?:\.\d{1,40})?|\.\d{1,40})`;
/** The dash of a range. An em dash with spaces is a pause and is excluded. */
export const dashSource = String.raw`(?:\s?[-–−~]\s?|—)`;
/** The result of an equation: = 2, =x, = ? */
export const resultSource = String.raw` ?= ?(?:[-−]?\d|\p{L}(?!\p{L})|\?|$)`;
/** The start and end of a word. */
export const startSource = String.raw`(?<![\p{L}\d])`;
export const endSource = String.raw`(?![\p{L}\p{M}\d])`;

type Say = (match: RegExpExecArray, place: Place) => string | undefined;

/** Creates a rule from a pattern. If `say` returns undefined, the rule does not apply. */
export function rule(source: string, say: Say): Rule {
  const pattern = sticky(source);
  return (place) => {
    const match = matchAt(pattern, place.text, place.at);
    if (!match) return undefined;
    const said = say(match, place);
    return said === undefined ? undefined : { say: said, length: match[0].length };
  };
}

/** A rule that is tried only at characters of a pattern, or at digits before such a character. */
export const startingWith = (first: RegExp, rule: Rule): Rule =>
  Object.assign((place: Place) => rule(place), { first });

export const ruleAt = (first: RegExp, source: string, say: Say): Rule => startingWith(first, rule(source, say));

/** `first` is a character, or a digit and the character behind the number. */
export type RulesFor = (first: string) => readonly Rule[];

/** Returns a function that lists the rules for the first characters of a text. Lists for Latin characters are cached. */
export function byFirst(rules: readonly Rule[]): RulesFor {
  const lists = new Map<string, readonly Rule[]>();
  return (chars) => {
    let list = lists.get(chars);
    if (!list) {
      list = rules.filter(({ first }) => !first || first.test(chars));
      if (/^[\0-\u024f]+$/.test(chars)) lists.set(chars, list);
    }
    return list;
  };
}

/** Number of characters around a place that are searched for neighbouring words. */
const neighbourCharsMax = 40;

/** The word before the place, without the punctuation between them; '' if there is no such word. */
export function wordBefore(place: Place): string {
  place.wordBefore ??= findWordBefore(place);
  return place.wordBefore;
}

function findWordBefore(place: Place): string {
  const head = textBefore(place, neighbourCharsMax);
  return /[\p{L}\p{M}\d.']*[\p{L}\p{M}\d](?=[^\p{L}\d]*$)/u.exec(head.slice(head.lastIndexOf('\n') + 1))?.[0] ?? '';
}

/** The word after `at`, without the punctuation between them; '' if there is no such word. */
export function wordAfter(text: string, at: number): string {
  return /^[ "'(-]{0,3}([\p{L}\p{M}'.\d]+)/u.exec(text.slice(at, at + neighbourCharsMax))?.[1] ?? '';
}

/** At most `chars` characters of the text before the place. */
export const textBefore = ({ text, at }: Place, chars: number): string => text.slice(Math.max(0, at - chars), at);

/** At most `chars` characters of the text that follows the `length` characters at the place. */
export const textAfter = ({ text, at }: Place, length: number, chars: number): string =>
  text.slice(at + length, at + length + chars);

/** The character before the place, or a space if there is none. */
export function charBefore({ text, at }: Place): string {
  const char = text[at - 1];
  return char === undefined || char === '\n' ? ' ' : char;
}

export const sticky = (source: string, flags = ''): RegExp => new RegExp(source, `yu${flags}`);

/** Pattern of the first characters of texts. */
export const firstOf = (texts: Iterable<string>): RegExp =>
  new RegExp([...texts].map((text) => toSource([...text][0] ?? '')).join('|') || '(?!)', 'u');

/** The match of a sticky pattern at `at`. */
export function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

/** Source of a pattern that matches the text literally. */
export const toSource = (text: string): string => text.replace(/[.*+?^$()|[\]{}/\\]/g, String.raw`\$&`);

export const wordSet = (list: string): ReadonlySet<string> => new Set(list.match(/\S+/g));
