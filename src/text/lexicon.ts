// A compiled pronunciation lexicon. It matches complete words from left to right, the longest entry first. The cost per
// text does not depend on the number of entries. Variants of quotes, hyphens, white space and composed accents
// match each other; letter case is ignored if an entry states so.

import { normalizeIpa } from '../platform/ipa.ts';
import type { Steps } from '../platform/runtime/steps.ts';
import type { Said } from './marked-text.ts';
import { segmenterFor } from './tokenize.ts';

export interface LexiconEntry {
  /** The word as it is written in texts. */
  grapheme: string;
  /** The replacement text. An entry has either `alias` or `phoneme`. */
  alias?: string;
  phoneme?: string;
  /** Alphabet of the phoneme: `ipa`, the default. Entries of earlier versions in another one do not apply. */
  alphabet?: string;
  /** Canonical BCP-47 tag. The entry applies only to text in this language. */
  languageCode?: string;
  /** Whether letter case must match. Default: "sensitive". */
  case?: 'sensitive' | 'insensitive';
}

/** A match of an entry in a text. */
interface LexiconMatch {
  from: number;
  to: number;
  said: Said;
}

/** A text prepared for matching with several lexicons. */
interface LexiconText {
  /** The text with equivalent signs unified. */
  plain: string;
  lower: string;
  edges: WordEdges;
  languageCode: string;
}

interface CompiledEntry {
  said: Said;
  /** Language code in lower case. */
  languageCode: string | undefined;
}

const alike: Readonly<Record<string, string>> = { '’': "'", ʼ: "'", '‘': "'", '＇': "'", '‐': '-', '‑': '-' };
const alikePattern = /[’ʼ‘＇‐‑]/g;

/** Unifies equivalent signs. Indices stay the same. */
const toPlain = (text: string): string => text.replace(alikePattern, (sign) => alike[sign]!).replace(/\s/g, ' ');

/** Converts to lower case. Indices stay the same. */
function toLower(text: string): string {
  const lower = text.toLowerCase();
  if (lower.length === text.length) return lower;
  return text.replace(/./gsu, (char) => (char.toLowerCase().length === char.length ? char.toLowerCase() : char));
}

const toComparable = (grapheme: string): string => toPlain(grapheme.trim().replace(/\s+/g, ' ').normalize('NFC'));

/** Converts an entry's pronunciation; undefined if its phoneme is invalid in its alphabet. */
function toSaid({ alias, phoneme, alphabet = 'ipa' }: LexiconEntry): Said | undefined {
  if (phoneme === undefined) return { kind: 'alias', text: alias ?? '' };
  const ipa = alphabet === 'ipa' ? normalizeIpa(phoneme) : undefined;
  return ipa === undefined ? undefined : { kind: 'phonemes', ipa };
}

export class Lexicon {
  readonly #exact = new Map<string, CompiledEntry[]>();
  readonly #folded = new Map<string, CompiledEntry[]>();
  /** Lengths of the graphemes that begin with a token, longest first. */
  readonly #lengths = new Map<string, number[]>();

  /** Compiles entries. If two entries match the same words, the first entry applies. */
  static *compile(entries: readonly LexiconEntry[]): Steps<Lexicon> {
    const lexicon = new Lexicon();
    for (const entry of entries) {
      yield;
      lexicon.#add(entry);
    }
    return lexicon;
  }

