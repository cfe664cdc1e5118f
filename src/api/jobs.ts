// Jobs: long texts that are spoken in the background. A job is visible only to the key that created it and to the keys
// that replace this key.

import { createHash } from 'node:crypto';
import { setTimeout as sleep, setImmediate as yieldTurn } from 'node:timers/promises';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import {
  type CancelJobRequest,
  type CreateJobRequest,
  type DeleteJobRequest,
  type GetJobRequest,
  type JobService,
  JobStatusSchema,
  WatchJobResponse_Kind as Kind,
  type ListJobsRequest,
  type RetryJobRequest,
  type WatchJobRequest,
} from '../../gen/sonant/v1/job_service_pb.ts';
import { OutputFormatSchema } from '../../gen/sonant/v1/speech_pb.ts';
import { type Caller, dayOf, type UsageRow } from '../accounts.ts';
import { audioFormats, bookTimeline, encodedRateOf, type FormatName } from '../audio.ts';
import {
  audioOf,
  type ChapterRequest,
  type ChapterRow,
  expiryOf,
  type JobFault,
  type JobRequest,
  type JobRow,
  type JobRunner,
  type JobSettings,
  type JobSuspect,
  type JobTools,
  jobKeepHoursMax,
  jobsPerAccountMax,
  type NewJob,
  readJobRequest,
  removeJob,
  toPartRequest,
} from '../clips.ts';
import { countChars } from '../platform/count-chars.ts';
import { Failure } from '../platform/errors.ts';
import { createId } from '../platform/runtime/id.ts';
import { type SpeechRequest, toStoredRequest } from '../speech.ts';
import { withDisclosure } from '../text.ts';
import type { Call } from './call.ts';
import { jobEventsEveryMs, jobWatchMs } from './call-limits.ts';
import { nameOf, toEnum } from './messages.ts';
import { pageOf, toPage } from './page.ts';
import { checked, type Handlers } from './service-handlers.ts';

export type JobHandlers = ReturnType<typeof createJobHandlers>;

interface JobHandlersOptions extends Pick<JobTools, 'rows' | 'speech' | 'clips' | 'index' | 'room' | 'keepMs'> {
  runner: Pick<JobRunner, 'wake' | 'leave'>;
  links: FileLinks;
  /** Records the request. Its characters are recorded while they are spoken. */
  noteUsage(usage: UsageRow): Promise<void>;
  /** Throws a Failure if the URL may not be called or the key has no secret to sign with. */
  checkWebhook(url: string, keyId: string): Promise<void>;
}

