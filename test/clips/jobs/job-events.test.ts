// Tests the events of a job, over SSE and gRPC: each chapter once, in order, whenever the reader returns.
import { expect, test, vi } from 'vitest';
import {
  JobService,
  JobStatus,
  type WatchJobResponse,
  WatchJobResponse_Kind,
} from '../../../gen/sonant/v1/job_service_pb.ts';
import { createJobRows } from '../../../src/clips/jobs/job-rows.ts';
import { explain, failureOf } from '../../transports/rpc/grpc-client.ts';
import { openCore } from '../../transports/rpc/open-core.ts';
import { type JobJson, openJobsGateway } from './open-jobs.ts';

interface SentEvent {
  id: number;
  type: string;
  data: JobJson;
}

function parseEvents(text: string): SentEvent[] {
  return text
    .split('\n\n')
    .filter(Boolean)
    .map((block) => {
      const fields = Object.fromEntries(block.split('\n').map((line) => line.split(/: (.*)/s)));
      return { id: Number(fields.id), type: fields.event, data: JSON.parse(fields.data) };
    });
}

test('events tell of every chapter and of the end, and go on where a reader left', async () => {
  const { create, sendJobs, until } = await openJobsGateway({ trouble: { pieceDelayMs: 10 } });
  const { id } = await create();
  const whole = parseEvents(await (await sendJobs(`/${id}/events`)).text());
  const done = (events: readonly SentEvent[]) =>
    events.flatMap(({ type, data }) => (type === 'job.chapter.done' ? [data.chapter] : []));
  expect(done(whole)).toEqual([0, 1, 2]);
  expect(whole.at(-1)).toMatchObject({ type: 'job.done', data: { job: { status: 'succeeded' } } });
  expect(whole.map((event) => event.id)).toEqual(whole.map((event) => event.id).toSorted((a, b) => a - b));
  const job = await until(id, ({ status }) => status === 'succeeded');
  expect(whole.at(-1)!.data.job).toEqual(job);

  const first = whole.find(({ type }) => type === 'job.chapter.done')!;
  const headers = { 'Last-Event-ID': String(first.id) };
  const rest = parseEvents(await (await sendJobs(`/${id}/events`, { headers })).text());
  expect(done(rest)).toEqual([1, 2]);
  expect(rest.at(-1)!.type).toBe('job.done');
  const none = await sendJobs(`/${id}/events`, { headers: { 'Last-Event-ID': String(whole.at(-1)!.id) } });
  expect(none.status).toBe(204);
});

test('a chapter that is done while its job is read is told once, and ids never go back', async () => {
  const { create, sendJobs, store } = await openJobsGateway({ jobChaptersMax: 0 });
  const { id } = await create();
  const rows = createJobRows(store);
  const [{ jobKey } = { jobKey: '' }] = await store.query<{ jobKey: string }>('select job_key as "jobKey" from jobs');
  const finish = async (chapter: number) => {
    await rows.claim({ jobKey, chapter }, 'another', 1_000, 2_000);
    await rows.finishChapter(
      { jobKey, chapter },
      {
        ...{ holder: 'another', audioId: `aud_${chapter}`, seconds: 1, sampleCount: 22_050, keepUntilMs: 9e15 },
        ...{ starts: new Map(), unchecked: 0 },
      },
    );
  };
  // Another process makes changes between the two reads of one poll: first the job is read, then its chapters.
  const end = { status: 'canceled', nowMs: Date.now(), expiresAtMs: Date.now() + 60_000 } as const;
  const between = [() => finish(0), () => finish(1), () => rows.end(jobKey, end)];
  const query = store.query.bind(store);
  vi.spyOn(store, 'query').mockImplementation(async (sql, ...values) => {
    if (/^select .* from job_chapters/s.test(sql)) await between.shift()?.();
    return query(sql, ...values);
  });
  const events = parseEvents(await (await sendJobs(`/${id}/events`)).text());
  expect(between).toEqual([]);
  expect(events.flatMap(({ type, data }) => (type === 'job.chapter.done' ? [data.chapter] : []))).toEqual([0, 1]);
  expect(events.at(-1)).toMatchObject({ type: 'job.done', data: { job: { status: 'canceled' } } });
  const ids = events.map((event) => event.id);
  expect(ids).toEqual(ids.toSorted((a, b) => a - b));
});

