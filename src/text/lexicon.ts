// A lexicon: how words are to be said. It is compiled once, and matches whole words at the places where they begin, the
// longest first; its cost for a text does not depend on how many entries it has. Quotes, hyphens, white space and the
// composition of accents are alike, and letters of either case where an entry says so.
import type { Said } from './marked-text.ts';
import { WordEdges } from './word-edges.ts';
import { foreignToIpa, toIpa } from './x-sampa.ts';

export const letterCases = ['sensitive', 'insensitive'] as const;
export type LetterCase = (typeof letterCases)[number];

export const phoneticAlphabets = ['ipa', 'x-sampa'] as const;
export type PhoneticAlphabet = (typeof phoneticAlphabets)[number];

export interface LexiconEntry {
  /** As it is written in texts. */
  grapheme: string;
  /** What is said in its place; or `phoneme`, how it is pronounced. */
  alias?: string;
  phoneme?: string;
  /** Of the phoneme. Default: ipa. */
  alphabet?: PhoneticAlphabet;
  /** Canonical BCP-47: text of other languages is left alone. */
  languageCode?: string;
  /** Default: sensitive. */
  case?: LetterCase;
}

/** Where a text has an entry of the lexicon. */
export interface LexiconMatch {
  from: number;
  to: number;
  said: Said;
}

/** A text, prepared for the lexicons that are tried on it. */
export interface LexiconText {
  /** What is compared: signs that are alike are one. */
  plain: string;
  lower: string;
  edges: WordEdges;
  languageCode: string;
}

export interface Lexicon {
  /** The longest entry that begins at the index and its token, and where it ends. */
  matchAt(text: LexiconText, from: number, tokenEnd: number): { to: number; said: Said } | undefined;
}

interface CompiledEntry {
  said: Said;
  /** In lower case. */
  languageCode: string | undefined;
}

const alike: Readonly<Record<string, string>> = { '’': "'", ʼ: "'", '‘': "'", '＇': "'", '‐': '-', '‑': '-' };
const alikePattern = /[’ʼ‘＇‐‑]/g;

/** Signs that are alike as one, at the same indices. */
const toPlain = (text: string): string => text.replace(alikePattern, (sign) => alike[sign]!).replace(/\s/g, ' ');

/** In lower case, at the same indices. */
function toLower(text: string): string {
  const lower = text.toLowerCase();
  if (lower.length === text.length) return lower;
  return text.replace(/./gsu, (char) => (char.toLowerCase().length === char.length ? char.toLowerCase() : char));
}

function prepareText(text: string, languageCode: string): LexiconText {
  const plain = toPlain(text);
  return { plain, lower: toLower(plain), edges: new WordEdges(plain, languageCode), languageCode };
}

const toComparable = (grapheme: string): string => toPlain(grapheme.trim().replace(/\s+/g, ' ').normalize('NFC'));

/** Undefined where its phoneme is not written in its alphabet. */
function toSaid({ alias, phoneme, alphabet = 'ipa' }: LexiconEntry): Said | undefined {
  if (phoneme === undefined) return { kind: 'alias', text: alias ?? '' };
  const ipa = toIpa(phoneme, alphabet);
  return ipa === undefined ? undefined : { kind: 'phonemes', ipa };
}

/** How many characters of a phoneme are named as foreign to the alphabet. */
const foreignMax = 5;

/** Why an entry with that phoneme is refused, if it is. One that is kept is spoken as far as the engine can. */
export function findPhonemeFault(phoneme: string, alphabet: PhoneticAlphabet): string | undefined {
  const fault = `is not written in ${alphabet}`;
  const foreign = alphabet === 'ipa' ? foreignToIpa(phoneme).slice(0, foreignMax) : [];
  if (foreign.length > 0) return `${fault}, which has no ${foreign.join(' ')}`;
  return toIpa(phoneme, alphabet) === undefined ? fault : undefined;
}

/** Of two entries that match the same words, the first wins. */
export function compileLexicon(entries: readonly LexiconEntry[]): Lexicon {
  const exact = new Map<string, CompiledEntry[]>();
  const folded = new Map<string, CompiledEntry[]>();
  /** Lengths of the graphemes that begin with a token, the longest first. */
  const lengths = new Map<string, number[]>();
  for (const entry of entries) {
    const said = toSaid(entry);
    if (!said) continue;
    const compiled = { said, languageCode: entry.languageCode?.toLowerCase() };
    const comparable = toComparable(entry.grapheme);
    for (const grapheme of new Set([comparable, comparable.normalize('NFD')])) {
      const lower = toLower(grapheme);
      const [map, key] = entry.case === 'insensitive' ? [folded, lower] : [exact, grapheme];
      const others = map.get(key);
      if (others) others.push(compiled);
      else map.set(key, [compiled]);
      addLength(lengths, lower.slice(0, new WordEdges(grapheme, '').tokenEnd(0)), grapheme.length);
    }
  }
  return {
    matchAt({ plain, lower, edges, languageCode }, from, tokenEnd) {
      for (const length of lengths.get(lower.slice(from, tokenEnd)) ?? none) {
        const to = from + length;
        if (to > plain.length) continue;
        const found =
          choose(exact.get(plain.slice(from, to)), languageCode) ??
          choose(folded.get(lower.slice(from, to)), languageCode);
        if (found && edges.isAt(to)) return { to, said: found.said };
      }
      return undefined;
    },
  };
}

const none: readonly number[] = [];

function addLength(lengths: Map<string, number[]>, token: string, length: number): void {
  const known = lengths.get(token);
  if (!known) lengths.set(token, [length]);
  else if (!known.includes(length)) {
    known.push(length);
    known.sort((a, b) => b - a);
  }
}

function choose(found: readonly CompiledEntry[] | undefined, languageCode: string): CompiledEntry | undefined {
  const wanted = languageCode.toLowerCase();
  return found?.find(
    ({ languageCode: code }) => code === undefined || wanted === code || wanted.startsWith(`${code}-`),
  );
}

/** The matches in a text, from left to right; of equally long ones, that of the first lexicon. */
export function* matchLexicons(
  lexicons: readonly Lexicon[],
  text: string,
  languageCode: string,
): Generator<LexiconMatch> {
  const prepared = prepareText(text, languageCode);
  const { edges, plain } = prepared;
  for (let at = 0; at < plain.length; ) {
    const tokenEnd = edges.tokenEnd(at);
    let best: { to: number; said: Said } | undefined;
    for (const lexicon of lexicons) {
      const found = lexicon.matchAt(prepared, at, tokenEnd);
      if (found && found.to > (best?.to ?? at)) best = found;
    }
    if (best && edges.isAt(at)) {
      yield { from: at, to: best.to, said: best.said };
      at = best.to;
    } else at = tokenEnd;
  }
}
