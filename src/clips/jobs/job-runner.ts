// Leases waiting chapters of jobs and speaks them, starting with the account that has the fewest chapters in progress.
// Each job has one chapter in progress at a time, so that an interruption costs the job at most one segment. Several
// processes share the chapters of a store. If a process dies, another process takes over when the leases have expired.
import { type Failure, failureTable, type Reason, toFailure } from '../../platform/errors.ts';
import { createPolling } from '../../platform/runtime/polling.ts';
import { speakChapter } from './chapter-speaker.ts';
import { joinJob } from './job-joiner.ts';
import type { ChapterId, OpenChapter } from './job-leases.ts';
import { attemptsMax, chapterLeaseMs, chapterPollMs, chapterRenewalMs, retryMs } from './job-limits.ts';
import { expiryOf, type JobSettings } from './job-request.ts';
import type { ChapterRow, JobRow } from './job-rows.ts';
import { LeaseLost } from './job-segment-rows.ts';
import type { JobTools } from './job-tools.ts';
import { SegmentFault } from './kept-segments.ts';

interface JobRunnerOptions extends JobTools {
  /** Number of chapters that are worked on at once; 0 for none. */
  chaptersMax: number;
  /** Whether the process that holds a lease is known to be dead. */
  isDead(holder: string): boolean;
}

interface Working extends OpenChapter {
  leaving: AbortController;
  done: Promise<void>;
}

/** Number of jobs that are examined in one round. */
const openMax = 200;

export function openJobRunner(options: JobRunnerOptions) {
  const { rows, chaptersMax, holder, isDead, onFault } = options;
  const working = new Map<string, Working>();
  let isClosed = false;

  const start = (chapter: OpenChapter) => {
    const leaving = new AbortController();
    const done = work(chapter, options, leaving)
      .catch(onFault)
      .finally(() => {
        working.delete(chapter.jobKey);
        wake();
      });
    working.set(chapter.jobKey, { ...chapter, leaving, done });
  };
  const fill = async () => {
    const nowMs = await rows.now();
    for (const each of await rows.listHolders(nowMs)) if (each !== holder && isDead(each)) await rows.endLeasesOf(each);
    const open = (await rows.listOpen(nowMs, openMax)).filter(({ jobKey }) => !working.has(jobKey));
    if (open.length === 0) return;
    const held = await rows.countHeld(nowMs);
    const countOf = ({ accountId }: OpenChapter) => held.get(accountId) ?? 0;
    while (!isClosed && working.size < chaptersMax && open.length > 0) {
      const next = open.reduce((best, each) => (countOf(each) < countOf(best) ? each : best));
      open.splice(open.indexOf(next), 1);
      if (!(await rows.claim(next, holder, nowMs, nowMs + chapterLeaseMs))) continue;
      held.set(next.accountId, countOf(next) + 1);
      start(next);
    }
    if (working.size >= chaptersMax) makeRoom(open.filter((each) => countOf(each) === 0));
  };
  /** If an account without running chapters waits, stops a chapter of an account with several in this process. */
  const makeRoom = (waiting: readonly OpenChapter[]) => {
    if (waiting.length === 0) return;
    const all = [...working.values()];
    const surplus = all.findLast((one) => all.filter(({ accountId }) => accountId === one.accountId).length > 1);
    surplus?.leaving.abort(new LeaseLost());
  };

  const poll = async () => {
    if (chaptersMax > 0 && !isClosed) await fill();
  };
  const polling = createPolling(poll, { everyMs: chapterPollMs, onFault });
  const wake = () => void polling.wake();
  wake();
  return {
    /** Call when chapters may have become available. */
    wake,
    /** Number of chapters in progress. */
    countWorking: (): number => working.size,
    /** Stops the work on a job that has ended. */
    leave: (jobKey: string): void => working.get(jobKey)?.leaving.abort(new LeaseLost()),
    /** Stops all work, and releases the chapters to other processes. */
    async close(): Promise<void> {
      isClosed = true;
      await polling.close();
      for (const { leaving } of working.values()) leaving.abort(new LeaseLost());
      await Promise.all([...working.values()].map(({ done }) => done));
    },
  };
}

