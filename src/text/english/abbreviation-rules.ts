// Recognises English abbreviations: with a full stop, without one before names and numbers, and the ambiguous ones such as
// St. (Saint, Street) and Dr. (Doctor, Drive).

import { charBefore, type Rule, rule, startSource, textAfter, wordBefore } from '../rule.ts';
import { wordTable } from '../word-table.ts';
import { abbreviations, afterNumber, plainWords } from './abbreviations.ts';

/** U.S.A., J.R.R. */
const initials = rule(String.raw`${startSource}(?:\p{Lu}\.){2,12}(?:\p{Lu}(?![\p{L}\d.]))?`, ([written]) => {
  const known = abbreviations.get(written.replace(/\.$/, '').toLowerCase());
  return known?.say ?? written.replace(/\./g, ' ').trim();
});

/** How far after an abbreviation a name or a number is searched. */
const followingCharsMax = 12;
const nameFollows = /^ ?["']?\p{Lu}[\p{L}.']/u;
const numberFollows = /^ ?(?:[#(]?\d|[IVXLC]{2,}\b)/;

const withStop = rule(
  String.raw`(?<!\p{L})(\p{L}{1,6}(?:\.\p{L}{1,3}){0,3})\.(?![\p{L}\d])`,
  ([written, stem], place) => {
    const key = stem!.toLowerCase();
    const after = textAfter(place, written.length, followingCharsMax);
    if (key === 'st' || key === 'dr' || key === 'ft' || key === 'mt')
      return sayPlaceOrTitle(key, after, wordBefore(place));
    const known = abbreviations.get(key);
    if (!known) return undefined;
    if (afterNumber.has(key)) return /\d$/.test(wordBefore(place)) ? known.say : undefined;
    if (known.kind === 'numbered') return numberFollows.test(after) ? known.say : undefined;
    if (known.kind === 'title' && key.length > 2) return nameFollows.test(after) ? known.say : undefined;
    if (stem!.length === 1) return sayLetter(stem!, wordBefore(place) + charBefore(place), after, known.say);
    return plainWords.has(key) && after.trim() === '' ? undefined : known.say;
  },
);

/** "Roe v. Wade" and "c. 1500", but the E. of a name is a letter. */
function sayLetter(letter: string, before: string, after: string, say: string): string | undefined {
  if (letter === 'v') return nameFollows.test(after) ? say : undefined;
  if (letter === 'c') return /^ ?\d/.test(after) ? say : undefined;
  return /^[NSEW]$/.test(letter) && /^\d+ $/.test(before) ? say : undefined;
}

function sayPlaceOrTitle(key: string, after: string, before: string): string | undefined {
  const named = nameFollows.test(after);
  const afterName = /^(?:\p{Lu}\p{Ll}|\d+(?:st|nd|rd|th)$)/u.test(before);
  switch (key) {
    case 'st':
      return afterName &&
        !/^(?:The|At|In|Near|To|From|Of|And|Old|Visit|Mt|Mount|Port|Fort|Lake|Cape|North|South|East|West)$/.test(before)
        ? 'Street'
        : named
          ? 'Saint'
          : 'Street';
    case 'dr':
      return named && !(afterName && /^ ?[A-Z]{2}\b/.test(after)) ? 'Doctor' : afterName ? 'Drive' : 'Doctor';
    case 'ft':
      return /\d$/.test(before) ? 'feet' : named ? 'Fort' : undefined;
    default:
      return named ? 'Mount' : undefined;
  }
}

/** Titles and other abbreviations without a stop, as in British English. */
const withoutStop = rule(
  String.raw`(Dr|Prof|St|Mt|Rev|Capt|Sgt|Lt|Col|Gen|Gov|Sen|Jr|Sr|No|Fig|Vol|Ch|Inc|Ltd|Corp|Co)(?![\p{L}\d.'-])`,
  ([written, stem], place) => {
    const after = textAfter(place, written.length, followingCharsMax);
    const key = stem!.toLowerCase();
    const known = abbreviations.get(key)!;
    if (key === 'st') return sayPlaceOrTitle(key, after, wordBefore(place));
    if (known.kind === 'numbered') return /^ \d/.test(after) ? known.say : undefined;
    if (known.kind === 'title') return nameFollows.test(after) ? known.say : undefined;
    return /^\p{Lu}/u.test(wordBefore(place)) ? known.say : undefined;
  },
);

const pairs = wordTable(`
  and/or and or; he/she he or she; she/he she or he; s/he he or she; his/her his or her; him/her him or her
  w/o without; w/ with; c/o care of; b/c because; n/a not applicable; N/A not applicable; km/h kilometers per hour
  m/s meters per second
`);
const paired = rule(
  String.raw`(?<![\p{L}\d/.])(\p{L}{1,3})([/&])(\p{L}{0,3})(?![\p{L}\d/])`,
  ([written, first, sign, second]) => {
    // AT&T and R&D are spelled, even where each half alone is a word.
    if (sign === '&' && /^[A-Z]{2,6}$/.test(first! + second!)) return [...first!, 'and', ...second!].join(' ');
    return pairs.get(written);
  },
);

export const abbreviationRules: readonly Rule[] = [paired, initials, withStop, withoutStop];
