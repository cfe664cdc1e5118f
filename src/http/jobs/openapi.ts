// The OpenAPI documentation of /api/audio/jobs.

import { jobOperations } from '../../api/operation.ts';
import { jobStatuses } from '../../jobs/job.ts';
import { jobChaptersMax, jobCharsMax, jobsPerAccountMax } from '../../jobs/limits.ts';
import { eventAnswer } from '../event-docs.ts';
import { pageOf, pageParameters } from '../page-query.ts';
import { documentOperation, jsonAnswer, pathId, queryParameter, type RouteDocs, requestHeader } from '../route-docs.ts';
import { exampleDoneJob, exampleNewJob, job, jobEventSchema, newJobSchema } from './schemas.ts';

const tag = 'Jobs';
const id = pathId('Id of the job.', 'origin-of-species');
const ownId = {
  ...id,
  description: 'An id of your own, unique among the jobs of the key.',
  schema: { type: 'string', pattern: '^[A-Za-z0-9_-]{1,64}$' },
};
const example = { whole: exampleNewJob };
const creating = ['text_too_long', 'voice_not_found', 'voice_not_ready', 'payload_too_large'] as const;
const toExampleEvent = (id: number, event: string, data: object) => ({ id, event, data: { type: event, ...data } });

export const jobDocs = {
  create: {
    tag,
    ...documentOperation(jobOperations.createJob),
    summary: 'Have a long text spoken',
    description: `Answers at once; the text, of up to ${jobCharsMax} code points in ${jobChaptersMax} chapters, is spoken in the background, after interactive requests, into one file with chapter marks and a file for each chapter. Each segment is kept as it is finished, so that a restart loses none. A job never succeeds with a sentence missing. Characters are charged as they are spoken. An account has at most ${jobsPerAccountMax} jobs that have not ended.`,
    body: { schema: newJobSchema, examples: example },
    answers: { 202: jsonAnswer('The job.', job.schema, job.example, ['Location', 'Cache-Control']) },
    failures: creating,
  },
  put: {
    tag,
    ...documentOperation(jobOperations.createJob),
    id: 'putJob',
    summary: 'Have a long text spoken, under an id of yours',
    description:
      'As POST. The same request again answers with the job that is there; another request under its id is `idempotency_conflict`.',
    parameters: [ownId],
    body: { schema: newJobSchema, examples: example },
    answers: {
      202: jsonAnswer('The job.', job.schema, job.example, ['Location', 'Cache-Control']),
    },
    failures: [...creating, 'idempotency_conflict'],
  },
  list: {
    tag,
    ...documentOperation(jobOperations.listJobs),
    summary: 'List jobs',
    parameters: [
      queryParameter('status', 'Only jobs of this status.', { type: 'string', enum: [...jobStatuses] }),
      ...pageParameters,
    ],
    answers: { 200: pageOf('JobPage', 'jobs', job, 'The newest first.', ['Cache-Control']) },
    failures: [],
  },
  get: {
    tag,
    ...documentOperation(jobOperations.getJob),
    summary: 'Get a job, and how far it is',
    parameters: [id],
    answers: { 200: jsonAnswer('The job.', job.schema, exampleDoneJob, ['Cache-Control']) },
    failures: ['not_found'],
  },
  watch: {
    tag,
    ...documentOperation(jobOperations.watchJob),
    summary: 'Watch a job',
    description:
      'Events until the job has ended: `job.progress` when it went on, and every 15 seconds; `job.chapter.done`, with the index of the `chapter`; and as the last `job.done`, also of a job that was canceled, or `error`. Each has the `job` as it is.',
    parameters: [
      id,
      requestHeader('Last-Event-ID', 'The id of the last event that you have: only what happened since is sent.'),
    ],
    answers: {
      200: eventAnswer('Events; the data of each is a JobEvent.', jobEventSchema, [
        toExampleEvent(9, 'job.chapter.done', { chapter: 0, job: job.example }),
        toExampleEvent(20, 'job.done', { job: exampleDoneJob }),
      ]),
      204: { description: 'You have the last event.', headers: ['Cache-Control'] },
    },
    failures: ['not_found'],
  },
  cancel: {
    tag,
    ...documentOperation(jobOperations.cancelJob),
    summary: 'Cancel a job',
    description: 'What was spoken is kept for a retry. A job that has ended is left as it is.',
    parameters: [id],
    answers: { 200: jsonAnswer('The job.', job.schema, job.example, ['Cache-Control']) },
    failures: ['not_found'],
  },
  retry: {
    tag,
    ...documentOperation(jobOperations.retryJob),
    summary: 'Retry a job',
    description:
      'Queues a job again that has failed or was canceled; only what is missing is spoken. Another is left as it is.',
    parameters: [id],
    answers: { 202: jsonAnswer('The job.', job.schema, job.example, ['Cache-Control']) },
    failures: ['not_found'],
  },
  remove: {
    tag,
    ...documentOperation(jobOperations.deleteJob),
    summary: 'Delete a job, with its audio',
    parameters: [id],
    answers: { 204: { description: 'Done.' } },
    failures: ['not_found'],
  },
} as const satisfies Readonly<Record<string, RouteDocs>>;
