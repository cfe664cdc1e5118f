// The text that eSpeak NG is given: without what it would execute instead of speaking, and with the phonemes that are stated
// for parts of it; and the way back from its positions to those of the segment.
import type { Segment } from '../engine.ts';

/**
 * Removes what eSpeak NG would execute: control characters (\1 starts a command, \0 ends the text) and phonemes in double
 * brackets.
 */
const toPlainText = (text: string): string =>
  text
    .toWellFormed()
    .replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ')
    .replace(/\[(?=\[)/g, '[ ')
    .trim();

const isControl = (char: string): boolean => /[\u0000-\u001f\u007f-\u009f]/.test(char);

/** For each code point of the plain text, the index in the text where it comes from. */
function toSourceIndices(text: string, plain: string): number[] {
  const source = text.toWellFormed();
  const indices: number[] = [];
  let at = 0;
  while (at < source.length && (isControl(source[at]!) || source[at]!.trim() === '')) at++;
  for (const char of plain) {
    indices.push(at);
    if (source.startsWith(char, at)) at += char.length;
    // A space is in place of all control characters in a row, or was put between two brackets.
    else while (at < source.length && isControl(source[at]!)) at++;
  }
  return indices;
}

export interface SpokenText {
  text: string;
  /** For each code point of it, the index in the segment's text where it comes from. */
  sourceIndices(): number[];
}

export function toSpokenText({ text, phonemes = [] }: Pick<Segment, 'text' | 'phonemes'>): SpokenText {
  const parts: { spoken: string; from: number; source: string | undefined }[] = [];
  let at = 0;
  for (const range of phonemes) {
    const source = text.slice(at, range.from);
    parts.push({ spoken: toPlainText(source), from: at, source });
    parts.push({ spoken: ` ${range.phonemes}`, from: range.from, source: undefined });
    at = range.to;
  }
  const rest = text.slice(at);
  parts.push({ spoken: toPlainText(rest), from: at, source: rest });
  const all = parts.map(({ spoken }) => spoken).join('');
  const spoken = all.trim();
  return {
    text: spoken,
    sourceIndices() {
      const indices = parts.flatMap(({ spoken, from, source }) =>
        source === undefined
          ? Array.from(spoken, () => from)
          : toSourceIndices(source, spoken).map((index) => from + index),
      );
      return indices.slice(all.length - all.trimStart().length);
    },
  };
}
