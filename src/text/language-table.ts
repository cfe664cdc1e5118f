// The tables of a language: forms of numbers, units, currencies, abbreviations, signs, dates and times, and the
// language's rules. The files in the language's folder are read when the language is first spoken.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parse } from 'smol-toml';
import { dashSource, endSource, numberSource, resultSource, startSource } from './rule.ts';

/**
 * How to speak a number: by a CLDR rule set (names of private sets begin with "%%"), possibly up to a limit, with a form
 * for larger numbers, and with a pattern of its mistakes; or by the first pattern that matches the complete number.
 */
type NumberForm = string | NumberRules | readonly FormCase[];
export type NumberRules = { rules: string; to?: number; then?: string; wrong?: string; right?: string };

export interface FormCase {
  written?: string;
  /** Template with the groups of the pattern (written-rules.ts). */
  say: string;
}

/** A rule for text at a place (written-rules.ts). */
export interface WrittenRule {
  /** Possible first characters of the text; absent if there are many. The rule is tried only at these characters. */
  first?: string;
  written: string;
  /** Patterns of the complete words before and after the text. A missing word counts as empty. */
  word_before?: string;
  word_after?: string;
  /** Comparisons of a group with another group, or with a number of two or more digits. */
  where?: readonly string[];
  /** If true, the rule applies only if dates have the day first; if false, only if dates have the month first. */
  day_first?: boolean;
  say: string;
  say_day_first?: string;
  /** Whether a unit may follow, and whether the unit is in the singular or in the plural. */
  measured?: 'one' | 'many';
  kind?: 'mark' | 'open' | 'join';
}

/** A row of the ordered rules. `code` names a rule that cannot be written as a pattern. */
export type RuleRow = WrittenRule | { first?: string; code: string };

/** Abbreviations with a full stop: "key = words; key = words". Keys are in lower case, without the last stop. */
export interface AbbreviationRows {
  rows: string;
  /** The meaning of the full stop. */
  means: 'title' | 'numbered' | 'inner' | 'final' | 'last';
  /** Whether the keys are also words that may end a sentence, as in "Come in." */
  plain?: boolean;
  /** Patterns of the word before the abbreviation and of the text after it. */
  word_before?: string;
  after?: string;
}

export type BesideRows = { rows: string; before?: string; after?: string };

/** Form of a number beside certain words. `before` is a pattern of the text before the number. */
export interface NumberContext {
  before?: string;
  /** A pattern whose first group is the number, in digits or as a Roman numeral; "ordinal" for both. */
  written?: string;
  after?: string;
  form: string;
  /** Template with "{n}" for the number, and "{rest}" for the second group of the pattern. */
  say?: string;
}

