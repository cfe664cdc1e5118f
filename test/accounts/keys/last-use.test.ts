// Tests that last-used times are collected and written together, and never cause a failure.
import { expect, test } from 'vitest';
import type { ApiKeyUse } from '../../../src/accounts/keys/api-key-rows.ts';
import { createLastUse } from '../../../src/accounts/keys/key-verifier.ts';
import { Failure } from '../../../src/platform/errors.ts';

test('many uses are one row a key, in batches, written after a while', async () => {
  const batches: (readonly ApiKeyUse[])[] = [];
  const lastUse = createLastUse(async (uses) => void batches.push(uses), 10);
  for (let i = 0; i < 3_000; i++) lastUse.note(`key ${i % 1_100}`, i);
  await expect.poll(() => batches.length).toBe(3);
  expect(batches.map(({ length }) => length)).toEqual([500, 500, 100]);
  expect(batches[0]![0]).toEqual({ keyId: 'key 0', usedAtMs: 2_200 });
  await lastUse.close();
  expect(batches).toHaveLength(3);
});

test('a store that fails in between is retried; at the close its failure is thrown', async () => {
  let tries = 0;
  const lastUse = createLastUse(async () => {
    tries++;
    throw new Failure('storage_unavailable');
  }, 1);
  lastUse.note('a', 1);
  await expect.poll(() => tries).toBe(1);
  lastUse.note('b', 2);
  await expect(lastUse.close()).rejects.toMatchObject({ reason: 'storage_unavailable' });
  expect(tries).toBe(2);
});
