// Tests that whoever waits too long is told, and nobody else.
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { giveUpAfter, Pace } from '../../src/platform/pace.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  // No timer runs while nothing is watched.
  vi.advanceTimersByTime(1_000);
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

test('a listener is told once of each wait that is too long', () => {
  const pace = new Pace();
  const told: string[] = [];
  const stops = [pace.after(2_000, () => told.push('slow')), pace.after(5_000, () => told.push('stalled'))];
  vi.advanceTimersByTime(10_000);
  pace.given();
  vi.advanceTimersByTime(1_500);
  pace.taken();
  pace.given();
  vi.advanceTimersByTime(1_500);
  expect(told).toEqual([]);
  vi.advanceTimersByTime(1_000);
  expect(told).toEqual(['slow']);
  vi.advanceTimersByTime(10_000);
  expect(told).toEqual(['slow', 'stalled']);
  pace.taken();
  vi.advanceTimersByTime(10_000);
  pace.given();
  vi.advanceTimersByTime(3_000);
  expect(told).toEqual(['slow', 'stalled', 'slow']);
  for (const stop of stops) stop();
  vi.advanceTimersByTime(10_000);
  expect(told).toHaveLength(3);
});

test('what is not over in time is ended once, the oldest first; it may end another, or begin one', () => {
  const ended: string[] = [];
  const over = giveUpAfter(2_000, () => ended.push('over'));
  let endOther = () => {};
  giveUpAfter(2_000, () => {
    ended.push('first');
    endOther();
    giveUpAfter(1_000, () => ended.push('begun'));
  });
  endOther = giveUpAfter(2_000, () => ended.push('other'));
  giveUpAfter(2_000, () => ended.push('second'));
  over();
  vi.advanceTimersByTime(2_250);
  expect(ended).toEqual(['first', 'second']);
  vi.advanceTimersByTime(1_250);
  expect(ended).toEqual(['first', 'second', 'begun']);
});
