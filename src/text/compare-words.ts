// Compares a text with the words that a speech recognizer heard, to find words that were skipped, added or replaced.
// Both are normalized first, so that "21" and "twenty-one" are equal. A recognizer writes some words differently from
// the text (names, homophones, compounds), so words that sound alike count as equal.
import { normalizeText } from './normalize-text.ts';

export interface WordDifference {
  /** `missing`: words of the text were not heard. `added`: words were heard that the text lacks. */
  kind: 'missing' | 'added' | 'changed';
  expected: string;
  heard: string;
  /** Range of the differing words in the text, in UTF-16 code units. Empty at the place of added words. */
  from: number;
  to: number;
  /** Where the difference begins in what was heard. */
  heardFrom: number;
  /** Number of words, the larger of the two sides. */
  words: number;
}

export interface WordComparison {
  /** Number of words of the text. */
  words: number;
  differences: WordDifference[];
  /** Whether words were probably skipped, added or replaced, rather than misheard. */
  isSuspect: boolean;
}

interface Word {
  text: string;
  /** The letters that are compared, and what they sound like. */
  key: string;
  sound: string;
  /** Range of the word's token in its text. */
  from: number;
  to: number;
  /** The digits of the word's token as written, such as "945" in "9:45", and the number of its words. */
  digits: string;
  wordsOfToken: number;
}

/** Shortest run of replaced words that a recognizer does not mishear. */
const changedWordsMin = 3;
/** Misheard words have about as many letters as the words of the text. */
const misheardLengthMax = 1.7;
const lettersLostMin = 4;
/** Longest word that recognizers write although nobody spoke it. */
const imaginedLettersMax = 3;
/**
 * Minimum number of letters of an added word. A word that is heard as several words, such as "spreads" as "spread as",
 * gets fewer letters.
 */
const lettersAddedMin = 3;
/** Sounds that recognizers leave out, such as "hmm", "uh" and "er". */
const hesitation = /^(?:h?m+|u+[hm]+|e+[hr]+m*|a+h+)$/;
/** Cells of the alignment, each one byte. */
const cellsMax = 64 << 20;

export function compareWords(
  text: string,
  heard: string,
  { languageCode, names = [] }: { languageCode: string; names?: readonly string[] },
): WordComparison {
  const expected = wordsOf(text, languageCode);
  const found = wordsOf(heard, languageCode);
  const known = new Set(names.flatMap((name) => wordsOf(name, languageCode)).map(({ key }) => key));
  const whole: Run = { said: expected, heard: found, from: 0, heardFrom: 0 };
  const runs = [...runsOf(whole, (one, other) => one.key === other.key)];
  const described = runs.map((run) => describe(run, known));
  const differences = described.flat();
  const isOther =
    expected.length > 0 && differences.some(({ from, to }) => from === expected[0]!.from && to === expected.at(-1)!.to);
  const isSuspect = isOther || described.some((each, n) => each.some(isFault) && !isImagined(runs[n]!, found));
  return { words: expected.length, differences, isSuspect };
}

function isFault({ kind, expected, heard, words }: WordDifference): boolean {
  if (kind !== 'changed' || words >= changedWordsMin) return true;
  const [shorter, longer] = [expected, heard].map((side) => side.replaceAll(' ', '').length).sort((a, b) => a - b);
  return longer! > misheardLengthMax * shorter! && longer! - shorter! >= lettersLostMin;
}

const negation = /^(?:ei|ej|nao|ne|nem|ni|nie|no|non|nor|not|nu|pas|δεν|μη|не|ні|לא|لا|ما)$/;
/** Whether the word changes what a sentence says, however short it is. */
const isWeighty = ({ key, digits }: Word): boolean => digits !== '' || negation.test(key);

/**
 * Whether the run is one added short word, such as "the". Recognizers write some short words that nobody spoke, but do
 * not write a word twice that was spoken once.
 */
function isImagined({ said, heard: [word, ...more] }: Run, found: readonly Word[]): boolean {
  if (said.length > 0 || !word || more.length > 0 || word.key.length > imaginedLettersMax) return false;
  if (isWeighty(word) || unspaced.test(word.key)) return false;
  const at = found.indexOf(word);
  return [found[at - 1], found[at + 1]].every((beside) => !soundsAlike(word.sound, beside?.sound ?? ''));
}

