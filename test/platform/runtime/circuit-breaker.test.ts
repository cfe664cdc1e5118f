// Tests the circuit breaker: closed normally, open after five consecutive failures, half open for one probe.
import { expect, test } from 'vitest';
import { CircuitBreaker } from '../../../src/platform/runtime/circuit-breaker.ts';

function openBreaker() {
  const clock = { nowMs: 1_000 };
  const breaker = new CircuitBreaker(() => clock.nowMs);
  const fail = (times: number) => {
    for (let i = 0; i < times; i++) breaker.begin().failed();
  };
  return { breaker, clock, fail };
}
const unavailable = expect.objectContaining({ reason: 'engine_unavailable' });

test('opens after five failures in a row, and says for how long', () => {
  const { breaker, fail } = openBreaker();
  fail(4);
  breaker.begin().succeeded();
  fail(4);
  expect(breaker.state).toBe('closed');
  fail(1);
  expect(breaker.state).toBe('open');
  expect(() => breaker.begin()).toThrow(unavailable);
  expect(breaker.restMs()).toBeGreaterThan(1_500);
  expect(breaker.restMs()).toBeLessThanOrEqual(2_000);
});

test('half-open, lets one probe through, which closes it or opens it for twice as long', () => {
  const { breaker, clock, fail } = openBreaker();
  fail(5);
  clock.nowMs += 2_000;
  expect(breaker.state).toBe('half_open');
  const first = breaker.begin();
  expect(() => breaker.begin()).toThrow(unavailable);
  first.failed();
  expect(breaker.restMs()).toBeGreaterThan(3_000);
  clock.nowMs += 4_000;
  breaker.begin().succeeded();
  expect(breaker.state).toBe('closed');
  breaker.begin().succeeded();
});

test('a probe that is aborted leaves the probe to the next', () => {
  const { breaker, clock, fail } = openBreaker();
  fail(5);
  clock.nowMs += 2_000;
  breaker.begin().cancelled();
  expect(breaker.restMs()).toBe(0);
  breaker.begin().succeeded();
  expect(breaker.state).toBe('closed');
});

test('what was begun before it opened neither closes it nor counts again', () => {
  const { breaker, clock, fail } = openBreaker();
  const [good, bad] = [breaker.begin(), breaker.begin()];
  fail(5);
  good.succeeded();
  expect(breaker.state).toBe('open');
  clock.nowMs += 2_000;
  bad.failed();
  expect(breaker.state).toBe('half_open');
});

test('a Retry-After of the engine opens it at once, up to a minute', () => {
  const { breaker, clock } = openBreaker();
  breaker.begin().failed(30_000);
  expect(breaker.restMs()).toBe(30_000);
  clock.nowMs += 30_000;
  breaker.begin().failed(3_600_000);
  expect(breaker.restMs()).toBe(60_000);
});
