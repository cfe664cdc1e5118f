// When a chapter is tried again: after a wait, also where the job cannot be ended.
import { expect, test } from 'vitest';
import type { Webhooks } from '../../src/webhooks/webhook.ts';
import { type JobsGateway, openJobsGateway } from './open-jobs.ts';

const body = { chapters: undefined, text: 'One text.' };

/** Since when the chapter may be taken, once it has been given back; 0 before. */
async function notBeforeOf({ store }: JobsGateway): Promise<number> {
  const sql = 'select not_before_ms as ms from job_chapters where chapter = 0 and lease_holder is null';
  const [row] = await store.query<{ ms: number }>(sql);
  return row?.ms ?? 0;
}

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
