// Tests that a key's account is the first key in its chain of parents, even after rotations.
import { expect, test } from 'vitest';
import { accountOf } from '../../src/access/api-key-record.ts';

test.each([
  ['key_A', '', 'key_A'],
  ['key_B', 'key_A/', 'key_A'],
  ['key_C', 'key_A/key_B/', 'key_A'],
  ['key_D', 'usr_1/key_C/', 'usr_1'],
])('%s made along "%s" belongs to %s', (ownerId, path, account) => {
  expect(accountOf({ ownerId, path })).toBe(account);
});
