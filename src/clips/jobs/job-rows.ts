// The tables `jobs`, `job_chapters` and `job_parts`: long texts that are spoken in the background. Only the holder of a
// chapter's lease may write to the chapter, and only until the job has ended. The row after the last chapter represents
// the joining of all chapters, and is queued when all chapters are done. `revision` rises with every change.

import { createColumns, type RowStore, type Rows, type Transaction, toNames } from '../../platform/store/row-store.ts';
import { type ChapterId, createJobLeases } from './job-leases.ts';
import { createJobSegmentRows, deleteUnneededParts, expireReplaced, reopenSuspect } from './job-segment-rows.ts';

export interface JobRow {
  jobKey: string;
  ownerId: string;
  /** Id that is unique among the owner's jobs. The owner may have chosen the id. */
  jobId: string;
  accountId: string;
  /** The key that is charged, and the address of the request. */
  keyId: string;
  address: string;
  /** Hash of the request. */
  fingerprint: string;
  status: string;
  /** Settings of the job as JSON. */
  settings: string;
  chars: number;
  chapterCount: number;
  charsDone: number;
  chaptersDone: number;
  seconds: number;
  /** Time spent working on the job. */
  busyMs: number;
  revision: number;
  createdAtMs: number;
  startedAtMs: number | null;
  endedAtMs: number | null;
  endedRevision: number | null;
  expiresAtMs: number | null;
  /** Reason why the job has failed, as JSON. */
  error: string | null;
  /** The clip of the joined audio. */
  audioId: string | null;
}

export interface ChapterRow {
  jobKey: string;
  chapter: number;
  title: string;
  /** Speech fields that differ from the speech fields of the job, as JSON. */
  speech: string;
  voiceId: string;
  chars: number;
  charsDone: number;
  partCount: number;
  status: 'waiting' | 'queued' | 'done';
  /** Length of the audio; approximate until the chapter has been spoken. */
  seconds: number;
  sampleCount: number;
  audioId: string | null;
  doneRevision: number | null;
  /** The suspects of the chapter (`JobSuspect`), as JSON. */
  suspects: string;
  /** Number of segments that the recognizer left unchecked. */
  unchecked: number;
}

export interface PartRow {
  jobKey: string;
  chapter: number;
  part: number;
  /** Position in the chapter, in code points. */
  offset: number;
  text: string;
}

const jobs = createColumns<JobRow>('jobs', [
  ...toNames('jobKey ownerId jobId accountId keyId address fingerprint status settings chars chapterCount'),
  ...toNames('charsDone chaptersDone seconds busyMs revision createdAtMs startedAtMs endedAtMs endedRevision'),
  ...toNames('expiresAtMs error audioId'),
]);
const chapters = createColumns<ChapterRow>('job_chapters', [
  ...toNames('jobKey chapter title speech voiceId chars charsDone partCount status seconds sampleCount audioId'),
  ...toNames('doneRevision suspects unchecked'),
]);
/** The columns are named `text_offset` and `written` because `offset` and `text` are SQL keywords. */
const insertPart = 'insert into job_parts (job_key, chapter, part, text_offset, written) values ($1, $2, $3, $4, $5)';
const partColumns = 'job_key as "jobKey", chapter, part, text_offset as "offset", written as text';

const activeStatuses = "('queued', 'running')";

export interface JobRowsOptions {
  /** Called in the transaction that ends a job. */
  onEnd?(rows: Transaction, job: JobRow, chapters: readonly ChapterRow[]): Promise<void>;
  /** Called when the transaction that ends a job has been committed. */
  afterEnd?(job: JobRow): void;
}

export interface NewJob {
  job: JobRow;
  chapters: readonly ChapterRow[];
  parts: readonly PartRow[];
}

interface EndedJob {
  status: 'succeeded' | 'failed' | 'canceled';
  nowMs: number;
  expiresAtMs: number;
  error?: string | undefined;
  audioId?: string | undefined;
  /** The audio that the job had before. */
  replacedId?: string | null;
  seconds?: number | undefined;
}

