// Joins the phonemes of words to the parts that a model computes at once.
import type { PhonemeWord } from '../phonemes/english.ts';
import type { SpokenPart, SpokenWord } from './utterance-sound.ts';

/** The models are trained with up to 510 phonemes; shorter parts start sooner. */
export const phonemesMax = 400;

const punctuation = /^[;:,.!?—…"“”()]+$/;
const pause = /^[;:,.!?—…]/;

/** Parts of at most `phonemesMax` phonemes; they end after a pause, or else after a word. */
export function toSpokenParts(text: string, words: readonly PhonemeWord[], phonemesMax: number): SpokenPart[] {
  const parts: SpokenPart[] = [];
  for (let left = words.flatMap((word) => splitWord(word, phonemesMax)); left.length > 0; ) {
    const count = countThatFit(left, phonemesMax);
    const part = toPart(text, left.slice(0, count));
    if (part.words.length > 0) parts.push(part);
    left = left.slice(count);
  }
  return parts;
}

/** Splits an endless word, and its range with it. */
function splitWord(word: PhonemeWord, phonemesMax: number): PhonemeWord[] {
  const { start, end, phonemes } = word;
  const count = Math.ceil(phonemes.length / phonemesMax);
  if (count < 2) return [word];
  const at = (n: number) => start + Math.round(((end - start) * n) / count);
  return Array.from({ length: count }, (_, n) => ({
    start: at(n),
    end: at(n + 1),
    phonemes: phonemes.slice(n * phonemesMax, (n + 1) * phonemesMax),
  }));
}

function countThatFit(words: readonly PhonemeWord[], phonemesMax: number): number {
  let length = 0;
  let afterPause = 0;
  for (const [n, { phonemes }] of words.entries()) {
    length += phonemes.length + 1;
    if (length > phonemesMax + 1 && n > 0) return afterPause || n;
    if (pause.test(phonemes)) afterPause = n + 1;
  }
  return words.length;
}

function toPart(text: string, entries: readonly PhonemeWord[]): SpokenPart {
  const phonemes: string[] = [];
  const words: SpokenWord[] = [];
  for (const [n, entry] of entries.entries()) {
    const next = entries[n + 1];
    const first = phonemes.length;
    phonemes.push(...entry.phonemes);
    const end = phonemes.length;
    const isBeforeSpace = next !== undefined && /\s/.test(text.slice(entry.end, next.start));
    if (isBeforeSpace) phonemes.push(' ');
    if (punctuation.test(entry.phonemes)) continue;
    const isBeforePause = next === undefined || pause.test(next.phonemes);
    words.push({ from: entry.start, to: entry.end, first, end, isBeforeSpace, isBeforePause });
  }
  return { phonemes, words };
}
