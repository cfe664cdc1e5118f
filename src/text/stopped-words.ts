// Abbreviations with a stop, in the languages whose table groups them by what the stop may mean and what has to be beside
// them: "St. Paul" and "Main St.", "No. 5" but "No.", "5 in." but "Come in."
import { type AbbreviationRows, type LanguageTable, toRows } from './language-table.ts';
import { type Rule, rule, textAfter, wordBefore } from './rule.ts';
import { expandPattern } from './written-rules.ts';

/** How far after an abbreviation a name or a number is searched. */
const followingCharsMax = 12;

interface Stopped {
  say: string;
  isAfter: RegExp | undefined;
  isBefore: RegExp | undefined;
}

export function stoppedRuleFor({ stopped = [], patterns = {} }: LanguageTable): Rule {
  const known = new Map<string, Stopped[]>();
  for (const { rows, word_before, after } of stopped) {
    const isAfter = after === undefined ? undefined : new RegExp(`^(?:${expandPattern(after, patterns)})`, 'su');
    const isBefore =
      word_before === undefined ? undefined : new RegExp(`^(?:${expandPattern(word_before, patterns)})$`, 'su');
    for (const [key, say] of toRows(rows)) {
      const candidates = known.get(key) ?? [];
      candidates.push({ say, isAfter, isBefore });
      known.set(key, candidates);
    }
  }
  return rule(String.raw`(?<!\p{L})(\p{L}{1,6}(?:\.\p{L}{1,3}){0,3})\.(?![\p{L}\d])`, ([written, stem], place) => {
    // A single capital is an initial.
    const candidates = known.get(stem!) ?? (stem!.length > 1 ? known.get(stem!.toLowerCase()) : undefined);
    return candidates?.find(
      ({ isAfter, isBefore }) =>
        (!isAfter || isAfter.test(textAfter(place, written.length, followingCharsMax))) &&
        (!isBefore || isBefore.test(wordBefore(place))),
    )?.say;
  });
}

/** The abbreviations by their keys, and what the stop of each may mean. */
export const stopMeanings = ({ stopped = [] }: LanguageTable): [key: string, means: AbbreviationRows['means']][] =>
  stopped
    .filter(({ means, plain }) => !(means === 'final' && plain))
    .flatMap(({ rows, means }) => toRows(rows).map(([key]) => [key, means] as [string, AbbreviationRows['means']]));
