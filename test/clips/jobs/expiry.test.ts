// Tests that a fractional `keep_hours` expires jobs at whole milliseconds, as PostgreSQL refuses fractions.
import { expect, test } from 'vitest';
import { type JobJson, type JobsGateway, openJobsGateway } from './open-jobs.ts';

const keepHours = 1.3333333;
const body = { keep_hours: keepHours, chapters: undefined, text: 'One text.' };

/** Expiry times of the job and of its audio. */
async function expiriesOf({ store }: JobsGateway): Promise<number[]> {
  const sql = 'select expires_at_ms as ms from jobs union all select expires_at_ms as ms from clips';
  return (await store.query<{ ms: number }>(sql)).map(({ ms }) => ms);
}

async function expectWhole(gateway: JobsGateway, job: JobJson, rows: number): Promise<void> {
  const expected = Date.parse(job.ended_at) + Math.round(keepHours * 3_600_000);
  expect(await expiriesOf(gateway)).toEqual(Array(rows).fill(expected));
}

test('a job that succeeds, with its chapter and the file of the whole', async () => {
  const gateway = await openJobsGateway();
  const job = await gateway.untilEnded((await gateway.create(body)).id);
  expect(job.status).toBe('succeeded');
  await expect.poll(async () => new Set(await expiriesOf(gateway)).size).toBe(1);
  await expectWhole(gateway, job, 3);
});

test('a job that fails', async () => {
  const gateway = await openJobsGateway({ trouble: { failsAfterSegments: 0 } });
  const job = await gateway.untilEnded((await gateway.create(body)).id);
  expect(job.status).toBe('failed');
  await expectWhole(gateway, job, 1);
});

test('a job that is canceled', async () => {
  const gateway = await openJobsGateway({ jobChaptersMax: 0 });
  const { id } = await gateway.create(body);
  await expectWhole(gateway, await gateway.readJobs(`/${id}/cancel`, { method: 'POST' }), 1);
});