test('the end of a job that fails is an error', async () => {
  const { create, sendJobs } = await openJobsGateway({ trouble: { failsAfterSegments: 2 } });
  const { id } = await create();
  const events = parseEvents(await (await sendJobs(`/${id}/events`)).text());
  expect(events.at(-1)).toMatchObject({ type: 'error', data: { job: { error: { error: 'engine_error' } } } });
});

test('of a job that is deleted meanwhile, the last event says so', async () => {
  const { create, sendJobs } = await openJobsGateway({ trouble: { pieceDelayMs: 100 } });
  const { id } = await create();
  const answer = await sendJobs(`/${id}/events`);
  expect((await sendJobs(`/${id}`, { method: 'DELETE' })).status).toBe(204);
  const { type, data } = parseEvents(await answer.text()).at(-1)!;
  expect([type, data]).toMatchObject(['error', { type: 'error', error: 'not_found', status: 404, retryable: false }]);
});

test('JobService has the same operations', async () => {
  const { services, jobsKey, get, sendJobs } = await openJobsGateway();
  const client = (await openCore({ services })).clientOf(JobService);
  const call = { metadata: { 'x-api-key': jobsKey } };
  const request = {
    ...{ jobId: 'by-grpc', voiceId: 'tone-low', metadata: { title: 'A book' } },
    chapters: [
      { title: 'One', text: 'The first.' },
      { title: 'Two', text: 'The second.', voiceId: 'tone-high' },
    ],
  };
  const { job } = await client.unary('createJob', request, call);
  expect(job).toMatchObject({ id: 'by-grpc', chapters: [{ title: 'One' }, { voiceId: 'tone-high' }] });
  // The same request over REST, with an explicit default, is the same job; a different one is refused.
  const body = { voice_id: 'tone-low', metadata: request.metadata, output_format: 'wav' };
  const chapters = [
    { title: 'One', text: 'The first.' },
    { title: 'Two', text: 'The second.', voice_id: 'tone-high' },
  ];
  const put = (of: object) => sendJobs('/by-grpc', { method: 'PUT', body: of });
  expect((await put({ ...body, chapters })).ok).toBe(true);
  expect((await put({ ...body, chapters: chapters.slice(1) })).status).toBe(409);
  const events = await Array.fromAsync<WatchJobResponse>(client.stream('watchJob', { jobId: 'by-grpc' }, call));
  expect(events.at(-1)).toMatchObject({ kind: WatchJobResponse_Kind.DONE, job: { status: JobStatus.SUCCEEDED } });
  const seen = await get('by-grpc');
  expect(events.at(-1)!.job!.audioUrl).toBe(seen.audio_url);
  const { jobs } = await client.unary('listJobs', { status: JobStatus.SUCCEEDED }, call);
  expect(jobs).toHaveLength(1);
  expect((await client.unary('getJob', { jobId: 'by-grpc' }, call)).job).toEqual(jobs[0]);
  expect((await client.unary('retryJob', { jobId: 'by-grpc' }, call)).job!.status).toBe(JobStatus.SUCCEEDED);
  expect((await client.unary('cancelJob', { jobId: 'by-grpc' }, call)).job!.status).toBe(JobStatus.SUCCEEDED);
  await client.unary('deleteJob', { jobId: 'by-grpc' }, call);
  expect((await client.unary('listJobs', {}, call)).jobs).toEqual([]);
  const misnamed = await failureOf(client.unary('createJob', { ...request, jobId: 'by grpc' }, call));
  expect(explain(misnamed).violations).toMatchObject([{ field: 'job_id', reason: 'FORMAT' }]);
});
