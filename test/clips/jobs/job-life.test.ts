// Tests the life of a job: failure, cancellation, retry, deletion, listing, ids chosen by callers, and visibility.
import { setTimeout as sleep } from 'node:timers/promises';
import { create as createMessage } from '@bufbuild/protobuf';
import { describe, expect, test, vi } from 'vitest';
import { JobService } from '../../../gen/sonant/v1/job_service_pb.ts';
import type { WebhookMessage, Webhooks } from '../../../src/accounts/webhooks/webhook.ts';
import type { JobView } from '../../../src/api/jobs.ts';
import { createCallRpc } from '../../../src/api/service-handlers.ts';
import { createJobRows } from '../../../src/clips/jobs/job-rows.ts';
import { removeSegmentsOfVoice } from '../../../src/clips/jobs/job-sweep.ts';
import { Failure } from '../../../src/platform/errors.ts';
import { chapters, type JobJson, openJobsGateway, scopes } from './open-jobs.ts';

const hourMs = 3_600_000;
const countChars = (texts: readonly { text: string }[]) => texts.reduce((sum, { text }) => sum + text.length, 0);

describe('a sentence that cannot be spoken', () => {
  test('fails the job, and is named; a retry speaks only what is missing', async () => {
    const { create, untilEnded, readJobs, tone, download } = await openJobsGateway();
    tone.trouble = { failsAfterSegments: 4 };
    const { id } = await create();
    const failed = await untilEnded(id);
    expect(failed).toMatchObject({ status: 'failed', audio_url: null });
    const { error } = failed;
    const text = [...chapters[error.chapter]!.text];
    expect(error).toMatchObject({
      error: 'engine_error',
      text: text.slice(error.offset).join('').slice(0, error.text.length),
    });
    expect(error.text).not.toBe('');
    tone.trouble = {};
    const spoken = tone.segments.length;
    const again = await readJobs(`/${id}/retry`, { method: 'POST' });
    expect(['queued', 'running']).toContain(again.status);
    const done = await untilEnded(id);
    expect(done).toMatchObject({ status: 'succeeded', error: null });
    expect(done.usage.characters).toBe(countChars(chapters));
    const whole = await openJobsGateway();
    const other = await whole.untilEnded((await whole.create()).id);
    expect(tone.segments.length - spoken).toBeLessThan(whole.tone.segments.length);
    expect((await download(done.audio_url)).equals(await whole.download(other.audio_url))).toBe(true);
  });

  test('is tried again where the failure may pass', async () => {
    const { create, untilEnded, tone } = await openJobsGateway();
    tone.trouble = { failsAfterSegments: 3, failure: new Failure('engine_unavailable', { retryAfterSeconds: 3 }) };
    const { id } = await create();
    const endsMs = performance.now() + 30_000;
    while (tone.counts.failed === 0 && performance.now() < endsMs) await sleep(20);
    tone.trouble = {};
    expect(await untilEnded(id)).toMatchObject({ status: 'succeeded', error: null });
  });

  test('a job of a revoked key ends', async () => {
    const { create, keyVerifier, tone, store, jobsKey } = await openJobsGateway({ trouble: { pieceDelayMs: 20 } });
    const { id } = await create();
    const { keyId } = await keyVerifier.verify(jobsKey);
    await keyVerifier.revoke(keyId);
    const rows = createJobRows(store);
    const endsMs = performance.now() + 30_000;
    let job = (await rows.find(keyId, id))!;
    while (job.endedAtMs === null && performance.now() < endsMs) {
      await sleep(50);
      job = (await rows.find(keyId, id))!;
    }
    expect(JSON.parse(job.error!)).toMatchObject({ reason: 'invalid_api_key' });
    expect(tone.counts.running).toBe(0);
  });
});

