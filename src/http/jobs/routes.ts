// /api/audio/jobs: creates, lists, watches, cancels, retries and deletes jobs.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type JobOperations, parseJobId } from '../../api/jobs.ts';
import { jobOperations } from '../../api/operation.ts';
import { Failure, failureTable } from '../../errors.ts';
import { toJobJson } from '../../jobs/job-json.ts';
import { jobBytesMax, jobValuesMax } from '../../net/limits.ts';
import { type AdmitTo, run, stream } from '../admission.ts';
import { sendPieces } from '../body-writer.ts';
import { ignoredHeaders } from '../ignored-fields.ts';
import { fieldsOf } from '../json-body.ts';
import { sortQuery } from '../known-fields.ts';
import { addWithoutBody } from '../no-body.ts';
import { documented } from '../route-docs.ts';
import { eventHeaders } from '../speech/server-sent-events.ts';
import { parseJobBody, parseJobQuery, parseLastEventId } from './fields.ts';
import { toEventText, toFailureEventText } from './job-events.ts';
import { jobDocs } from './openapi.ts';

export interface JobRoutesOptions {
  jobs: JobOperations;
  admitTo: AdmitTo;
  isStrict: boolean;
  baseUrl(): string;
}

type WithId = FastifyRequest<{ Params: { id: string } }>;

const url = '/api/audio/jobs';
const { createJob, getJob, listJobs, watchJob, cancelJob, retryJob, deleteJob } = jobOperations;
const large = { jsonBytesMax: jobBytesMax, jsonValuesMax: jobValuesMax };

export function addJobRoutes(app: FastifyInstance, options: JobRoutesOptions): void {
  addJobMaking(app, options);
  addJobReading(app, options);
  addJobChanging(app, options);
}

function addJobMaking(app: FastifyInstance, { jobs, admitTo, isStrict, baseUrl }: JobRoutesOptions): void {
  const create = async (request: FastifyRequest, reply: FastifyReply, id?: string) => {
    const parsed = await parseJobBody(fieldsOf(request), isStrict);
    const { job } = await run(request, reply, createJob, (call) => jobs.createJob(call, parsed.request, id));
    return reply
      .code(202)
      .headers({
        ...ignoredHeaders(request, parsed.ignored),
        Location: `${baseUrl()}${url}/${job.id}`,
        'cache-control': 'no-store',
      })
      .send(toJobJson(job));
  };
  app.post(url, documented(jobDocs.create, admitTo(createJob), large), (request, reply) => create(request, reply));
  app.put(`${url}/:id`, documented(jobDocs.put, admitTo(createJob), large), (request: WithId, reply) =>
    create(request, reply, parseJobId(request.params.id)),
  );
}

function addJobReading(app: FastifyInstance, { jobs, admitTo, isStrict }: JobRoutesOptions): void {
  app.get(url, documented(jobDocs.list, admitTo(listJobs)), async (request, reply) => {
    const { status, page } = parseJobQuery(sortQuery(request, isStrict));
    const list = run(request, reply, listJobs, (call) => jobs.listJobs(call, { status }, page));
    const { items, nextCursor } = await list;
    reply.header('cache-control', 'no-store');
    return { jobs: items.map(toJobJson), next_cursor: nextCursor || null };
  });

  app.get(`${url}/:id`, documented(jobDocs.get, admitTo(getJob)), async (request: WithId, reply) => {
    reply.header('cache-control', 'no-store');
    return toJobJson(await run(request, reply, getJob, (call) => jobs.getJob(call, request.params.id)));
  });

  app.get(`${url}/:id/events`, documented(jobDocs.watch, admitTo(watchJob)), async (request: WithId, reply) => {
    const after = parseLastEventId(request.headers['last-event-id']);
    const events = stream(request, reply, watchJob, (call) => jobs.watchJob(call, request.params.id, after));
    const pieces = toTexts(events, request.id);
    const first = await pieces.next();
    // A browser would come back after the end of the stream, again and again; this tells it not to.
    if (first.done) return reply.code(204).header('cache-control', 'no-store').send();
    await sendPieces(reply, eventHeaders, withFirst(first.value, pieces));
    return reply;
  });
}

/** After the first event, what ends them for good is an event too: the job may be deleted. */
async function* toTexts(
  events: ReturnType<JobOperations['watchJob']>,
  requestId: string,
): AsyncGenerator<Buffer, undefined> {
  let isBegun = false;
  try {
    for await (const event of events) {
      yield toEventText(event);
      isBegun = true;
    }
  } catch (error) {
    if (!isBegun || !(error instanceof Failure) || failureTable[error.reason].retryable) throw error;
    yield toFailureEventText(error, requestId);
  }
}

async function* withFirst(first: Buffer, rest: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  try {
    yield first;
    yield* rest;
  } finally {
    await rest.return(undefined);
  }
}

function addJobChanging(app: FastifyInstance, { jobs, admitTo }: JobRoutesOptions): void {
  addWithoutBody(app, (scope) => {
    scope.post(`${url}/:id/cancel`, documented(jobDocs.cancel, admitTo(cancelJob)), async (request: WithId, reply) => {
      const job = await run(request, reply, cancelJob, (call) => jobs.cancelJob(call, request.params.id));
      return reply.header('cache-control', 'no-store').send(toJobJson(job));
    });
    scope.post(`${url}/:id/retry`, documented(jobDocs.retry, admitTo(retryJob)), async (request: WithId, reply) => {
      const job = await run(request, reply, retryJob, (call) => jobs.retryJob(call, request.params.id));
      return reply.code(202).header('cache-control', 'no-store').send(toJobJson(job));
    });
    scope.delete(`${url}/:id`, documented(jobDocs.remove, admitTo(deleteJob)), async (request: WithId, reply) => {
      await run(request, reply, deleteJob, (call) => jobs.deleteJob(call, request.params.id));
      return reply.code(204).send();
    });
  });
}
