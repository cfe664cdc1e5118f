// Tests book files with random chapters, in every format at every rate. Chapters begin at the times in the timeline
// (checked with ffmpeg) and sound the same as when encoded alone, and ffprobe reads the chapter marks.
import { mkdtempDisposableSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { bookTimeline } from '../../../src/audio/book-file/book-file.ts';
import { audioFormats, type FormatName } from '../../../src/audio/formats.ts';
import { mp3DelaySamples } from '../../../src/audio/mp3.ts';
import { outputSampleRatesHz } from '../../../src/speech/fields.ts';
import { isLongRun } from '../../long/run-length.ts';
import { isInstalled } from '../../programs.ts';
import { createRandom } from '../../text/random-text.ts';
import { encodedRateOf } from '../encode.ts';
import { peak, rms, toDb } from '../measure-tone.ts';
import { bookOf, type ChapterShape, decodedByFfmpeg, makeChapters, probed } from './make-book.ts';

const titles = [
  'Chapter One',
  'Zweites Kapitel — „Größe“',
  '第三章 &<b>',
  'الفصل الرابع',
  'Глава V=5;',
  '𝄞 🙂',
  "it's 7% \\ done",
  '',
];
/**
 * Minimum signal-to-noise ratio of a chapter in a book, compared with the same chapter alone, after the decoder has
 * settled.
 */
const snrDbMin: Partial<Record<FormatName, number>> = { opus: 35 };
/** An Opus decoder predicts each frame from the frames before it, so it needs a few frames to converge. */
const settleSeconds: Partial<Record<FormatName, number>> = { opus: 0.2 };
/** Half of the longest frame, which is an MP3 frame at 44.1 kHz. */
const halfFrameSeconds = 0.0131;
/** Lengths of the longest chapter, and of the other chapters. */
const chapterSecondsMax = isLongRun ? { longest: 30, other: 2 } : { longest: 1, other: 0.5 };
const rates = outputSampleRatesHz;
const markedFormats = ['mp3', 'opus', 'wav'] as const;
const joinedFormats = Object.values(audioFormats).filter(({ name }) => name !== 'flac');
const cases = joinedFormats.flatMap(({ name: format }) => rates.map((rate) => [format, rate] as const));

function randomShapes(seed: number, count: number): ChapterShape[] {
  const random = createRandom(seed);
  return Array.from({ length: count }, (_, i) => ({
    title: titles[i % titles.length]!,
    seconds: 0.1 + (i === 1 ? chapterSecondsMax.longest : chapterSecondsMax.other) * random(),
    gapSeconds: [0.7, 0, 0.1, 2 * random()][i % 4]!,
  }));
}

const difference = (one: Float32Array, other: Float32Array) => one.map((sample, i) => sample - other[i]!);

describe.skipIf(!isInstalled('ffmpeg'))('a book is heard as its chapters are, where the timeline says', () => {
  test.for(cases)('%s at %i Hz', { timeout: 300_000 }, async ([format, sampleRateHz]) => {
    const chapters = await makeChapters(format, sampleRateHz, randomShapes(sampleRateHz, 6));
    const rateHz = encodedRateOf(format, sampleRateHz);
    const timeline = bookTimeline(format, sampleRateHz, chapters);
    const heardHz = format === 'opus' ? 48_000 : rateHz;
    const scale = heardHz / rateHz;
    const heard = decodedByFfmpeg(await bookOf(format, sampleRateHz, chapters), format, rateHz);
    expect(heard.length).toBe(timeline.sampleCount * scale);
    const skipped = format === 'mp3' ? mp3DelaySamples : 0;
    const settled = Math.round((settleSeconds[format] ?? 0) * heardHz);
    for (const [i, { startSample, endSample }] of timeline.chapters.entries()) {
      const alone = decodedByFfmpeg(chapters[i]!.bytes, format, rateHz);
      const expected = alone.subarray(skipped + settled, skipped + (endSample - startSample) * scale);
      const found = heard.subarray(startSample * scale + settled, endSample * scale);
      const error = rms(difference(found, expected));
      const place = `chapter ${i + 1} at ${startSample / rateHz} s`;
      if (snrDbMin[format] === undefined) expect(error, place).toBe(0);
      else if (found.length > 0)
        expect(toDb(rms(expected) / Math.max(error, 1e-9)), place).toBeGreaterThan(snrDbMin[format]);
      const next = timeline.chapters[i + 1]?.startSample ?? timeline.sampleCount;
      const margin = audioFormats[format].isCompressed ? Math.round(0.02 * heardHz) : 0;
      const gap = heard.subarray(endSample * scale + margin, Math.max(endSample * scale, next * scale - margin));
      expect(peak(gap), `the gap after ${place}`).toBeLessThan(0.01);
    }
  });
});

describe('the timeline', () => {
  test.for(cases)('of %s at %i Hz keeps to the gaps that were asked for', ([format, sampleRateHz]) => {
    const rateHz = encodedRateOf(format, sampleRateHz);
    const random = createRandom(7);
    const lengths = Array.from({ length: 500 }, () => ({
      sampleCount: Math.round((0.1 + 30 * random()) * rateHz),
      gapSampleCount: Math.round((0.1 + random()) * rateHz),
    }));
    const { chapters, sampleCount } = bookTimeline(format, sampleRateHz, lengths);
    let asked = 0;
    for (const [i, { startSample }] of chapters.entries()) {
      expect(Math.abs(startSample - asked) / rateHz, `chapter ${i + 1}`).toBeLessThan(halfFrameSeconds);
      asked += lengths[i]!.sampleCount + lengths[i]!.gapSampleCount;
    }
    expect(Math.abs(sampleCount - asked) / rateHz).toBeLessThan(halfFrameSeconds);
  });

  test('of formats in frames is later by at most the padding of each, where there is no gap', () => {
    for (const sampleRateHz of rates) {
      for (const [format, secondsMax] of [['mp3', 0.0721] as const, ['opus', 0.0266] as const]) {
        const rateHz = encodedRateOf(format, sampleRateHz);
        for (let sampleCount = rateHz; sampleCount < rateHz + 2_000; sampleCount += 7) {
          const lengths = [
            { sampleCount, gapSampleCount: 0 },
            { sampleCount, gapSampleCount: 0 },
          ];
          const { chapters } = bookTimeline(format, sampleRateHz, lengths);
          const padding = (chapters[1]!.startSample - sampleCount) / rateHz;
          expect(padding).toBeGreaterThanOrEqual(0);
          expect(padding).toBeLessThan(secondsMax);
        }
      }
    }
  });
});

describe.skipIf(!isInstalled('ffprobe'))('ffprobe reads 500 marks, right to 50 ms, in any script', () => {
  test.for(markedFormats)('of %s', { timeout: 300_000 }, async (format) => {
    const random = createRandom(3);
    const shapes = Array.from({ length: 500 }, (_, i) => ({
      title: `${i + 1}: ${titles[i % titles.length]}`,
      seconds: 0.1 + (i % 50 === 0 ? 3 * random() : 0.1 * random()),
      gapSeconds: 0.3 * random(),
    }));
    const chapters = await makeChapters(format, 24_000, shapes, random);
    const { chapters: spans } = bookTimeline(format, 24_000, chapters);
    using folder = mkdtempDisposableSync(join(tmpdir(), 'sonant-book-'));
    const file = join(folder.path, `book.${format}`);
    writeFileSync(file, await bookOf(format, 24_000, chapters));
    const marks = probed(file).chapters.toSorted((one, other) => Number(one.start_time) - Number(other.start_time));
    expect(marks.map(({ tags }) => tags?.title)).toEqual(shapes.map(({ title }) => title));
    for (const [i, mark] of marks.entries())
      expect(Math.abs(Number(mark.start_time) - spans[i]!.startSample / 24_000)).toBeLessThan(0.002);
  });
});
