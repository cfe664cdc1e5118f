// What is remembered under Idempotency-Keys, and for how long, by two replicas on one database.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { loadConfig } from '../../src/config.ts';
import { createIdempotency } from '../../src/operations/idempotency.ts';
import { createAnswerRows } from '../../src/store/answer-rows.ts';
import { openStore } from '../../src/store/open-store.ts';
import { createStorage } from '../distributed/storage.ts';

async function openReplicas() {
  const folder = mkdtempSync(join(tmpdir(), 'sonant-idempotency-'));
  const { settings } = await createStorage(folder);
  const config = loadConfig({ env: settings, folder, engines: [] });
  const stores = await Promise.all([1, 2].map(() => openStore(config)));
  onTestFinished(async () => {
    for (const store of stores) await store.close();
    rmSync(folder, { recursive: true });
  });
  const [here, there] = stores.map((store) =>
    createIdempotency({ rows: createAnswerRows(store), isAlive: async () => isAlive }),
  );
  const once = (replica: typeof here, work: () => Promise<number> = async () => 1, more: object = {}) =>
    replica!.once({
      ...{ key: 'k', callerId: 'ada', request: { text: 'a' } },
      work: async () => ({ answer: await work(), subject: 'aud_1', usefulUntilMs: Infinity }),
      ...more,
    });
  return { here: here!, there: there!, once };
}
const two = async () => 2;
let isAlive = true;

test('an answer is repeated, at any replica, for the same request of the same caller', async () => {
  const { here, there, once } = await openReplicas();
  expect(await once(here)).toBe(1);
  expect([await once(here, two), await once(there, two)]).toEqual([1, 1]);
  expect(await once(there, two, { callerId: 'bob' })).toBe(2);
  await expect(once(there, two, { request: { text: 'b' } })).rejects.toMatchObject({ reason: 'idempotency_conflict' });
});

test('of a hundred concurrent requests at two replicas one runs, and the others are refused', async () => {
  const { here, there, once } = await openReplicas();
  let worked = 0;
  const work = async () => {
    await new Promise((resolve) => setTimeout(resolve, 30));
    return ++worked;
  };
  const ends = await Promise.allSettled(Array.from({ length: 100 }, (_, i) => once(i % 2 ? here : there, work)));
  expect(worked).toBe(1);
  for (const end of ends)
    if (end.status === 'rejected') expect(end.reason).toMatchObject({ reason: 'idempotency_conflict' });
  expect(await once(there, two)).toBe(1);
});

test('a failed request may be retried, and an expired one is forgotten', async () => {
  const { here, there, once } = await openReplicas();
  await expect(once(here, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(await once(there, two)).toBe(2);
  await here.forgetAbout('ada', 'aud_1');
  expect(await once(there)).toBe(1);
});

test('a response about a deleted clip is not replayed', async () => {
  const { here, there, once } = await openReplicas();
  expect(await once(here)).toBe(1);
  isAlive = false;
  expect(await once(there, two)).toBe(2);
  isAlive = true;
  expect(await once(here)).toBe(2);
});

test('an expired response is not replayed', async () => {
  const { here, there, once } = await openReplicas();
  const brief = async () => ({ answer: 1, subject: 'aud_1', usefulUntilMs: Date.now() - 1 });
  expect(await once(here, undefined, { work: brief })).toBe(1);
  expect(await once(there, two)).toBe(2);
});
