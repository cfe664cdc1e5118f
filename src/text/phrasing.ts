// The words by which a language's texts are split, from its table: words that open a phrase, words that cling to the
// next word, abbreviations whose full stop does not end a sentence, and words that begin sentences. A language without
// a table is split only at punctuation. How long the pauses last is decided in speech/request-sound.ts.

import { toRows, toRowsByKey } from '../platform/keyed-rows.ts';
import { languageOf } from '../platform/language-code.ts';
import { type AbbreviationRows, hasTable, type LanguageTable, readTable } from './language-table.ts';
import { type Rule, rule, textAfter, wordBefore, wordSet } from './rule.ts';

export interface Phrasing {
  /** Conjunctions and relative pronouns. A weak break precedes them. */
  openers: ReadonlySet<string>;
  /** Articles and prepositions. No break follows them. */
  clinging: ReadonlySet<string>;
  /** Meanings of full stops by abbreviation. Keys lack the last stop, and are in lower case except for names. */
  abbreviations: ReadonlyMap<string, Meaning>;
  /** Words with a full stop in other tables, such as units: "2 cdas. de aceite". */
  stopped: ReadonlySet<string>;
  /** Capitalised words that begin a sentence rather than continue a name. */
  starters: ReadonlySet<string>;
  /** Pattern of the word before a number whose full stop makes it an ordinal: "der 3. Mai". */
  ordinalStops: RegExp;
}

type Meaning = AbbreviationRows['means'];

function toPhrasing({ phrasing, stopped = [], abbreviations, units }: Partial<LanguageTable>): Phrasing {
  const { openers = '', clinging = '', starters = '', ordinal_stops = '(?!)', ...lists } = phrasing ?? {};
  const meanings = new Map<string, Meaning>();
  const { always = '', before_number = '', after_number = '', before_name = '', beside = [] } = abbreviations ?? {};
  for (const [rows, meaning] of [
    ...beside.map(({ rows }) => [rows, 'numbered'] as const),
    [always, 'inner'],
    [before_name, 'inner'],
    [before_number, 'numbered'],
  ] as const) {
    for (const [key] of toRows(rows)) if (/^[^ -]+\.$/.test(key)) meanings.set(key.slice(0, -1).toLowerCase(), meaning);
  }
  for (const { rows, means, plain } of stopped) {
    if (!(means === 'final' && plain)) for (const [key] of toRows(rows)) meanings.set(key, means);
  }
  for (const [meaning, words] of Object.entries(lists))
    for (const word of wordSet(words)) meanings.set(word, meaning as Meaning);
  const others = [units?.names ?? '', after_number].flatMap(toRowsByKey);
  const keys = others.flatMap(([key]) => (key.endsWith('.') ? key.slice(0, -1).toLowerCase() : []));
  return {
    stopped: new Set(keys),
    ordinalStops: new RegExp(`^(?:${ordinal_stops})$`, 'iu'),
    openers: wordSet(openers),
    clinging: wordSet(clinging),
    abbreviations: meanings,
    starters: wordSet(starters),
  };
}

const phrasings = new Map<string, Phrasing>();
const phrasingWithoutTable = toPhrasing({});

export function phrasingOf(languageCode: string): Phrasing {
  const language = languageOf(languageCode);
  if (!hasTable(language)) return phrasingWithoutTable;
  let phrasing = phrasings.get(language);
  if (!phrasing) {
    phrasing = toPhrasing(readTable(language));
    phrasings.set(language, phrasing);
  }
  return phrasing;
}

/** Number of characters after an abbreviation that are searched for a name or number. */
const followingCharsMax = 12;

export function stoppedRuleFor({ stopped = [] }: LanguageTable): Rule {
  const readings = stopped.flatMap(({ rows, word_before = '.*', after = '' }) => {
    const [isBefore, isAfter] = [new RegExp(`^(?:${word_before})$`, 'su'), new RegExp(`^(?:${after})`, 'su')];
    return toRows(rows).map(([key, say]) => ({ key, say, isBefore, isAfter }));
  });
  const known = Map.groupBy(readings, ({ key }) => key);
  return rule(String.raw`(?<!\p{L})(\p{L}{1,6}(?:\.\p{L}{1,3}){0,3})\.(?![\p{L}\d])`, ([written, stem], place) => {
    // A single letter is not looked up in lower case, because a single capital is an initial.
    const candidates = known.get(stem!) ?? (stem!.length > 1 ? known.get(stem!.toLowerCase()) : undefined);
    const tail = textAfter(place, written.length, followingCharsMax);
    return candidates?.find(({ isBefore, isAfter }) => isAfter.test(tail) && isBefore.test(wordBefore(place)))?.say;
  });
}
