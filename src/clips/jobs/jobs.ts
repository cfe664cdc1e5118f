// Jobs: long texts that are spoken in the background. A job is visible only to the key that created it and to the keys
// that replace this key. Opens their rows, runner and cleanup. The end of a job is also a webhook message.

import { setTimeout as sleep } from 'node:timers/promises';
import type { Accounts } from '../../accounts.ts';
import { bookTimeline, encodedRateOf } from '../../audio.ts';
import { Failure } from '../../platform/errors.ts';
import { isDead, processName } from '../../platform/runtime/id.ts';
import type { RowStore } from '../../platform/store/row-store.ts';
import { createMetrics, type Metrics } from '../../platform/telemetry/prometheus.ts';
import type { SpeechRequest } from '../../speech.ts';
import type { ClipMemory } from '../clip-memory.ts';
import type { ClipRows } from '../clip-rows.ts';
import { openReceipt, type SignedReceipt } from '../stored-receipt.ts';
import { chargeJob } from './chapter-speaker.ts';
import { jobEventsEveryMs, jobKeepMsMax, jobsPerAccountMax, jobWatchMs } from './job-limits.ts';
import { expiryOf, type JobRequest, type JobSettings, toPartRequest } from './job-request.ts';
import { type ChapterRow, createJobRows, type JobRow, type JobRowsOptions } from './job-rows.ts';
import { audioOf, type JobFault, openJobRunner } from './job-runner.ts';
import type { JobSuspect } from './job-segment-rows.ts';
import { openJobSweep, removeJob } from './job-sweep.ts';
import type { JobTools } from './job-tools.ts';
import { checkSame, checkSpeech, fingerprintOf, type JobCreator, toNewJob } from './new-job.ts';

/** A job with its chapters. */
export interface Job extends Omit<JobRow, 'settings' | 'error'> {
  settings: JobSettings;
  /** The speech request that all chapters share. */
  speech: SpeechRequest;
  chapters: readonly JobChapter[];
  error: JobFault | undefined;
}

interface JobChapter extends Omit<ChapterRow, 'suspects'> {
  /** Start and end in the joined audio, in seconds; undefined until the chapters up to this one are done. */
  start?: number;
  end?: number;
  suspects: readonly JobSuspect[];
}

export interface JobsOptions extends Omit<JobTools, 'rows' | 'clips' | 'index' | 'room' | 'holder'> {
  stored: {
    store: RowStore;
    clips: { index: ClipRows; memory: Pick<ClipMemory, 'clips'>; room: JobTools['room'] };
    ledger: Pick<Accounts['ledger'], 'add'>;
  };
  /** Maximum number of chapters that this process speaks at the same time. */
  chaptersMax: number;
  /** Webhooks for jobs. Absent for a command, whose jobs name none. */
  webhooks?: Pick<Accounts['webhooks'], 'check' | 'add' | 'wake'> | undefined;
  /** Returns the data of the webhook message about a job. */
  toData(job: Job): object;
  metrics?: Metrics;
  /** The name under which leases are held. Default: the name of this process. */
  holder?: string;
}

export type Jobs = ReturnType<typeof openJobs>;

