// Tests jobs whose workers are killed at any moment: another worker continues at the first missing segment, the files
// equal those of an undisturbed run, and each character is charged once.
import { expect, test } from 'vitest';
import { createClipRows } from '../../../src/clips/clip-rows.ts';
import type { ClipStore } from '../../../src/clips/stores/clip-store.ts';
import { createId, processName } from '../../../src/platform/runtime/id.ts';
import type { RowStore } from '../../../src/platform/store/row-store.ts';
import { isLongRun } from '../../long/run-length.ts';
import { createRandom } from '../../text/random-text.ts';
import { type JobJson, type JobsGateway, openJobsGateway } from './open-jobs.ts';

const sentence = (n: number) => `Sentence number ${n} is here, and it has a clause.`;
const textOf = (chapter: number) => Array.from({ length: 6 }, (_, i) => sentence(10 * chapter + i)).join(' ');
const body = {
  voice_id: 'tone-low',
  chapters: Array.from({ length: 3 }, (_, i) => ({ title: `Chapter ${i}`, text: textOf(i) })),
  captions: ['srt'],
  sample_rate: 24_000,
};

async function filesOf({ download }: JobsGateway, job: JobJson): Promise<Buffer[]> {
  const urls = [job.audio_url, job.captions.srt, ...job.chapters.map((each: JobJson) => each.audio_url)];
  return Promise.all(urls.map(download));
}

/**
 * Runs a worker that dies at the store operation with this number: then nothing reaches the stores, as if its process
 * were gone. The worker has the name of a dead process of this machine.
 */
async function runUntilKilled({ store, storedClips, openOwnJobs }: JobsGateway, diesAt: number): Promise<void> {
  const died = Promise.withResolvers<void>();
  let operations = 0;
  const alive = <Result>(work: () => Promise<Result>): Promise<Result> => {
    if (++operations === diesAt) died.resolve();
    return operations >= diesAt ? new Promise<Result>(() => {}) : work();
  };
  const rows: RowStore = {
    query: (...asked) => alive(() => store.query(...asked)) as never,
    transaction: (...asked) => alive(() => store.transaction(...asked)) as never,
    now: () => store.now(),
    listen: () => () => {},
    close: async () => {},
  };
  const { clips } = storedClips.memory;
  const mortal: ClipStore = {
    hasReceipts: true,
    create: (...asked) =>
      alive(async () => {
        const draft = await clips.create(...asked);
        return {
          write: (bytes) => alive(() => draft.write(bytes)),
          commit: (head) => alive(() => draft.commit(head)),
          discard: () => alive(() => draft.discard()),
        };
      }),
    open: (...asked) => alive(() => clips.open(...asked)),
    remove: (key) => alive(() => clips.remove(key)),
    sweep: async () => 0,
    disk: () => clips.disk(),
    close: async () => {},
  };
  openOwnJobs({
    chaptersMax: 4,
    store: rows,
    clips: { index: createClipRows(rows), memory: { ...storedClips.memory, clips: mortal } },
    holder: processName.replace(/[^|]*$/, createId('run')),
  });
  await died.promise;
}

/** `npm run test:long` tests all formats. */
const formats = isLongRun ? ['wav', 'mp3', 'opus'] : ['mp3'];

test.each(formats)('the files of a job that is killed again and again: %s', async (format) => {
  const gateway = await openJobsGateway({ jobChaptersMax: 0 });
  const { create, untilEnded, openOwnJobs, tone, readJson, get } = gateway;
  const undisturbed = openOwnJobs();
  const first = await untilEnded((await create({ ...body, output_format: format })).id);
  await undisturbed.close();
  const segments = tone.segments.length;
  const random = createRandom(4711);

  const { id } = await create({ ...body, output_format: format });
  let kills = 0;
  for (; kills < 12 && (await get(id)).ended_at === null; kills++) {
    await runUntilKilled(gateway, 1 + Math.floor(60 * random()));
  }
  const last = openOwnJobs();
  const job = await untilEnded(id);
  await last.close();

  expect(kills).toBeGreaterThan(3);
  expect(job.status).toBe('succeeded');
  expect(tone.segments.length - segments).toBeGreaterThanOrEqual(segments);
  // At most one segment per kill was synthesized twice.
  expect(tone.segments.length - segments).toBeLessThanOrEqual(segments + kills);
  const [own, expected] = await Promise.all([filesOf(gateway, job), filesOf(gateway, first)]);
  for (const [i, file] of own.entries()) expect(file.equals(expected[i]!), `file ${i}`).toBe(true);
  expect(job.usage).toEqual(first.usage);
  const usage = await readJson('/api/usage', { headers: { 'X-API-Key': gateway.jobsKey } });
  expect(usage.total.characters).toBe(2 * first.usage.characters);
});

test('two that work on the jobs of one store share the chapters', async () => {
  const gateway = await openJobsGateway({ jobChaptersMax: 0, trouble: { pieceDelayMs: 50 } });
  const { create, untilEnded, openOwnJobs, speech, tone } = gateway;
  const spoken = [0, 0];
  const workers = spoken.map((_, i) => {
    const speakKept: typeof speech.speakKept = (...asked) => {
      spoken[i]!++;
      return speech.speakKept(...asked);
    };
    return openOwnJobs({ speech: { ...speech, speakKept }, holder: `replica-${i}` });
  });
  const { id } = await create(body);
  expect((await untilEnded(id)).status).toBe('succeeded');
  expect(spoken[0]! + spoken[1]!).toBe(3);
  expect(Math.min(...spoken)).toBeGreaterThan(0);
  expect(new Set(tone.segments.map(({ text }) => text)).size).toBe(tone.segments.length);
  for (const worker of workers) await worker.close();
});