export function createJobHandlers(options: JobHandlersOptions) {
  const { rows, speech, index, keepMs, runner, links, noteUsage, checkWebhook } = options;
  const find = async ({ caller }: Call, id: string): Promise<JobRow> => {
    const job = await rows.find(caller.callerId, id);
    if (!job) throw new Failure('not_found', { message: 'Job not found for this key.' });
    return job;
  };
  const view = async (row: JobRow) => toJob(row, await rows.chaptersOf(row.jobKey), links);

  return {
    createJob: checked(
      (message: CreateJobRequest, _call, violations) => readJobRequest(message, violations),
      async ({ jobId }, call, read) => {
        const request = read!;
        const { settings } = request;
        const { caller } = call;
        const id = jobId || undefined;
        if (settings.webhookUrl !== undefined) await checkWebhook(settings.webhookUrl, caller.keyId);
        const fingerprint = fingerprintOf(request);
        const before = id === undefined ? undefined : await rows.find(caller.callerId, id);
        if (before) return { job: await view(checkSame(before, fingerprint)) };
        const said = await checkSpeech(speech, request, caller);
        const added = await rows.add(toNewJob(call, request, { id, fingerprint, said }), jobsPerAccountMax);
        if (added === 'too many') throw tooManyJobs();
        checkSame(added.job, fingerprint);
        if (added.isNew) {
          const { voiceId = '' } = said[0] ?? {};
          const day = dayOf(Date.now());
          await noteUsage({ keyId: caller.keyId, voiceId, day, requests: 1, characters: 0, audioMs: 0 });
          runner.wake();
        }
        return { job: await view(added.job) };
      },
    ),
    listJobs: checked(
      ({ status, limit, cursor }: ListJobsRequest, _call, violations) => {
        const wanted = nameOf(JobStatusSchema, status) ?? '';
        return { status: wanted, page: pageOf({ limit, cursor }, ['jobs', wanted], violations) };
      },
      async (_message, { caller }, { status, page }) => {
        const found = await rows.list(caller.callerId, { status, limit: page.size + 1, after: page.after });
        const { items, nextCursor } = toPage(found, page, ({ jobKey }) => jobKey);
        return { jobs: await Promise.all(items.map(view)), nextCursor };
      },
    ),
    getJob: async ({ jobId }: GetJobRequest, call: Call) => ({ job: await view(await find(call, jobId)) }),
    watchJob: ({ jobId, afterRevision }: WatchJobRequest, call: Call) =>
      watch(call, () => find(call, jobId), Number(afterRevision), options),
    async cancelJob({ jobId }: CancelJobRequest, call: Call) {
      const job = await find(call, jobId);
      const settings: JobSettings = JSON.parse(job.settings);
      const nowMs = await rows.now();
      const expiresAtMs = expiryOf(settings, nowMs, keepMs);
      const ended = await rows.end(job.jobKey, { status: 'canceled', nowMs, expiresAtMs });
      runner.leave(job.jobKey);
      if (ended) await index.expireAt(audioOf(await rows.chaptersOf(job.jobKey)), expiresAtMs);
      return { job: await view(await find(call, jobId)) };
    },
    async retryJob({ jobId }: RetryJobRequest, call: Call) {
      const { jobKey } = await find(call, jobId);
      const keepUntilMs = Date.now() + jobKeepHoursMax * 3_600_000;
      const retried = await rows.retry(jobKey, { unendedMax: jobsPerAccountMax, keepUntilMs });
      if (retried === 'too many') throw tooManyJobs();
      runner.wake();
      return { job: await view(await find(call, jobId)) };
    },
    async deleteJob({ jobId }: DeleteJobRequest, call: Call) {
      const job = await find(call, jobId);
      const nowMs = await rows.now();
      await rows.end(job.jobKey, { status: 'canceled', nowMs, expiresAtMs: nowMs });
      runner.leave(job.jobKey);
      await removeJob(options, job);
      return {};
    },
  } satisfies Handlers<typeof JobService>;
}

/** Sends an event when the job changes, and at least every 15 seconds, until the job has ended. */
async function* watch(
  { leaving, signal }: Call,
  find: () => Promise<JobRow>,
  afterRevision: number,
  { rows, links }: JobHandlersOptions,
) {
  let sentRevision = afterRevision;
  let sentAtMs = -Infinity;
  for (;;) {
    const row = await find();
    const isLate = performance.now() - sentAtMs >= jobEventsEveryMs;
    if (row.revision > sentRevision || (isLate && row.endedAtMs === null)) {
      sentAtMs = performance.now();
      yield* eventsSince(await rows.chaptersOf(row.jobKey), row, sentRevision, links);
      sentRevision = row.revision;
    }
    if (row.endedAtMs !== null || leaving.aborted) return;
    await sleep(jobWatchMs, undefined, { signal }).catch(() => signal.throwIfAborted());
  }
}

/**
 * Yields the events after a revision. The chapters were read after the row, so a chapter that was completed in between
 * has a higher revision and is sent with the next event.
 */
function* eventsSince(chapters: readonly ChapterRow[], row: JobRow, afterRevision: number, links: FileLinks) {
  const job = toJob(row, chapters, links);
  const done = chapters
    .filter(({ doneRevision: done }) => done !== null && done > afterRevision && done <= row.revision)
    .toSorted((one, other) => one.doneRevision! - other.doneRevision!);
  for (const { chapter, doneRevision } of done)
    yield { kind: Kind.CHAPTER_DONE, revision: BigInt(doneRevision!), chapter, job };
  const kind = row.endedAtMs === null ? Kind.PROGRESS : row.status === 'failed' ? Kind.ERROR : Kind.DONE;
  yield { kind, revision: job.revision, job };
}

/** Base URL of stored audio. */
interface FileLinks {
  baseUrl(): string;
}

export type JobView = ReturnType<typeof toJob>;