  #add(entry: LexiconEntry): void {
    const said = toSaid(entry);
    if (!said) return;
    const compiled = { said, languageCode: entry.languageCode?.toLowerCase() };
    const comparable = toComparable(entry.grapheme);
    for (const grapheme of new Set([comparable, comparable.normalize('NFD')])) {
      const lower = toLower(grapheme);
      const [map, key] = entry.case === 'insensitive' ? [this.#folded, lower] : [this.#exact, grapheme];
      const others = map.get(key);
      if (others) others.push(compiled);
      else map.set(key, [compiled]);
      addLength(this.#lengths, lower.slice(0, new WordEdges(grapheme, '').tokenEnd(0)), grapheme.length);
    }
  }

  /** Returns the match of the longest entry that begins at `from`. The token at `from` ends at `tokenEnd`. */
  matchAt(
    { plain, lower, edges, languageCode }: LexiconText,
    from: number,
    tokenEnd: number,
  ): LexiconMatch | undefined {
    for (const length of this.#lengths.get(lower.slice(from, tokenEnd)) ?? []) {
      const to = from + length;
      if (to > plain.length) continue;
      const found =
        choose(this.#exact.get(plain.slice(from, to)), languageCode) ??
        choose(this.#folded.get(lower.slice(from, to)), languageCode);
      if (found && edges.isAt(to)) return { from, to, said: found.said };
    }
    return undefined;
  }
}

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

/**
 * Yields the matches in a text from left to right, and `undefined` for each word without a match. If matches are equally
 * long, the match of the first lexicon applies.
 */
export function* matchLexicons(
  lexicons: readonly Lexicon[],
  text: string,
  languageCode: string,
): Generator<LexiconMatch | undefined> {
  const plain = toPlain(text);
  const edges = new WordEdges(plain, languageCode);
  const prepared: LexiconText = { plain, lower: toLower(plain), edges, languageCode };
  for (let at = 0; at < plain.length; ) {
    const tokenEnd = edges.tokenEnd(at);
    let best: LexiconMatch | undefined;
    for (const lexicon of lexicons) {
      const found = lexicon.matchAt(prepared, at, tokenEnd);
      if (found && found.to > (best?.to ?? at)) best = found;
    }
    if (best && edges.isAt(at)) {
      yield best;
      at = best.to;
    } else {
      yield undefined;
      at = tokenEnd;
    }
  }
}

const other = 1;
const word = 2;
const mark = 3;
const han = 4;
/** First class number of the scripts without spaces; each of these scripts has its own class. */
const unspacedFirst = 5;
const unspacedScripts = [
  /\p{Script=Hiragana}/u,
  /[\p{Script=Katakana}\u30fc\uff70]/u,
  /\p{Script=Thai}/u,
  /\p{Script=Lao}/u,
  /\p{Script=Khmer}/u,
  /\p{Script=Myanmar}/u,
  /\p{Script=Tibetan}/u,
  /\p{Script=Yi}/u,
];

/** Caches the class of each character that is one UTF-16 unit. */
const known = new Uint8Array(0x10000);

function classify(char: string): number {
  if (/\p{M}/u.test(char)) return mark;
  if (/\p{Script=Han}/u.test(char)) return han;
  const script = unspacedScripts.findIndex((pattern) => pattern.test(char));
  if (script >= 0) return unspacedFirst + script;
  return /[\p{L}\p{N}\p{Pc}]/u.test(char) ? word : other;
}

/** The class of the character at the index. */
function classAt(text: string, index: number): number {
  const code = text.charCodeAt(index);
  const isSecondHalf = (code & 0xfc00) === 0xdc00 && index > 0;
  if ((code & 0xf800) === 0xd800) return classify(String.fromCodePoint(text.codePointAt(index - +isSecondHalf)!));
  if (known[code] === 0) known[code] = classify(text[index]!);
  return known[code]!;
}

class WordEdges {
  readonly #text: string;
  readonly #languageCode: string;
  #segments: Set<number> | undefined;

  constructor(text: string, languageCode: string) {
    this.#text = text;
    this.#languageCode = languageCode;
  }

  /** End of the token at the index. A token is a sequence of letters without a word boundary, or one character. */
  tokenEnd(from: number): number {
    const text = this.#text;
    let to = from + ((text.codePointAt(from) ?? 0) > 0xffff ? 2 : 1);
    const isWord = classAt(text, from) === word;
    for (; to < text.length; to++) {
      const kind = classAt(text, to);
      if (kind !== mark && !(isWord && kind === word)) break;
    }
    return to;
  }

  /** Whether a word may begin or end before the unit at the index. */
  isAt(index: number): boolean {
    const text = this.#text;
    if (index <= 0 || index >= text.length) return true;
    const after = classAt(text, index);
    if (after === mark || (text.charCodeAt(index) & 0xfc00) === 0xdc00) return false;
    let last = index - 1;
    while (last > 0 && classAt(text, last) === mark) last--;
    const before = classAt(text, last);
    if (before === other || after === other) return !this.#joins(index);
    if (before === han || after === han) return true;
    if (before !== after) return true;
    return before >= unspacedFirst ? this.#isSegment(index) : false;
  }

  /** Whether a sign on either side of the index joins the letters or digits next to the sign. */
  #joins(index: number): boolean {
    return this.#holds(index) || this.#holds(index - 1);
  }

  /** Whether the unit at the index is a sign inside a word. */
  #holds(index: number): boolean {
    const text = this.#text;
    const sign = text[index]!;
    if (!".,:@'&".includes(sign) || index === 0 || index + 1 >= text.length) return false;
    const [before, after] = [classAt(text, index - 1), classAt(text, index + 1)];
    if (sign === '&') return /^&#?\w{2,31};/.test(text.slice(index, index + 34));
    if (before === other || after === other) return false;
    if (sign === "'") return /^'t(?![\p{L}\p{N}])/iu.test(text.slice(index, index + 4));
    return sign === '.' || sign === '@' || (/\d/.test(text[index - 1]!) && /\d/.test(text[index + 1]!));
  }

  #isSegment(index: number): boolean {
    if (!this.#segments) {
      const segments = segmenterFor(this.#languageCode, 'word').segment(this.#text);
      this.#segments = new Set(Array.from(segments, (segment) => segment.index));
    }
    return this.#segments.has(index);
  }
}
