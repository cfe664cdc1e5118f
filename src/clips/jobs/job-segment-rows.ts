// The table `job_segments`: the spoken segments of unfinished chapters with the clips of their audio. Segments are
// deleted when their chapter is done without suspects, or some time after their job has ended. One transaction writes
// a segment, the progress of its job and its usage, so that each segment is charged once.

import { addUsage, type Usage } from '../../accounts.ts';
import type { SpeechFault } from '../../engines.ts';
import { Failure } from '../../platform/errors.ts';
import { createColumns, type RowStore, type Rows, type Transaction, toNames } from '../../platform/store/row-store.ts';
import type { ChapterId } from './job-leases.ts';

export interface SegmentRow {
  jobKey: string;
  chapter: number;
  segment: number;
  /** Hash of the text and its speaker; `askedAgain` if the segment is to be spoken again. */
  fingerprint: string;
  voiceId: string;
  /** Clip of the audio; null if the segment has no audio. */
  clipKey: string | null;
  sampleRateHz: number;
  /** The word times that the engine gave for the segment, as JSON. */
  words: string;
  /** The result of the checks (`SegmentCheck`), as JSON; null in rows of earlier versions. */
  report: string | null;
}

const columns = createColumns<SegmentRow>(
  'job_segments',
  toNames('jobKey chapter segment fingerprint voiceId clipKey sampleRateHz words report'),
);

export const askedAgain = '';

/** A sentence whose audio may not say its text, and where the text of its chapter has it. */
export interface JobSuspect {
  offset: number;
  text: string;
  faults: SpeechFault[];
  /** What a recognizer heard instead. */
  heard?: string;
  /** Start in the chapter's audio, in seconds, once the chapter is done. */
  start?: number | undefined;
  /** Index of its segment, and the characters that speaking it again costs. */
  segment: number;
  chars: number;
}

/** Largest number of suspects that are stored for a chapter. */
const suspectsMax = 200;

/** Progress of a chapter up to a segment. The job counts only the progress that it has not counted before. */
interface SegmentProgress {
  holder: string;
  leaseUntilMs: number;
  /** Characters, seconds and unchecked segments of the chapter up to the end of this segment. */
  chars: number;
  seconds: number;
  unchecked: number;
  busyMs: number;
  suspect?: JobSuspect | undefined;
  /** Usage to charge; undefined if the segment was charged before. */
  usage: Usage | undefined;
}

interface DoneChapter {
  holder: string;
  audioId: string;
  /** The audio that the chapter had before. */
  replacedId?: string | null;
  seconds: number;
  sampleCount: number;
  /** Start of the audio of suspects, by their offset. */
  starts: ReadonlyMap<number, number>;
  /** Number of segments that the recognizer left unchecked. */
  unchecked: number;
  /** Time until which the audio is kept, unless it has already expired. */
  keepUntilMs: number;
}

/** Time after which replaced audio expires if the process that replaced it has not removed it. */
const replacedMsMax = 60_000;

/** Thrown if another process has the chapter, or the job has ended. */
export class LeaseLost extends Error {}

const hasLeft = (endedMs: string) => `ended_at_ms <= ${endedMs}`;

/** Finds the jobs by stepping through the index from job to job, instead of reading all segments. */
const leavingSegments = `with recursive of_segments (job_key) as (
    select min(job_key) from job_segments
    union all
    select (select min(s.job_key) from job_segments s where s.job_key > of_segments.job_key)
      from of_segments where of_segments.job_key is not null
  )
  select j.job_key as "jobKey" from of_segments join jobs j on j.job_key = of_segments.job_key
    where ${hasLeft('$1')} limit $2`;

export type JobSegmentRows = ReturnType<typeof createJobSegmentRows>;

