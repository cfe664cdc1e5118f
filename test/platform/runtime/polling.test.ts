// Tests that calls during a poll share the next poll, which begins after them; and that a listener on an AbortSignal is
// called once (at once if the signal has already aborted) and is removed.

import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import { onAbort, withAbort } from '../../../src/platform/runtime/abort.ts';
import { createPolling, openPolling } from '../../../src/platform/runtime/polling.ts';

test('all who ask while a poll runs share the next one', async () => {
  let polls = 0;
  const releases: (() => void)[] = [];
  const poll = async () => {
    polls++;
    if (polls > 1) await new Promise<void>((resolve) => releases.push(resolve));
  };
  const { refresh, close } = await openPolling(poll, { everyMs: 1_000_000, onFault() {} });
  const first = refresh();
  await expect.poll(() => polls).toBe(2);
  const others = Array.from({ length: 100 }, () => refresh());
  releases.shift()!();
  await first;
  await expect.poll(() => polls).toBe(3);
  releases.shift()!();
  await Promise.all(others);
  await close();
  expect(polls).toBe(3);
});

test('a poll that fails fails for those who asked for it, and the next one runs', async () => {
  let polls = 0;
  const poll = async () => {
    if (++polls === 2) throw new Error('away');
  };
  const { refresh, close } = await openPolling(poll, { everyMs: 1_000_000, onFault() {} });
  await expect(refresh()).rejects.toThrow('away');
  await refresh();
  await close();
  expect(polls).toBe(3);
});

test('calls that wake the polling share a poll, whose fault is reported once', async () => {
  let polls = 0;
  const faults: unknown[] = [];
  const poll = () => Promise.reject(new Error(`${++polls}`));
  const { wake, close } = createPolling(poll, { everyMs: 1_000_000, onFault: (fault) => faults.push(fault) });
  await Promise.all([wake(), wake()]);
  await close();
  expect([polls, faults]).toEqual([1, [new Error('1')]]);
});

const listenersOf = ({ signal }: AbortController) => getEventListeners(signal, 'abort').length;

test('onAbort calls when the signal aborts or has aborted, and not after it was disposed', () => {
  const leaving = new AbortController();
  let calls = 0;
  {
    using _ = onAbort(leaving.signal, () => calls++);
    expect(listenersOf(leaving)).toBe(1);
  }
  expect(listenersOf(leaving)).toBe(0);
  onAbort(leaving.signal, () => calls++);
  leaving.abort();
  expect(calls).toBe(1);
  onAbort(leaving.signal, () => calls++);
  expect(calls).toBe(2);
  using _ = onAbort(undefined, () => calls++);
  expect(calls).toBe(2);
});

test('withAbort settles like the work, or rejects with the reason of the signal', async () => {
  const leaving = new AbortController();
  expect(await withAbort(leaving.signal, Promise.resolve('done'))).toBe('done');
  await expect(withAbort(leaving.signal, Promise.reject(new Error('failed')))).rejects.toThrow('failed');
  expect(listenersOf(leaving)).toBe(0);
  const work = Promise.withResolvers<never>();
  const left = withAbort(leaving.signal, work.promise);
  leaving.abort('left');
  await expect(left).rejects.toBe('left');
  await expect(withAbort(leaving.signal, work.promise)).rejects.toBe('left');
  work.reject(new Error('too late to be heard'));
});
