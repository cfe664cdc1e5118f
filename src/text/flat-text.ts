// A run of marked text as one string to normalize and cut, with a way back to the source. What something else is said for
// stands in it as a placeholder, a word that no language has, and is replaced after normalization: so a sentence stays
// whole around it. Marks and emphasis are kept by their places.
import { countCharsBetween } from './count-chars.ts';
import type { Emphasis, MarkedRun, Piece, Said } from './marked-text.ts';

/** What is said for a placeholder. */
export interface Replacement {
  /** Range of the placeholder. */
  from: number;
  to: number;
  /** What is written there. */
  written: string;
  say: string;
  /** In the notation of the engine. */
  phonemes?: string | undefined;
}

/** The way back from a string to the text that it was made from; offsets are in code points. */
export interface SourceMap {
  startOf(index: number): number;
  /** Where the unit at the index ends. */
  endOf(index: number): number;
  /** What is written in a range, where that is not a stretch of the source. */
  written?(from: number, to: number): string;
}

export interface FlatText {
  text: string;
  source: SourceMap;
  replacements: readonly Replacement[];
  marks: readonly { name: string; offset: number }[];
  /** Ranges of the source, in code points. */
  emphasized: readonly { level: Emphasis; from: number; to: number }[];
}

/** Written as a name or as a word. */
const placeholders = ['Ꜣꜣꜣ', 'ꜣꜣꜣ'] as const;
const placeholderPattern = /[Ꜣꜣ]ꜣꜣ/g;

/** The offset in code points of a UTF-16 index. */
export type OffsetOf = (index: number) => number;

export function createOffsets(source: string): OffsetOf {
  if (!/[\ud800-\udbff]/.test(source)) return (index) => index;
  const offsets = new Uint32Array(source.length + 1);
  for (let i = 0, chars = 0; i <= source.length; i++) {
    offsets[i] = chars;
    const isFirstHalf = countCharsBetween(source, i, i + 2) === 1 && i + 1 < source.length;
    if (!isFirstHalf) chars++;
  }
  return (index) => offsets[index]!;
}

/** What is to be said for a piece; undefined where it is said as it is written. */
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
      // A word of its own.
      if (/[\p{L}\p{N}]$/u.test(text)) put({ text: ' ', from, to: from }, ' ');
      const shown = placeholders[/^\P{L}*\p{Lu}/u.test(piece.text) ? 0 : 1];
      replacements.push({ from: text.length, to: text.length + shown.length, written: piece.text, ...resolved });
      put(piece, shown);
    }
  }
  return { text, source: toSourceMap(text, parts, replacements, offsetOf), replacements, marks, emphasized };
}

/** Part of a flat text that is a range of the source, unit by unit where it is exact, otherwise as a whole. */
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
  /** The part at an index: most look-ups are near the last one. */
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

/** Those that are all within a range; they are in their order, and a text may have many. */
function replacementsIn(replacements: readonly Replacement[], from: number, to: number): readonly Replacement[] {
  let [first, end] = [0, replacements.length];
  while (first < end) {
    const middle = (first + end) >> 1;
    if (replacements[middle]!.from < from) first = middle + 1;
    else end = middle;
  }
  let last = first;
  while (last < replacements.length && replacements[last]!.to <= to) last++;
  return last > first ? replacements.slice(first, last) : noReplacements;
}

const noReplacements: readonly Replacement[] = [];

/** Replaces the placeholders in what is said for a range of the text. */
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

/** A range of spoken text that is pronounced so, in the notation of the engine. */
export interface PhonemeRange {
  from: number;
  to: number;
  phonemes: string;
}
