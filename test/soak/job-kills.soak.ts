// One job, whose process is killed at random moments again and again, with the embedded voice: on one machine, the same process
// started again; or two replicas on PostgreSQL, Redis and S3, one of them killed at a time. The finished files are byte for
// byte those of an undisturbed run, and every character is charged once.
import { createHash } from 'node:crypto';
import { rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { textOf } from './long-text.ts';
import { makeKey, openService, type Service } from './open-service.ts';

const { KILLS = '100', CHARS = '60000', FORMAT = 'flac' } = process.env;
const kills = Number(KILLS);
/** A process lives so long at most, as a share of the undisturbed run, so that the kills spread over the job. */
const aliveShare = 1.5;
const scopes = ['jobs:read', 'jobs:write', 'usage:read'];

// biome-ignore lint/suspicious/noExplicitAny: JSON of the API, which other tests check
type JobJson = any;

const chapters = Array.from({ length: 12 }, (_, i) => ({
  title: `Chapter ${i + 1}`,
  text: Array.from({ length: 5 }, () => textOf(Number(CHARS) / 60)).join('\n\n'),
}));
const body = { voice_id: 'arthur', output_format: FORMAT, sample_rate: 24_000, captions: ['vtt'], chapters };

const jobOf = async (service: Service, id: string): Promise<JobJson> =>
  (await service.ask(`/api/audio/jobs/${id}`)).json();

async function untilEnded(service: Service, id: string): Promise<JobJson> {
  for (;;) {
    const job = await jobOf(service, id);
    if (job.ended_at !== null) return job;
    await sleep(200);
  }
}

async function hashesOf(service: Service, job: JobJson): Promise<string[]> {
  const urls = [job.audio_url, job.captions.vtt, ...job.chapters.map((each: JobJson) => each.audio_url)];
  const hashes: string[] = [];
  for (const url of urls) {
    const file = Buffer.from(await (await service.ask(url)).arrayBuffer());
    hashes.push(createHash('sha256').update(file).digest('hex'));
  }
  return hashes;
}

let service: Service | undefined;
afterAll(async () => {
  await service?.kill();
  if (service) rmSync(service.dataDir, { recursive: true });
});

test(`a job whose process is killed ${kills} times on one machine`, async () => {
  const first = await openService();
  const key = makeKey(first.dataDir, ['--scopes', scopes.join(',')]);
  const left = { dataDir: first.dataDir, key };
  await first.kill();
  service = await openService({ left });
  const put = (id: string) => service!.ask(`/api/audio/jobs/${id}`, { method: 'PUT', body });
  const startedMs = performance.now();
  expect((await put('undisturbed')).status).toBe(202);
  const undisturbed = await untilEnded(service, 'undisturbed');
  expect(undisturbed.error).toBe(null);
  const undisturbedSeconds = (performance.now() - startedMs) / 1000;
  const expected = await hashesOf(service, undisturbed);

  await put('killed');
  let done = 0;
  const doneAt: number[] = [];
  while (done < kills) {
    await sleep((Math.random() * aliveShare * undisturbedSeconds * 1000) / kills);
    const { ended_at, progress } = await jobOf(service, 'killed');
    if (ended_at !== null) break;
    doneAt.push(progress.chars_done);
    await service.kill();
    done++;
    service = await openService({ left });
  }
  const job = await untilEnded(service, 'killed');
  console.log(
    `${undisturbed.progress.chars} characters, ${Math.round(undisturbed.progress.seconds)} s of sound, undisturbed in ${undisturbedSeconds.toFixed(0)} s; ` +
      `${done} kills, between ${doneAt[0]} and ${doneAt.at(-1)} characters`,
  );
  expect(job).toMatchObject({ status: 'succeeded', error: null });
  expect(await hashesOf(service, job)).toEqual(expected);
  expect(job.usage).toEqual(undisturbed.usage);
  const usage: JobJson = await (await service.ask('/api/usage')).json();
  expect(usage.total.characters).toBe(2 * undisturbed.usage.characters);
  expect(done).toBe(kills);
});
