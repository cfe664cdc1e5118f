// Tests what a caller does with the suspects of a job: a sentence is kept, or spoken again with another seed, while the
// other sentences stay as they are. Nobody can have it done for nothing, with the job of another key, or after a day.
import { beforeAll, expect, test } from 'vitest';
import { JobService, SuspectAction } from '../../../gen/sonant/v1/job_service_pb.ts';
import { operator } from '../../../src/accounts.ts';
import { leftSegmentsMs } from '../../../src/clips/jobs/job-limits.ts';
import type { Pcm } from '../../../src/platform/pcm.ts';
import { openTakes, speakGoodAndBad } from '../../engines/takes-engine.ts';
import { sentences } from '../../sentences.ts';
import { explain, failureOf } from '../../transports/rpc/grpc-client.ts';
import { openCore } from '../../transports/rpc/open-core.ts';
import { type JobJson, type JobsGateway, openJobsGateway } from './open-jobs.ts';

const text = sentences[0]!;
const offset = text.length + 2;
const body = { chapters: [{ text: [text, text, text].join('\n\n') }, { text }], captions: ['vtt'] };
let good: Pcm;
let bad: Pcm;

beforeAll(async () => {
  ({ good, bad } = await speakGoodAndBad(text));
}, 60_000);

/**
 * The second sentence of the job has the take `bad`; it gets the takes `later` when it is spoken again. With a seed of
 * the request, each segment is spoken once.
 */
async function openSuspect(later: readonly (Pcm | Error)[], fields: { seed?: number } = {}) {
  const repairs = fields.seed === undefined ? [bad, bad] : [];
  const engine = openTakes([good, bad, ...repairs, good, good, ...later], { seed: true });
  const gateway = await openJobsGateway({ engines: [engine], isLimited: true });
  const { id } = await gateway.create({ ...body, ...fields });
  const job: JobJson = await gateway.untilEnded(id);
  expect(job.chapters[0].suspects).toMatchObject([{ offset, faults: ['silence'] }]);
  const settle = async (action: string, own: object = {}) => {
    const reply = await gateway.sendJobs(`/${id}/suspects`, { body: { chapter: 0, offset, action, ...own } });
    return { status: reply.status, json: (await reply.json()) as JobJson };
  };
  const charged = async () =>
    (await gateway.readJson('/api/usage', { headers: { 'X-API-Key': gateway.jobsKey } })).total.characters;
  return { ...gateway, id, job, engine, settle, charged };
}

test('a kept sentence is no longer listed, and its audio stays', async () => {
  const { get, id, job, settle, charged } = await openSuspect([]);
  const reply = await settle('keep');
  expect(reply.status).toBe(202);
  expect(reply.json.chapters[0].suspects).toEqual([]);
  const { chapters, audio_url, status } = await get(id);
  expect([chapters[0].suspects, audio_url, status]).toEqual([[], job.audio_url, 'succeeded']);
  expect(await charged()).toBe(job.usage.characters);
  const again = await settle('keep');
  expect([again.status, again.json.error]).toEqual([404, 'not_found']);
});

test('a sentence that is spoken again has another seed; the job gets new files, and the others stay', async () => {
  const { charged, download, engine, id, job, send, settle, untilEnded } = await openSuspect([good]);
  const before = engine.segments.length;
  const chars = await charged();
  const { json: queued } = await settle('speak_again');
  expect(queued).toMatchObject({ audio_url: job.audio_url, ended_at: null });
  expect(queued.chapters[0].suspects).toEqual([]);
  const next = await untilEnded(id);
  expect(next).toMatchObject({ status: 'succeeded', progress: { chapters_done: 2, chars_done: job.progress.chars } });
  const [segment, ...others] = engine.segments.slice(before);
  expect([segment!.text, others]).toEqual([text, []]);
  expect(segment!.seed).toBeGreaterThanOrEqual(0);
  expect(next.chapters[0].suspects).toEqual([]);
  expect(next.chapters[1].audio_url).toBe(job.chapters[1].audio_url);
  expect(job.progress.seconds - next.progress.seconds).toBeCloseTo(1.5, 1);
  // Two line breaks are before the sentence.
  expect((await charged()) - chars).toBe(text.length + 2);
  for (const gone of [job.audio_url, job.chapters[0].audio_url, job.captions.vtt])
    expect((await send(gone)).status).toBe(410);
  expect((await download(next.audio_url)).length).toBeLessThan((await download(next.chapters[0].audio_url)).length * 2);
});

test('a sentence that is still suspect is listed again, also if the job has a seed', async () => {
  const { engine, id, settle, untilEnded } = await openSuspect([bad], { seed: 7 });
  await settle('speak_again');
  const { chapters } = await untilEnded(id);
  expect(chapters[0].suspects).toMatchObject([{ offset, faults: ['silence'], start: expect.any(Number) }]);
  const seeds = engine.segments.slice(4).map(({ seed }) => seed);
  expect([seeds.length, new Set([7, ...seeds]).size]).toEqual([3, 4]);
});

