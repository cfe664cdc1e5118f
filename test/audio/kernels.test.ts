// Tests edge cases of the compiled loops: every length near that of a vector or block, unaligned addresses, extreme
// values, and many streams that share one memory.
import { expect, test } from 'vitest';
import { blockSamplesMax, blocksOf, clamped, countAtLeast, countAudible, rounded } from '../../src/audio/kernels.ts';
import { factorOf, toFloat, toInt16 } from '../../src/audio/level.ts';
import { Resampler } from '../../src/audio/resample.ts';
import { allAtOnce, inPieces } from './in-pieces.ts';
import { limit } from './limit.ts';
import { noise } from './measure-tone.ts';

const lengths = [0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, blockSamplesMax - 1, blockSamplesMax];
const halfUp = (sample: number) => Math.max(-32768, Math.min(32767, Math.round(Math.fround(sample) * 32768))) || 0;

test('of any length, each sample is converted as JavaScript would', () => {
  for (const length of [...lengths, blockSamplesMax + 1, 2 * blockSamplesMax + 3]) {
    const floats = noise(length, 1.2);
    expect(toInt16(floats), `${length} samples`).toEqual(Int16Array.from(floats, halfUp));
    const integers = toInt16(noise(length, 1));
    const factor = factorOf(3.3);
    expect(toFloat(integers, 3.3)).toEqual(Float32Array.from(integers, (sample) => sample * factor));
  }
});

test('halves are rounded up, and what is just below a half is not', () => {
  const lsb = 2 ** -15;
  const values = [
    0.5, -0.5, 1.5, -1.5, 2.5, 0.49999997, -0.49999997, 0.50000006, -0.50000006, 32766.5, -32768.5, 1e-30,
  ];
  const floats = Float32Array.from(values, (value) => value * lsb);
  for (const at of [0, 1, 5]) {
    const padded = Float32Array.from([...Array(at).fill(0), ...floats]);
    expect(toInt16(padded)).toEqual(Int16Array.from(padded, halfUp));
  }
});

test('NaN is silence and infinity full scale, wherever it stands', () => {
  for (let at = 0; at < 19; at++) {
    const floats = new Float32Array(19).fill(0.25);
    for (const [value, integer, float] of [
      [Number.NaN, 0, 0],
      [Infinity, 32767, 1],
      [-Infinity, -32768, -1],
    ] as const) {
      floats[at] = value;
      expect(rounded(floats)[at]).toBe(integer);
      expect(clamped(floats)[at]).toBe(float);
      expect(rounded(floats).reduce((sum, sample) => sum + sample, 0)).toBe(18 * 8192 + integer);
    }
  }
});

test('a peak is found and bent wherever it stands, and nothing beside it is touched', () => {
  for (const length of [1, 4, 5, 9, blockSamplesMax, blockSamplesMax + 5])
    for (const at of new Set([0, 3, 4, length - 1].filter((n) => n < length))) {
      const sound = new Float32Array(length).fill(0.59);
      sound[at] = -1.5;
      const limited = limit(sound);
      expect(limited[at]).toBeGreaterThan(-0.733);
      expect(limited[at]).toBeLessThan(-0.59);
      expect([...limited].toSpliced(at, 1)).toEqual([...sound].toSpliced(at, 1));
    }
});

test('loud samples are counted, the most negative too', () => {
  for (const length of lengths) {
    const sound = new Int16Array(length);
    expect(countAtLeast(sound, 32_766)).toBe(0);
    sound.fill(-32768);
    expect(countAtLeast(sound, 32_766)).toBe(length);
    expect(countAudible(sound, 160, 64)).toBe(length);
    sound.fill(0);
    if (length === 0) continue;
    sound[length - 1] = 32_766;
    expect(countAtLeast(sound, 32_766)).toBe(1);
    expect(countAudible(sound, 160, 64)).toBe(length % 160 || 160);
  }
});

test('samples at an odd address of their buffer are the same samples', () => {
  const sound = noise(100, 1);
  const buffer = new ArrayBuffer(500);
  for (const at of [0, 4, 12]) {
    const shifted = new Float32Array(buffer, at, 100);
    shifted.set(sound);
    expect(toInt16(shifted)).toEqual(toInt16(sound));
  }
  for (const [block, from] of blocksOf(clamped(noise(64, 1)), 7))
    expect(rounded(block).length).toBe(Math.min(7, 64 - from));
});

const rates = [
  { inRateHz: 16_000, outRateHz: 44_100 },
  { inRateHz: 22_050, outRateHz: 24_000 },
  { inRateHz: 48_000, outRateHz: 24_000 },
];

test.each(rates)('from $inRateHz to $outRateHz a split anywhere gives the same bits', (pair) => {
  const sound = noise(400, 1);
  const whole = allAtOnce(new Resampler(pair), sound);
  for (let at = 0; at <= sound.length; at++) {
    const resampler = new Resampler(pair);
    const pieces = [sound.subarray(0, at), sound.subarray(at)].map((piece) => resampler.process(piece));
    expect([...pieces, resampler.flush()].flatMap((piece) => [...piece])).toEqual([...whole]);
  }
});

test.each(rates)('from $inRateHz to $outRateHz blocks longer than the memory give the same bits', (pair) => {
  const sound = noise(3 * blockSamplesMax + 11, 1);
  expect(inPieces(new Resampler(pair), sound)).toEqual(allAtOnce(new Resampler(pair), sound));
});

test('16-bit samples are resampled as the floats that they become', () => {
  const sound = toInt16(noise(20_000, 1));
  const pieces: number[] = [];
  const resampler = new Resampler(rates[0]!);
  resampler.pass(sound, factorOf(-3), (piece) => pieces.push(...piece));
  resampler.passRest((piece) => pieces.push(...piece));
  expect(pieces).toEqual([...allAtOnce(new Resampler(rates[0]!), toFloat(sound, -3))]);
});

test('many streams take turns in the one memory, and none hears another', () => {
  const streams = Array.from({ length: 60 }, (_, n) => {
    const pair = rates[n % rates.length]!;
    return { pair, sound: noise(3000, 0.2 + n / 100), resampler: new Resampler(pair), out: [] as number[] };
  });
  for (let from = 0; from < 3000; from += 250)
    for (const { sound, resampler, out } of streams) out.push(...resampler.process(sound.subarray(from, from + 250)));
  for (const { pair, sound, resampler, out } of streams) {
    out.push(...resampler.flush());
    expect(out).toEqual([...allAtOnce(new Resampler(pair), sound)]);
  }
});

test('more filters than the memory holds make room for each other, and it does not grow', () => {
  // Together, the filters are larger than the memory. Each is nearly as large as a filter may be.
  const pairs = Array.from({ length: 40 }, (_, n) => ({ inRateHz: 1_000, outRateHz: 2_001 + 10 * n }));
  const sound = noise(500, 1);
  const alone = pairs.map((pair) => allAtOnce(new Resampler(pair), sound));
  const before = process.memoryUsage().arrayBuffers;
  const resamplers = pairs.map((pair) => new Resampler(pair));
  const out = pairs.map(() => [] as number[]);
  for (let from = 0; from < sound.length; from += 50)
    for (const [n, resampler] of resamplers.entries())
      out[n]!.push(...resampler.process(sound.subarray(from, from + 50)));
  for (const [n, resampler] of resamplers.entries()) {
    out[n]!.push(...resampler.flush());
    expect(out[n]).toEqual([...alone[n]!]);
  }
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(64 * 2 ** 20);
});
