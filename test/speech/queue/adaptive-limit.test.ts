// The adaptive limit: whatever is measured it stays within its bounds; it settles where an engine is busy and has no queue to
// speak of, and throttles no engine that is not.
import { describe, expect, test } from 'vitest';
import { createGradient2 } from '../../../bench/overload/gradient2.ts';
import { simulate } from '../../../bench/overload/simulated-engine.ts';
import { createAdaptiveLimit, workOf } from '../../../src/speech/queue/adaptive-limit.ts';
import { createRandom } from '../../text/random-text.ts';

const usual = { min: 2, max: 64, initial: 16 };
const overload = { segmentMs: 100, wanting: 64, requests: 20_000 };

describe('whatever is measured', () => {
  test.each([1, 2, 3, 4, 5])('the limit is a whole number within its bounds (seed %i)', (seed) => {
    const random = createRandom(seed);
    const limit = createAdaptiveLimit(usual);
    for (let n = 0; n < 5000; n++) {
      const ms = [0, 0.001, 1, 50, 1e9][Math.floor(5 * random())]! * random();
      const startingAtOnce = 1 + Math.floor(64 * random());
      const notedBefore = Math.max(0, n - Math.floor(64 * random()));
      limit.note({
        voiceId: `v${Math.floor(3 * random())}`,
        chars: Math.floor(200 * random()),
        ms,
        startingAtOnce,
        notedBefore,
      });
      expect(Number.isInteger(limit.value) && limit.value >= usual.min && limit.value <= usual.max).toBe(true);
    }
  });

  test('bounds that leave nothing to decide are kept', () => {
    const limit = createAdaptiveLimit({ min: 2, max: 1, initial: 16 });
    for (let n = 0; n < 1000; n++) limit.note({ voiceId: 'a', chars: 60, ms: n, startingAtOnce: 1, notedBefore: n });
    expect(limit.value).toBe(1);
  });
});

test.each([1, 2, 3])('an engine of two threads is kept busy, with a queue of a few (seed %i)', (seed) => {
  const limit = createAdaptiveLimit(usual);
  const { medianMs, heardPerSecond } = simulate(limit, { ...overload, threads: 2, random: createRandom(seed) });
  expect(heardPerSecond).toBeGreaterThan(0.95 * (2000 / 79));
  expect(medianMs).toBeLessThan(3 * overload.segmentMs);
});

test('Gradient2 takes its own queue for usual, and lets it grow', () => {
  const { medianMs } = simulate(createGradient2(usual), { ...overload, threads: 2, random: createRandom(1) });
  expect(medianMs).toBeGreaterThan(10 * overload.segmentMs);
});

test.each([1, 2, 3])('an engine that speaks as many as come is not throttled (seed %i)', (seed) => {
  const limit = createAdaptiveLimit(usual);
  const random = createRandom(seed);
  const { limitMean } = simulate(limit, { ...overload, threads: 1000, sigma: 0.3, random });
  expect(limitMean).toBeGreaterThan(0.85 * usual.max);
});

test('a limit that is not used does not move, and one that is grows again after a slow time', () => {
  const limit = createAdaptiveLimit(usual);
  let n = 0;
  const note = (ms: number, startingAtOnce: number) =>
    limit.note({ voiceId: 'a', chars: 60, ms, startingAtOnce, notedBefore: n++ });
  for (let i = 0; i < 40; i++) note(100, 1);
  expect(limit.value).toBe(16);
  for (let i = 0; i < 3000; i++) note(100, 64);
  const before = limit.value;
  for (let i = 0; i < 120; i++) note(5000, 64);
  expect(limit.value).toBeLessThan(before);
  // It is that slow without a queue too: what it measures anew tells.
  for (let i = 0; i < 20_000; i++) note(5000, 64);
  expect(limit.value).toBeGreaterThan(30);
});

test('neither a long first segment nor a slow voice looks like a queue', () => {
  const limit = createAdaptiveLimit(usual);
  for (let n = 0; n < 5000; n++) {
    const [voiceId, factor] = n % 3 === 0 ? ['slow', 20] : ['quick', 1];
    const chars = n % 2 === 0 ? 10 : 600;
    const ms = 50 * factor * workOf(chars);
    limit.note({ voiceId, chars, ms, startingAtOnce: 64, notedBefore: n });
  }
  expect(limit.value).toBeGreaterThanOrEqual(32);
});
