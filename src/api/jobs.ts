// Jobs: long texts that are spoken in the background. Each belongs to the key that made it, and to those that replace it; for
// others it does not exist.
import { createHash } from 'node:crypto';
import { setTimeout as sleep, setImmediate as yieldTurn } from 'node:timers/promises';
import { dayOf } from '../access/usage-ledger.ts';
import { Failure } from '../errors.ts';
import { expiryOf } from '../jobs/expiry.ts';
import type { Job, JobEvent, JobStatus } from '../jobs/job.ts';
import { type ChapterRequest, type JobRequest, type JobSettings, toPartRequest } from '../jobs/job-request.ts';
import { audioOf, type JobRunner } from '../jobs/job-runner.ts';
import type { JobTools } from '../jobs/job-tools.ts';
import { type FileLinks, toJob } from '../jobs/job-view.ts';
import { jobKeepHoursMax, jobsPerAccountMax } from '../jobs/limits.ts';
import { removeJob } from '../jobs/removal.ts';
import { createId } from '../runtime/id.ts';
import type { Caller } from '../speech/request.ts';
import type { ChapterRow, JobRow, NewJob } from '../store/job-rows.ts';
import type { UsageRow } from '../store/usage-rows.ts';
import type { Call } from './call.ts';
import { jobEventsEveryMs, jobWatchMs } from './limits.ts';
import { type Page, type PageOf, toPage } from './page.ts';

export interface JobOperations {
  /**
   * Queues a job. Under an id of the caller's own, the same request again is answered with the job that is there; another is
   * `idempotency_conflict`.
   */
  createJob(call: Call, request: JobRequest, id?: string): Promise<{ job: Job; isNew: boolean }>;
  /** The newest first; of all statuses where none is given. */
  listJobs(call: Call, filter: { status: JobStatus | undefined }, page: Page): Promise<PageOf<Job>>;
  getJob(call: Call, id: string): Promise<Job>;
  /**
   * What has happened after that revision, and what happens until the job has ended; nothing where its end has been told.
   * Progress is told when there is some, and every 15 seconds.
   */
  watchJob(call: Call, id: string, afterRevision: number): AsyncIterable<JobEvent>;
  /** Ends a job that has not ended; one that has is left as it is. What was spoken is kept for `retryJob`. */
  cancelJob(call: Call, id: string): Promise<Job>;
  /** Queues a job again that has failed or was canceled: only what is missing is spoken. Others are left as they are. */
  retryJob(call: Call, id: string): Promise<Job>;
  /** Ends the job, and removes it with its audio. */
  deleteJob(call: Call, id: string): Promise<void>;
}

export interface JobOperationsOptions
  extends Pick<JobTools, 'rows' | 'speech' | 'clips' | 'index' | 'room' | 'keepMs'> {
  runner: Pick<JobRunner, 'wake' | 'leave'>;
  links: FileLinks;
  /** Records the request; its characters are recorded as they are spoken. */
  noteUsage(usage: UsageRow): Promise<void>;
  /** Fails where the address may not be called, or the key has nothing to sign with. */
  checkWebhook(url: string, keyId: string): Promise<void>;
}

const idPattern = /^[A-Za-z0-9_-]{1,64}$/;

/** The caller's own id of a job; a Failure where it is malformed. */
export function parseJobId(id: string, field = 'id'): string {
  if (idPattern.test(id)) return id;
  const message = 'must be 1 to 64 letters, digits, hyphens and underscores';
  throw new Failure('invalid_request', { details: [{ field, reason: 'format', message }] });
}

export function createJobOperations(options: JobOperationsOptions): JobOperations {
  const { rows, speech, index, keepMs, runner, links, noteUsage, checkWebhook } = options;
  const find = async ({ caller }: Call, id: string): Promise<JobRow> => {
    const job = idPattern.test(id) ? await rows.find(caller.callerId, id) : undefined;
    if (!job) throw new Failure('not_found', { message: 'There is no such job for this key.' });
    return job;
  };
  const view = async (row: JobRow) => toJob(row, await rows.chaptersOf(row.jobKey), links);

  return {
    async createJob(call, request, id) {
      const { settings } = request;
      const { caller } = call;
      if (settings.webhookUrl !== undefined) await checkWebhook(settings.webhookUrl, caller.keyId);
      const fingerprint = fingerprintOf(request);
      const before = id === undefined ? undefined : await rows.find(caller.callerId, id);
      if (before) return { job: await view(checkSame(before, fingerprint)), isNew: false };
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
      return { job: await view(added.job), isNew: added.isNew };
    },
    async listJobs({ caller }, { status = '' }: { status?: string | undefined }, page) {
      const found = await rows.list(caller.callerId, { status, limit: page.size + 1, after: page.after });
      const { items, nextCursor } = toPage(found, page, ({ jobKey }) => jobKey);
      return { items: await Promise.all(items.map(view)), nextCursor };
    },
    getJob: async (call, id) => view(await find(call, id)),
    watchJob: (call, id, afterRevision) => watch(call, () => find(call, id), afterRevision, options),
    async cancelJob(call, id) {
      const job = await find(call, id);
      const settings: JobSettings = JSON.parse(job.settings);
      const nowMs = Date.now();
      const expiresAtMs = expiryOf(settings, nowMs, keepMs);
      const ended = await rows.end(job.jobKey, { status: 'canceled', nowMs, expiresAtMs });
      runner.leave(job.jobKey);
      if (ended) await index.expireAt(audioOf(await rows.chaptersOf(job.jobKey)), expiresAtMs);
      return view(await find(call, id));
    },
    async retryJob(call, id) {
      const { jobKey } = await find(call, id);
      const keepUntilMs = Date.now() + jobKeepHoursMax * 3_600_000;
      const retried = await rows.retry(jobKey, { unendedMax: jobsPerAccountMax, keepUntilMs });
      if (retried === 'too many') throw tooManyJobs();
      runner.wake();
      return view(await find(call, id));
    },
    async deleteJob(call, id) {
      const job = await find(call, id);
      const nowMs = Date.now();
      await rows.end(job.jobKey, { status: 'canceled', nowMs, expiresAtMs: nowMs });
      runner.leave(job.jobKey);
      await removeJob(options, job);
    },
  };
}