export function openJobs(options: JobsOptions) {
  const { speech, keepMs, webhooks, metrics = createMetrics(), holder = processName } = options;
  const { store, ledger } = options.stored;
  const { index, memory, room } = options.stored.clips;
  const countEnded = metrics.counter('sonant_jobs_total', 'Ended jobs, by status.');
  // Counters begin at 0 for every outcome, so that the first event shows as an increase.
  for (const status of ['succeeded', 'failed', 'canceled']) countEnded({ status }, 0);
  const afterEnd = ({ status }: JobRow) => {
    countEnded({ status });
    webhooks?.wake();
  };
  const rows = createJobRows(store, { ...(webhooks && storeMessages(webhooks, options.toData)), afterEnd });
  const tools = { ...options, rows, clips: memory.clips, index, room, holder };
  const runner = openJobRunner({ ...tools, isDead });
  metrics.gauge('sonant_job_chapters', 'Chapters of jobs being spoken.', () => [[{}, runner.countWorking()]]);
  const sweep = openJobSweep(tools);

  const findRow = async (callerId: string, jobId: string): Promise<JobRow> => {
    const job = await rows.find(callerId, jobId);
    if (!job) throw new Failure('not_found', { message: 'Job not found for this key.' });
    return job;
  };
  const read = async (row: JobRow): Promise<Job> => toJob(row, await rows.chaptersOf(row.jobKey));
  const find = async (callerId: string, jobId: string): Promise<Job> => read(await findRow(callerId, jobId));
  return {
    /** Throws a Failure if the job does not exist or is of another key, as do the other functions. */
    find,

    /** Returns the receipt of a job that has succeeded. */
    async readReceipt(callerId: string, jobId: string, signal: AbortSignal): Promise<SignedReceipt> {
      const { audioId } = await findRow(callerId, jobId);
      if (audioId === null) throw new Failure('not_found', { message: 'A job has no receipt until it has succeeded.' });
      return openReceipt(await index.find(audioId), { ...tools, signal });
    },

    /** Adds the job. If its owner already has a job with this id, returns that job, which must be the same. */
    async add(request: JobRequest, creator: JobCreator, jobId: string | undefined): Promise<Job> {
      const { caller } = creator;
      const { webhookUrl } = request.settings;
      if (webhookUrl !== undefined) await webhooks!.check(webhookUrl, caller.keyId);
      const fingerprint = fingerprintOf(request);
      const before = jobId === undefined ? undefined : await rows.find(caller.callerId, jobId);
      if (before) return read(checkSame(before, fingerprint));
      const said = await checkSpeech(speech, request, caller);
      const added = await rows.add(toNewJob(creator, request, { id: jobId, fingerprint, said }), jobsPerAccountMax);
      if (added === 'too many') throw tooManyJobs();
      checkSame(added.job, fingerprint);
      if (added.isNew) {
        const { voiceId = '' } = said[0] ?? {};
        // The characters are recorded while they are spoken.
        await ledger.add({ keyId: caller.keyId, voiceId, requests: 1, characters: 0, audioMs: 0 });
        runner.wake();
      }
      return read(added.job);
    },

    /** Lists the owner's jobs, newest first. */
    list: async (...asked: Parameters<typeof rows.list>): Promise<Job[]> =>
      Promise.all((await rows.list(...asked)).map(read)),

    /**
     * Yields the job and the chapters that were completed since the last time: when it changes, and at least every 15
     * seconds, until it has ended.
     */
    async *watch(
      { callerId, jobId, afterRevision }: { callerId: string; jobId: string; afterRevision: number },
      { leaving, signal }: { leaving: AbortSignal; signal: AbortSignal },
    ) {
      let sentRevision = afterRevision;
      let sentAtMs = -Infinity;
      for (;;) {
        const row = await findRow(callerId, jobId);
        const isLate = performance.now() - sentAtMs >= jobEventsEveryMs;
        if (row.revision > sentRevision || (isLate && row.endedAtMs === null)) {
          sentAtMs = performance.now();
          const job = await read(row);
          yield { job, done: doneSince(job, sentRevision) };
          sentRevision = row.revision;
        }
        if (row.endedAtMs !== null || leaving.aborted) return;
        await sleep(jobWatchMs, undefined, { signal }).catch(() => signal.throwIfAborted());
      }
    },

    async cancel(callerId: string, jobId: string): Promise<Job> {
      const { jobKey, settings } = await findRow(callerId, jobId);
      const nowMs = await rows.now();
      const expiresAtMs = expiryOf(JSON.parse(settings), nowMs, keepMs);
      const ended = await rows.end(jobKey, { status: 'canceled', nowMs, expiresAtMs });
      runner.leave(jobKey);
      if (ended) await index.expireAt(audioOf(ended, await rows.chaptersOf(jobKey)), expiresAtMs);
      return find(callerId, jobId);
    },

    async retry(callerId: string, jobId: string): Promise<Job> {
      const { jobKey } = await findRow(callerId, jobId);
      const retried = await rows.retry(jobKey, requeueLimits());
      if (retried === 'too many') throw tooManyJobs();
      runner.wake();
      return find(callerId, jobId);
    },

    /** Accepts a suspect of a chapter, so that it is no longer listed, or has it spoken again. */
    async settleSuspect(
      callerId: string,
      { jobId, chapter, offset, isAgain }: { jobId: string; chapter: number; offset: number; isAgain: boolean },
      call: Parameters<typeof chargeJob>[3],
    ): Promise<Job> {
      const job = await findRow(callerId, jobId);
      const id = { jobKey: job.jobKey, chapter };
      if (isAgain) {
        const { chars } = await rows.findReopenable(id, offset);
        if (job.status !== 'succeeded') throw notSucceeded();
        // Refuses a spent quota now, because a job that fails later is no longer one that has succeeded.
        (await chargeJob(job, tools, chars, call)).end(0);
        const queued = await rows.speakAgain(id, offset, requeueLimits());
        if (queued === 'too many') throw tooManyJobs();
        if (queued === 'left') throw notSucceeded();
        runner.wake();
      } else await rows.keepSuspect(id, offset);
      return find(callerId, jobId);
    },

    async remove(callerId: string, jobId: string): Promise<void> {
      const { jobKey } = await findRow(callerId, jobId);
      const nowMs = await rows.now();
      await rows.end(jobKey, { status: 'canceled', nowMs, expiresAtMs: nowMs });
      runner.leave(jobKey);
      // Its audio may have been replaced just before the end.
      await removeJob(tools, await findRow(callerId, jobId));
    },

    /** Deletes expired jobs now. */
    sweep: sweep.run,
    async close(): Promise<void> {
      await runner.close();
      await sweep.close();
    },
  };
}

