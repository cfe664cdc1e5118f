// Tests that polling for slots leaves no queue entry after an answer, a timeout, an abort or a failed poll.
import { expect, test } from 'vitest';
import { createSlotPolling } from '../../src/access/redis-slots.ts';

const never = async () => undefined;
const endings: [string, (polling: ReturnType<typeof createSlotPolling<string>>) => Promise<unknown>, unknown][] = [
  ['an answer', (polling) => polling.wait('owner', 'account', AbortSignal.timeout(60_000), async () => 'slot'), 'slot'],
  ['a timeout', (polling) => polling.wait('owner', 'account', AbortSignal.timeout(60_000), never), undefined],
  [
    'an abort',
    (polling) => polling.wait('owner', 'account', AbortSignal.abort(new Error('aborted')), never).catch(String),
    'Error: aborted',
  ],
  [
    'a failed poll',
    (polling) =>
      polling
        .wait('owner', 'account', AbortSignal.timeout(60_000), () => Promise.reject(new Error('no answer')))
        .catch(String),
    'Error: no answer',
  ],
];

test.each(endings)('after %s nobody waits', async (_, end, result) => {
  const polling = createSlotPolling<string>();
  const ended = end(polling);
  expect([polling.isEmpty('owner'), polling.isEmptyOf('account')]).toEqual([false, false]);
  expect(await ended).toBe(result);
  expect([polling.isEmpty('owner'), polling.isEmptyOf('account')]).toEqual([true, true]);
  // The turn was released, so the next waiter polls at once.
  expect(await polling.wait('owner', 'account', AbortSignal.timeout(60_000), async () => 'next')).toBe('next');
});

test('an owner is known while others of it wait, and forgotten with the last', async () => {
  const polling = createSlotPolling<string>();
  const leaving = new AbortController();
  const first = polling.wait('owner', 'account', leaving.signal, never).catch(String);
  let answer: string | undefined;
  const second = polling.wait('owner', 'account', AbortSignal.timeout(60_000), async () => answer);
  leaving.abort(new Error('left'));
  expect(await first).toBe('Error: left');
  expect(polling.isEmpty('owner')).toBe(false);
  answer = 'slot';
  polling.wake('account');
  expect(await second).toBe('slot');
  expect(polling.isEmpty('owner')).toBe(true);
});