async function* watch(
  { leaving, signal }: Call,
  find: () => Promise<JobRow>,
  afterRevision: number,
  { rows, links }: JobOperationsOptions,
): AsyncGenerator<JobEvent> {
  let toldRevision = afterRevision;
  let toldAtMs = -Infinity;
  for (;;) {
    const row = await find();
    const isLate = performance.now() - toldAtMs >= jobEventsEveryMs;
    if (row.revision > toldRevision || (isLate && row.endedAtMs === null)) {
      toldAtMs = performance.now();
      yield* eventsSince(await rows.chaptersOf(row.jobKey), row, toldRevision, links);
      toldRevision = row.revision;
    }
    if (row.endedAtMs !== null || leaving.aborted) return;
    await sleep(jobWatchMs, undefined, { signal }).catch(() => signal.throwIfAborted());
  }
}

/** The chapters were read after the row: one that was done in between is told at the next look, with its revision. */
function* eventsSince(
  chapters: readonly ChapterRow[],
  row: JobRow,
  afterRevision: number,
  links: FileLinks,
): Generator<JobEvent> {
  const job = toJob(row, chapters, links);
  const done = chapters
    .filter(({ doneRevision: done }) => done !== null && done > afterRevision && done <= row.revision)
    .toSorted((one, other) => one.doneRevision! - other.doneRevision!);
  for (const { chapter, doneRevision } of done) yield { type: 'chapter_done', revision: doneRevision!, job, chapter };
  const { revision } = row;
  if (row.endedAtMs === null) yield { type: 'progress', revision, job };
  else if (job.status === 'failed') yield { type: 'failed', revision, job };
  else yield { type: 'done', revision, job };
}

/**
 * The same request has the same through every API: defaults that are spelled out, and the order of metadata, which are a map
 * in gRPC and an object in JSON, say nothing.
 */
function fingerprintOf({ settings: { speech: _, ...settings }, speech, chapters }: JobRequest): string {
  const metadata = Object.fromEntries(
    Object.entries(settings.metadata).toSorted(([one], [other]) => (one < other ? -1 : 1)),
  );
  const spoken = chapters.map(({ title, speech, parts }) => [title, toSorted(speech), parts]);
  return createHash('sha256')
    .update(JSON.stringify([{ ...settings, metadata }, speech, spoken]))
    .digest('base64url');
}

const toSorted = (fields: Readonly<Record<string, unknown>>) =>
  Object.entries(fields).toSorted(([one], [other]) => (one < other ? -1 : 1));

function checkSame(job: JobRow, fingerprint: string): JobRow {
  if (job.fingerprint === fingerprint) return job;
  throw new Failure('idempotency_conflict', { message: 'There is a job of this id for another request.' });
}

const tooManyJobs = () =>
  new Failure('rate_limit_exceeded', {
    message: `This account has ${jobsPerAccountMax} jobs that have not ended, which is the limit.`,
    limitReason: 'concurrency',
    limit: jobsPerAccountMax,
  });

/** What can be refused before anything is spoken is refused here. Returns who says each chapter, and how much. */
async function checkSpeech(
  speech: JobOperationsOptions['speech'],
  { settings, chapters }: JobRequest,
  caller: Caller,
): Promise<SaidChapter[]> {
  const said: SaidChapter[] = [];
  for (const chapter of chapters) {
    const saidHere: SaidChapter = { voiceId: '', chars: 0 };
    for (const { text } of chapter.parts) {
      const { request } = await nameFaults(chapter, () =>
        speech.plan(toPartRequest(settings.speech, chapter.speech, text), caller),
      );
      saidHere.voiceId = request.voiceId;
      saidHere.chars += request.chars;
      await yieldTurn();
    }
    said.push(saidHere);
  }
  return said;
}

/** A refusal names the chapter that it is for. */
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
  /** With what lexicons say, as it is charged. */
  chars: number;
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
  });
  const joining = toRow({ title: '', speech: {}, parts: [], chars: 0 }, chapters.length);
  return {
    job,
    chapters: [...chapters.map(toRow), { ...joining, status: 'waiting' }],
    parts: chapters.flatMap(({ parts }, chapter) =>
      parts.map(({ offset, text }, part) => ({ jobKey, chapter, part, offset, text })),
    ),
  };
}
