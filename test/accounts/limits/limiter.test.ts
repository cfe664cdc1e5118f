// Tests limits on keys that this process enforces alone, and limits on addresses.
import { expect, test } from 'vitest';
import { createFailedAttempts } from '../../../src/accounts/limits/failed-attempts.ts';
import { createAccounts, createLimiter } from '../../../src/accounts/limits/limiter.ts';
import type { Failure } from '../../../src/platform/errors.ts';
import { limiterConformance } from '../../conformance/limiter.ts';

limiterConformance('memory', async (options) => ({ limiter: createLimiter(options), close: async () => {} }));
test('failed attempts per address per minute are limited, and an IPv6 network counts as one address', () => {
  let nowMs = 0;
  const limit = createFailedAttempts({ perMinute: 10, now: () => nowMs });
  const fail = (address: string) => {
    try {
      limit.noteFailure(address);
      return undefined;
    } catch (error) {
      return error as Failure;
    }
  };
  for (let i = 0; i < 10; i++) expect(fail('10.0.0.1')).toBeUndefined();
  const refusal = fail('10.0.0.1')!;
  expect(refusal).toMatchObject({ reason: 'rate_limit_exceeded', facts: { limitReason: 'requests', limit: 10 } });
  expect(fail('10.0.0.2')).toBeUndefined();
  nowMs += refusal.facts.retryAfterSeconds! * 1000;
  expect(fail('10.0.0.1')).toBeUndefined();
  for (let i = 0; i < 10; i++) expect(fail(`2001:db8::${i}`)).toBeUndefined();
  expect(fail('2001:db8:0:0:ffff::1')).toBeDefined();
  expect(fail('2001:db8:0:1::1')).toBeUndefined();
  expect(fail('::1')).toBeUndefined();
});

test('the end of a synthesis may be passed on alone', async () => {
  const limiter = createLimiter({ spentSince: async () => 0 });
  const caller = {
    callerId: 'ada',
    accountId: 'ada',
    keyId: 'key',
    limits: { requestsPerMinute: 10, concurrency: 1, charactersPerMonth: undefined },
  };
  const { signal } = new AbortController();
  const { end } = await limiter.takeSynthesis(caller, 5, { signal, report() {} });
  end(5);
  expect(await limiter.running('ada')).toBe(0);
});

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