describe('a caller', () => {
  test('cancels a job, which a retry goes on with', async () => {
    const { create, until, untilEnded, sendJobs, readJobs, tone } = await openJobsGateway({
      trouble: { pieceDelayMs: 30 },
    });
    const { id } = await create();
    await until(id, ({ progress }: JobJson) => progress.chars_done > 0);
    const canceled = await readJobs(`/${id}/cancel`, { method: 'POST' });
    expect(canceled).toMatchObject({ status: 'canceled', error: null, audio_url: null });
    const again = await readJobs(`/${id}/cancel`, { method: 'POST' });
    expect(again.ended_at).toBe(canceled.ended_at);
    tone.trouble = {};
    expect((await sendJobs(`/${id}/retry`, { method: 'POST' })).status).toBe(202);
    expect(await untilEnded(id)).toMatchObject({ status: 'succeeded' });
    expect((await untilEnded(id)).usage.characters).toBe(countChars(chapters));
  });

  test('deletes a job, running or not, with all that was made for it', async () => {
    const { create, until, untilEnded, sendJobs, storage, send } = await openJobsGateway({
      trouble: { pieceDelayMs: 30 },
    });
    const { id } = await create({ metadata: { title: 'a mark to look for' } });
    await until(id, ({ progress }: JobJson) => progress.chars_done > 0);
    expect((await sendJobs(`/${id}`, { method: 'DELETE' })).status).toBe(204);
    expect((await sendJobs(`/${id}`)).status).toBe(404);
    const done = await untilEnded((await create({ chapters: undefined, text: 'One text.' })).id);
    expect((await sendJobs(`/${done.id}`, { method: 'DELETE' })).status).toBe(204);
    expect((await send(done.audio_url)).status).toBe(410);
    expect((await send(done.chapters[0].audio_url)).status).toBe(410);
    const kept = await storage.read();
    expect(kept.filter(({ bytes }) => bytes.includes('The train leaves')).map(({ place }) => place)).toEqual([]);
  });

  test('lists jobs by status, the newest first, page by page', async () => {
    const { create, untilEnded, readJobs } = await openJobsGateway();
    const ids: string[] = [];
    for (const text of ['One.', 'Two.', 'Three.']) ids.unshift((await create({ chapters: undefined, text })).id);
    for (const id of ids) await untilEnded(id);
    const first = await readJobs('?limit=2');
    expect(first.jobs.map(({ id }: JobJson) => id)).toEqual(ids.slice(0, 2));
    const rest = await readJobs(`?limit=2&cursor=${first.next_cursor}`);
    expect(rest.jobs.map(({ id }: JobJson) => id)).toEqual(ids.slice(2));
    expect(rest.next_cursor).toBe(null);
    expect((await readJobs('?status=succeeded')).jobs).toHaveLength(3);
    expect((await readJobs('?status=failed')).jobs).toEqual([]);
    expect(await readJobs('?status=done')).toMatchObject({
      details: [{ field: 'status', reason: 'enum' }],
    });
  });

  test('repeats a request under an id of its own; another request under it is refused', async () => {
    const { sendJobs, readJobs, untilEnded, tone } = await openJobsGateway();
    const put = (body: object) => sendJobs('/my-book', { method: 'PUT', body: { voice_id: 'tone-low', ...body } });
    const made = await put({ text: 'A short book.' });
    expect([made.status, made.headers.get('location')]).toEqual([202, 'http://sonant.test/api/audio/jobs/my-book']);
    await untilEnded('my-book');
    const spoken = tone.segments.length;
    expect(await readJobs('/my-book')).toMatchObject({ id: 'my-book', status: 'succeeded' });
    expect((await put({ text: 'A short book.' })).status).toBe(202);
    expect(tone.segments.length).toBe(spoken);
    const other = await put({ text: 'Another book.' });
    expect([other.status, ((await other.json()) as JobJson).error]).toEqual([409, 'idempotency_conflict']);
    expect(
      (await sendJobs('/not%20an%20id', { method: 'PUT', body: { voice_id: 'tone-low', text: 'A.' } })).status,
    ).toBe(400);
  });

  test('repeats a request whose metadata come in another order', async () => {
    const { sendJobs } = await openJobsGateway();
    const put = (metadata: object) =>
      sendJobs('/my-book', { method: 'PUT', body: { voice_id: 'tone-low', text: 'A short book.', metadata } });
    expect((await put({ title: 'Night', author: 'Ada' })).status).toBe(202);
    expect((await put({ author: 'Ada', title: 'Night' })).status).toBe(202);
    expect((await put({ author: 'Night', title: 'Ada' })).status).toBe(409);
  });

  test('is told the characters that lexicons say, which are charged', async () => {
    const { url, makeKey, create, get, untilEnded } = await openJobsGateway();
    const made = await fetch(`${url}/api/lexicons`, {
      method: 'POST',
      headers: { 'X-API-Key': await makeKey(['voices:write', 'admin']), 'Content-Type': 'application/json' },
      body: JSON.stringify({
        name: 'All',
        access: 'everyone',
        entries: [{ grapheme: 'AWS', alias: 'Amazon Web Services' }],
      }),
    });
    const { lexicon_id: lexiconId } = (await made.json()) as JobJson;
    const chars = 'Amazon Web Services is late.'.length;
    const { id } = await create({ chapters: undefined, text: 'AWS is late.', lexicon_ids: [lexiconId] });
    expect(await get(id)).toMatchObject({ progress: { chars }, chapters: [{ chars }] });
    expect(await untilEnded(id)).toMatchObject({
      status: 'succeeded',
      progress: { chars, chars_done: chars },
      usage: { characters: chars },
    });
  });

  test('a key sees no jobs of other keys', async () => {
    const { create, untilEnded, makeKey, send, readJson } = await openJobsGateway();
    const { id } = await create();
    const headers = { 'X-API-Key': await makeKey(scopes) };
    const path = `/api/audio/jobs/${id}`;
    for (const [method, suffix] of [
      ['GET', ''],
      ['GET', '/events'],
      ['POST', '/cancel'],
      ['POST', '/retry'],
      ['DELETE', ''],
    ] as const)
      expect((await send(path + suffix, { method, headers })).status, method + suffix).toBe(404);
    expect((await readJson('/api/audio/jobs', { headers })).jobs).toEqual([]);
    const body = { voice_id: 'tone-low', text: 'Under the same id.' };
    expect((await send(path, { method: 'PUT', headers, body })).status).toBe(202);
    expect(await untilEnded(id)).toMatchObject({ status: 'succeeded', progress: { chapters_done: 3 } });
  });

  test('needs the scopes of jobs', async () => {
    const { makeKey, send } = await openJobsGateway();
    const headers = { 'X-API-Key': await makeKey(['jobs:read', 'speech:synthesize']) };
    expect((await send('/api/audio/jobs', { headers })).status).toBe(200);
    const refused = await send('/api/audio/jobs', { headers, body: { voice_id: 'tone-low', text: 'A.' } });
    expect(await refused.json()).toMatchObject({ error: 'insufficient_scope', required_scopes: ['jobs:write'] });
  });

  test('is told everything that is wrong with a request', async () => {
    const { readJobs, tone } = await openJobsGateway();
    const body = {
      ...{ output_format: 'wma', chapter_gap_seconds: -1, keep_hours: 0, webhook_url: 'ftp://a', metadata: { a: 1 } },
      ...{
        voice_id: 'tone-low',
        cover: 'R0lGOD',
        chapters: [{ text: '' }, { title: 7, text: 'A.' }, { title: 'No text' }],
      },
    };
    const { details } = await readJobs('', { body });
    const fields = details.map(({ field }: { field: string }) => field);
    for (const name of ['output_format', 'chapter_gap_seconds', 'keep_hours', 'webhook_url', 'metadata.a', 'cover'])
      expect(fields).toContain(name);
    const of = async (given: object) => {
      const reply = await readJobs('', { body: { voice_id: 'tone-low', ...given } });
      return [reply.error, ...(reply.details ?? []).map(({ field }: { field: string }) => field)];
    };
    expect(await of({})).toEqual(['invalid_request', 'chapters']);
    expect(await of({ text: 'A.', chapters: [{ text: 'A.' }] })).toEqual(['invalid_request', 'chapters']);
    expect(await of({ chapters: [{ text: 'A.' }, { text: ' ' }, { title: 7, text: 'B.' }, {}] })).toEqual([
      ...['invalid_request', 'chapters[2].title', 'chapters[1].text', 'chapters[3].text'],
    ]);
    expect(await of({ chapters: [{ text: 'A.', voice_id: 'nobody' }] })).toEqual([
      ...['voice_not_found', 'chapters[0].voice_id'],
    ]);
    expect(await of({ chapters: [{ text: 'A.' }], voice_id: 'nobody' })).toEqual(['voice_not_found']);
    const foreign = [{ text: 'A.' }, { text: 'A.', language_code: 'ja' }];
    expect(await of({ chapters: foreign })).toEqual(['invalid_request', 'chapters[1].language_code']);
    expect(await of({ chapters: [{ text: 'A.' }, { text: 'Привет.' }] })).toEqual([
      ...['invalid_request', 'chapters[1].text'],
    ]);
    expect(await of({ text: 'Привет.' })).toEqual(['invalid_request', 'text']);
    expect(await readJobs('', { body: { voice_id: 'tone-low', chapters: [{ text: null }] } })).toMatchObject({
      details: [{ field: 'chapters[0].text', reason: 'required' }],
    });
    expect(await of({ text: 'A'.repeat(2_000_001) })).toEqual(['text_too_long', 'text']);
    expect(await of({ text: 'A.', cover: '/9j/' })).toEqual(['invalid_request', 'cover']);
    const long = [{ text: 'A.' }, { text: `<speak>${'So. '.repeat(12_501)}</speak>` }];
    const tooLong = { voice_id: 'tone-low', markup: 'ssml', chapters: long };
    expect(await readJobs('', { body: tooLong })).toMatchObject({
      ...{ error: 'text_too_long', limit: 50_000, actual: expect.any(Number) },
      details: [{ field: 'chapters[1].text', reason: 'too_long' }],
    });
    expect(tone.segments).toEqual([]);
  });
});