async function find(rows: Rows, ownerId: string, jobId: string): Promise<JobRow | undefined> {
  const [job] = await rows.query<JobRow>(`${jobs.select} where owner_id = $1 and job_id = $2`, ownerId, jobId);
  return job;
}

async function countUnended(rows: Transaction, accountId: string): Promise<number> {
  const sql = `select count(*) as count from jobs where account_id = $1 and status in ${activeStatuses}`;
  const [unended] = await rows.query<{ count: number }>(sql, accountId);
  return Number(unended!.count);
}

interface RequeueLimits {
  /** Maximum number of unfinished jobs of the account. */
  unendedMax: number;
  /** Time until which the present audio of the job and of its chapters is kept. */
  keepUntilMs: number;
}

/** Queues an ended job again, unless it has another status, or its account has too many unfinished jobs. */
async function requeue(
  rows: Transaction,
  jobKey: string,
  statuses: string,
  { unendedMax, keepUntilMs }: RequeueLimits,
): Promise<'queued' | 'left' | 'too many'> {
  const ended = `select account_id as "accountId" from jobs where job_key = $1 and status in (${statuses})`;
  const [job] = await rows.query<{ accountId: string }>(ended, jobKey);
  if (!job) return 'left';
  if ((await countUnended(rows, job.accountId)) >= unendedMax) return 'too many';
  const queue = `update jobs set status = 'queued', error = null, ended_at_ms = null, ended_revision = null,
    expires_at_ms = null, revision = revision + 1 where job_key = $1`;
  await rows.query(queue, jobKey);
  await rows.query('update job_chapters set not_before_ms = 0, attempts = 0 where job_key = $1', jobKey);
  const keep = `update clips set expires_at_ms = $2 where expires_at_ms > $3 and clip_id in (
    select audio_id from job_chapters where job_key = $1 union select audio_id from jobs where job_key = $1)`;
  await rows.query(keep, jobKey, keepUntilMs, Date.now());
  return 'queued';
}

/** Ends the job. Returns undefined if the job has already ended. */
async function markEnded(rows: Transaction, jobKey: string, ended: EndedJob): Promise<JobRow | undefined> {
  const { status, nowMs, expiresAtMs, error = null, audioId = null, replacedId, seconds = null } = ended;
  const [job] = await rows.query<JobRow>(
    `update jobs set status = $2, ended_at_ms = $3, expires_at_ms = $4, error = $5, audio_id = coalesce($6, audio_id),
        seconds = coalesce($7, seconds), revision = revision + 1, ended_revision = revision + 1
      where job_key = $1 and status in ${activeStatuses} returning ${jobs.returned}`,
    jobKey,
    status,
    nowMs,
    expiresAtMs,
    error,
    audioId,
    seconds,
  );
  if (!job) return undefined;
  await expireReplaced(rows, replacedId);
  await rows.query('update job_chapters set lease_until_ms = 0, lease_holder = null where job_key = $1', jobKey);
  await deleteUnneededParts(rows, jobKey);
  return job;
}

const createJobReading = (store: RowStore) => ({
  find: (ownerId: string, jobId: string) => find(store, ownerId, jobId),
  async findByKey(jobKey: string): Promise<JobRow | undefined> {
    const [job] = await store.query<JobRow>(`${jobs.select} where job_key = $1`, jobKey);
    return job;
  },
  /** Lists the owner's jobs, newest first. */
  list(ownerId: string, options: { status: string; limit: number; after: string | undefined }): Promise<JobRow[]> {
    const { status, limit, after = '~' } = options;
    const sql = `${jobs.select} where owner_id = $1 and job_key < $2 and ($3 = '' or status = $3)
      order by job_key desc limit $4`;
    return store.query<JobRow>(sql, ownerId, after, status, limit);
  },
  /** The chapters in order, without the row for joining. */
  chaptersOf: (jobKey: string) => chaptersOf(store, jobKey),
  async findPart(jobKey: string, chapter: number, part: number): Promise<PartRow | undefined> {
    const sql = `select ${partColumns} from job_parts where job_key = $1 and chapter = $2 and part = $3`;
    const [row] = await store.query<PartRow>(sql, jobKey, chapter, part);
    return row;
  },
  /** Lists jobs whose retention time has passed. */
  listExpired: (nowMs: number, limit: number): Promise<JobRow[]> =>
    store.query<JobRow>(`${jobs.select} where expires_at_ms <= $1 limit $2`, nowMs, limit),
});