export function createJobSegmentRows(store: RowStore) {
  const clipsOf = async (sql: string, value: string): Promise<string[]> =>
    (await store.query<ClipOfSegment>(sql, value)).flatMap(({ clipKey }) => clipKey ?? []);
  return {
    async findSegment({ jobKey, chapter }: ChapterId, segment: number): Promise<SegmentRow | undefined> {
      const sql = `${columns.select} where job_key = $1 and chapter = $2 and segment = $3`;
      const [row] = await store.query<SegmentRow>(sql, jobKey, chapter, segment);
      return row;
    },
    /** Returns the number of charged segments of the chapter. All charged segments are at its start. */
    async countCharged({ jobKey, chapter }: ChapterId): Promise<number> {
      const sql = 'select charged_segments as charged from job_chapters where job_key = $1 and chapter = $2';
      const [row] = await store.query<{ charged: number }>(sql, jobKey, chapter);
      return Number(row?.charged ?? 0);
    },
    /** Stores a segment and the progress. Throws `LeaseLost` if the holder has lost the chapter. */
    addSegment: (row: SegmentRow, progress: SegmentProgress): Promise<void> =>
      store.transaction((rows) => writeSegment(rows, row, progress)),
    /** Returns the clips of the chapter's deleted segments. Throws `LeaseLost` if the holder has lost the chapter. */
    finishChapter: (id: ChapterId, done: DoneChapter): Promise<string[]> =>
      store.transaction((rows) => finishChapter(rows, id, done)),
    /**
     * Queues a finished chapter again, because its file is gone. Joining waits for this chapter. Returns the clips of its
     * segments.
     */
    reopenChapter: (id: ChapterId & { audioId: string | null }): Promise<string[]> =>
      store.transaction((rows) => reopenChapter(rows, id)),
    findReopenable: (id: ChapterId, offset: number) => findReopenable(store, id, offset),
    /** Removes a sentence from the suspects of a chapter. Throws a Failure if it is none of them. */
    keepSuspect: (id: ChapterId, offset: number): Promise<void> =>
      store.transaction(async (rows) => {
        const { others } = await findSuspect(rows, id, offset);
        await writeSuspects(rows, id, others);
        await rows.query('update jobs set revision = revision + 1 where job_key = $1', id.jobKey);
      }),
    /** Deletes the segments of a voice and returns their clips. */
    deleteSegmentsOfVoice: (voiceId: string): Promise<string[]> =>
      store.transaction(async (rows) => {
        const sql = 'delete from job_segments where voice_id = $1 returning job_key as "jobKey", clip_key as "clipKey"';
        const deleted = await rows.query<ClipOfSegment & { jobKey: string }>(sql, voiceId);
        for (const jobKey of new Set(deleted.map((row) => row.jobKey))) await deleteUnneededParts(rows, jobKey);
        return deleted.flatMap(({ clipKey }) => clipKey ?? []);
      }),
    /** Lists jobs that still have segments, and that had ended by `endedMs`. */
    async listLeavingSegments(endedMs: number, limit: number): Promise<string[]> {
      const rows = await store.query<{ jobKey: string }>(leavingSegments, endedMs, limit);
      return rows.map(({ jobKey }) => jobKey);
    },
    /** Deletes the segments of a job that had ended by `endedMs`, and the text if it has succeeded. */
    deleteLeftSegments: (jobKey: string, endedMs: number): Promise<void> =>
      store.transaction(async (rows) => {
        // A job that was queued again in the meantime is left as it is.
        const sql = `delete from job_segments where job_key = $1
          and exists (select 1 from jobs where job_key = $1 and ${hasLeft('$2')})`;
        await rows.query(sql, jobKey, endedMs);
        await deleteUnneededParts(rows, jobKey);
      }),
    segmentClipsOf: (jobKey: string): Promise<string[]> =>
      clipsOf('select clip_key as "clipKey" from job_segments where job_key = $1', jobKey),
    isSegmentClip: async (clipKey: string): Promise<boolean> =>
      (await store.query('select 1 from job_segments where clip_key = $1', clipKey)).length > 0,
  };
}

/** Deletes the text of a job that has succeeded, unless a suspect can be spoken again. */
export async function deleteUnneededParts(rows: Transaction, jobKey: string): Promise<void> {
  const sql = `delete from job_parts where job_key = $1
    and exists (select 1 from jobs where job_key = $1 and status = 'succeeded')
    and not exists (select 1 from job_segments where job_key = $1)`;
  await rows.query(sql, jobKey);
}

interface ClipOfSegment {
  clipKey: string | null;
}