test('a job that fails meanwhile keeps its audio, and a retry goes on', async () => {
  const { download, get, id, job, sendJobs, settle, store, untilEnded } = await openSuspect([
    new Error('broken'),
    good,
  ]);
  await settle('speak_again');
  const failed = await untilEnded(id);
  const kept = await store.query<{ untilMs: number }>('select distinct expires_at_ms as "untilMs" from clips');
  expect(kept.map(({ untilMs }) => new Date(Number(untilMs)).toISOString())).toEqual([failed.expires_at]);
  expect(failed).toMatchObject({ status: 'failed', audio_url: job.audio_url });
  expect((await download(failed.audio_url)).length).toBeGreaterThan(0);
  await sendJobs(`/${id}/retry`, { method: 'POST' });
  expect(await untilEnded(id)).toMatchObject({ status: 'succeeded' });
  expect((await get(id)).audio_url).not.toBe(job.audio_url);
});

test('with a spent quota, nothing is spoken again, and the job and its audio stay as they were', async () => {
  const { charged, download, get, id, job, jobsKey, keyVerifier, services, settle, untilEnded } = await openSuspect([
    good,
  ]);
  const { keyId } = await keyVerifier.verify(jobsKey);
  const allow = (chars: number) =>
    keyVerifier.management.update(keyId, { limits: { charactersPerMonth: chars } }, operator);
  const chars = await charged();
  const price = text.length + 2;
  await allow(chars + price - 1);
  const reply = await settle('speak_again');
  const told = { error: 'rate_limit_exceeded', message: expect.stringContaining('characters a month') };
  expect([reply.status, reply.json]).toEqual([429, expect.objectContaining(told)]);
  const client = (await openCore({ services })).clientOf(JobService);
  const asked = { jobId: id, chapter: 0, offset, action: SuspectAction.SPEAK_AGAIN };
  const refused = failureOf(client.unary('settleSuspect', asked, { metadata: { 'x-api-key': jobsKey } }));
  expect(explain(await refused)).toMatchObject({
    code: 'RESOURCE_EXHAUSTED',
    info: { reason: 'RATE_LIMIT_EXCEEDED', metadata: { reason: 'characters' } },
  });
  expect([await get(id), await charged()]).toEqual([job, chars]);
  expect((await download(job.audio_url)).length).toBeGreaterThan(0);
  await allow(chars + price);
  expect((await settle('speak_again')).status).toBe(202);
  expect([(await untilEnded(id)).status, await charged()]).toEqual(['succeeded', chars + price]);
});

const audioIdOf = ({ audio_url }: { audio_url: string }): string => audio_url.split('/').pop()!.split('.')[0]!;

const expiryOf = async ({ store }: Pick<JobsGateway, 'store'>, audio: { audio_url: string }) => {
  const sql = 'select expires_at_ms as "atMs" from clips where clip_id = $1';
  return Number((await store.query<{ atMs: number }>(sql, audioIdOf(audio)))[0]!.atMs);
};

test('audio that was replaced and not removed, as if the process had ended, expires soon', async () => {
  const gateway = await openSuspect([good]);
  const { id, job, rows, settle, untilEnded } = gateway;
  rows.markDeleted = () => Promise.reject(new Error('the process ended'));
  await settle('speak_again');
  const next = await untilEnded(id);
  const soonMs = Date.now() + 60_000;
  for (const replaced of [job, job.chapters[0]]) expect(await expiryOf(gateway, replaced)).toBeLessThanOrEqual(soonMs);
  for (const kept of [next, ...next.chapters]) expect(await expiryOf(gateway, kept)).toBeGreaterThan(soonMs);
});

test('the earlier audio does not expire while a sentence is spoken again; the new audio is kept as new audio is', async () => {
  const gateway = await openSuspect([good]);
  const { engine, id, job, settle, store, untilEnded } = gateway;
  const keptMs = (each: JobJson) => Date.parse(each.expires_at) - Date.parse(each.ended_at);
  const soonMs = Date.now() + 60_000;
  await store.query('update clips set expires_at_ms = $1', soonMs);
  const { speak } = engine;
  const meanwhile: number[] = [];
  engine.speak = async function* (...asked) {
    for (const each of [job, ...job.chapters]) meanwhile.push(await expiryOf(gateway, each));
    yield* speak(...asked);
  };
  await settle('speak_again');
  const next = await untilEnded(id);
  expect(meanwhile.map((atMs) => atMs > soonMs)).toEqual([true, true, true]);
  expect(keptMs(next)).toBe(keptMs(job));
  expect(await expiryOf(gateway, next)).toBe(Date.parse(next.expires_at));
});

test('after a day, the text and the audio of the sentences are gone, and nothing can be spoken again', async () => {
  const { get, id, job, sweepJobs, settle, store } = await openSuspect([good]);
  const count = async () => (await store.query('select 1 from job_parts union all select 1 from job_segments')).length;
  expect(await count()).toBeGreaterThan(0);
  await store.query('update jobs set ended_at_ms = ended_at_ms - $1', leftSegmentsMs);
  await sweepJobs();
  expect(await count()).toBe(0);
  const reply = await settle('speak_again');
  expect([reply.status, reply.json.error]).toEqual([410, 'audio_expired']);
  expect(await get(id)).toMatchObject({ status: 'succeeded', audio_url: job.audio_url });
  expect((await settle('keep')).status).toBe(202);
});