/**
 * The chapters completed after a revision, in this order. The chapters were read after the row of the job, so a chapter
 * that was completed in between has a higher revision and is returned the next time.
 */
const doneSince = ({ chapters, revision }: Job, afterRevision: number): readonly JobChapter[] =>
  chapters
    .filter(({ doneRevision: done }) => done !== null && done > afterRevision && done <= revision)
    .toSorted((one, other) => one.doneRevision! - other.doneRevision!);

function toJob(row: JobRow, chapters: readonly ChapterRow[]): Job {
  const settings: JobSettings = JSON.parse(row.settings);
  const speech = toPartRequest(settings.speech, {});
  const spans = spansOf(chapters, speech, settings.gapSeconds);
  return {
    ...row,
    settings,
    speech,
    chapters: chapters.map((each, i) => ({ ...each, ...spans[i], suspects: JSON.parse(each.suspects) })),
    error: row.error === null ? undefined : JSON.parse(row.error),
  };
}

/** Start and end of each chapter, up to the first chapter that is not done. */
function spansOf(
  chapters: readonly ChapterRow[],
  { format, sampleRateHz }: Pick<SpeechRequest, 'format' | 'sampleRateHz'>,
  gapSeconds: number,
): { start: number; end: number }[] {
  const missing = chapters.findIndex(({ status }) => status !== 'done');
  const done = missing < 0 ? chapters : chapters.slice(0, missing);
  const rateHz = encodedRateOf(format, sampleRateHz);
  const gapSampleCount = Math.round(gapSeconds * rateHz);
  const lengths = done.map(({ sampleCount }) => ({ sampleCount, gapSampleCount }));
  return bookTimeline(format, sampleRateHz, lengths).chapters.map(({ startSample, endSample }) => ({
    start: startSample / rateHz,
    end: endSample / rateHz,
  }));
}

/** The limits for a job that is queued again. Its end sets the time until which its audio is kept. */
const requeueLimits = () => ({ unendedMax: jobsPerAccountMax, keepUntilMs: Date.now() + jobKeepMsMax });

const notSucceeded = () => new Failure('not_found', { message: 'The job has not succeeded.' });

const tooManyJobs = () =>
  new Failure('rate_limit_exceeded', {
    message: `This account has ${jobsPerAccountMax} unfinished jobs, which is the limit. Wait for one, or cancel one.`,
    limitReason: 'concurrency',
    limit: jobsPerAccountMax,
  });

/** Stores the webhook message in the transaction that ends the job. */
const storeMessages = (
  webhooks: NonNullable<JobsOptions['webhooks']>,
  toData: JobsOptions['toData'],
): Pick<JobRowsOptions, 'onEnd'> => ({
  async onEnd(rows, row, chapters) {
    const job = toJob(row, chapters);
    const { webhookUrl: url } = job.settings;
    if (url === undefined) return;
    const { jobKey, keyId, accountId, endedRevision, endedAtMs } = job;
    await webhooks.add(rows, {
      messageId: `msg_${jobKey}_${endedRevision}`,
      keyId,
      accountId,
      url,
      atMs: endedAtMs!,
      event: `job.${job.status as 'succeeded' | 'failed' | 'canceled'}`,
      data: toData(job),
    });
  },
});
