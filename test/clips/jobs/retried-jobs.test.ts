// Tests that a retry of a failed or canceled job reuses the audio of its finished chapters, which is kept while the
// retry runs, and the segments of its unfinished chapters, which are kept for a day.
import { expect, test } from 'vitest';
import { leftSegmentsMs } from '../../../src/clips/jobs/job-limits.ts';
import { chapters, type JobJson, openJobsGateway } from './open-jobs.ts';

const hourMs = 3_600_000;
const texts = ['The first chapter.', 'The second chapter.', 'The third chapter.'].map((text) => ({ text }));
const post = { method: 'POST' };

test.each(['failed', 'canceled'])(
  'finished chapters of a job that is %s are kept while a retry of it runs',
  async (end) => {
    const gateway = await openJobsGateway({ jobChaptersMax: 0 });
    const { create, until, untilEnded, openOwnJobs, readJobs, store, tone } = gateway;
    const expiries = async () => {
      const sql = 'select expires_at_ms as "expiresAtMs" from clips where deleted_at_ms is null';
      const clips = await store.query<{ expiresAtMs: number }>(sql);
      return clips.map(({ expiresAtMs }) => Math.round((Number(expiresAtMs) - Date.now()) / hourMs));
    };
    tone.trouble = end === 'failed' ? { failsAfterSegments: 1 } : { pieceDelayMs: 20 };
    const { id } = await create({ keep_hours: 2, chapters: texts });
    const worker = openOwnJobs({ chaptersMax: 1 });
    if (end === 'canceled') {
      await until(id, ({ progress }: JobJson) => progress.chapters_done > 0);
      await readJobs(`/${id}/cancel`, post);
    }
    expect(await untilEnded(id)).toMatchObject({ status: end, progress: { chapters_done: 1 } });
    await worker.close();
    expect(await expiries()).toEqual([2]);
    await readJobs(`/${id}/retry`, post);
    expect(await expiries()).toEqual([8760]);
    tone.trouble = {};
    const next = openOwnJobs();
    expect(await untilEnded(id)).toMatchObject({ status: 'succeeded' });
    await next.close();
    expect(await expiries()).toEqual([2, 2, 2, 2]);
  },
);

test('the segments of a job that has failed go after a day; a retry speaks them again, and charges nothing', async () => {
  const gateway = await openJobsGateway({ jobChaptersMax: 0 });
  const { create, untilEnded, openOwnJobs, readJobs, readJson, jobsKey, sweepJobs, store, storedClips, tone } = gateway;
  const { clips } = storedClips.memory;
  const book = chapters.slice(0, 1);
  const chars = book[0]!.text.length;
  const speak = async (id: string) => {
    const worker = openOwnJobs();
    const job = await untilEnded(id);
    await worker.close();
    return job;
  };
  const keysOf = async () => {
    const kept = await store.query<{ clipKey: string }>('select clip_key as "clipKey" from job_segments');
    return kept.map(({ clipKey }) => clipKey);
  };
  const age = (ms: number) => store.query('update jobs set ended_at_ms = ended_at_ms - $1', ms);
  const whole = await speak((await create({ chapters: book })).id);
  const used = async () => (await readJson('/api/usage', { headers: { 'X-API-Key': jobsKey } })).total;
  expect(await used()).toEqual({ requests: 1, characters: chars, audio_seconds: 5.25 });
  const spoken = tone.segments.length;
  expect(spoken).toBeGreaterThan(1);

  tone.trouble = { failsAfterSegments: tone.counts.begun + spoken - 1 };
  const { id } = await create({ chapters: book });
  const failed = await speak(id);
  expect(failed.status).toBe('failed');
  const keys = await keysOf();
  expect(keys).toHaveLength(spoken - 1);
  await age(leftSegmentsMs - 60_000);
  await sweepJobs();
  expect(await keysOf()).toEqual(keys);
  await age(60_000);
  await sweepJobs();
  expect(await keysOf()).toEqual([]);
  expect(await Promise.all(keys.map((key) => clips.open(key)))).toEqual(keys.map(() => undefined));
  const { progress, usage } = await readJobs(`/${id}`);
  expect({ progress, usage }).toMatchObject({ progress: failed.progress, usage: failed.usage });

  tone.trouble = { failsAfterSegments: tone.counts.begun + spoken - 1 };
  await readJobs(`/${id}/retry`, post);
  expect((await speak(id)).progress).toEqual(failed.progress);
  tone.trouble = {};
  await readJobs(`/${id}/retry`, post);
  expect(await speak(id)).toMatchObject({ status: 'succeeded', progress: whole.progress, usage: whole.usage });
  expect((await used()).characters).toBe(2 * chars);
  const [row] = await store.query<{ done: number }>('select chars_done as done from jobs where job_id = $1', id);
  expect(Number(row!.done)).toBe(chars);
});
