// The handlers of jobs, and the message of a job, which is also the data of its webhook message.

import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import {
  type CancelJobRequest,
  type CreateJobRequest,
  type DeleteJobRequest,
  type GetJobReceiptRequest,
  type GetJobRequest,
  JobSchema,
  type JobService,
  JobStatusSchema,
  WatchJobResponse_Kind as Kind,
  type ListJobsRequest,
  type RetryJobRequest,
  type SettleSuspectRequest,
  SuspectAction,
  type WatchJobRequest,
} from '../../gen/sonant/v1/job_service_pb.ts';
import { OutputFormatSchema } from '../../gen/sonant/v1/speech_pb.ts';
import { audioFormats } from '../audio.ts';
import { type Job, type Jobs, type JobsOptions, openJobs, readJobRequest } from '../clips.ts';
import { writeMessage } from '../contract.ts';
import type { Call } from './call.ts';
import { nameOf, pageOf, toEnum, toPage, toTime } from './messages.ts';
import { checked, type Handlers } from './service-handlers.ts';

export interface JobHandlersOptions extends Omit<JobsOptions, 'keepMs' | 'toData'> {
  links: FileLinks & Pick<JobsOptions, 'keepMs'>;
}

/** Opens the jobs with their handlers. */
export function openJobHandlers({ links, ...options }: JobHandlersOptions) {
  const toData = (job: Job) => writeMessage(JobSchema, toJob(job, links));
  const { sweep, close, ...jobs } = openJobs({ ...options, keepMs: links.keepMs, toData });
  return { handlers: createJobHandlers(jobs, links), sweep, close };
}

function createJobHandlers(jobs: Omit<Jobs, 'sweep' | 'close'>, links: FileLinks) {
  const view = async (job: Promise<Job>) => ({ job: toJob(await job, links) });
  return {
    createJob: checked(
      (message: CreateJobRequest, _call, violations) => readJobRequest(message, violations),
      ({ jobId }, call, read) => view(jobs.add(read!, call, jobId || undefined)),
    ),
    listJobs: checked(
      ({ status, limit, cursor }: ListJobsRequest, _call, violations) => {
        const wanted = nameOf(JobStatusSchema, status) ?? '';
        return { status: wanted, page: pageOf({ limit, cursor }, ['jobs', wanted], violations) };
      },
      async (_message, { caller }, { status, page }) => {
        const found = await jobs.list(caller.callerId, { status, limit: page.size + 1, after: page.after });
        const { items, nextCursor } = toPage(found, page, ({ jobKey }) => jobKey);
        return { jobs: items.map((job) => toJob(job, links)), nextCursor };
      },
    ),
    getJob: async ({ jobId }: GetJobRequest, { caller }: Call) => ({
      job: toJob(await jobs.find(caller.callerId, jobId), links, suspectsMax.alone),
    }),
    getJobReceipt: ({ jobId }: GetJobReceiptRequest, { caller, signal }: Call) =>
      jobs.readReceipt(caller.callerId, jobId, signal),
    async *watchJob({ jobId, afterRevision }: WatchJobRequest, call: Call) {
      const { callerId } = call.caller;
      for await (const change of jobs.watch({ callerId, jobId, afterRevision: Number(afterRevision) }, call)) {
        const job = toJob(change.job, links);
        for (const { chapter, doneRevision } of change.done)
          yield { kind: Kind.CHAPTER_DONE, revision: BigInt(doneRevision!), chapter, job };
        const { endedAtMs, status } = change.job;
        const kind = endedAtMs === null ? Kind.PROGRESS : status === 'failed' ? Kind.ERROR : Kind.DONE;
        yield { kind, revision: job.revision, job };
      }
    },
    cancelJob: ({ jobId }: CancelJobRequest, { caller }: Call) => view(jobs.cancel(caller.callerId, jobId)),
    retryJob: ({ jobId }: RetryJobRequest, { caller }: Call) => view(jobs.retry(caller.callerId, jobId)),
    settleSuspect: ({ jobId, chapter = 0, offset = 0, action }: SettleSuspectRequest, call: Call) => {
      const isAgain = action === SuspectAction.SPEAK_AGAIN;
      return view(jobs.settleSuspect(call.caller.callerId, { jobId, chapter, offset, isAgain }, call));
    },
    async deleteJob({ jobId }: DeleteJobRequest, { caller }: Call) {
      await jobs.remove(caller.callerId, jobId);
      return {};
    },
  } satisfies Handlers<typeof JobService>;
}

/** Base URL of stored audio. */
interface FileLinks {
  baseUrl(): string;
}

export type JobView = ReturnType<typeof toJob>;

/** Suspects in the message of a job: alone, or in lists, events and webhooks. */
const suspectsMax = { alone: 1_000, usual: 20 };

/** The message of a job. */
function toJob(job: Job, { baseUrl }: FileLinks, suspectCount = suspectsMax.usual) {
  const { format, sampleRateHz, voiceId, captions } = job.speech;
  const urlOf = (audioId: string, extension: string) => `${baseUrl()}/audio/${audioId}.${extension}`;
  const audioUrlOf = (audioId: string | null) =>
    audioId === null ? '' : urlOf(audioId, audioFormats[format].extension);
  const { audioId, chars, chaptersDone } = job;
  const charsDone = Math.min(job.charsDone, chars);
  const seconds = roundSeconds(job.seconds);
  let suspectsLeft = suspectCount;
  const takeSuspects = (all: Job['chapters'][number]['suspects']) => {
    const taken = all.slice(0, suspectsLeft);
    suspectsLeft -= taken.length;
    return taken;
  };
  return {
    id: job.jobId,
    status: toEnum(JobStatusSchema, job.status),
    voiceId,
    outputFormat: toEnum(OutputFormatSchema, format),
    sampleRate: sampleRateHz,
    metadata: { ...job.settings.metadata },
    createdAt: timestampFromMs(job.createdAtMs),
    startedAt: toTime(job.startedAtMs),
    endedAt: toTime(job.endedAtMs),
    expiresAt: toTime(job.expiresAtMs),
    progress: { chars, charsDone, chaptersDone, seconds, etaSeconds: etaOf(job) },
    chapters: job.chapters.map(({ title, voiceId, chars, charsDone, start, end, audioId, suspects, unchecked }) => ({
      title,
      voiceId,
      chars,
      charsDone: Math.min(charsDone, chars),
      start: start === undefined ? undefined : roundSeconds(start),
      end: end === undefined ? undefined : roundSeconds(end),
      audioUrl: audioUrlOf(audioId),
      suspects: takeSuspects(suspects),
      suspectCount: suspects.length,
      unchecked,
    })),
    audioUrl: audioUrlOf(audioId),
    captions: audioId === null ? {} : Object.fromEntries(captions.map((kind) => [kind, urlOf(audioId, kind)])),
    error: job.error && toError(job.error),
    usage: { characters: charsDone, audioSeconds: seconds },
    revision: BigInt(job.revision),
  };
}

const toError = ({ reason, text = '', ...where }: NonNullable<Job['error']>) => ({ ...where, error: reason, text });
/** Rounds to milliseconds. */
const roundSeconds = (seconds: number): number => Math.round(seconds * 1000) / 1000;

function etaOf({ status, chars, charsDone, busyMs }: Job): number | undefined {
  if (status !== 'running' || charsDone === 0) return undefined;
  return Math.max(0, Math.round(((chars - charsDone) * busyMs) / charsDone / 1000));
}
