// Pronunciations of English words that a lexicon contains, in Misaki's notation: readings by part of speech, inflected
// forms of listed words, and function words, whose sound depends on the next word.
import { toRows } from '../../platform/keyed-rows.ts';
import type { Table } from './sorted-table.ts';

// Stress marks in phoneme strings. As in Misaki's notation, a mark stands directly before the vowel that it stresses.

const primary = 'ˈ';
const secondary = 'ˌ';
const marks = /[ˈˌ]/g;
const vowel = /[AIOQWYaiuæɑɒɔəɛɜɪʊʌᵻ]/;
/** Vowels of two parts and affricates count twice in the weight of a word. */
const long = /[AIOQWYʤʧ]/g;

const markFirstVowel = (phonemes: string, mark: string) => phonemes.replace(vowel, `${mark}$&`);

/** A capitalized word is stressed at least a little. */
const stressCapitalized = (phonemes: string): string =>
  /[ˈˌ]/.test(phonemes) ? phonemes : markFirstVowel(phonemes, secondary);

/** A word in capitals carries a primary stress. */
function stressFully(phonemes: string): string {
  if (phonemes.includes(primary)) return phonemes;
  if (phonemes.includes(secondary)) return phonemes.replaceAll(secondary, primary);
  return markFirstVowel(phonemes, primary);
}

/** Turns primary stress into secondary stress. A word without primary stress remains unchanged. */
export const weaken = (phonemes: string): string =>
  phonemes.includes(primary) ? phonemes.replaceAll(secondary, '').replaceAll(primary, secondary) : phonemes;

/** Keeps primary stress on the last of several letter names: "FBI". */
export const stressLast = (letters: readonly string[]): string[] =>
  letters.map((name, i) => (i === letters.length - 1 ? name : weaken(name)));

/** Weakens the lighter half of the parts of a compound if most of them carry primary stress: "well-known". */
export function balance(parts: readonly string[]): string[] {
  const balanced = [...parts];
  const spoken = parts.flatMap((part, i) => (part ? [{ i, part, isPrimary: part.includes(primary) }] : []));
  const stressed = spoken.filter(({ isPrimary }) => isPrimary).length;
  if (spoken.length < 2 || stressed <= (spoken.length + 1) >> 1) return balanced;
  const weight = (part: string) => part.replace(marks, '').length + (part.match(long)?.length ?? 0);
  const lightestFirst = spoken.sort(
    (a, b) => Number(a.isPrimary) - Number(b.isPrimary) || weight(a.part) - weight(b.part) || a.i - b.i,
  );
  for (const { i, part } of lightestFirst.slice(0, spoken.length >> 1)) balanced[i] = weaken(part);
  return balanced;
}

/** One reading, or readings by part of speech; `None` is the reading before a pause. */
export type Reading = string | Readonly<Record<string, string | null>>;
export type Accent = 'US' | 'GB';

/** A word and what its reading depends on. */
export interface WordInContext {
  word: string;
  /** Part of speech (part-of-speech.ts). */
  tag: string;
  /** Whether the next sound is a vowel; undefined before a pause. */
  isBeforeVowel: boolean | undefined;
  isBeforeTo: boolean;
}

type Context = Omit<WordInContext, 'word'>;

/** Names that the tables of the voices, or the first variants of CMUdict, have wrong: in American, in British. */
const names = new Map(
  toRows(`
    aiden = ˈAdᵊn ˈAdᵊn; anna = ˈænə ˈanə; caleb = kˈAləb kˈAləb; dubois = dubwˈɑ duːbwˈɑː; elena = ɛlˈAnə ɛlˈAnə
    elias = əlˈIəs əlˈIəs; maria = məɹˈiə məɹˈiːə; pierre = piˈɛɹ piˈɛː; sadie = sˈAdi sˈAdi; siobhan = ʃəvˈɔn ʃəvˈɔːn
  `),
);

