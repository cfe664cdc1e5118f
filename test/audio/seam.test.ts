// Tests which silence around a segment is trimmed, and which samples are never trimmed.
import { expect, test } from 'vitest';
import { toInt16 } from '../../src/audio/level.ts';
import { join } from '../../src/platform/pcm.ts';
import { SeamTrimmer } from '../../src/speech/sample-filters.ts';
import { pieces } from './in-pieces.ts';
import { noise } from './measure-tone.ts';

const sampleRateHz = 16000;
const marginSamples = 320;
const hiss = (seconds: number) => toInt16(noise(seconds * sampleRateHz, 0.003));
const sound = (seconds: number) => toInt16(noise(seconds * sampleRateHz, 0.3));
const lastLoud = (samples: Int16Array) => samples.findLastIndex((sample) => Math.abs(sample) >= 131);
const firstLoud = (samples: Int16Array) => samples.findIndex((sample) => Math.abs(sample) >= 131);

type Cut = (samples: Int16Array) => Iterable<Int16Array>;

function trim(samples: Int16Array, leadSecondsMax: number, trailSecondsMax: number, cut: Cut = pieces) {
  const trimmer = new SeamTrimmer({ sampleRateHz, gainDb: 0, leadSecondsMax, trailSecondsMax });
  const out = [...cut(samples)].map((piece) => trimmer.push(piece));
  return { samples: join(Int16Array, [...out, trimmer.takeTrail()]), droppedLead: trimmer.droppedLeadSamples };
}
const whole: Cut = (samples) => [samples];

const spoken = join(Int16Array, [hiss(0.25), sound(0.2), hiss(0.6), sound(0.1), hiss(0.3)]);

test('silence around the sound is trimmed to the requested length, and nothing else changes', () => {
  const { samples, droppedLead } = trim(spoken, 0.05, 0.1);
  expect(firstLoud(samples)).toBe(0.05 * sampleRateHz);
  expect(samples.length - 1 - lastLoud(samples)).toBe(0.1 * sampleRateHz);
  expect(droppedLead).toBe(firstLoud(spoken) - 0.05 * sampleRateHz);
  expect(samples).toEqual(spoken.subarray(droppedLead, droppedLead + samples.length));
});

test('the attack and decay of a word are kept even where no silence is wanted', () => {
  const { samples } = trim(spoken, 0, 0);
  expect(firstLoud(samples)).toBe(marginSamples);
  expect(samples.length - 1 - lastLoud(samples)).toBe(marginSamples);
});

test('a soft consonant is sound', () => {
  // An f at the end of a word: about -55 dBFS on average, with peaks above the threshold.
  const consonant = toInt16(noise(0.1 * sampleRateHz, 0.0031).map((sample, i) => (i % 160 === 80 ? 0.005 : sample)));
  const word = join(Int16Array, [hiss(0.2), consonant, sound(0.1), consonant, hiss(0.2)]);
  const { samples } = trim(word, 0, 0);
  expect(samples.length).toBeGreaterThan(0.3 * sampleRateHz);
});

test.each([
  [0, 0],
  [0.02, 0.1],
  [0.3, 0.02],
  [1, 1],
  [Infinity, 0.05],
  [0.05, Infinity],
  [Infinity, Infinity],
])('with %d s before and %d s after, pieces give the same as the whole', (lead, trail) => {
  for (const samples of [spoken, hiss(0.5), sound(0.1), new Int16Array(0), join(Int16Array, [sound(0.1), hiss(0.2)])]) {
    const inPieces = trim(samples, lead, trail);
    expect(inPieces).toEqual(trim(samples, lead, trail, whole));
    expect(inPieces.samples.length).toBeGreaterThanOrEqual(lastLoud(samples) - Math.max(firstLoud(samples), 0));
  }
});

test('of a silent segment nothing is returned', () => {
  const trimmer = new SeamTrimmer({ sampleRateHz, gainDb: 0, leadSecondsMax: 0.1, trailSecondsMax: 0.2 });
  for (const piece of pieces(hiss(1))) expect(trimmer.push(piece)).toHaveLength(0);
});

test('without limits nothing is dropped', () => {
  expect(trim(spoken, Infinity, Infinity)).toEqual({ samples: spoken, droppedLead: 0 });
});

test('what is quiet depends on the level at which it is heard', () => {
  const soft = toInt16(noise(0.2 * sampleRateHz, 0.003));
  const limits = { sampleRateHz, leadSecondsMax: 0, trailSecondsMax: 0 };
  expect(new SeamTrimmer({ ...limits, gainDb: 0 }).push(soft)).toHaveLength(0);
  expect(new SeamTrimmer({ ...limits, gainDb: 6 }).push(soft).length).toBeGreaterThan(0.19 * sampleRateHz);
});

test('sound is not held back, the quiet after it is, and survives its piece being written over', () => {
  const trimmer = new SeamTrimmer({ sampleRateHz, gainDb: 0, leadSecondsMax: 0.05, trailSecondsMax: 0.1 });
  const piece = sound(0.1);
  expect(trimmer.push(piece)).toEqual(piece);
  const quiet = hiss(0.2);
  expect(trimmer.push(quiet).length).toBe(marginSamples);
  const meant = quiet.slice(marginSamples);
  quiet.fill(0);
  expect(trimmer.push(piece)).toEqual(join(Int16Array, [meant, piece]));
});

test('at the end as much quiet is returned as is asked for, or as there is', () => {
  for (const [seconds, expected] of [
    [0.05, 0.05],
    [0.01, 0.02],
    [0.5, 0.2],
    [undefined, 0.1],
  ] as const) {
    const trimmer = new SeamTrimmer({ sampleRateHz, gainDb: 0, leadSecondsMax: 0, trailSecondsMax: 0.1 });
    const samples = join(Int16Array, [sound(0.1), hiss(0.2)]);
    const returned = trimmer.push(samples).length + trimmer.takeTrail(seconds).length;
    expect(returned).toBeCloseTo((0.1 + expected) * sampleRateHz, -2);
    expect(trimmer.trailSamples).toBeCloseTo(expected * sampleRateHz, -2);
  }
});
