// Sets the strength of the break after each token. Intl.Segmenter (Unicode Standard Annex 29) finds the sentence ends.
// Its results are corrected for abbreviations, initials, list numbers, ellipses and continued quotations, such as
// "Really?" he said. Clauses end at punctuation, and phrases begin at conjunctions.

import { type Phrasing, phrasingOf } from './phrasing.ts';
import { breakStrength, segmenterFor, type Token } from './tokenize.ts';

/** Number of characters examined at the end of a token. No abbreviation is longer. */
const tailCharsMax = 40;

const stopPattern = /(?<![.!?…])([.!?…]+)["'”’»)\]}]*$/;
const wideStopPattern = /[。！？｡]\p{Pe}*$/u;
const terminalPattern = /\p{Sentence_Terminal}/u;
const openerPattern = /^[\p{Ps}\p{Pi}"'¿¡#/~]+/u;
const clausePattern = /[,;:—–、，；：،؛][\p{Pe}\p{Pf}"']*$|^[-—–]+$|\)["']?$/u;
const thaiLikePattern = /[\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]["']?$/u;
const initialPattern = /^(?:\p{Lu}|\p{Lu}(?:\.\p{L}){1,8}|\p{Ll}(?:\.\p{Ll}){1,8})$/u;
const listNumberPattern = /^(?:\d{1,3}|[A-Za-z]|[ivxIVX]{1,5})$/;
/** A number that may be an ordinal before a full stop, or the Roman numeral of a ruler. */
const ordinalPattern = /^(?:\d{1,3}|[IVX]{1,5})$/;
const vowels = 'aeiouyáéíóúàèìòùâêîôûäöüąęåæøãõ';
/** A short word without vowels is an abbreviation, if a number follows. */
const shortPattern = new RegExp(`^(?:(?![${vowels}])\\p{L}){1,4}$`, 'iu');
/** A word that is no unknown abbreviation: long words in texts with capitals, and others in texts without them. */
const longWordPattern = new RegExp(`^(?=.*\\p{L}{5})[^${vowels}]*[${vowels}]+[^${vowels}]+[${vowels}]\\p{L}*$`, 'iu');
const wordPattern = new RegExp(`^(?=.{3})(?:(?![${vowels}])\\p{L})*[${vowels}]\\p{L}*$`, 'iu');
/** A word that may precede a number: "Hauptstr. 5", "Goethepl. 3", "Artikelnr. 7". */
const streetPattern = /\p{L}{3}-?(?:str|pl|nr)$/iu;
/** Words that may follow "5 p.m." in the same sentence. */
const timePattern =
  /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun|Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec|Eastern|Central|Mountain|Pacific|Greenwich|Local)/;
/** A lower-case word or an operator that continues the sentence. Names like iPhone are excluded. */
const continuesPattern = /^\p{Ll}(?!\p{L}{0,2}\p{Lu})/u;
const operatorPattern = /^[=<>≤≥≈≠+×÷·]$/;
const beginsPattern = /^[\p{Lu}\p{Lt}\p{Lo}\p{N}]|^\p{Ll}{1,2}\p{Lu}/u;

/** A number whose unit may be followed by a number with a smaller unit: "5 ft. 3 in." */
const numberPattern = /^[\d.,/½¼¾-]*[\d½¼¾]$/;
const unitPattern = /^(?:yd|ft|in|lb|oz|hr|min|sec|gal|qt|pt|fl)s?\.?[,;:!?)]*$/;
/** An elided article, or another abbreviation, before an abbreviation: "l'Ing.", "Mo.–Fr." */
const elisionPattern = /^\p{L}{1,5}(?:['’]|\.[-–])(?=\p{L}{2})/u;

/** `isDialogue` states that a dash before the text opens a speech: — Tu viens ? dit-il. */
export function markBreaks(
  text: string,
  tokens: readonly Token[],
  languageCode: string,
  isDialogue = /^[—–] /.test(text),
): void {
  const phrasing = phrasingOf(languageCode);
  const sentences = segmenterFor(languageCode, 'sentence').segment(text);
  const wordOf = (token?: Token) => (token ? text.slice(token.from, token.to) : '');
  const capitalAt = text.search(/\p{Lu}/u);
  let first = 0;
  for (const [i, token] of tokens.entries()) {
    const next = tokens[i + 1];
    if (!next || text[next.from - 1] === '\n') {
      token.breakAfter = breakStrength.paragraph;
    } else {
      const tail = text.slice(Math.max(token.from, token.to - tailCharsMax), token.to);
      const head = text.slice(next.from, Math.min(next.to, next.from + tailCharsMax));
      const ends =
        !measureGoesOn(text, tokens, i) &&
        isSentenceEnd({
          tail,
          head,
          startsSentence: i === first,
          before: () => wordOf(tokens[i - 1]),
          isOpening: () => i - first < 5 && phrasing.clinging.has(wordOf(tokens[first]).toLowerCase()),
          isDialogue,
          isUnicodeEnd: () => isStart(sentences, text, token.to),
          hasCapitals: capitalAt >= 0 && capitalAt < token.to,
          phrasing,
        });
      token.breakAfter = ends ? breakStrength.sentence : weakerBreak(tail, head, next.glued, phrasing);
    }
    if (token.breakAfter >= breakStrength.sentence) first = i + 1;
  }
}

/** Whether the token is a unit that is followed by another number and unit. */
function measureGoesOn(text: string, tokens: readonly Token[], i: number): boolean {
  if (i === 0 || !/[\d½¼¾]/.test(text[tokens[i - 1]!.to - 1]!)) return false;
  const [number, unit, nextNumber, nextUnit] = tokens
    .slice(i - 1, i + 3)
    .map(({ from, to }) => text.slice(from, Math.min(to, from + tailCharsMax)));
  if (nextNumber === undefined || !numberPattern.test(nextNumber)) return false;
  return numberPattern.test(number!) && unitPattern.test(unit!) && unitPattern.test(nextUnit ?? '');
}

/**
 * Whether a word's full stop may mean something other than the end of a sentence, as in "Dr.", "J." or "3." in a list.
 * "always" means that no sentence ends here.
 */
export function mayAbbreviate(word: string, languageCode: string): boolean | 'always' {
  const tail = word.slice(-tailCharsMax);
  const match = stopPattern.exec(tail);
  if (match?.[1]?.[0] !== '.') return false;
  const stem = stemOf(tail, match.index);
  const { abbreviations } = phrasingOf(languageCode);
  const meaning = abbreviations.get(stem) ?? abbreviations.get(stem.toLowerCase());
  if (match[1] === '.' && stem.length > 1 && (meaning === 'title' || meaning === 'inner')) return 'always';
  return meaning !== undefined || initialPattern.test(stem) || listNumberPattern.test(stem);
}

/** The word without leading punctuation and without its final marks. */
const stemOf = (tail: string, end: number): string =>
  tail.slice(0, end).replace(openerPattern, '').replace(elisionPattern, '');

/** Whether the end of a text may be the end of a sentence. */
export const mayEndSentence = (text: string): boolean =>
  stopPattern.test(text.slice(-tailCharsMax)) || wideStopPattern.test(text.slice(-tailCharsMax));
export const endsClause = (text: string): boolean =>
  clausePattern.test(text.slice(-tailCharsMax)) || thaiLikePattern.test(text.slice(-tailCharsMax));

/** The boundary between two tokens. */
interface Gap {
  /** The end of the previous token, and the start of the next token. */
  tail: string;
  head: string;
  /** Whether the previous token begins a sentence. */
  startsSentence: boolean;
  /** The token before it, and whether the text up to here only opens the sentence: In 1998 … */
  before(): string;
  isOpening(): boolean;
  isDialogue: boolean;
  /** Whether Unicode's rules end the sentence here. */
  isUnicodeEnd(): boolean;
  /** Whether the text up to here contains a capital. */
  hasCapitals: boolean;
  phrasing: Phrasing;
}

function isSentenceEnd(gap: Gap): boolean {
  const { tail, head, startsSentence, isDialogue, isUnicodeEnd, hasCapitals, phrasing } = gap;
  if (operatorPattern.test(head)) return false;
  const match = stopPattern.exec(tail);
  // Unicode treats an opening bracket after 。 as a closing bracket.
  if (!match)
    return terminalPattern.test(tail) && (isUnicodeEnd() || (wideStopPattern.test(tail) && openerPattern.test(head)));
  const next = head.replace(openerPattern, '');
  const continues = continuesPattern.test(next);
  const [closing, stop] = match;
  if (stop !== '.')
    return continues
      ? !isDialogue && closing === stop && !stop!.endsWith('..') && isUnicodeEnd()
      : beginsPattern.test(next) || isUnicodeEnd();
  const stem = stemOf(tail, match.index);
  if (startsSentence && listNumberPattern.test(stem)) return false;
  const starts = phrasing.starters.has(/^[\p{L}]+/u.exec(next)?.[0] ?? '');
  // A single capital is an initial.
  const meaning =
    phrasing.abbreviations.get(stem) ?? phrasing.abbreviations.get(stem.length > 1 ? stem.toLowerCase() : stem);
  if (continues) {
    const isShort = meaning !== undefined || phrasing.stopped.has(stem.toLowerCase()) || streetPattern.test(stem);
    if (isShort || closing !== stop) return false;
    return /[)\]"']$/.test(stem) || longWordPattern.test(stem) || (!hasCapitals && wordPattern.test(stem));
  }
  switch (meaning) {
    case 'title':
    case 'inner':
      return stem.length === 1 && starts;
    case 'numbered':
      return !/^(?:\d|[IVXLC]{2,}\b|[IVX](?![\p{L}.]))/u.test(next);
    case 'last':
      return /^\p{Lu}(?![\p{Lu}.])/u.test(next) && !gap.isOpening();
    case 'final':
      return starts || (/^(?:[ap]\.m|etc)$/i.test(stem) && /^\p{Lu}\p{Ll}/u.test(next) && !timePattern.test(next));
    default:
      if (initialPattern.test(stem) && stem !== 'I') return starts;
      if (/^\d0$/.test(stem) && /^[IVX]{2,6}(?!\p{L})/u.test(next)) return false;
      if (shortPattern.test(stem) && /^\d/.test(next) && !phrasing.starters.has(stem)) return false;
      if (streetPattern.test(stem) && /^\d/.test(next)) return false;
      if (/^\d*ff?$/.test(stem) && /^\p{Lu}\p{Ll}{0,3}\p{Lu}/u.test(next)) return false;
      if (phrasing.ordinalStops.test(gap.before()) && ordinalPattern.test(stem) && /^(?:\(|["']?\p{Lu})/u.test(head))
        return starts;
      return beginsPattern.test(next) || isUnicodeEnd();
  }
}

function weakerBreak(tail: string, head: string, glued: boolean, phrasing: Phrasing): number {
  if (clausePattern.test(tail) || /^(?:\(|[-—–]+$)/.test(head)) return breakStrength.clause;
  if (!glued && thaiLikePattern.test(tail)) return breakStrength.clause;
  const last = tail.replace(/\.$/, '').toLowerCase();
  const clings = phrasing.clinging.has(last) || phrasing.openers.has(last);
  const opens = phrasing.openers.has(head.replace(openerPattern, '').toLowerCase());
  if (opens) return clings ? breakStrength.word : breakStrength.phrase;
  return clings ? breakStrength.cling : breakStrength.word;
}

/** Whether a sentence starts at the index, or behind the space there. */
const isStart = (sentences: Intl.Segments, text: string, at: number): boolean => {
  const start = text[at] === ' ' ? at + 1 : at;
  return sentences.containing(start)?.index === start;
};
