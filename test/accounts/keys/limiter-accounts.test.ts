// Tests that the number of account counters in a process does not grow with the number of keys ever used.
import { expect, test } from 'vitest';
import { createAccounts } from '../../../src/accounts/limits/limiter.ts';

test('accounts at rest are removed, and those in use stay', async () => {
  let nowUs = 0;
  const accounts = createAccounts({ spentSince: async () => 0, now: () => nowUs / 1000 }, () => nowUs);
  const { signal } = new AbortController();
  await accounts.open('speaking').slots.take({ signal });
  accounts.open('calling').fullAtUs = 5_000;
  const names = Array.from({ length: 998 }, (_, n) => `key ${n}`);
  for (const name of names) accounts.open(name);
  nowUs = 4_000;
  accounts.open('another');
  expect(names.filter((name) => accounts.find(name))).toEqual([]);
  expect(['speaking', 'calling', 'another'].map((name) => accounts.find(name) !== undefined)).toEqual([
    true,
    true,
    true,
  ]);
});
