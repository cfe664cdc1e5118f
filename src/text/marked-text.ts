// Marked text: runs that are each spoken by one voice in one way, with pauses between them. Readers of markup (ssml.ts,
// inline-tags.ts) produce marked text, and src/speech plans from it. Plain text is a single run. Ranges are UTF-16
// indices into the source. Voices are only names here.
import { countChars, positionIn } from '../platform/count-chars.ts';

export interface MarkedText {
  /** The text as the caller sent it. */
  source: string;
  items: readonly MarkedItem[];
  /** Number of spoken code points without markup. The caller is charged for this number. */
  chars: number;
  /** Sum of all pauses. */
  pauseMs: number;
  /** Names of markup that has no effect, such as "audio" or "break.time". */
  ignored: readonly string[];
}

export type MarkedItem = MarkedRun | MarkedPause;

interface MarkedPause {
  kind: 'pause';
  ms: number;
}

export interface MarkedRun {
  kind: 'run';
  style: RunStyle;
  pieces: readonly Piece[];
  /** Break that the markup states at the end of the run; undefined if the punctuation decides. */
  breakAfter: 'paragraph' | 'sentence' | undefined;
  /** Whether Markdown, HTML and line ends are plain text here. */
  isLiteral: boolean;
  /** Number of spoken code points. */
  chars: number;
}

export interface RunStyle {
  /** The voice; undefined for the voice of the request. */
  voice?: VoiceName | undefined;
  /** Canonical BCP-47 tag; undefined for the language of the request. */
  languageCode?: string | undefined;
  /** Whether the language was stated for this voice rather than for a surrounding voice. */
  isOwnLanguage: boolean;
  /** Factor for the speed of the request. */
  rate: number;
  /** Gain in decibels; -Infinity is silent. */
  gainDb: number;
  /** Factor for the pitch of the voice. */
  pitch: number;
}

/** A voice in markup. The first existing name applies. */
export interface VoiceName {
  names: readonly string[];
  /** Position in the source. */
  at: number;
}

/** A part of a run. */
export interface Piece {
  /** The written text, with references resolved; empty for a mark. */
  text: string;
  from: number;
  to: number;
  /** The replacement that is spoken instead of the written text. */
  said?: Said;
  emphasis?: Emphasis;
  /** Name of a mark at `from`. */
  mark?: string;
}

export type Emphasis = 'strong' | 'moderate' | 'reduced';

export type Said =
  | { kind: 'alias'; text: string }
  /** The written text is spoken as a certain kind of text, such as "date". */
  | { kind: 'say-as'; as: string; format: string }
  /** Phonemes in the International Phonetic Alphabet. */
  | { kind: 'phonemes'; ipa: string };

export const plainStyle: RunStyle = { isOwnLanguage: false, rate: 1, gainDb: 0, pitch: 1 };

/** Text without markup. */
export function plainText(source: string): MarkedText {
  const chars = countChars(source);
  const piece = { text: source, from: 0, to: source.length };
  const run: MarkedRun = {
    kind: 'run',
    style: plainStyle,
    pieces: [piece],
    breakAfter: undefined,
    isLiteral: false,
    chars,
  };
  return { source, items: [run], chars, pauseMs: 0, ignored: [] };
}

/** Collects pieces into runs. A run ends at a change of style, a pause, or the end of a sentence or paragraph. */
export class MarkedTextBuilder {
  readonly #source: string;
  readonly #isLiteral: boolean;
  readonly #items: MarkedItem[] = [];
  #style: RunStyle = plainStyle;
  #pieces: Piece[] = [];
  /** Pieces of the last run. */
  #lastPieces: Piece[] = [];
  #chars = 0;
  #pauseMs = 0;

  /** Repeated white space in literal text counts once. */
  constructor(source: string, { isLiteral }: { isLiteral: boolean }) {
    this.#source = source;
    this.#isLiteral = isLiteral;
  }

  setStyle(style: RunStyle): void {
    if (style === this.#style) return;
    const isSame = Object.keys({ ...style, ...this.#style }).every(
      (key) => style[key as keyof RunStyle] === this.#style[key as keyof RunStyle],
    );
    if (isSame) return;
    this.#endRun(undefined);
    this.#style = style;
  }

  add(piece: Piece): void {
    this.#pieces.push(piece);
  }

  /** Adds a pause; consecutive pauses add up. */
  pause(ms: number): void {
    this.#endRun(undefined);
    this.#pauseMs += ms;
    const last = this.#items.at(-1);
    if (last?.kind === 'pause') last.ms += ms;
    else this.#items.push({ kind: 'pause', ms });
  }

  /** Ends a sentence or paragraph. */
  end(breakAfter: 'paragraph' | 'sentence'): void {
    this.#endRun(breakAfter);
  }

  build(ignored: readonly string[]): MarkedText {
    this.#endRun(undefined);
    return { source: this.#source, items: this.#items, chars: this.#chars, pauseMs: this.#pauseMs, ignored };
  }

  #endRun(breakAfter: MarkedRun['breakAfter']): void {
    const pieces = this.#pieces;
    this.#pieces = [];
    const last = this.#items.at(-1);
    if (pieces.every(({ text, said, mark }) => mark === undefined && !said && text.trim() === '')) {
      if (last?.kind !== 'run') return;
      // White space is kept, because it still separates words.
      this.#lastPieces.push(...pieces);
      if (last.breakAfter !== 'paragraph') last.breakAfter = breakAfter ?? last.breakAfter;
      return;
    }
    this.#lastPieces = pieces;
    const chars = countSaid(pieces, this.#isLiteral);
    this.#chars += chars;
    const isLiteral = this.#isLiteral;
    this.#items.push({ kind: 'run', style: this.#style, pieces, breakAfter, isLiteral, chars });
  }
}

/** Counts the spoken code points of pieces. Phonemes count if they are longer than the written text. */
export function countSaid(pieces: readonly Piece[], isLiteral: boolean): number {
  const spaced = (text: string) => (isLiteral ? text.replace(/\s+/g, ' ') : text);
  const said = pieces.map(({ text, said }) => {
    if (said?.kind === 'alias') return said.text;
    return said?.kind === 'phonemes' && countChars(said.ipa) > countChars(spaced(text)) ? said.ipa : text;
  });
  const joined = spaced(said.join(''));
  return countChars(isLiteral ? joined.trim() : joined);
}

/**
 * Returns the pieces in the range `from` to `to` of their joined text, cut to fit. Only pieces that are spoken exactly
 * as written are cut, and not a character reference, which stands for one character.
 */
export function piecesIn(pieces: readonly Piece[], from: number, to: number): Piece[] {
  const found: Piece[] = [];
  let at = 0;
  for (const piece of pieces) {
    const { text } = piece;
    const start = at;
    if (start >= to) break;
    at += text.length;
    const isExact = !piece.said && text.length === piece.to - piece.from;
    if (!isExact || text === '') {
      if (start >= from) found.push(piece);
      continue;
    }
    const [first, last] = [Math.max(from - start, 0), Math.min(to - start, text.length)];
    if (first < last)
      found.push({ ...piece, text: text.slice(first, last), from: piece.from + first, to: piece.from + last });
  }
  return found;
}

export class MarkupFault extends Error {
  /** Creates a fault at `at`, an index into `source`. */
  constructor(source: string, at: number, what: string) {
    const { line, column } = positionIn(source, at);
    super(`line ${line}, column ${column}: ${what}`);
  }
}
