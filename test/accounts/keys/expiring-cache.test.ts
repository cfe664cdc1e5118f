// Tests a cache with limits on size and age.
import { expect, test } from 'vitest';
import { ExpiringCache } from '../../../src/accounts/keys/key-verifier.ts';

test('what is remembered is forgotten when its time is over', () => {
  const cache = new ExpiringCache<string>({ entriesMax: 10, ttlMs: 500 });
  cache.set('a', 'x', 1_000);
  expect(cache.get('a', 1_499)).toBe('x');
  expect(cache.get('a', 1_500)).toBeUndefined();
  expect(cache.size).toBe(0);
});

test('it never holds more than it may; the oldest make room', () => {
  const cache = new ExpiringCache<number>({ entriesMax: 3, ttlMs: 500 });
  for (let i = 0; i < 100; i++) {
    cache.set(`key ${i}`, i, 0);
    expect(cache.size).toBeLessThanOrEqual(3);
  }
  expect([96, 97, 98, 99].map((i) => cache.get(`key ${i}`, 0))).toEqual([undefined, 97, 98, 99]);
  cache.set('key 97', 1, 0);
  cache.set('key 100', 2, 0);
  expect(cache.get('key 97', 0)).toBe(1);
  expect(cache.size).toBe(3);
});