async function writeSegment(
  rows: Transaction,
  row: SegmentRow,
  { holder, leaseUntilMs, chars, seconds, busyMs, suspect, unchecked, usage }: SegmentProgress,
): Promise<void> {
  const { jobKey, chapter, segment } = row;
  const [before] = await rows.query<{ chars: number; seconds: number; suspects: string }>(
    'select chars_done as chars, seconds, suspects from job_chapters where job_key = $1 and chapter = $2',
    jobKey,
    chapter,
  );
  if (!before) throw new LeaseLost();
  const charsMore = Math.max(0, chars - Number(before.chars));
  const secondsMore = Math.max(0, seconds - before.seconds);
  const ofJob = `update jobs set chars_done = chars_done + $2, seconds = seconds + $3, busy_ms = busy_ms + $4,
    revision = revision + 1 where job_key = $1 and status = 'running' returning job_key`;
  const updated = await rows.query(ofJob, jobKey, charsMore, secondsMore, busyMs);
  const ofChapter = `update job_chapters set chars_done = chars_done + $4, seconds = seconds + $5, attempts = 0,
    lease_until_ms = $6, unchecked = case when unchecked > $8 then unchecked else $8 end,
    charged_segments = case when charged_segments > $7 then charged_segments else $7 + 1 end
    where job_key = $1 and chapter = $2 and lease_holder = $3 and status = 'queued' returning chapter`;
  const own = [jobKey, chapter, holder, charsMore, secondsMore, leaseUntilMs, segment, unchecked];
  const held = await rows.query(ofChapter, ...own);
  if (updated.length === 0 || held.length === 0) throw new LeaseLost();
  if (suspect) {
    const others = (JSON.parse(before.suspects) as JobSuspect[]).filter(({ offset }) => offset !== suspect.offset);
    const suspects = [...others, suspect].sort((a, b) => a.offset - b.offset);
    await writeSuspects(rows, row, suspects.slice(0, suspectsMax));
  }
  const replaced = 'delete from job_segments where job_key = $1 and chapter = $2 and segment = $3';
  await rows.query(replaced, jobKey, chapter, segment);
  await rows.query(columns.insert, ...columns.valuesOf(row));
  if (usage) await addUsage(rows, usage);
}

async function writeSuspects(
  rows: Transaction,
  { jobKey, chapter }: ChapterId,
  suspects: readonly JobSuspect[],
): Promise<void> {
  const sql = 'update job_chapters set suspects = $3 where job_key = $1 and chapter = $2';
  await rows.query(sql, jobKey, chapter, JSON.stringify(suspects));
}

async function finishChapter(
  rows: Transaction,
  { jobKey, chapter }: ChapterId,
  { holder, audioId, replacedId, seconds, sampleCount, starts, unchecked, keepUntilMs }: DoneChapter,
): Promise<string[]> {
  const ofJob = `update jobs set chapters_done = chapters_done + 1, revision = revision + 1
    where job_key = $1 and status = 'running' returning revision, chapters_done as done, chapter_count as count`;
  const [job] = await rows.query<{ revision: number; done: number; count: number }>(ofJob, jobKey);
  if (!job) throw new LeaseLost();
  const ofChapter = `update job_chapters set status = 'done', audio_id = $4, seconds = $5, sample_count = $6,
    done_revision = $7, unchecked = $8, lease_until_ms = 0
    where job_key = $1 and chapter = $2 and lease_holder = $3 and status = 'queued' returning suspects`;
  const { revision, done, count } = job;
  const values = [jobKey, chapter, holder, audioId, seconds, sampleCount, revision, unchecked];
  const [updated] = await rows.query<{ suspects: string }>(ofChapter, ...values);
  if (!updated) throw new LeaseLost();
  const before = JSON.parse(updated.suspects) as JobSuspect[];
  // After a retry, sentences that were suspect may be good.
  const suspects = before.flatMap((each) =>
    starts.has(each.offset) ? [{ ...each, start: starts.get(each.offset) }] : [],
  );
  if (before.length > 0) await writeSuspects(rows, { jobKey, chapter }, suspects);
  const keep = 'update clips set expires_at_ms = $2 where clip_id = $1 and expires_at_ms > $3';
  await rows.query(keep, audioId, keepUntilMs, Date.now());
  await expireReplaced(rows, replacedId);
  const queueJoin = "update job_chapters set status = 'queued' where job_key = $1 and chapter = $2";
  if (done === count) await rows.query(queueJoin, jobKey, count);
  // A suspect may be spoken again, with the other segments as they are.
  return suspects.length > 0 ? [] : deleteSegments(rows, { jobKey, chapter });
}

/** Has the sweep remove replaced audio, if this process ends before it removes the audio. */
export async function expireReplaced(rows: Transaction, clipId?: string | null): Promise<void> {
  const sql = 'update clips set expires_at_ms = $2 where clip_id = $1 and expires_at_ms > $2';
  if (clipId) await rows.query(sql, clipId, Date.now() + replacedMsMax);
}