const tapBefore = 'AIOWYiuæɑəɛɪɹʊʌ';
const isTapped = (stem: string, accent: Accent): boolean =>
  accent === 'US' && stem.endsWith('t') && tapBefore.includes(stem.at(-2) ?? '.');

interface Inflection {
  form: RegExp;
  /** Endings, and what replaces them in a word to give the stem. */
  stems: readonly (readonly [RegExp, string])[];
  inflect(stem: string, accent: Accent): string | undefined;
}

const toStems = (rows: string) => toRows(rows).map(([ending, letter]) => [new RegExp(ending), letter] as const);
const inflections: readonly Inflection[] = [
  {
    form: /^.{2,}s$/,
    stems: toStems("(?<!s)s$ = ; 's$|(?<=.{3})(?<!i)es$ = ; (?<=.{2})ies$ = y"),
    inflect: withS,
  },
  { form: /^.{3,}d$/, stems: toStems('(?<!d)d$ = ; (?<=.{3})(?<!e)ed$ = '), inflect: withD },
  {
    form: /^.{2,}ing$/,
    stems: toStems(String.raw`(?<=.{3})ing$ = ; ing$ = e; (?<=.([bcdgklmnprstvxz]))\1ing$|(?<=.c)king$ = `),
    inflect: withIng,
  },
];

/** What a function word depends on; `entry` reads another word in the same place. */
type FunctionWord = WordInContext & { entry: (word: string, tag?: string) => string | undefined };

const functionWords = new Map<string, (word: FunctionWord) => string | undefined>(
  Object.entries({
    a: ({ tag }) => (tag === 'DT' ? 'ɐ' : 'ˈA'),
    an: () => 'ɐn',
    am: ({ word, isBeforeVowel, entry }) => (word === 'am' && isBeforeVowel !== undefined ? 'ɐm' : entry('am')),
    by: ({ tag }) => (tag.startsWith('RB') ? 'bˈI' : undefined),
    i: ({ tag }) => (tag === 'PRP' ? 'ˌI' : undefined),
    in: ({ tag, isBeforeVowel }) => (isBeforeVowel === undefined || tag !== 'IN' ? 'ˈɪn' : 'ɪn'),
    the: ({ isBeforeVowel }) => (isBeforeVowel ? 'ði' : 'ðə'),
    to: ({ isBeforeVowel, entry }) => (isBeforeVowel === undefined ? entry('to') : isBeforeVowel ? 'tʊ' : 'tə'),
    used: ({ tag, isBeforeTo, entry }) => entry('used', isBeforeTo && /^(VBD|JJ)$/.test(tag) ? 'VBD' : 'DEFAULT'),
    vs: ({ entry }) => entry('versus'),
  } satisfies Record<string, (word: FunctionWord) => string | undefined>),
);

export type EnglishLexicon = ReturnType<typeof createLexicon>;

