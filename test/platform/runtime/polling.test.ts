// Tests that calls during a poll share the next poll, which begins after them.
import { expect, test } from 'vitest';
import { openPolling } from '../../../src/platform/runtime/polling.ts';

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