/** The message of a job, from its rows. */
export function toJob(row: JobRow, chapters: readonly ChapterRow[], { baseUrl }: FileLinks) {
  const settings: JobSettings = JSON.parse(row.settings);
  const { format, sampleRateHz, voiceId, captions } = toPartRequest(settings.speech, {});
  const urlOf = (audioId: string, extension: string) => `${baseUrl()}/audio/${audioId}.${extension}`;
  const audioUrlOf = (audioId: string | null) =>
    audioId === null ? '' : urlOf(audioId, audioFormats[format].extension);
  const spans = spansOf(chapters, { format, sampleRateHz, gapSeconds: settings.gapSeconds });
  const { audioId, chars, chaptersDone } = row;
  const charsDone = Math.min(row.charsDone, chars);
  const seconds = roundSeconds(row.seconds);
  return {
    id: row.jobId,
    status: toEnum(JobStatusSchema, row.status),
    voiceId,
    outputFormat: toEnum(OutputFormatSchema, format),
    sampleRate: sampleRateHz,
    metadata: { ...settings.metadata },
    createdAt: timestampFromMs(row.createdAtMs),
    startedAt: toTime(row.startedAtMs),
    endedAt: toTime(row.endedAtMs),
    expiresAt: toTime(row.expiresAtMs),
    progress: { chars, charsDone, chaptersDone, seconds, etaSeconds: etaOf(row) },
    chapters: chapters.map((chapter, i) => ({
      title: chapter.title,
      voiceId: chapter.voiceId,
      chars: chapter.chars,
      charsDone: Math.min(chapter.charsDone, chapter.chars),
      start: spans[i]?.start,
      end: spans[i]?.end,
      audioUrl: audioUrlOf(chapter.audioId),
      suspects: JSON.parse(chapter.suspects) as JobSuspect[],
    })),
    audioUrl: audioUrlOf(audioId),
    captions: audioId === null ? {} : Object.fromEntries(captions.map((kind) => [kind, urlOf(audioId, kind)])),
    error: row.error === null ? undefined : toError(JSON.parse(row.error)),
    usage: { characters: charsDone, audioSeconds: seconds },
    revision: BigInt(row.revision),
  };
}

const toTime = (ms: number | null) => (ms === null ? undefined : timestampFromMs(ms));
const toError = ({ reason, text = '', ...where }: JobFault) => ({ ...where, error: reason, text });
/** Rounds to milliseconds. */
const roundSeconds = (seconds: number): number => Math.round(seconds * 1000) / 1000;

/** Start and end of each chapter, up to the first chapter that is not done. */
function spansOf(
  chapters: readonly ChapterRow[],
  { format, sampleRateHz, gapSeconds }: { format: FormatName; sampleRateHz: number; gapSeconds: number },
): { start: number; end: number }[] {
  const missing = chapters.findIndex(({ status }) => status !== 'done');
  const done = missing < 0 ? chapters : chapters.slice(0, missing);
  const rateHz = encodedRateOf(format, sampleRateHz);
  const gapSampleCount = Math.round(gapSeconds * rateHz);
  const lengths = done.map(({ sampleCount }) => ({ sampleCount, gapSampleCount }));
  return bookTimeline(format, sampleRateHz, lengths).chapters.map(({ startSample, endSample }) => ({
    start: roundSeconds(startSample / rateHz),
    end: roundSeconds(endSample / rateHz),
  }));
}

function etaOf({ status, chars, charsDone, busyMs }: JobRow): number | undefined {
  if (status !== 'running' || charsDone === 0) return undefined;
  return Math.max(0, Math.round(((chars - charsDone) * busyMs) / charsDone / 1000));
}

/**
 * Hash of a job request. Identical requests have the same hash on every API: explicit defaults and the order of
 * metadata make no difference.
 */
function fingerprintOf({ settings: { speech: _, ...settings }, speech, chapters }: JobRequest): string {
  const metadata = Object.fromEntries(
    Object.entries(settings.metadata).toSorted(([one], [other]) => (one < other ? -1 : 1)),
  );
  const spoken = chapters.map(({ title, speech, parts }) => [
    title,
    toSorted(speech),
    parts.map(({ offset, text, request: { chars } }) => ({ offset, text, chars })),
  ]);
  return createHash('sha256')
    .update(JSON.stringify([{ ...settings, metadata }, toStoredRequest(speech), spoken]))
    .digest('base64url');
}

const toSorted = (fields: Readonly<Record<string, unknown>>) =>
  Object.entries(fields).toSorted(([one], [other]) => (one < other ? -1 : 1));

function checkSame(job: JobRow, fingerprint: string): JobRow {
  if (job.fingerprint === fingerprint) return job;
  throw new Failure('idempotency_conflict', {
    message: 'Another request has already created a job with this id. Use another id.',
  });
}

