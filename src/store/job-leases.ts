// The leases of the chapters of jobs: the process that works on a chapter, and until when. Another process can take
// over a chapter once its lease has ended. A single update decides which process gets the lease, so no lock is needed:
// if two updates on PostgreSQL meet at a row, the second finds the lease taken.
import type { RowStore } from './row-store.ts';

export interface ChapterId {
  jobKey: string;
  chapter: number;
}

export interface OpenChapter extends ChapterId {
  accountId: string;
}

/**
 * Every process queries chapters every second. The query starts from unfinished jobs, because the chapters of other
 * jobs stay queued for a retry and may be many. The index `jobs_active` serves conditions that begin with the index's
 * own condition.
 */
const unended = "status in ('queued', 'running')";
const running = `${unended} and status = 'running'`;

const firstOpen = `select "jobKey", chapter, "accountId" from (
  select "jobKey", chapter, "accountId",
    row_number() over (partition by "accountId" order by "jobKey") as place
  from (
    select j.job_key as "jobKey", j.account_id as "accountId",
      (select c.chapter from job_chapters c
        where c.job_key = j.job_key and c.status = 'queued' and c.lease_until_ms <= $1 and c.not_before_ms <= $1
        order by c.chapter limit 1) as chapter
    from jobs j where ${unended}
  ) of_jobs where chapter is not null
) of_accounts order by place, "jobKey" limit $2`;

const isActive = (job: string) => `(select status from jobs where job_key = ${job}) in ('queued', 'running')`;

export function createJobLeases(store: RowStore) {
  return {
    /** The first free chapter of each job that may be worked on now; the oldest job of every account comes first. */
    listOpen: (nowMs: number, limit: number): Promise<OpenChapter[]> =>
      store.query<OpenChapter>(firstOpen, nowMs, limit),
    /** Number of leased chapters of each account, over all processes. */
    async countHeld(nowMs: number): Promise<Map<string, number>> {
      const held = await store.query<{ accountId: string; count: number }>(
        `select account_id as "accountId", cast(sum(held) as bigint) as count from (
            select j.account_id, (select count(*) from job_chapters c
              where c.job_key = j.job_key and c.status = 'queued' and c.lease_until_ms > $1) as held
            from jobs j where ${running}
          ) of_jobs group by account_id`,
        nowMs,
      );
      return new Map(held.map(({ accountId, count }) => [accountId, Number(count)]));
    },
    async listHolders(nowMs: number): Promise<string[]> {
      const sql = `select distinct lease_holder as holder from job_chapters
        where job_key in (select job_key from jobs where ${running}) and status = 'queued' and lease_until_ms > $1`;
      const rows = await store.query<{ holder: string | null }>(sql, nowMs);
      return rows.flatMap(({ holder }) => holder ?? []);
    },
    /** Ends all leases of a dead process. */
    async endLeasesOf(holder: string): Promise<void> {
      const sql = 'update job_chapters set lease_until_ms = 0, lease_holder = null where lease_holder = $1';
      await store.query(sql, holder);
    },
    /** Takes the lease. Returns false if another process has it or the job has ended. */
    async claim({ jobKey, chapter }: ChapterId, holder: string, nowMs: number, untilMs: number): Promise<boolean> {
      const sql = `update job_chapters set lease_holder = $3, lease_until_ms = $4
        where job_key = $1 and chapter = $2 and status = 'queued' and lease_until_ms <= $5
          and ${isActive('$1')} returning chapter`;
      if ((await store.query(sql, jobKey, chapter, holder, untilMs, nowMs)).length === 0) return false;
      const start = `update jobs set status = 'running', started_at_ms = coalesce(started_at_ms, $2),
        revision = revision + 1 where job_key = $1 and status = 'queued'`;
      await store.query(start, jobKey, nowMs);
      return true;
    },
    /** Returns false if the lease was lost. */
    async renew({ jobKey, chapter }: ChapterId, holder: string, untilMs: number): Promise<boolean> {
      const sql = `update job_chapters set lease_until_ms = $4
        where job_key = $1 and chapter = $2 and lease_holder = $3 and status = 'queued' and ${isActive('$1')}
        returning chapter`;
      return (await store.query(sql, jobKey, chapter, holder, untilMs)).length > 0;
    },
    /** Releases the chapter, which can be taken again from `notBeforeMs` on. */
    async release({ jobKey, chapter }: ChapterId, holder: string, notBeforeMs = 0): Promise<void> {
      const sql = `update job_chapters set lease_until_ms = 0, lease_holder = null, not_before_ms = $4
        where job_key = $1 and chapter = $2 and lease_holder = $3`;
      await store.query(sql, jobKey, chapter, holder, notBeforeMs);
    },
    /** Counts a temporary failure. Returns the number of failures since the last progress. */
    async noteAttempt({ jobKey, chapter }: ChapterId, holder: string): Promise<number> {
      const sql = `update job_chapters set attempts = attempts + 1
        where job_key = $1 and chapter = $2 and lease_holder = $3 returning attempts`;
      const [row] = await store.query<{ attempts: number }>(sql, jobKey, chapter, holder);
      return Number(row?.attempts ?? 0);
    },
  };
}