export interface LanguageTable {
  /** CLDR locale, unless the request states another region. */
  code: string;
  /** Pattern of the language codes whose dates have the month first. */
  month_first?: string;
  forms: Readonly<Record<string, NumberForm>>;
  /** Patterns and rows that other texts of the table refer to by name, and maps of written to spoken text. */
  patterns: Readonly<Record<string, string>>;
  maps?: Readonly<Record<string, string>>;
  /** Rules by kind of first character. They replace the rules shared by all languages. */
  rules?: Readonly<Record<'digit' | 'point' | 'letter' | 'sign', readonly RuleRow[]>>;
  stopped?: readonly AbbreviationRows[];
  numbers: {
    /** The decimal mark, in languages in which commas and spaces only separate thousands. */
    mark?: '.';
    /** Name of the number 10^18, if the CLDR has none. */
    quintillion?: string;
    point: string;
    minus: string;
    range: string;
    /** Word between a number and the next one, as in 2-3. Default: `range`. */
    next?: string;
    /**
     * Word between the numbers of a score or ratio such as 3:1 or 3 : 1. Default: `range`. If it is empty, 3:1 is read
     * with `range`, and the colon of 3 : 1 is a pause.
     */
    ratio?: string;
    /** A noun such as "f vez, veces" for 10x, and the word for x between two lengths. Default: the noun. */
    times?: string;
    by?: string;
    /** Word between the numbers of a score such as 3-0; may be empty. Default: `range`. */
    score?: string;
    /** Word before a number of units, as in 6 l/100 km. Default: `per`. */
    per_many?: string;
    /** Word between numerator and denominator of a fraction without a name. */
    over: string;
    /** Word between a whole number and its fraction. */
    and?: string;
    per: string;
    /** Word between a sum and a unit, as in €3/kg. Default: `per`. */
    per_price?: string;
    /** Number that determines the plural form of a noun after a fraction. Default: 1. */
    fraction_as?: string;
    /** Decimals of at most this many digits are spoken as one number. */
    decimals_max: number;
    /** Endings of nouns that take a feminine number. */
    feminine?: string;
    /** Words that do not change the form of a preceding number, unlike nouns. */
    alone?: string;
    /** Form of a four-digit number that may be a year. */
    year?: string;
    /** Pattern of words before versions and other numbers whose parts are separated by points. */
    versions?: string;
    /** Pattern of the telephone numbers of a country, besides those that begin with 0 or +. */
    phone?: string;
    /** Whether telephone numbers are read as two-digit numbers. */
    phone_pairs?: boolean;
    /** Word between whole millions and a noun. */
    of?: string;
    /** Form of `of` before a vowel. */
    of_vowel?: string;
    contexts?: readonly NumberContext[];
    /** Corrections of CLDR misspellings and of elisions. */
    corrections?: Readonly<Record<string, string>>;
  };
  /** Cases and genders of numbers: the form in the case "gen" and the gender "f" is "f-gen"; the nominative is empty. */
  agreement?: { cases: readonly NumberContext[]; genders: readonly NumberContext[] };
  /** Names of nouns in a case: the name after the number `like` with other endings; "gen-1" is for the number one. */
  declensions?: Readonly<Record<string, { like: string; endings: string }>>;
  ordinals?: readonly { written: string; form: string }[];
  date: {
    /** Template of a date with "{d}", "{month}" and "{y}". */
    say: string;
    /** Template of a date without a year, and text between month and year. Default template: the start of `say`. */
    short?: string;
    before_year?: string;
    /** Patterns of the days of the week, also shortened, and of words before a date such as 1/5. */
    days?: string;
    before?: string;
    /** Pattern of the text between the day and the name of its month. */
    link: string;
    /** Pattern of the text before a day and a month without a year or a second stop, as in 3.05. */
    bare?: string;
    /** Forms of the day after certain words. */
    after?: Readonly<Record<string, string>>;
    months: string;
  };
  time: {
    /** Form of the number of the hour. */
    form: string;
    noun?: string;
    /** Template of a time with "{h}", "{hours}" and "{m}". */
    say: string;
    full: string;
    /** Pattern of words that may follow a written time but are already part of the spoken time. */
    suffix?: string;
    /** Words before a time such as 14.30 or a duration such as 01:05:10, and other forms of an hour after certain words. */
    before?: string;
    duration?: string;
    after?: Readonly<Record<string, { form: string; full: string }>>;
    seconds: string;
    /** Whether 14h30 is a time, and whether the minutes 05 are spoken as "zero five". */
    letter?: boolean;
    zero?: boolean;
  };
  /** Sums of money. `say` is a template with "{sum}" and either "{c}" or "{cents}", the cents with their name. */
  money: { say: string; currencies: string; magnitudes: string; attributive?: string };
  units: {
    feminine?: string;
    neuter?: string;
    /** Units whose names come from the CLDR, and names of all other units. */
    cldr?: string;
    names: string;
    per?: string;
    /** Pattern of words before a unit without a number: per km. */
    bare?: string;
    /** Template for 1,80 m with "{sum}" and "{c}", and a pattern of text beside 5A that shows that 5A is a current. */
    marks?: Readonly<Partial<Record<'meters' | 'current' | 'squared', string>>>;
    /** Words for combinations of units, and exceptions (measures.ts). */
    joined?: Readonly<
      Record<
        'square' | 'cubic' | 'squared' | 'cubed' | 'only_attached' | 'not_units' | 'attributive' | 'not_described',
        string
      >
    >;
  };
  abbreviations?: {
    always: string;
    before_number: string;
    after_number?: string;
    before_name?: string;
    /** Rows that apply only beside certain text, with patterns of the text before and after. They come first. */
    beside?: readonly BesideRows[];
  };
  signs: {
    names: string;
    fractions?: string;
    address: string;
    /** Names of characters in spelled text. Without `spelled`, other characters are skipped, and digits stay digits. */
    spelled?: string;
    /** Top-level domains that mark an address, and domain parts that are read letter by letter. */
    domains?: string;
    spelled_domains?: string;
  };
  /** Lists of words, and of abbreviations by the meaning of their full stop. */
  phrasing?: Readonly<Partial<Record<'openers' | 'clinging' | 'starters' | AbbreviationRows['means'], string>>> & {
    /** Pattern of the word before a number whose full stop makes it an ordinal, even before a capital. */
    ordinal_stops?: string;
  };
  words: {
    spelled: string;
    /** Words for a hash or a UUID, for embedded data, and before the name of a topic. */
    identifier: string;
    link: string;
    hashtag: string;
    /** Names of Greek letters. */
    greek?: string;
    /** Short words that begin with an apostrophe, such as 's in Dutch. */
    clitics?: string;
    said?: string;
    /** Pattern of text that is always read as written. */
    easy?: string;
    /** Sets and patterns that decide whether an all-caps word is pronounced or spelled out (table-rules.ts). */
    sound?: Readonly<
      Record<'spoken' | 'common' | 'initials' | 'interjections' | 'greek' | 'onset' | 'coda' | 'vowelless', string>
    >;
  };
}

