// Tests that the memory slope in soak reports excludes the first minutes, and includes later leaks.
import { expect, test } from 'vitest';
import {
  describeSlope,
  leastInQuarters,
  type MemorySample,
  meansInQuarters,
  memorySlopeOf,
  warmUpMinutes,
} from './soak/memory-slope.ts';

const mib = 2 ** 20;
const minutes = 10;
/** One sample per second, from any start time. */
const samplesOf = (mibAt: (minute: number) => number, length = minutes): MemorySample[] =>
  Array.from({ length: length * 60 }, (_, n) => [5_000_000 + n * 1000, mibAt(n / 60) * mib]);

test('memory that is taken in the first minutes and kept has no slope', () => {
  const slope = memorySlopeOf(samplesOf((minute) => 200 + 100 * Math.min(minute, warmUpMinutes)))!;
  expect(slope.mibPerHour).toBeCloseTo(0, 6);
  expect(slope.meanMib).toBeCloseTo(500, 6);
});

test('a leak of a MiB a minute is told, within its standard error where the memory goes up and down', () => {
  const leak = (minute: number) => 300 + minute;
  expect(memorySlopeOf(samplesOf(leak))!.mibPerHour).toBeCloseTo(60, 6);
  const rough = memorySlopeOf(samplesOf((minute) => leak(minute) + 10 * Math.sin(5 * minute)))!;
  expect(Math.abs(rough.mibPerHour - 60)).toBeLessThan(3 * rough.standardError);
  expect(rough.standardError).toBeGreaterThan(0);
});

test('a run that is hardly longer than the first minutes has none', () => {
  const samples = samplesOf((minute) => minute, warmUpMinutes);
  expect(memorySlopeOf(samples)).toBeUndefined();
  expect(memorySlopeOf([])).toBeUndefined();
  expect(describeSlope(undefined)).toContain('no slope');
});

test('the least in each quarter leaves out garbage', () => {
  const samples = Array.from(
    { length: 40 },
    (_, n): MemorySample => [n, 100 + Math.floor(n / 10) + (n % 5 === 0 ? 0 : 50)],
  );
  expect(leastInQuarters(samples)).toEqual([100, 101, 102, 103]);
  expect(meansInQuarters(samplesOf((minute) => Math.floor(minute), 4))).toEqual([0, mib, 2 * mib, 3 * mib]);
});