async function reopenChapter(
  rows: Transaction,
  { jobKey, chapter, audioId }: ChapterId & { audioId: string | null },
): Promise<string[]> {
  const ofChapter = `update job_chapters set status = 'queued', audio_id = null, done_revision = null, chars_done = 0,
    seconds = 0, suspects = '[]', unchecked = 0, lease_until_ms = 0, lease_holder = null
    where job_key = $1 and chapter = $2 and audio_id = $3 and status = 'done'
    and exists (select 1 from jobs where job_key = $1 and status = 'running') returning chars`;
  const [row] = await rows.query<{ chars: number }>(ofChapter, jobKey, chapter, audioId);
  if (!row) return [];
  await uncountChapter(rows, jobKey, row.chars);
  return deleteSegments(rows, { jobKey, chapter });
}

/** Deletes the segments of a chapter and returns their clips. */
async function deleteSegments(rows: Transaction, { jobKey, chapter }: ChapterId): Promise<string[]> {
  const sql = 'delete from job_segments where job_key = $1 and chapter = $2 returning clip_key as "clipKey"';
  const deleted = await rows.query<ClipOfSegment>(sql, jobKey, chapter);
  return deleted.flatMap(({ clipKey }) => clipKey ?? []);
}

/** Counts a chapter as unfinished again. Joining waits for it. */
async function uncountChapter(rows: Transaction, jobKey: string, chars: number): Promise<void> {
  const ofJob = `update jobs set chapters_done = chapters_done - 1, chars_done = chars_done - $2,
    revision = revision + 1 where job_key = $1 returning chapter_count as count`;
  const [job] = await rows.query<{ count: number }>(ofJob, jobKey, chars);
  const ofJoin = `update job_chapters set status = 'waiting', lease_until_ms = 0, lease_holder = null
    where job_key = $1 and chapter = $2`;
  await rows.query(ofJoin, jobKey, job!.count);
}

/** Returns a suspect of a chapter, and the other suspects. Throws a Failure if there is no such suspect. */
async function findSuspect(rows: Rows, { jobKey, chapter }: ChapterId, offset: number) {
  const sql = 'select suspects from job_chapters where job_key = $1 and chapter = $2';
  const [row] = await rows.query<{ suspects: string }>(sql, jobKey, chapter);
  const all = JSON.parse(row?.suspects ?? '[]') as JobSuspect[];
  const suspect = all.find((each) => each.offset === offset);
  if (!suspect) throw new Failure('not_found', { message: 'The chapter has no suspect here.' });
  return { suspect, others: all.filter((each) => each !== suspect) };
}

/**
 * Finds a suspect that can be spoken again. Throws a Failure unless the segments of its chapter and the audio of the
 * other chapters are still stored.
 */
async function findReopenable(rows: Rows, id: ChapterId, offset: number) {
  const { suspect, others } = await findSuspect(rows, id, offset);
  const { segment, chars } = suspect;
  const sql = `select 1 from job_segments where job_key = $1 and chapter = $2 and segment = $3
    and not exists (select 1 from job_chapters c where c.job_key = $1 and c.chapter <> $2 and c.status = 'done'
      and not exists (select 1 from clips where clip_id = c.audio_id and expires_at_ms > $4))`;
  const found = await rows.query(sql, id.jobKey, id.chapter, segment, Date.now());
  const message = 'A sentence can only be spoken again within 24 hours, while the audio of all chapters is stored.';
  if (found.length === 0) throw new Failure('audio_expired', { message });
  return { segment, chars, others };
}

/**
 * Queues a finished chapter again, to speak a suspect again. Until that is done, the chapter has its present audio.
 * Throws a Failure if the suspect cannot be spoken again.
 */
export async function reopenSuspect(rows: Transaction, id: ChapterId, offset: number): Promise<void> {
  const { jobKey, chapter } = id;
  const { segment, others } = await findReopenable(rows, id, offset);
  const mark = `update job_segments set fingerprint = '${askedAgain}'
    where job_key = $1 and chapter = $2 and segment = $3`;
  await rows.query(mark, jobKey, chapter, segment);
  await writeSuspects(rows, id, others);
  const reopen = "update job_chapters set status = 'queued', done_revision = null where job_key = $1 and chapter = $2";
  await rows.query(reopen, jobKey, chapter);
  await uncountChapter(rows, jobKey, 0);
}