const tooManyJobs = () =>
  new Failure('rate_limit_exceeded', {
    message: `This account has ${jobsPerAccountMax} unfinished jobs, which is the limit. Wait for one, or cancel one.`,
    limitReason: 'concurrency',
    limit: jobsPerAccountMax,
  });

/**
 * Refuses a request that cannot be synthesized, before anything is charged. Returns the voice and the number of
 * characters of each chapter.
 */
async function checkSpeech(
  speech: JobHandlersOptions['speech'],
  { settings, chapters }: JobRequest,
  caller: Caller,
): Promise<SaidChapter[]> {
  const said: SaidChapter[] = [];
  const { disclosure } = settings;
  for (const [i, chapter] of chapters.entries()) {
    const saidHere: SaidChapter = { voiceId: '', chars: 0, parts: [] };
    const plan = (request: SpeechRequest) =>
      nameFaults(chapter, async () => {
        const planned = await speech.plan(request, caller);
        planned.check();
        return planned;
      });
    let added = 0;
    for (const { offset, text: given, request: asked } of chapter.parts) {
      let text = given;
      let { request, main } = await plan(asked);
      if (offset === 0 && (disclosure === 'chapters' || (disclosure === 'start' && i === 0))) {
        text = withDisclosure(given, request.markup === 'ssml', main.languageCode);
        ({ request } = await plan(toPartRequest(settings.speech, chapter.speech, text)));
      }
      saidHere.voiceId = request.voiceId;
      saidHere.chars += request.chars;
      saidHere.parts.push({ offset: offset + added, text });
      added += countChars(text) - countChars(given);
      await yieldTurn();
    }
    said.push(saidHere);
  }
  return said;
}

/** Adds the chapter's name to the field names in a Failure. */
async function nameFaults<Planned>({ speech, nameOf }: ChapterRequest, plan: () => Promise<Planned>): Promise<Planned> {
  try {
    return await plan();
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const { reason, message, facts } = error;
    const isOfVoice = Object.hasOwn(speech, 'voice_id') && reason.startsWith('voice_');
    const faults = facts.details ?? (isOfVoice ? [{ field: 'voice_id', reason, message }] : undefined);
    if (!faults) throw error;
    const details = faults.map((fault) => ({ ...fault, field: nameOf(fault.field) }));
    throw new Failure(reason, { ...facts, details }, error.cause);
  }
}

interface SaidChapter {
  voiceId: string;
  /** Number of charged characters, counted after lexicons have been applied. */
  chars: number;
  /** The parts to speak, including the sentence that declares the voice to be synthetic. */
  parts: { offset: number; text: string }[];
}

interface Named {
  id: string | undefined;
  fingerprint: string;
  said: readonly SaidChapter[];
}

function toNewJob({ caller, address }: Call, request: JobRequest, { id, fingerprint, said }: Named): NewJob {
  const jobKey = createId('job');
  const { settings, chapters } = request;
  const job: JobRow = {
    jobKey,
    ownerId: caller.callerId,
    jobId: id ?? jobKey,
    accountId: caller.accountId,
    keyId: caller.keyId,
    address,
    fingerprint,
    status: 'queued',
    settings: JSON.stringify(settings),
    chars: said.reduce((sum, each) => sum + each.chars, 0),
    chapterCount: chapters.length,
    charsDone: 0,
    chaptersDone: 0,
    seconds: 0,
    busyMs: 0,
    revision: 1,
    createdAtMs: Date.now(),
    startedAtMs: null,
    endedAtMs: null,
    endedRevision: null,
    expiresAtMs: null,
    error: null,
    audioId: null,
  };
  const toRow = (chapter: Omit<ChapterRequest, 'nameOf'>, i: number): ChapterRow => ({
    jobKey,
    chapter: i,
    title: chapter.title,
    speech: JSON.stringify(chapter.speech),
    voiceId: said[i]?.voiceId ?? '',
    chars: said[i]?.chars ?? 0,
    charsDone: 0,
    partCount: chapter.parts.length,
    status: 'queued',
    seconds: 0,
    sampleCount: 0,
    audioId: null,
    doneRevision: null,
    suspects: '[]',
  });
  const joining = toRow({ title: '', speech: {}, parts: [], chars: 0 }, chapters.length);
  return {
    job,
    chapters: [...chapters.map(toRow), { ...joining, status: 'waiting' }],
    parts: said.flatMap(({ parts }, chapter) =>
      parts.map(({ offset, text }, part) => ({ jobKey, chapter, part, offset, text })),
    ),
  };
}
