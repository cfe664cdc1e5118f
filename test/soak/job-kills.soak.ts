// Tests one job whose process is killed repeatedly at random moments, with the embedded voice: on one machine, the same
// process restarted; or two replicas on PostgreSQL and S3, one of them killed at a time. The files equal those
// of an undisturbed run, and every character is charged once.
import { rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { createFingerprint } from '../../src/audio/file-head.ts';
import { textOf } from './long-text.ts';
import { openInstallation } from './open-installation.ts';
import { baseUrl, makeKey, openService } from './open-service.ts';

const { KILLS = '100', CHARS = '60000', FORMAT = 'wav', VOICE = 'arthur', MINUTES = '60' } = process.env;
const kills = Number(KILLS);
const scopes = ['jobs:read', 'jobs:write', 'usage:read'];

// biome-ignore lint/suspicious/noExplicitAny: JSON of the API, which other tests check
type JobJson = any;

const chapters = Array.from({ length: 12 }, (_, i) => ({
  title: `Chapter ${i + 1}`,
  text: Array.from({ length: 5 }, () => textOf(Number(CHARS) / 60)).join('\n\n'),
}));
const body = { voice_id: VOICE, output_format: FORMAT, sample_rate: 24_000, captions: ['vtt'], chapters };

/** How the jobs run, and how one of the processes is killed and restarted. */
interface Killed {
  where: string;
  ask(path: string, init?: Omit<RequestInit, 'body'> & { body?: unknown }): Promise<Response>;
  kill(): Promise<void>;
}

async function jobOf({ ask }: Killed, id: string): Promise<JobJson> {
  return (await ask(`/api/audio/jobs/${id}`)).json();
}

async function untilEnded(killed: Killed, id: string): Promise<JobJson> {
  for (;;) {
    const job = await jobOf(killed, id);
    if (job.ended_at !== null) return job;
    await sleep(200);
  }
}

/** Hashes of the files without their headers, because the joined file's header has a signature that varies. */
async function hashesOf({ ask }: Killed, job: JobJson): Promise<string[]> {
  const urls = [job.audio_url, job.captions.vtt, ...job.chapters.map((each: JobJson) => each.audio_url)];
  const hashes: string[] = [];
  for (const url of urls) {
    const file = Buffer.from(await (await ask(url.replace(/^.*(?=\/audio\/)/, ''))).arrayBuffer());
    const fingerprint = createFingerprint();
    fingerprint.update(file);
    hashes.push(fingerprint.digest());
  }
  return hashes;
}

async function expectWhole(killed: Killed): Promise<void> {
  const { where } = killed;
  const put = (id: string) => killed.ask(`/api/audio/jobs/${id}`, { method: 'PUT', body });
  const startedMs = performance.now();
  expect((await put('undisturbed')).status).toBe(202);
  const undisturbed = await untilEnded(killed, 'undisturbed');
  expect(undisturbed.error).toBe(null);
  const undisturbedSeconds = (performance.now() - startedMs) / 1000;
  const expected = await hashesOf(killed, undisturbed);

  await put('killed');
  const doneAt: number[] = [];
  let aliveMs = (undisturbedSeconds * 1000) / kills;
  while (doneAt.length < kills) {
    await sleep(Math.random() * 2 * aliveMs);
    const { ended_at, progress } = await jobOf(killed, 'killed');
    if (ended_at !== null) break;
    doneAt.push(progress.chars_done);
    await killed.kill();
    // If the job is behind, the next process lives longer, which spreads the kills over the job.
    const isBehind = progress.chars_done / progress.chars < doneAt.length / (kills + 1);
    aliveMs *= isBehind ? 1.25 : 0.8;
    if (doneAt.length % 10 === 0) console.log(`${where}: ${doneAt.length} kills, ${progress.chars_done} characters`);
  }
  const job = await untilEnded(killed, 'killed');
  const { chars, seconds } = undisturbed.progress;
  console.log(
    `${where}: ${chars} characters, ${Math.round(seconds)} s of sound, undisturbed in ${undisturbedSeconds.toFixed(0)} s; ` +
      `${doneAt.length} kills, between ${doneAt[0]} and ${doneAt.at(-1)} characters`,
  );
  expect(job).toMatchObject({ status: 'succeeded', error: null });
  expect(await hashesOf(killed, job)).toEqual(expected);
  expect(job.usage).toEqual(undisturbed.usage);
  const usage: JobJson = await (await killed.ask('/api/usage')).json();
  expect(usage.total.characters).toBe(2 * undisturbed.usage.characters);
  expect(doneAt.length).toBe(kills);
}

const closing: (() => unknown)[] = [];
afterAll(async () => {
  for (const close of closing.toReversed()) await close();
});

const timeout = Number(MINUTES) * 60_000;

test(`a job whose process is killed ${kills} times on one machine`, { timeout }, async () => {
  const first = await openService();
  closing.push(() => rmSync(first.dataDir, { recursive: true }));
  const key = makeKey(first.dataDir, ['--scopes', scopes.join(',')]);
  const left = { dataDir: first.dataDir, key };
  await first.kill();
  let service = await openService({ left });
  closing.push(() => service.kill());
  const kill = async () => {
    await service.kill();
    service = await openService({ left });
  };
  await expectWhole({ where: 'one machine', ask: (...request) => service.ask(...request), kill });
});

test(`a job of which one of two replicas is killed ${kills} times`, { timeout }, async () => {
  const installation = await openInstallation(2, { isWired: false });
  closing.push(installation.close);
  const { key } = await installation.makeKey();
  /** The balancer may choose a replica that was just killed. */
  const ask: Killed['ask'] = async (path, { body: sent, headers, ...init } = {}) => {
    const url = installation.url + path.replace(baseUrl, '');
    for (;;) {
      const answer = await fetch(url, {
        ...init,
        ...(sent !== undefined && { body: JSON.stringify(sent) }),
        headers: { 'X-API-Key': key, 'Content-Type': 'application/json', ...headers },
      }).catch(() => undefined);
      if (answer && answer.status < 500) return answer;
      await sleep(200);
    }
  };
  // A replica restarts while the next kill is awaited, so the job may have no replica for a while.
  const starts = new Map<number, Promise<void>>();
  let next = 0;
  const kill = async () => {
    const n = next++ % 2;
    await starts.get(n);
    const replica = installation.replicas[n]!;
    await replica.end('SIGKILL');
    starts.set(n, replica.start());
  };
  closing.push(() => Promise.all(starts.values()));
  await expectWhole({ where: 'two replicas', ask, kill });
});
