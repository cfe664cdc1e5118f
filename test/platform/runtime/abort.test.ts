// Tests that a listener on an AbortSignal is called once (at once if the signal has already aborted) and is removed.
import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import { onAbort, withAbort } from '../../../src/platform/runtime/abort.ts';

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