const unspaced = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}]/u;
const wordPattern = new RegExp(`${unspaced.source}\\p{M}*|(?:(?!${unspaced.source})[\\p{L}\\p{N}\\p{M}'’])+`, 'gu');

function wordsOf(text: string, languageCode: string): Word[] {
  const words: Word[] = [];
  for (const { say, from, to } of normalizeText(text, { languageCode, spellOut: true })) {
    const said = [...say.matchAll(wordPattern)].map(([word]) => word);
    const digits = text.slice(from, to).replace(/\P{N}/gu, '');
    for (const word of said) {
      const key = word
        .toLowerCase()
        .normalize('NFD')
        .replace(/[\p{M}'’]/gu, '');
      if (key !== '')
        words.push({ text: word, key, sound: soundKey(key), from, to, digits, wordsOfToken: said.length });
    }
  }
  return words;
}

/** Words of the text, and the words that were heard in their place. */
interface Run {
  said: readonly Word[];
  heard: readonly Word[];
  /** The end of the word before the run, in the text and in what was heard. */
  from: number;
  heardFrom: number;
}

/** The parts of a run that differ, between the pairs of equal words. */
function* runsOf({ said, heard, from, heardFrom }: Run, isEqual: IsEqual): Generator<Run> {
  let [i, j] = [0, 0];
  for (const [atI, atJ] of [...matchesOf(said, heard, isEqual), [said.length, heard.length] as const]) {
    const before = { from: said[i - 1]?.to ?? from, heardFrom: heard[j - 1]?.to ?? heardFrom };
    if (atI > i || atJ > j) yield { said: said.slice(i, atI), heard: heard.slice(j, atJ), ...before };
    [i, j] = [atI + 1, atJ + 1];
  }
}

type IsEqual = (said: Word, heard: Word) => boolean;

const step = { match: 0, skip: 1, add: 2 } as const;

/** Pairs of equal words, in order: a longest common subsequence within a band around the diagonal. */
function matchesOf(expected: readonly Word[], heard: readonly Word[], isEqual: IsEqual): [number, number][] {
  const [rows, columns] = [expected.length, heard.length];
  const half = Math.min(Math.abs(rows - columns) + 200, Math.floor(cellsMax / (2 * (rows + 1))));
  const width = 2 * half + 1;
  const steps = new Uint8Array((rows + 1) * width);
  const slope = rows === 0 ? 0 : columns / rows;
  const firstOf = (row: number) => Math.round(row * slope) - half;
  let above = new Int32Array(width).fill(0);
  for (let row = rows - 1; row >= 0; row--) {
    const current = new Int32Array(width);
    const [first, firstBelow] = [firstOf(row), firstOf(row + 1)];
    for (let k = width - 1; k >= 0; k--) {
      const column = first + k;
      if (column < 0 || column > columns) continue;
      const at = (c: number) => above[c - firstBelow] ?? -1;
      const skipped = at(column);
      const added = k + 1 < width && column < columns ? current[k + 1]! : -1;
      const matched = column < columns && isEqual(expected[row]!, heard[column]!) ? at(column + 1) + 1 : -1;
      const best = Math.max(skipped, added, matched);
      current[k] = best;
      steps[row * width + k] = best === matched ? step.match : best === skipped ? step.skip : step.add;
    }
    above = current;
  }
  const matches: [number, number][] = [];
  for (let [row, column] = [0, 0]; row < rows && column < columns; ) {
    const taken = steps[row * width + column - firstOf(row)];
    if (taken === step.match) matches.push([row, column]);
    if (taken !== step.add) row++;
    if (taken !== step.skip) column++;
  }
  return matches;
}

/** What differs in a run, without words that sound alike and without names. */
function describe(run: Run, names: ReadonlySet<string>): WordDifference[] {
  const { said, heard } = run;
  // A word may be missing or added beside one that was misheard.
  const isAdded =
    heard.length > said.length && heard.some((word) => isWeighty(word) && !said.some(({ key }) => key === word.key));
  const isUneven = said.length > heard.length || isAdded || lettersOf(heard) - lettersOf(said) >= lettersAddedMin;
  if (
    soundsAlike(soundOf(said), soundOf(heard), isUneven ? 8 : 3) ||
    isContraction(said, heard) ||
    isContraction(heard, said)
  )
    return [];
  const isName = ({ key }: Word) => names.has(key);
  // A name may be heard as any word, or as two.
  let wordsMore = said.filter(isName).length;
  const parts = [...runsOf(run, (one, other) => isName(one) || soundsAlike(one.sound, other.sound))];
  return parts.flatMap(({ said: left, heard: found, from, heardFrom }) => {
    if (isPartOfNumber(left, found)) return [];
    if (left.length === 0 && found.length === 1 && wordsMore-- > 0) return [];
    if ([...left, ...found].every(({ key }) => hesitation.test(key))) return [];
    return {
      kind: found.length === 0 ? 'missing' : left.length === 0 ? 'added' : 'changed',
      expected: textOf(left),
      heard: textOf(found),
      from: left[0]?.from ?? from,
      to: left.at(-1)?.to ?? from,
      heardFrom: found[0]?.from ?? heardFrom,
      words: Math.max(left.length, found.length),
    };
  });
}

/** Whether only parts of numbers differ, which can be read in several ways ("nine forty-five"), and none is missing. */
function isPartOfNumber(left: readonly Word[], found: readonly Word[]): boolean {
  const both = [...left, ...found];
  if (both.some(({ digits }) => digits === '')) return false;
  const countOf = (side: readonly Word[], { from }: Word) => side.filter((word) => word.from === from).length;
  const isPart = [left, found].every((side) => side.every((word) => countOf(side, word) < word.wordsOfToken));
  return isPart || digitsOf(left) === digitsOf(found);
}

const digitsOf = (words: readonly Word[]): string =>
  words.map(({ digits, from }, n) => (words[n - 1]?.from === from ? '' : digits)).join('');

/** Whether two words are a contraction in full, such as "you would" for "you'd". */
const isContraction = ([one, more]: readonly Word[], [first, , third]: readonly Word[]): boolean =>
  !!one && !more && !!first && !third && /['’]/.test(one.text) && one.key.startsWith(first.key);

const lettersOf = (words: readonly Word[]): number => words.reduce((sum, { key }) => sum + key.length, 0);
const textOf = (words: readonly Word[]): string => words.map(({ text }) => text).join(' ');
const soundOf = (words: readonly Word[]): string => soundKey(words.map(({ key }) => key).join(''));

/** Longer runs of words are compared word by word only, because comparing all of their letters takes long. */
const soundLettersMax = 200;

/** Whether sounds are so similar that they may be the same: of every `letters` letters, at most one differs. */
function soundsAlike(one: string, other: string, letters = 3): boolean {
  if (one === other) return true;
  const [longer, more] = [Math.max(one.length, other.length), Math.abs(one.length - other.length)];
  if (longer < letters || longer > soundLettersMax || more * letters > longer) return false;
  return distance(one, other) * letters <= longer;
}

/** Folds letters that sound alike in most languages of the Latin script, and doubled letters. */
const soundKey = (word: string): string =>
  word
    .replace(/ph/g, 'f')
    .replace(/[ckq]+/g, 'k')
    .replace(/[sz]+/g, 's')
    .replace(/[dt]+/g, 't')
    .replace(/[vw]/g, 'v')
    .replace(/[iy]/g, 'i')
    .replace(/(?<=.)[eh]/g, '')
    .replace(/(.)\1+/g, '$1');

/** The number of letters to insert, delete or replace. */
function distance(one: string, other: string): number {
  let before = Array.from({ length: other.length + 1 }, (_, n) => n);
  for (let i = 1; i <= one.length; i++) {
    const current = [i];
    for (let j = 1; j <= other.length; j++)
      current[j] = Math.min(
        before[j]! + 1,
        current[j - 1]! + 1,
        before[j - 1]! + (one[i - 1] === other[j - 1] ? 0 : 1),
      );
    before = current;
  }
  return before[other.length]!;
}
