// Tests the conversion of samples to floats and back, and the curve of the limiter.
import { expect, test } from 'vitest';
import { clamped } from '../../src/audio/kernels.ts';
import { limitBlock, toFloat, toInt16 } from '../../src/audio/level.ts';
import { limit } from './limit.ts';
import { fitSine, peak, toDb, tone } from './measure-tone.ts';

const every16Bit = Int16Array.from({ length: 65536 }, (_, i) => i - 32768);

test('16 bits go to floats and back unchanged', () => {
  expect(toInt16(toFloat(every16Bit, 0))).toEqual(every16Bit);
});

test('a gain is in decibels', () => {
  expect(toFloat(Int16Array.of(16384, -8192), 6.0206)[0]).toBeCloseTo(1, 5);
  expect(toFloat(Int16Array.of(16384, -8192), -6.0206)[1]).toBeCloseTo(-0.125, 5);
  expect(toFloat(Int16Array.of(32767), 20)[0]).toBeCloseTo(10, 3);
});

test('floats are rounded to nearest and clipped at full scale, and NaN is silence', () => {
  const lsb = 1 / 32768;
  const floats = Float32Array.of(0.4 * lsb, 0.6 * lsb, -0.6 * lsb, 1, 5, -1, -5, Infinity, -Infinity, Number.NaN);
  expect([...toInt16(floats)]).toEqual([0, 1, -1, 32767, 32767, -32768, -32768, 32767, -32768, 0]);
  expect([...clamped(Float32Array.of(0.5, 1.5, -1.5, Infinity, Number.NaN))]).toEqual([0.5, 1, -1, 1, 0]);
});

test('the limit leaves alone what is below its knee', () => {
  const quiet = tone({ frequencyHz: 440, sampleRateHz: 16000, seconds: 0.1, amplitude: 0.59 });
  expect(limitBlock(quiet)).toBe(quiet);
  const loud = Float32Array.of(0.3, -0.59, 0.7, 0.59);
  expect([...limit(loud)].map((sample, i) => sample === loud[i])).toEqual([true, true, false, true]);
  expect(loud[2]).toBeCloseTo(0.7);
});

test('the limit never passes its ceiling, never turns back, and bends without a corner', () => {
  const step = 0.001;
  const rising = Float64Array.from({ length: 6001 }, (_, i) => i * step);
  const limited = limit(Float32Array.from(rising));
  expect(toDb(peak(limited))).toBeLessThanOrEqual(-2.699);
  expect(toDb(peak(limit(Float32Array.of(1e9, -Infinity))))).toBeLessThanOrEqual(-2.699);
  const slopes = limited.subarray(1).map((sample, i) => (sample - limited[i]!) / step);
  expect(Math.min(...slopes)).toBeGreaterThanOrEqual(0);
  expect(Math.max(...slopes)).toBeLessThan(1.0002);
  expect(peak(slopes.subarray(1).map((slope, i) => slope - slopes[i]!))).toBeLessThan(0.01);
  expect(limit(Float32Array.of(-2))[0]).toBe(-limit(Float32Array.of(2))[0]!);
  expect(limit(Float32Array.of(Number.NaN, 2))[0]).toBeNaN();
});

test('a tone 1 dB over the ceiling comes out clean enough to pass for itself', () => {
  const loud = tone({ frequencyHz: 440, sampleRateHz: 48000, seconds: 0.5, amplitude: 0.82 });
  expect(fitSine(limit(loud), 440, 48000).snrDb).toBeGreaterThan(24);
});