test('a job is forgotten with its audio when its time is over', async () => {
  const { create, untilEnded, sendJobs, store, sweepJobs } = await openJobsGateway();
  const { id } = await create({ keep_hours: 2 });
  const job = await untilEnded(id);
  expect(Date.parse(job.expires_at) - Date.parse(job.ended_at)).toBe(2 * hourMs);
  await store.query('update jobs set expires_at_ms = $1 where job_id = $2', Date.now() - 1, id);
  await sweepJobs();
  expect((await sendJobs(`/${id}`)).status).toBe(404);
  for (const table of ['jobs', 'job_chapters', 'job_parts', 'job_segments'])
    expect(await store.query(`select * from ${table}`), table).toEqual([]);
});

test('the end of a job is told to its webhook, once for each end', async () => {
  const { openOwnJobs, makeKey, keyVerifier, tone } = await openJobsGateway({ jobChaptersMax: 0 });
  const told: WebhookMessage[] = [];
  const webhooks: Webhooks = {
    async check(url) {
      if (url.includes('forbidden')) throw new Failure('invalid_request', { details: [] });
    },
    add: async (_, message) => void told.push(message),
    wake() {},
  };
  const { handlers, close } = openOwnJobs({ webhooks });
  const caller = await keyVerifier.verify(await makeKey(scopes));
  const { signal } = new AbortController();
  const call = {
    ...{ caller, requestId: 'req_A', address: '127.0.0.1', signal, leaving: signal, begunMs: 0 },
    reportLimits() {},
    reportSpeech() {},
  };
  const { createJob, retryJob, watchJob } = JobService.method;
  const callRpc = createCallRpc([[JobService, handlers]]);
  const create = (webhookUrl: string, jobId = ''): Promise<{ job: JobView }> => {
    const message = createMessage(createJob.input, { jobId, voiceId: 'tone-low', text: 'One. Two.', webhookUrl });
    return callRpc(createJob, message, call);
  };
  await expect(create('https://forbidden.test')).rejects.toThrow();
  tone.trouble = { failsAfterSegments: 0 };
  const { id: jobId } = (await create('https://hooks.test/a', 'told')).job;
  await Array.fromAsync(handlers.watchJob(createMessage(watchJob.input, { jobId }), call));
  tone.trouble = {};
  await handlers.retryJob(createMessage(retryJob.input, { jobId }), call);
  await Array.fromAsync(handlers.watchJob(createMessage(watchJob.input, { jobId }), call));
  await close();
  expect(told.map(({ event, url }) => [event, url])).toEqual([
    ['job.failed', 'https://hooks.test/a'],
    ['job.succeeded', 'https://hooks.test/a'],
  ]);
  expect(new Set(told.map(({ messageId }) => messageId)).size).toBe(2);
  expect(told[1]).toMatchObject({ keyId: caller.keyId, data: { id: 'told', status: 'succeeded', error: null } });
});

