// The account of a load: exact while all of its times are kept, and true of all calls when there were more.
import { expect, test } from 'vitest';
import { createLoadTally, timesMax } from '../../src/cli/load/load-tally.ts';

test('a load with fewer calls than the sample size is reported exactly', () => {
  const tally = createLoadTally();
  for (let ms = 1; ms <= 100; ms++) tally.countDone(ms, 10 * ms);
  tally.countRefusal('429 rate_limit_exceeded', true);
  expect(tally.reportInterval()).toMatchObject({
    ...{ done: 100, failed: 0, throttled: 1, refusals: { '429 rate_limit_exceeded': 1 } },
    first_sound_ms: { p50: 50, p95: 95, p99: 99, max: 100 },
    whole_ms: { p50: 500, p95: 950, p99: 990, max: 1000 },
  });
  expect(tally.reportInterval()).toMatchObject({ done: 0, throttled: 0, first_sound_ms: null, whole_ms: null });
  expect(tally.reportTotal().done).toBe(100);
});

test('beyond the sample size all calls are counted, and early and late ones are sampled alike', () => {
  const tally = createLoadTally();
  const calls = 3 * timesMax;
  tally.countDone(5000, 9000);
  for (let call = 1; call < calls; call++) tally.countDone((1000 * call) / calls, 1000);
  const { done, first_sound_ms, whole_ms } = tally.reportTotal();
  expect([done, first_sound_ms!.max, whole_ms!.max]).toEqual([calls, 5000, 9000]);
  // Twelve times as far off as a sample of so many usually is.
  for (const [reported, due] of [
    [first_sound_ms!.p50, 500],
    [first_sound_ms!.p95, 950],
    [first_sound_ms!.p99, 990],
  ] as const)
    expect(Math.abs(reported - due)).toBeLessThan(20);
});
