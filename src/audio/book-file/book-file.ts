// Joins the bytes of encoded chapters into one file with chapter marks; clips/jobs/job-joiner.ts calls it for the
// chapters of a job. Encoded audio is copied; only silence is encoded here. Chapters are read one after the other in
// small chunks, so memory does not grow with the book.
import { Failure } from '../../platform/errors.ts';
import { audioFormats, type FormatName } from '../formats.ts';
import {
  type BookChapter,
  type BookPart,
  type BookPlan,
  type BookTags,
  type ChapterMark,
  type ChapterSpan,
  coverBytesMax,
} from './audio-book.ts';
import { mp3FrameCount, mp3FrameSamples, writeMp3Book } from './mp3-book.ts';
import { opusPacketCount, opusPacketSamples, writeOpusBook } from './opus-book.ts';
import { writePlainBook, writeWavBook } from './wav-book.ts';

/** FLAC chapters are not joined. */
const writers: Readonly<Partial<Record<FormatName, (part: BookPart) => AsyncGenerator<Uint8Array>>>> = Object.freeze({
  wav: writeWavBook,
  pcm: (part) => writePlainBook('pcm', part),
  mp3: writeMp3Book,
  opus: writeOpusBook,
  ulaw: (part) => writePlainBook('ulaw', part),
  alaw: (part) => writePlainBook('alaw', part),
});

/** Yields the bytes of a book's file. Fails if the file of a chapter does not match the chapter's `sampleCount`. */
export async function* writeBookFile(
  format: FormatName,
  sampleRateHz: number,
  chapters: readonly BookChapter[],
  tags: BookTags,
): AsyncGenerator<Uint8Array> {
  const write = writers[format];
  // A job of an earlier version may still have this format.
  if (!write) {
    const message = `chapters in ${format} cannot be joined: use them one by one, or create the job in another format`;
    throw new Failure('invalid_request', { message });
  }
  if ((tags.cover?.bytes.length ?? 0) > coverBytesMax) throw new Error('the cover of a book is too large');
  const rateHz = encodedRateOf(format, sampleRateHz);
  const plan = bookTimeline(format, sampleRateHz, chapters);
  const marks = chapterMarks(chapters, plan, rateHz);
  yield* write({ sampleRateHz, rateHz, chapters, plan, marks, tags });
}

// Formats with frames can only join complete frames, so the padding of a chapter counts as part of its gap. The number
// of silent frames is chosen to start each chapter as close as possible to its nominal start, so rounding errors do not
// add up. If a gap is shorter than the padding (at most 72 ms in MP3, 27 ms in Opus), later chapters start later.

type ChapterLength = Pick<BookChapter, 'sampleCount' | 'gapSampleCount'>;

interface Framing {
  frameSamples: number;
  /** Number of frames in the file of a chapter with `sampleCount` samples. */
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

/** Plans the joined file from the lengths of its chapters. */
export function bookTimeline(format: FormatName, sampleRateHz: number, lengths: readonly ChapterLength[]): BookPlan {
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
    // The frames after the last chapter must hold the complete gap.
    const silence = isLast
      ? countOf(sampleCount + gapSampleCount) - sound
      : Math.max(0, Math.round(wanted / frameSamples) - frameCount);
    frameCount += silence;
    frames.push({ sound, silence });
  }
  const last = chapters.at(-1)?.endSample ?? 0;
  return { chapters, frames, frameSamples, sampleCount: last + (lengths.at(-1)?.gapSampleCount ?? 0) };
}

function chapterMarks(
  chapters: readonly BookChapter[],
  { chapters: spans, sampleCount }: BookPlan,
  rateHz: number,
): ChapterMark[] {
  return chapters.map(({ title }, i) => ({
    title,
    startSeconds: spans[i]!.startSample / rateHz,
    endSeconds: (spans[i + 1]?.startSample ?? sampleCount) / rateHz,
  }));
}
