// What a retry finds of a job that has failed or was canceled: the audio of its finished chapters, for as long as it runs.
import { expect, test } from 'vitest';
import { type JobJson, openJobsGateway } from './open-jobs.ts';

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
