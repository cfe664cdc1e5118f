// What is said in a language, as its table in <language>/<language>.toml states it: the forms of its numbers, its units,
// currencies, abbreviations, signs, dates and times. A table is read when its language is first spoken.
import { readFileSync } from 'node:fs';
import { parse } from 'smol-toml';

/** Says a number: by rules of the CLDR; up to a number by some, from there on as another form. */
export type NumberForm = string | { rules: string; to: number; then: string };

/** A number beside certain words: sources of patterns, the first against what is before it. */
export interface NumberContext {
  before?: string;
  /** Its first group is the number, in digits or as a Roman numeral. */
  written?: string;
  after?: string;
  form: string;
  /** With "{n}" for the number. */
  say?: string;
}

export interface LanguageTable {
  /** Of the CLDR data where the request states no other region of the language. */
  code: string;
  forms: Readonly<Record<string, NumberForm>>;
  numbers: {
    point: string;
    minus: string;
    range: string;
    /** Between the numbers of a result or a ratio, 3:1, if it is not that of a range. */
    ratio?: string;
    /** Between the two numbers of a fraction that has no name. */
    over: string;
    per: string;
    /** Decimals of at most this many digits are said as one number. */
    decimals_max: number;
    /** Endings of nouns before which a number is feminine. */
    feminine?: string;
    /** Words before which a number stands alone, as before no noun. */
    alone?: string;
    /** How a number of four digits that may be a year is said. */
    year?: string;
    /** Digits of a telephone number, read as numbers of two digits. */
    phone_pairs?: boolean;
    /** After a whole number of millions, before a noun. */
    of?: string;
    /** The same before a vowel. */
    of_vowel?: string;
    contexts?: readonly NumberContext[];
    /** What the data of the CLDR misspells, and words that elide. */
    corrections?: Readonly<Record<string, string>>;
  };
  ordinals?: readonly { written: string; form: string }[];
  date: {
    /** With "{d}", "{month}" and "{y}". */
    say: string;
    month_first?: boolean;
    /** Between the day and the name of its month, as a pattern. */
    link: string;
    /** A word after which another form of the day is said. */
    after?: Readonly<Record<string, string>>;
    months: string;
  };
  time: {
    /** Of the hour. */
    form: string;
    noun?: string;
    /** With "{h}", "{hours}" and "{m}". */
    say: string;
    full: string;
    /** Words that follow a time and that its words already contain, as a pattern. */
    suffix?: string;
    /** Words after which 14.30 is a time, and those after which an hour takes another form. */
    before?: string;
    after?: Readonly<Record<string, { form: string; full: string }>>;
    seconds: string;
    /** Whether 14h30 is a time, and whether five past is "zero five". */
    letter?: boolean;
    zero?: boolean;
  };
  /** A sum with its cents: with "{sum}", and "{c}" or, with their name, "{cents}". */
  money: { say: string; currencies: string; magnitudes: string };
  units: { feminine?: string; neuter?: string; names: string; per?: string };
  abbreviations: { always: string; before_number: string; after_number?: string; before_name?: string };
  signs: { names: string; fractions: string; address: string };
  words: { spelled: string; said?: string };
}

/** Languages by their code, as the names of their folders. */
const folders: Readonly<Record<string, string>> = {
  de: 'german',
  fr: 'french',
  es: 'spanish',
  it: 'italian',
  pt: 'portuguese',
  nl: 'dutch',
  sv: 'swedish',
  pl: 'polish',
};

export const hasTable = (language: string): boolean => Object.hasOwn(folders, language);

export function readTable(language: string): LanguageTable {
  const folder = folders[language]!;
  const written = readFileSync(new URL(`./${folder}/${folder}.toml`, import.meta.url), 'utf8');
  return parse(written) as unknown as LanguageTable;
}

/** The rows of "key = words; key = words", or one on a line. */
export const toRows = (rows: string): (readonly [key: string, words: string])[] =>
  rows
    .split(/[;\n]/)
    .map((row) => row.trim().split(/ = /))
    .filter(([key]) => key !== '')
    .map(([key, words = '']) => [key!, words.trim()] as const);
