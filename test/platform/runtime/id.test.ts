// Tests the format of ids, their order in time, and their uniqueness.
import { expect, test } from 'vitest';
import { createId } from '../../../src/platform/runtime/id.ts';

test('an id is a prefix and a ULID, longer where more randomness is asked for', () => {
  expect(createId('key')).toMatch(/^key_[0-9A-HJKMNP-TV-Z]{26}$/);
  expect(createId('aud', 128)).toMatch(/^aud_[0-9A-HJKMNP-TV-Z]{36}$/);
});

test('ids sort by the time they were made', async () => {
  const before = createId('req');
  await new Promise((resolve) => setTimeout(resolve, 5));
  expect(createId('req') > before).toBe(true);
});

test('10 000 ids are 10 000 ids', () => {
  expect(new Set(Array.from({ length: 10_000 }, () => createId('req'))).size).toBe(10_000);
});
