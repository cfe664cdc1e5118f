// Flattens a run of marked text into one string that can be normalized and cut, with a map back to the source. A
// placeholder word represents text with a stated pronunciation, so that the sentence stays whole. The placeholder is
// replaced after normalization.
import type { OffsetOf } from '../platform/count-chars.ts';
import type { Emphasis, MarkedRun, Piece, Said } from './marked-text.ts';

/** The replacement for a placeholder. */
export interface Replacement {
  /** Range of the placeholder. */
  from: number;
  to: number;
  /** The written text that the placeholder represents. */
  written: string;
  say: string;
  /** Phonemes in the engine's notation. */
  phonemes?: string | undefined;
}

/** Maps indices of a string to offsets of its source text, in code points. */
export interface SourceMap {
  startOf(index: number): number;
  /** Offset of the end of the unit at the index. */
  endOf(index: number): number;
  /** Written text of a range. Absent if the source has no markup. */
  written?(from: number, to: number): string;
}

export interface FlatText {
  text: string;
  source: SourceMap;
  replacements: readonly Replacement[];
  marks: readonly { name: string; offset: number }[];
  /** Emphasized ranges of the source, in code points. */
  emphasized: readonly { level: Emphasis; from: number; to: number }[];
}

/** The placeholders for a capitalized word and for any other word. */
const placeholders = ['Ꜣꜣꜣ', 'ꜣꜣꜣ'] as const;
const placeholderPattern = /[Ꜣꜣ]ꜣꜣ/g;

/** Returns the replacement for a piece; undefined if the piece is spoken as written. */
export type Resolve = (said: Said, written: string) => Pick<Replacement, 'say' | 'phonemes'> | undefined;

export function flatten({ pieces }: Pick<MarkedRun, 'pieces'>, offsetOf: OffsetOf, resolve: Resolve): FlatText {
  const parts: FlatPart[] = [];
  const replacements: Replacement[] = [];
  const marks: { name: string; offset: number }[] = [];
  const emphasized: { level: Emphasis; from: number; to: number }[] = [];
  let text = '';
  const put = (piece: Piece, shown: string) => {
    const isExact = shown === piece.text && shown.length === piece.to - piece.from;
    parts.push({ at: text.length, from: piece.from, to: piece.to, isExact });
    text += shown;
  };
  for (const piece of pieces) {
    const { from, to, mark, emphasis, said } = piece;
    if (mark !== undefined) {
      marks.push({ name: mark, offset: offsetOf(from) });
      continue;
    }
    if (emphasis) emphasized.push({ level: emphasis, from: offsetOf(from), to: offsetOf(to) });
    const resolved = said && resolve(said, piece.text);
    if (!resolved) put(piece, piece.text);
    else {
      // A space keeps the placeholder a separate word.
      if (/[\p{L}\p{N}]$/u.test(text)) put({ text: ' ', from, to: from }, ' ');
      const shown = placeholders[/^\P{L}*\p{Lu}/u.test(piece.text) ? 0 : 1];
      replacements.push({ from: text.length, to: text.length + shown.length, written: piece.text, ...resolved });
      put(piece, shown);
    }
  }
  return { text, source: toSourceMap(text, parts, replacements, offsetOf), replacements, marks, emphasized };
}

/** A part of the flat text and its range in the source. An exact part maps unit by unit, any other part as a whole. */
interface FlatPart {
  at: number;
  from: number;
  to: number;
  isExact: boolean;
}

function toSourceMap(
  text: string,
  parts: readonly FlatPart[],
  replacements: readonly Replacement[],
  offsetOf: OffsetOf,
): SourceMap {
  let last = 0;
  /** The part at an index. Searches from the last result, because most indices are close to each other. */
  const partAt = (index: number): FlatPart => {
    if (parts[last]!.at > index) last = 0;
    while (last + 1 < parts.length && parts[last + 1]!.at <= index) last++;
    return parts[last]!;
  };
  return {
    startOf(index) {
      const { at, from, isExact } = partAt(index);
      return offsetOf(isExact ? from + index - at : from);
    },
    endOf(index) {
      const { at, from, to, isExact } = partAt(index);
      return offsetOf(isExact ? from + index - at + 1 : to);
    },
    written(from, to) {
      let written = '';
      let at = from;
      for (const replaced of replacementsIn(replacements, from, to)) {
        written += text.slice(at, replaced.from) + replaced.written;
        at = replaced.to;
      }
      return written + text.slice(at, to);
    },
  };
}

/** The replacements within a range, found by binary search because a text may have many replacements. */
function replacementsIn(replacements: readonly Replacement[], from: number, to: number): readonly Replacement[] {
  let [first, end] = [0, replacements.length];
  while (first < end) {
    const middle = (first + end) >> 1;
    if (replacements[middle]!.from < from) first = middle + 1;
    else end = middle;
  }
  let last = first;
  while (last < replacements.length && replacements[last]!.to <= to) last++;
  return replacements.slice(first, last);
}

/** Replaces the placeholders in the spoken form of a range. */
export function replaceIn(
  say: string,
  { from, to }: { from: number; to: number },
  replacements: readonly Replacement[],
): { say: string; phonemes: PhonemeRange[] } {
  const within = replacementsIn(replacements, from, to);
  if (within.length === 0) return { say, phonemes: [] };
  const phonemes: PhonemeRange[] = [];
  let whole = '';
  let at = 0;
  const left = [...within];
  for (const { 0: found, index } of say.matchAll(placeholderPattern)) {
    const replaced = left.shift();
    if (!replaced) break;
    whole += say.slice(at, index);
    if (replaced.phonemes !== undefined)
      phonemes.push({ from: whole.length, to: whole.length + replaced.say.length, phonemes: replaced.phonemes });
    whole += replaced.say;
    at = index + found.length;
  }
  return { say: whole + say.slice(at) + left.map((each) => ` ${each.say}`).join(''), phonemes };
}

/** A range of spoken text with its phonemes in the engine's notation. */
export interface PhonemeRange {
  from: number;
  to: number;
  phonemes: string;
}