test('jobs that are deleted at once are erased in a turn of the event loop each', async () => {
  const { create, sendJobs, store } = await openJobsGateway({ jobChaptersMax: 0 });
  const jobs: JobJson[] = [];
  for (let n = 0; n < 20; n++) jobs.push(await create());
  let [turn, isOver] = [0, false];
  const nextTurn = () => {
    turn++;
    if (!isOver) setImmediate(nextTurn);
  };
  nextTurn();
  const erased: number[] = [];
  const transaction = store.transaction.bind(store);
  vi.spyOn(store, 'transaction').mockImplementation((work, options) => {
    if (options?.erasing?.includes('jobs')) erased.push(turn);
    return transaction(work, options);
  });
  await Promise.all(jobs.map(({ id }) => sendJobs(`/${id}`, { method: 'DELETE' })));
  isOver = true;
  expect(erased).toHaveLength(20);
  expect(new Set(erased).size).toBe(20);
});

test('of a voice that may not be heard any more, no segment is kept', async () => {
  const { create, untilEnded, tone, store, storedClips } = await openJobsGateway();
  tone.trouble = { failsAfterSegments: 2 };
  const { id } = await create();
  expect((await untilEnded(id)).status).toBe('failed');
  const kept = () => store.query<{ clipKey: string }>('select clip_key as "clipKey" from job_segments');
  const [segment] = await kept();
  const { clips } = storedClips.memory;
  await removeSegmentsOfVoice({ rows: createJobRows(store), clips }, 'tone-low');
  expect(await kept()).toEqual([]);
  expect(await clips.open(segment!.clipKey)).toBeUndefined();
});
