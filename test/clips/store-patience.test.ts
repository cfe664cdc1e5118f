// Tests that optional work is abandoned if the clip store is slow or unreachable, and that the fault is reported once.
import { expect, test } from 'vitest';
import { createStorePatience } from '../../src/clips/clip-cache.ts';
import { Failure } from '../../src/platform/errors.ts';

test('a store that is slow is one that is away: told once, with the cause, until it answers', async () => {
  const faults: unknown[] = [];
  const patience = createStorePatience({ waitMsMax: 10, onFault: (fault) => faults.push(fault) });
  const slow = Promise.withResolvers<string>();
  expect(await patience.run(() => slow.promise)).toBeUndefined();
  expect(await patience.run(async () => 'nobody asks')).toBeUndefined();
  expect(faults).toMatchObject([
    { reason: 'storage_unavailable', cause: { message: expect.stringContaining('longer than 10 ms') } },
  ]);
  expect(faults[0]).toBeInstanceOf(Failure);
  slow.resolve('late');
  await slow.promise;
  await expect.poll(() => patience.run(async () => 'kept')).toBe('kept');
  expect(faults).toHaveLength(1);
});

test('a store that is away is tried again by the next work, for which nobody waits', async () => {
  const patience = createStorePatience({ onFault() {} });
  expect(await patience.run(() => Promise.reject(new Failure('storage_unavailable')))).toBeUndefined();
  expect(await patience.run(async () => 'tried')).toBeUndefined();
  expect(await patience.run(async () => 'kept')).toBe('kept');
});