export type JobRows = ReturnType<typeof createJobRows>;

/** The chapters in order, without the row that represents the joining of all chapters. */
const chaptersOf = (rows: Rows, jobKey: string): Promise<ChapterRow[]> =>
  rows.query<ChapterRow>(
    `${chapters.select} where job_key = $1 and chapter <
      (select chapter_count from jobs where job_key = $1) order by chapter`,
    jobKey,
  );

export function createJobRows(store: RowStore, { onEnd, afterEnd }: JobRowsOptions = {}) {
  const end = async (rows: Transaction, jobKey: string, ended: EndedJob): Promise<JobRow | undefined> => {
    const job = await markEnded(rows, jobKey, ended);
    if (job) await onEnd?.(rows, job, await chaptersOf(rows, jobKey));
    return job;
  };

  return {
    /**
     * Adds the job. If its owner already has a job with this id, returns that job. Returns 'too many' if its account
     * has too many unfinished jobs.
     */
    add: ({ job, ...its }: NewJob, unendedMax: number): Promise<{ job: JobRow; isNew: boolean } | 'too many'> =>
      store.transaction(async (rows) => {
        const before = await find(rows, job.ownerId, job.jobId);
        if (before) return { job: before, isNew: false };
        if ((await countUnended(rows, job.accountId)) >= unendedMax) return 'too many';
        await rows.query(jobs.insert, ...jobs.valuesOf(job));
        for (const chapter of its.chapters) await rows.query(chapters.insert, ...chapters.valuesOf(chapter));
        for (const { jobKey, chapter, part, offset, text } of its.parts)
          await rows.query(insertPart, jobKey, chapter, part, offset, text);
        return { job, isNew: true };
      }),
    /** Ends the job. Returns undefined if the job has already ended. */
    async end(jobKey: string, ended: EndedJob): Promise<JobRow | undefined> {
      const job = await store.transaction((rows) => end(rows, jobKey, ended));
      if (job) afterEnd?.(job);
      return job;
    },
    /**
     * Queues a failed or canceled job again, unless its account has too many unfinished jobs. Its audio, which would
     * have expired with the job, is kept until `keepUntilMs`, unless it has already expired.
     */
    retry: (jobKey: string, limits: RequeueLimits) =>
      store.transaction((rows) => requeue(rows, jobKey, "'failed', 'canceled'", limits)),
    /** Queues a job that has succeeded again, to speak a suspect again. Throws a Failure if that is not possible. */
    speakAgain: (id: ChapterId, offset: number, limits: RequeueLimits) =>
      store.transaction(async (rows) => {
        const requeued = await requeue(rows, id.jobKey, "'succeeded'", limits);
        if (requeued === 'queued') await reopenSuspect(rows, id, offset);
        return requeued;
      }),
    /** Deletes the job and all its rows. */
    remove: (jobKey: string): Promise<void> =>
      store.transaction(
        async (rows) => {
          for (const table of ['job_segments', 'job_parts', 'job_chapters', 'jobs'])
            await rows.query(`delete from ${table} where job_key = $1`, jobKey);
        },
        { blind: true, erasing: ['job_segments', 'job_parts', 'job_chapters', 'jobs'] },
      ),
    ...createJobReading(store),
    ...createJobLeases(store),
    ...createJobSegmentRows(store),
  };
}