test('what is not a suspect, of another key or malformed is refused', async () => {
  const { id, makeKey, send, settle } = await openSuspect([good]);
  const status = async (reply: Promise<{ status: number }>) => (await reply).status;
  expect(await status(settle('speak_again', { offset: 0 }))).toBe(404);
  expect(await status(settle('keep', { chapter: 2 }))).toBe(404);
  expect(await status(settle('keep', { chapter: -1 }))).toBe(404);
  expect(await status(settle('drop'))).toBe(400);
  expect(await status(settle('keep', { offset: undefined }))).toBe(400);
  const headers = { 'X-API-Key': await makeKey(['jobs:write']) };
  const foreign = send(`/api/audio/jobs/${id}/suspects`, { headers, body: { chapter: 0, offset, action: 'keep' } });
  expect(await status(foreign)).toBe(404);
});

test('only what is asked for is charged again, also by a retry after a day', async () => {
  const { charged, id, sendJobs, settle, store, sweepJobs, untilEnded } = await openSuspect([
    new Error('broken'),
    good,
    ...[bad, bad, bad],
    good,
  ]);
  const chars = await charged();
  await settle('speak_again');
  expect(await untilEnded(id)).toMatchObject({ status: 'failed' });
  await store.query('update jobs set ended_at_ms = ended_at_ms - $1', leftSegmentsMs);
  await sweepJobs();
  expect((await sendJobs(`/${id}/retry`, { method: 'POST' })).status).toBe(202);
  const next = await untilEnded(id);
  expect([next.status, next.chapters[0].suspects.length, await charged()]).toEqual(['succeeded', 1, chars]);
  await settle('speak_again');
  await untilEnded(id);
  expect(await charged()).toBe(chars + text.length + 2);
});

test('the text is deleted with the segments of a voice that is gone', async () => {
  const { settle, store, storedClips } = await openSuspect([]);
  await storedClips.purgeVoices(new Map([['tone-low', Date.now()]]));
  expect(await store.query('select 1 from job_parts')).toEqual([]);
  expect((await settle('speak_again')).json.error).toBe('audio_expired');
});

test('a chapter that its caller deletes before the job ends is charged again, and leaves no segments', async () => {
  const engine = openTakes([good, bad, bad, bad, good, good, good, bad, bad, bad, good], { seed: true });
  const gateway = await openJobsGateway({ engines: [engine], jobChaptersMax: 0 });
  const { create, jobsKey, openOwnJobs, readJson, send, storedClips, store, until, untilEnded } = gateway;
  const removed: string[] = [];
  const { clips } = storedClips.memory;
  const { remove } = clips;
  clips.remove = (key) => {
    removed.push(key);
    return remove(key);
  };
  const { id } = await create(body);
  const { speak } = engine;
  let first: string[] = [];
  engine.speak = async function* (...asked) {
    // The first chapter took five takes.
    if (engine.segments.length === 5) {
      const { chapters } = await until(id, (each: JobJson) => each.chapters[0].audio_url !== null);
      const rows = await store.query<{ clipKey: string }>('select clip_key as "clipKey" from job_segments');
      first = rows.map(({ clipKey }) => clipKey);
      const path = `/api/audio/${audioIdOf(chapters[0])}`;
      expect((await send(path, { method: 'DELETE', headers: { 'X-API-Key': jobsKey } })).status).toBe(204);
    }
    yield* speak(...asked);
  };
  const worker = openOwnJobs({ chaptersMax: 1 });
  expect(await untilEnded(id)).toMatchObject({ status: 'succeeded' });
  await worker.close();
  expect(first.length).toBeGreaterThan(0);
  expect(removed).toEqual(expect.arrayContaining(first));
  const { total } = await readJson('/api/usage', { headers: { 'X-API-Key': jobsKey } });
  expect(total.characters).toBe(2 * body.chapters[0]!.text.length + text.length);
});

test('chapters that their caller deletes are not spoken again for nothing', async () => {
  const { charged, engine, id, job, jobsKey, send, settle, untilEnded } = await openSuspect([bad, bad, bad, good]);
  const headers = { 'X-API-Key': jobsKey };
  const remove = (audioId: string) => send(`/api/audio/${audioId}`, { method: 'DELETE', headers });
  const chars = await charged();
  // The file of the chapter itself is not needed. The other one is deleted while the sentence is spoken.
  expect((await remove(audioIdOf(job.chapters[0]))).status).toBe(204);
  const { speak } = engine;
  engine.speak = async function* (...asked) {
    engine.speak = speak;
    expect((await remove(audioIdOf(job.chapters[1]))).status).toBe(204);
    yield* speak(...asked);
  };
  expect((await settle('speak_again')).status).toBe(202);
  const next = await untilEnded(id);
  expect([next.status, await charged()]).toEqual(['succeeded', chars + 2 * text.length + 2]);
  expect((await remove(audioIdOf(next.chapters[1]))).status).toBe(204);
  expect((await settle('speak_again')).json.error).toBe('audio_expired');
});
