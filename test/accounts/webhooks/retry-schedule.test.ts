// Tests retries of a message: the delays grow, vary at random, stop after a day, and honour Retry-After within limits.
import { expect, test } from 'vitest';
import { nextAttemptMs } from '../../../src/accounts/webhooks/webhook-sender.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

test('a receiver that never answers is tried for 24 hours, the last time at their end', () => {
  const made: number[] = [0];
  for (let attempts = 1, nowMs = 0; ; attempts++) {
    const next = nextAttemptMs({ createdAtMs: 0, attempts, nowMs }, 0.5);
    if (next === undefined) break;
    nowMs = next;
    made.push(next);
  }
  expect(made.slice(0, 8).map((ms) => ms / 1000)).toEqual([0, 5, 35, 155, 455, 1355, 3155, 6755]);
  expect(made.at(-1)).toBe(24 * hourMs);
  expect(made.length).toBe(31);
});

test('waits spread by a fifth either way', () => {
  const at = (random: number) => nextAttemptMs({ createdAtMs: 0, attempts: 2, nowMs: 0 }, random);
  expect([at(0), at(0.5), at(1)]).toEqual([24_000, 30_000, 36_000]);
});

test('Retry-After, in seconds or as a date, is kept to if it is later, and up to four hours', () => {
  const nowMs = Date.UTC(2030, 0, 2);
  const wait = (retryAfter: string) =>
    nextAttemptMs({ createdAtMs: nowMs, attempts: 1, nowMs, retryAfter }, 0.5)! - nowMs;
  expect(wait('120')).toBe(120_000);
  expect(wait('1')).toBe(5_000);
  expect(wait('9999999999')).toBe(4 * hourMs);
  expect(wait(new Date(nowMs + 10 * minuteMs).toUTCString())).toBe(10 * minuteMs);
  for (const nonsense of ['-5', 'soon', '', 'Infinity']) expect(wait(nonsense)).toBe(5_000);
});
