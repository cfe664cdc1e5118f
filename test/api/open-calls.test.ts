// Tests limits on the number of calls without a key.
import { expect, onTestFinished, test, vi } from 'vitest';
import { openCallLimits } from '../../src/api/call-limits.ts';
import { OpenCalls } from '../../src/api/open-calls.ts';
import type { Failure } from '../../src/platform/errors.ts';

const hourMs = 3_600_000;

function open(limits: Partial<typeof openCallLimits>) {
  const calls = new OpenCalls({ ...openCallLimits, ...limits });
  const enter = (address: string, connection?: object) => calls.enter({ address, connection });
  const refusal = (...given: Parameters<typeof enter>) => {
    try {
      enter(...given);
    } catch (error) {
      return (error as Failure).reason;
    }
    return undefined;
  };
  return { calls, enter, refusal };
}

test('there are so many on a connection, from an address and in all', () => {
  const { enter, refusal } = open({ perConnectionMax: 1, perAddressMax: 2, inAllMax: 2 });
  const connection = {};
  const leave = enter('192.0.2.1', connection);
  expect(refusal('192.0.2.1', connection)).toBe('rate_limit_exceeded');
  enter('192.0.2.1');
  expect(refusal('192.0.2.1')).toBe('rate_limit_exceeded');
  leave();
  enter('192.0.2.2', connection);
  leave();
  expect(refusal('192.0.2.2', connection)).toBe('rate_limit_exceeded');
  expect(refusal('192.0.2.1')).toBe('overloaded');
});

test('an address that is refused again and again is barred for a while, others are not', () => {
  const { calls, enter, refusal } = open({ perAddressMax: 1, refusals: { perMinute: 1, burst: 3 } });
  enter('2001:db8::1');
  for (let n = 0; n < 3; n++) {
    expect(calls.isBarred('2001:db8::1')).toBe(false);
    refusal('2001:db8::1');
  }
  expect(['2001:db8::1', '2001:db8::2', '2001:db8:0:1::1'].map((address) => calls.isBarred(address))).toEqual([
    true,
    true,
    false,
  ]);
  vi.useFakeTimers({ now: 0, toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  vi.advanceTimersByTime(hourMs);
  expect(calls.isBarred('2001:db8::1')).toBe(false);
});
