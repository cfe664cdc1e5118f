// When the words of a segment are heard, from the marks that the library sets. A mark is where a word begins; it sets
// several in a number, and none in a word that it speaks as one with the word before ("of the"). So the time from one mark to
// the next that is further on in the text is divided between the words there, by their letters.
import type { WordTime } from '../engine.ts';
import type { SoundMark } from './library-frames.ts';

export interface MarkedSound {
  marks: readonly SoundMark[];
  sampleRateHz: number;
  sampleCount: number;
}

/** Quotation marks and the like before a word. */
const opening = /(?:^|\s)([^\s\p{L}\p{N}]+)$/u;

interface Begun {
  from: number;
  sample: number;
  /** Until where the word before it is heard. */
  beforeUntil: number;
}

/** `indices` has the index in the text for each code point of what the library was given. */
export function toWordTimes(
  text: string,
  indices: readonly number[],
  { marks, sampleRateHz, sampleCount }: MarkedSound,
): WordTime[] {
  const begun: Begun[] = [];
  for (const { position, sample, audibleUntil } of marks) {
    const at = indices[position - 1];
    const before = begun.at(-1)?.from ?? -1;
    if (at === undefined || at <= before) continue;
    const from = at - (opening.exec(text.slice(Math.max(before, 0), at))?.[1]?.length ?? 0);
    begun.push({ from, sample, beforeUntil: audibleUntil });
  }
  const last = { from: text.length, sample: sampleCount, beforeUntil: marks.at(-1)?.audibleUntil ?? sampleCount };
  return begun.flatMap((word, n) => {
    const next = begun[n + 1] ?? last;
    const end = Math.min(next.sample, Math.max(next.beforeUntil, word.sample + 1));
    const parts = partsOf(text, n === 0 ? 0 : word.from, next.from);
    const letters = parts.reduce((sum, part) => sum + part.letters, 0);
    let sample = word.sample;
    return parts.map(({ from, to, letters: share }) => {
      const startSeconds = sample / sampleRateHz;
      sample += ((end - word.sample) * share) / letters;
      return { from, to, startSeconds, endSeconds: sample / sampleRateHz };
    });
  });
}

/** The words of a stretch of text; where there are none, what else is said there. */
function partsOf(text: string, from: number, to: number): { from: number; to: number; letters: number }[] {
  const parts = [...text.slice(from, to).matchAll(/\S+/g)].map(({ 0: part, index }) => {
    const letters = part.match(/[\p{L}\p{N}]/gu)?.length ?? 0;
    return { from: from + index, to: from + index + part.length, letters };
  });
  const words = parts.filter(({ letters }) => letters > 0);
  return words.length > 0 ? words : parts.slice(0, 1).map((part) => ({ ...part, letters: 1 }));
}
