// Tests the query for chapters that every process runs every second: its cost grows with the unfinished jobs, but not
// with the chapters that canceled or failed jobs keep for a retry.
import { expect, test } from 'vitest';
import { createJobLeases } from '../../../src/clips/jobs/job-leases.ts';
import type { RowValue } from '../../../src/platform/store/row-store.ts';
import { openSqliteInFolder } from './open-test-store.ts';

test('nobody goes through the chapters of all jobs to find those to work on', async () => {
  const { store } = await openSqliteInFolder();
  const steps: string[] = [];
  const leases = createJobLeases({
    ...store,
    async query(sql: string, ...values: readonly RowValue[]) {
      const plan = await store.query<{ detail: string }>(`explain query plan ${sql}`, ...values);
      steps.push(...plan.map(({ detail }) => detail));
      return [];
    },
  });
  await leases.listHolders(1_000);
  await leases.listOpen(1_000, 200);
  await leases.countHeld(1_000);
  expect(steps.filter((step) => /^SCAN (c|job_chapters)\b/.test(step))).toEqual([]);
  expect(steps.filter((step) => /^SEARCH (c|job_chapters) USING INDEX job_chapters_open/.test(step))).not.toEqual([]);
  expect(steps.filter((step) => /^SCAN (j|jobs) USING INDEX jobs_active/.test(step))).toHaveLength(3);
});
