// Tests when a chapter is retried: after the delay that its failure states, or after a pause if its job cannot finish.
import { expect, test } from 'vitest';
import type { Webhooks } from '../../../src/accounts/webhooks/webhook.ts';
import { Failure } from '../../../src/platform/errors.ts';
import { type JobsGateway, openJobsGateway } from './open-jobs.ts';

const body = { chapters: undefined, text: 'One text.' };

/** Time from which the released chapter may be taken; 0 before. */
async function notBeforeOf({ store }: JobsGateway): Promise<number> {
  const sql = 'select not_before_ms as ms from job_chapters where chapter = 0 and lease_holder is null';
  const [row] = await store.query<{ ms: number }>(sql);
  return row?.ms ?? 0;
}

test('the wait that a failure asks for is stored in whole milliseconds', async () => {
  const failure = new Failure('engine_unavailable', { retryAfterSeconds: 30.0004567 });
  const gateway = await openJobsGateway({ trouble: { failsAfterSegments: 0, failure } });
  const begunMs = Date.now();
  await gateway.create(body);
  await expect.poll(() => notBeforeOf(gateway)).toBeGreaterThan(0);
  const notBeforeMs = await notBeforeOf(gateway);
  expect(notBeforeMs).toBe(Math.trunc(notBeforeMs));
  expect(notBeforeMs).toBeGreaterThanOrEqual(begunMs + 30_001);
});

test('a job that cannot be ended is not tried again without pause', async () => {
  const gateway = await openJobsGateway({ jobChaptersMax: 0, trouble: { failsAfterSegments: 0 } });
  const { create, store, openOwnJobs, faults } = gateway;
  const { id } = await create(body);
  const [{ settings }] = (await store.query('select settings from jobs')) as [{ settings: string }];
  const webhookUrl = 'https://hooks.test';
  await store.query('update jobs set settings = $1', JSON.stringify({ ...JSON.parse(settings), webhookUrl }));
  let ends = 0;
  const webhooks: Webhooks = {
    async check() {},
    async add() {
      ends++;
      throw new Error('the end cannot be written');
    },
    wake() {},
  };
  const worker = openOwnJobs({ webhooks });
  await expect.poll(() => ends).toBe(1);
  await expect.poll(() => notBeforeOf(gateway)).toBeGreaterThan(Date.now());
  expect((await gateway.get(id)).status).toBe('running');
  await worker.close();
  expect(ends).toBe(1);
  expect(faults.map(String)).toEqual(['Error: the end cannot be written']);
});
