// What is said in a language, as the tables in its folder state it: the forms of its numbers, its units, currencies,
// abbreviations, signs, dates and times, and the rules of what it reads. They are read when the language is first spoken.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'smol-toml';

/**
 * Says a number: by rules of the CLDR, which are private where they are written with "%%"; up to a number by some, from
 * there on as another form; or by the first of several patterns that what is written matches as a whole.
 */
export type NumberForm = string | { rules: string; to: number; then: string } | readonly FormCase[];

export interface FormCase {
  written?: string;
  /** With places for its groups (written-rules.ts). */
  say: string;
}

/** A rule for what is written at a place (written-rules.ts). */
export interface WrittenRule {
  /** The characters that it may begin with, if they are few. */
  first?: string;
  written: string;
  /** Patterns of the whole word before and after; of none, the word is empty. */
  word_before?: string;
  word_after?: string;
  /** Comparisons of groups, each with another or with a number of two digits or more. */
  where?: readonly string[];
  /** Whether it is for dates with the day first only, or for the others only. */
  day_first?: boolean;
  say: string;
  say_day_first?: string;
  /** A unit may follow: in the singular, or in the plural. */
  measured?: 'one' | 'many';
  kind?: 'mark' | 'open' | 'join';
}

/** Rules in their order; one that cannot be a pattern is named. */
export type RuleRow = WrittenRule | { first?: string; code: string };

/** Abbreviations with a stop: "key = words; key = words", keys in lower case and without the last stop. */
export interface AbbreviationRows {
  rows: string;
  /** What the stop may mean. */
  means: 'title' | 'numbered' | 'inner' | 'final';
  /** Whether each is also a word at the end of a sentence: "Come in." */
  plain?: boolean;
  /** Patterns of the word before, and of what follows. */
  word_before?: string;
  after?: string;
}

/** A number beside certain words: sources of patterns, the first against what is before it. */
interface NumberContext {
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
  /** A pattern of the language codes whose dates have the month first. */
  month_first?: string;
  forms: Readonly<Record<string, NumberForm>>;
  /** Patterns that rules name, and words by what is written. */
  patterns?: Readonly<Record<string, string>>;
  maps?: Readonly<Record<string, string>>;
  /** Rules by what they begin with; with them, the rules that every language has are not used. */
  rules?: Readonly<Record<'digit' | 'point' | 'letter' | 'sign', readonly RuleRow[]>>;
  stopped?: readonly AbbreviationRows[];
  numbers: {
    /** The decimal mark where commas and spaces only separate thousands. */
    mark?: '.';
    /** The name of 10 to the power of 18, where the CLDR has none. */
    quintillion?: string;
    point: string;
    minus: string;
    range: string;
    /** Between the numbers of a result or a ratio, 3:1, if it is not that of a range. */
    ratio?: string;
    /** Between the two numbers of a fraction that has no name. */
    over: string;
    /** Between a whole number and its fraction. */
    and?: string;
    per: string;
    /** The number whose form of a noun follows a fraction, if it is not 1. */
    fraction_as?: string;
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
    /** The same without a year, if it is not what comes before the year; and what is between a month and a year. */
    short?: string;
    before_year?: string;
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
  money: { say: string; currencies: string; magnitudes: string; attributive?: string };
  units: {
    feminine?: string;
    neuter?: string;
    /** Names that are those of the CLDR, and the others. */
    cldr?: string;
    names: string;
    per?: string;
    /** How 1,80 m is said, with "{sum}" and "{c}", and a pattern of what is beside 5A where it is a current. */
    marks?: Readonly<Record<'meters' | 'current', string>>;
    /** How units are joined to others (measures.ts). */
    joined?: Readonly<
      Record<
        'square' | 'cubic' | 'squared' | 'cubed' | 'only_attached' | 'not_units' | 'attributive' | 'not_described',
        string
      >
    >;
  };
  abbreviations?: { always: string; before_number: string; after_number?: string; before_name?: string };
  signs: {
    names: string;
    fractions?: string;
    address: string;
    /** Where characters are spelled one by one; without it only letters and digits are, and digits as they are written. */
    spelled?: string;
    /** Top-level domains that make a name an address, and those that are spelled. */
    domains?: string;
    spelled_domains?: string;
  };
  words: {
    spelled: string;
    said?: string;
    /** A pattern of what is read as it is written, wherever it is. */
    easy?: string;
    /** Which capitals can be said as a word (capital-words.ts). */
    sound?: Readonly<
      Record<'spoken' | 'common' | 'initials' | 'interjections' | 'greek' | 'onset' | 'coda' | 'vowelless', string>
    >;
  };
}

/** Languages by their code, as the names of their folders. */
const folders: Readonly<Record<string, string>> = {
  en: 'english',
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

const isTable = (value: unknown): value is object => typeof value === 'object' && !Array.isArray(value);

/** The files of the folder of a language, whose tables are put together. */
export function readTable(language: string): LanguageTable {
  const folder = join(import.meta.dirname, folders[language]!);
  const tables = globSync('*.toml', { cwd: folder }).map((file) => parse(readFileSync(join(folder, file), 'utf8')));
  const merged: Record<string, unknown> = {};
  for (const table of tables) {
    for (const [key, value] of Object.entries(table)) {
      merged[key] = isTable(value) && isTable(merged[key]) ? { ...merged[key], ...value } : value;
    }
  }
  return merged as unknown as LanguageTable;
}

/** The rows of "key = words; key = words", or one on a line. */
export const toRows = (rows: string): (readonly [key: string, words: string])[] =>
  rows
    .split(/[;\n]/)
    .map((row) => row.trim().split(/ = /))
    .filter(([key]) => key !== '')
    .map(([key, words = '']) => [key!, words.trim()] as const);
