// Tests answers stored under Idempotency-Keys, and how long they are stored, with two replicas on one database.
import { spawnSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createAnswerRows, createIdempotency } from '../../../src/api/idempotency.ts';
import { processName } from '../../../src/platform/runtime/id.ts';
import { openReplicaStores } from '../../distributed/storage.ts';

async function openReplicas(runners: readonly (string | undefined)[] = [], leaseMs = 3000) {
  const stores = await openReplicaStores();
  const all = stores.map(createAnswerRows);
  const [here, there] = all.map((rows, i) =>
    createIdempotency({ rows, isAlive: async () => true, leaseMs, ...(runners[i] && { runner: runners[i] }) }),
  );
  const once = (replica: typeof here, work: () => Promise<number> = async () => 1, more: object = {}) =>
    replica!.once({
      ...{ key: 'k', callerId: 'ada', request: { text: 'a' } },
      work: async () => ({ answer: await work(), subject: 'aud_1', usefulUntilMs: Infinity }),
      ...more,
    });
  return { here: here!, there: there!, once, rows: all[0]! };
}
const two = async () => 2;

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

test('a failed request may be retried', async () => {
  const { here, there, once } = await openReplicas();
  await expect(once(here, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(await once(there, two)).toBe(2);
});

test('an expired response is not replayed', async () => {
  const { here, there, once } = await openReplicas();
  const brief = async () => ({ answer: 1, subject: 'aud_1', usefulUntilMs: Date.now() - 1 });
  expect(await once(here, undefined, { work: brief })).toBe(1);
  expect(await once(there, two)).toBe(2);
});

/** The id of a process that has exited. */
const deadPid = () => spawnSync(process.execPath, ['-e', '']).pid;
const nobody = new Promise<number>(() => {});

test('a request whose process has died with its machine counts as running for the rest of its lease, and no longer', async () => {
  const { here, there, once, rows } = await openReplicas(['elsewhere|pid:[1]|4711|run_1'], 500);
  rows.renew = async () => {};
  await begin((work) => once(here, work), nobody);
  while (await isTaken(once(there, two))) await sleep(50);
  expect(await once(there)).toBe(2);
});

test('a request whose process runs keeps its lease however long it takes', async () => {
  const { here, there, once } = await openReplicas(['elsewhere|pid:[1]|4711|run_1'], 1500);
  const end = Promise.withResolvers<number>();
  const { running } = await begin((work) => once(here, work), end.promise);
  await sleep(2200);
  expect(await isTaken(once(there, two))).toBe(true);
  end.resolve(7);
  expect([await running, await once(there, two)]).toEqual([7, 7]);
});

test.each([
  ['that nobody has', deadPid],
  ['of its successor', () => process.pid],
])('a request of a dead process of this machine, with an id %s, does not count at all', async (_, pidOf) => {
  const before = processName.replace(/\d+\|[^|]*$/, `${pidOf()}|run_BEFORE`);
  const { here, there, once } = await openReplicas([before]);
  await begin((work) => once(here, work), nobody);
  expect(await once(there, two)).toBe(2);
});

test('who lost its lease does not overwrite the answer of another', async () => {
  const { here, there, once, rows } = await openReplicas(['elsewhere|pid:[1]|4711|run_1'], 500);
  rows.renew = async () => {};
  const end = Promise.withResolvers<number>();
  const { running: slow } = await begin((work) => once(here, work), end.promise);
  while (await isTaken(once(there, two))) await sleep(50);
  end.resolve(1);
  expect([await slow, await once(there)]).toEqual([1, 2]);
});

/** Resolves when the work has begun. */
async function begin(once: (work: () => Promise<number>) => Promise<number>, end: Promise<number>) {
  const begun = Promise.withResolvers<void>();
  const running = once(() => {
    begun.resolve();
    return end;
  });
  await begun.promise;
  return { running };
}

const isTaken = (ended: Promise<number>) =>
  ended.then(
    () => false,
    (error: { reason: string }) => error.reason === 'idempotency_conflict',
  );