/** The first table is checked by people, the second one is not. Readings by part of speech are JSON. */
export function createLexicon(first: Table, second: Table, accent: Accent) {
  /** Undefined if the lexicon has neither the word nor a form of which it is an inflection. */
  function read({ word, ...context }: WordInContext): string | undefined {
    const [isUpper, lower] = [word === word.toUpperCase(), word.toLowerCase()];
    const entry = (other: string, tag = context.tag) => readEntry(other, { ...context, tag });
    const isName = isUpper && context.tag.startsWith('NN');
    const special = isName ? undefined : functionWords.get(lower)?.({ word, ...context, entry });
    if (special !== undefined) return special;
    const form = find(word) === undefined ? inLowerCase(word, context) : word;
    const found = entry(form) ?? readOwner(form, context) ?? readInflected(form, context);
    if (found === undefined || word === lower) return found;
    return isUpper ? stressFully(found) : stressCapitalized(found);
  }

  /** The form of a capitalized word, or of a word in capitals, that the lexicon may have. */
  function inLowerCase(word: string, context: Context): string {
    const lower = word.toLowerCase();
    const isPlainCase = word === word.toUpperCase() || word.slice(1) === lower.slice(1);
    // A short name such as "Ames" is not the plural of a common word.
    const isShortName = context.tag === 'NNP' && word.length <= 7;
    const isKnown = () => (find(lower) ?? readInflected(lower, context)) !== undefined;
    return isPlainCase && !isShortName && isKnown() ? lower : word;
  }

  const find = (word: string): string | undefined =>
    names.get(word.toLowerCase())?.split(' ')[accent === 'US' ? 0 : 1] ?? lookUp(first, word) ?? lookUp(second, word);

  function readEntry(word: string, { tag, isBeforeVowel }: Context): string | undefined {
    const found = find(word);
    if (!found?.startsWith('{')) return found;
    const readings: Exclude<Reading, string> = JSON.parse(found);
    if (isBeforeVowel === undefined && readings.None) return readings.None;
    const parent = parentOf(tag);
    return (tag in readings ? readings[tag] : parent in readings ? readings[parent] : readings.DEFAULT) ?? undefined;
  }

  /** "James'" and "boys'". */
  function readOwner(word: string, context: Context): string | undefined {
    if (!word.endsWith("'")) return undefined;
    return readEntry(`${word}s`, context) ?? readEntry(word.slice(0, -1), context);
  }

  function readInflected(word: string, context: Context): string | undefined {
    const { stems, inflect } = inflections.find(({ form }) => form.test(word)) ?? { stems: [] };
    for (const [ending, letter] of stems) {
      const stem = ending.test(word) && readEntry(word.replace(ending, letter), context);
      if (stem) return inflect!(stem, accent);
    }
    return undefined;
  }

  /** The name of a letter; undefined for other characters. */
  function nameOf(letter: string): string | undefined {
    if (!/^[a-z]$/i.test(letter)) return undefined;
    return letter === 'A' || letter === 'a' ? 'ˈA' : first(letter.toUpperCase());
  }

  return { read, nameOf };
}

/** An entry also stands for the same word with its first letter in the other case. */
function lookUp(table: Table, word: string): string | undefined {
  const own = table(word);
  if (own !== undefined || word.length < 2) return own;
  const lower = word.toLowerCase();
  const capitalized = word.slice(0, 1).toUpperCase() + lower.slice(1);
  const other = word === lower ? capitalized : word === capitalized ? lower : undefined;
  return other === undefined || other === word ? undefined : table(other);
}

function parentOf(tag: string): string {
  if (tag.startsWith('VB')) return 'VERB';
  if (tag.startsWith('NN')) return 'NOUN';
  if (tag.startsWith('RB')) return 'ADV';
  return tag.startsWith('JJ') ? 'ADJ' : tag;
}

/** The stem with the ending of a plural, of a possessive or of the third person. */
export function withS(stem: string, accent: Accent): string {
  if (/[ptkfθ]$/.test(stem)) return `${stem}s`;
  return /[szʃʒʧʤ]$/.test(stem) ? `${stem}${accent === 'US' ? 'ᵻ' : 'ɪ'}z` : `${stem}z`;
}

function withD(stem: string, accent: Accent): string {
  const vowel = accent === 'US' ? 'ᵻ' : 'ɪ';
  if (/[pkfθʃsʧ]$/.test(stem)) return `${stem}t`;
  if (stem.endsWith('d')) return `${stem}${vowel}d`;
  if (!stem.endsWith('t')) return `${stem}d`;
  return isTapped(stem, accent) ? `${stem.slice(0, -1)}ɾᵻd` : `${stem}${vowel}d`;
}

function withIng(stem: string, accent: Accent): string | undefined {
  if (accent === 'GB' && /[əː]$/.test(stem)) return undefined;
  return stressCapitalized(`${isTapped(stem, accent) ? `${stem.slice(0, -1)}ɾ` : stem}ɪŋ`);
}