/** Symbols that mean the same in every language. */
export const symbols = parse(readFileSync(join(import.meta.dirname, 'symbols.toml'), 'utf8')) as unknown as Record<
  'units' | 'currencies' | 'latex' | 'scripts' | 'compound_scripts' | 'domains' | 'extensions' | 'spelled_extensions',
  string
> & { foldings: [chars: string, stands: string][]; patterns: LanguageTable['patterns'] };

const tablesIn = (folder: string, recursive = false): string[] =>
  readdirSync(folder, { encoding: 'utf8', recursive }).filter((file) => file.endsWith('.toml'));

/** Folders with a table by the language code that the table states. */
export const folders: Readonly<Record<string, string>> = Object.fromEntries(
  tablesIn(import.meta.dirname, true).flatMap((file) => {
    const [, code] = /^code = '(\w+)'$/m.exec(readFileSync(join(import.meta.dirname, file), 'utf8')) ?? [];
    return code === undefined ? [] : [[code, dirname(file)]];
  }),
);

export const hasTable = (language: string): boolean => Object.hasOwn(folders, language);

const isTable = (value: unknown): value is object => typeof value === 'object' && !Array.isArray(value);

/** Patterns and rows that every table can refer to by name. */
const shared = {
  number: numberSource,
  dash: dashSource,
  start: startSource,
  end: endSource,
  result: resultSource,
  ...symbols.patterns,
};

/** Replaces names of patterns and rows in a text of a table, such as "${number}" for a written number. */
function expandNames(source: string, named: Readonly<Record<string, string>>): string {
  return source.replace(/\$\{(\w+)\}/g, (_, name: string) => {
    const found = named[name];
    if (found === undefined) throw new Error(`a table names "${name}", which is not defined`);
    return expandNames(found, named);
  });
}

/** Reads and merges the tables in the folder of a language, and replaces the names of patterns in them. */
export function readTable(language: string): LanguageTable {
  const folder = join(import.meta.dirname, folders[language]!);
  const tables = tablesIn(folder).map((file) => parse(readFileSync(join(folder, file), 'utf8')));
  const merged: Record<string, unknown> = { patterns: shared };
  for (const table of tables) {
    for (const [key, value] of Object.entries(table)) {
      merged[key] = isTable(value) && isTable(merged[key]) ? { ...merged[key], ...value } : value;
    }
  }
  const { patterns } = merged as unknown as LanguageTable;
  const expand = (_: string, value: unknown) => (typeof value === 'string' ? expandNames(value, patterns) : value);
  return JSON.parse(JSON.stringify(merged), expand) as LanguageTable;
}