/** Works on a leased chapter until it is done, fails, or must be released. */
async function work(id: ChapterId, options: JobRunnerOptions, leaving: AbortController): Promise<void> {
  const { rows, holder } = options;
  const stopRenewing = renewLease(id, options, leaving);
  let waitMs = 0;
  try {
    const job = await rows.findByKey(id.jobKey);
    const chapter = (await rows.chaptersOf(id.jobKey)).find((each) => each.chapter === id.chapter);
    if (job && chapter) await speakChapter(job, chapter, options, leaving.signal);
    else if (job) await joinJob(job, options, leaving.signal);
  } catch (error) {
    if (leaving.signal.aborted || error instanceof LeaseLost) return;
    // If `afterFailure` throws, the chapter is not retried at once.
    waitMs = retryMs.max;
    waitMs = (await afterFailure(error, id, options)) ?? 0;
  } finally {
    stopRenewing();
    await rows.release(id, holder, waitMs > 0 ? (await rows.now()) + waitMs : 0);
  }
}

function renewLease(id: ChapterId, { rows, holder }: JobRunnerOptions, leaving: AbortController): () => void {
  let renewedMs = performance.now();
  const renew = async () => {
    const begunMs = performance.now();
    try {
      if (!(await rows.renew(id, holder, (await rows.now()) + chapterLeaseMs))) leaving.abort(new LeaseLost());
      renewedMs = begunMs;
    } catch {
      if (performance.now() - renewedMs >= chapterLeaseMs) leaving.abort(new LeaseLost());
    }
  };
  const timer = setInterval(() => void renew(), chapterRenewalMs).unref();
  return () => clearInterval(timer);
}

/** The reason why a job has failed, as stored in its row. */
export interface JobFault {
  reason: Reason;
  message: string;
  /** Sentence that could not be spoken: index of its chapter, position in the chapter in code points, and text. */
  chapter: number | undefined;
  offset: number | undefined;
  text: string | undefined;
}

/** Returns the wait before the next try after a temporary failure. After any other failure, ends the job. */
async function afterFailure(error: unknown, id: ChapterId, options: JobRunnerOptions): Promise<number | undefined> {
  const { rows, holder, keepMs, onFault } = options;
  const failure = toFailure(error instanceof SegmentFault ? error.cause : error);
  if (failure.reason === 'internal_error') onFault(error);
  if (mayPass(failure)) {
    const attempts = await rows.noteAttempt(id, holder);
    const waitMs = Math.min(retryMs.max, retryMs.first * 2 ** Math.min(attempts - 1, 10));
    if (attempts <= attemptsMax) return Math.max(waitMs, waitMsOf(failure));
  }
  const nowMs = await rows.now();
  const job = await rows.findByKey(id.jobKey);
  if (!job) return undefined;
  const settings: JobSettings = JSON.parse(job.settings);
  const expiresAtMs = expiryOf(settings, nowMs, keepMs);
  const isOfChapter = id.chapter < job.chapterCount;
  const fault: JobFault = {
    reason: failure.reason,
    message: failure.message,
    chapter: isOfChapter ? id.chapter : undefined,
    offset: error instanceof SegmentFault ? error.offset : undefined,
    text: error instanceof SegmentFault ? error.text : undefined,
  };
  await endJob(job, options, { nowMs, expiresAtMs, fault });
  return undefined;
}

async function endJob(
  { jobKey }: JobRow,
  { rows, index }: JobRunnerOptions,
  { fault, ...times }: { nowMs: number; expiresAtMs: number; fault: JobFault },
): Promise<void> {
  const ended = await rows.end(jobKey, { status: 'failed', ...times, error: JSON.stringify(fault) });
  if (ended) await index.expireAt(audioOf(ended, await rows.chaptersOf(jobKey)), times.expiresAtMs);
}

/** All audio of a job. While a suspect is spoken again, this is the earlier audio. */
export const audioOf = (job: JobRow, chapters: readonly ChapterRow[]): string[] =>
  [job, ...chapters].flatMap(({ audioId }) => audioId ?? []);

/** Whether the failure is temporary. An exhausted character limit is not temporary: it lasts until next month. */
const mayPass = ({ reason, facts }: Failure): boolean =>
  (failureTable[reason].retryable && facts.limitReason !== 'characters') ||
  reason === 'engine_timeout' ||
  (reason === 'engine_error' && facts.retryAfterSeconds !== undefined);

/** Wait that the failure requests, in whole milliseconds. The failure may state a fraction of a second. */
const waitMsOf = ({ facts }: Failure): number =>
  Math.min(retryMs.max, Math.ceil((facts.retryAfterSeconds ?? 0) * 1000));
