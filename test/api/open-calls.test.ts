// Tests limits on calls without a key: how many may be open, and when calls finish by themselves.
import { expect, onTestFinished, test, vi } from 'vitest';
import { openCallLimits } from '../../src/api/call-limits.ts';
import { type OpenCall, OpenCalls } from '../../src/api/open-calls.ts';
import type { Failure } from '../../src/platform/errors.ts';

const hourMs = 3_600_000;
const wide = { ...openCallLimits, unaryMs: hourMs, streamMs: hourMs, stallMs: hourMs, checkEveryMs: 10 };

function open(limits: Partial<typeof openCallLimits>) {
  const calls = new OpenCalls({ ...wide, ...limits });
  onTestFinished(() => calls.close());
  const ended: string[] = [];
  const enter = (name: string, address: string, more: Partial<OpenCall> = {}) => {
    const abort = ({ reason, message }: Failure) => void ended.push(`${name}: ${reason}: ${message}`);
    const call = { address, connection: undefined, isStream: true, waitingSinceMs: () => undefined, abort, ...more };
    return calls.enter(call);
  };
  const refusal = (...given: Parameters<typeof enter>) => {
    try {
      enter(...given);
    } catch (error) {
      return (error as Failure).reason;
    }
    return undefined;
  };
  return { calls, enter, refusal, ended };
}

test('there are so many on a connection, from an address and in all', () => {
  const { enter, refusal } = open({ perConnectionMax: 1, perAddressMax: 2, inAllMax: 2 });
  const connection = {};
  const leave = enter('a', '192.0.2.1', { connection });
  expect(refusal('b', '192.0.2.1', { connection })).toBe('rate_limit_exceeded');
  enter('c', '192.0.2.1');
  expect(refusal('d', '192.0.2.1')).toBe('rate_limit_exceeded');
  leave();
  enter('e', '192.0.2.2', { connection });
  leave();
  expect(refusal('f', '192.0.2.2', { connection })).toBe('rate_limit_exceeded');
  expect(refusal('g', '192.0.2.1')).toBe('overloaded');
});

test('a call ends at its deadline, and where nobody reads it', async () => {
  const { enter, ended } = open({ unaryMs: 0, stallMs: 30_000 });
  enter('unary', '192.0.2.1', { isStream: false });
  enter('read', '192.0.2.1');
  enter('unread', '192.0.2.1', { waitingSinceMs: () => performance.now() - 31_000 });
  await expect
    .poll(() => new Set(ended))
    .toEqual(
      new Set([
        'unary: engine_timeout: The call did not finish within 0 s.',
        'unread: engine_timeout: The client read nothing from the stream for 30 s.',
      ]),
    );
});

test('an address that is refused again and again is barred for a while, others are not', () => {
  const { calls, enter, refusal } = open({ perAddressMax: 1, refusals: { perMinute: 1, burst: 3 } });
  enter('a', '2001:db8::1');
  for (let n = 0; n < 3; n++) {
    expect(calls.isBarred('2001:db8::1')).toBe(false);
    refusal('b', '2001:db8::1');
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
