// Where chapters are in the file that joins them. Formats that are made of frames can only join whole ones: the padding of a
// chapter to whole frames counts as part of its gap, and the gap is as many frames of silence as put the next chapter
// closest to its nominal start. So rounding never adds up, except where gaps are shorter than the padding, which is at most 72 ms in
// MP3 and 27 ms in Opus; then chapters begin later, and the timeline says when.
import { audioFormats, type FormatName } from '../formats.ts';
import type { BookChapter, BookTimeline, ChapterMark, ChapterSpan } from './book.ts';
import { mp3FrameCount, mp3FrameSamples } from './mp3-frame.ts';
import { opusPacketCount, opusPacketSamples } from './opus-packets.ts';

export type ChapterLength = Pick<BookChapter, 'sampleCount' | 'gapSampleCount'>;

interface Framing {
  frameSamples: number;
  /** The frames of a chapter's file. */
  countOf(sampleCount: number): number;
}

export const encodedRateOf = (format: FormatName, sampleRateHz: number): number =>
  audioFormats[format].encodedRateHz?.(sampleRateHz) ?? sampleRateHz;

function framingOf(format: FormatName, sampleRateHz: number): Framing {
  const rateHz = encodedRateOf(format, sampleRateHz);
  if (format === 'mp3')
    return { frameSamples: mp3FrameSamples(rateHz), countOf: (samples) => mp3FrameCount(samples, rateHz) };
  if (format === 'opus')
    return { frameSamples: opusPacketSamples(rateHz), countOf: (samples) => opusPacketCount(samples, rateHz) };
  return { frameSamples: 1, countOf: (samples) => samples };
}

export interface BookPlan extends BookTimeline {
  /** The frames of each chapter, and those of silence after it; a frame is one sample where the format has none. */
  frames: readonly { sound: number; silence: number }[];
  /** In samples. */
  frameSamples: number;
}

export function planBook(format: FormatName, sampleRateHz: number, lengths: readonly ChapterLength[]): BookPlan {
  const { frameSamples, countOf } = framingOf(format, sampleRateHz);
  const chapters: ChapterSpan[] = [];
  const frames: { sound: number; silence: number }[] = [];
  let wanted = 0;
  let frameCount = 0;
  for (const [i, { sampleCount, gapSampleCount }] of lengths.entries()) {
    const startSample = frameCount * frameSamples;
    chapters.push({ startSample, endSample: startSample + sampleCount });
    wanted += sampleCount + gapSampleCount;
    const sound = countOf(sampleCount);
    frameCount += sound;
    const isLast = i === lengths.length - 1;
    // At the end the frames must hold all of the gap.
    const silence = isLast
      ? countOf(sampleCount + gapSampleCount) - sound
      : Math.max(0, Math.round(wanted / frameSamples) - frameCount);
    frameCount += silence;
    frames.push({ sound, silence });
  }
  const last = chapters.at(-1)?.endSample ?? 0;
  return { chapters, frames, frameSamples, sampleCount: last + (lengths.at(-1)?.gapSampleCount ?? 0) };
}

/** For marks and captions; identical to that of the joined file. */
export function bookTimeline(
  format: FormatName,
  sampleRateHz: number,
  lengths: readonly ChapterLength[],
): BookTimeline {
  const { chapters, sampleCount } = planBook(format, sampleRateHz, lengths);
  return { chapters, sampleCount };
}

export function chapterMarks(
  chapters: readonly BookChapter[],
  { chapters: spans, sampleCount }: BookTimeline,
  rateHz: number,
): ChapterMark[] {
  return chapters.map(({ title }, i) => ({
    title,
    startSeconds: spans[i]!.startSample / rateHz,
    endSeconds: (spans[i + 1]?.startSample ?? sampleCount) / rateHz,
  }));
}
