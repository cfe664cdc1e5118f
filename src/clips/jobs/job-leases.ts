// The leases of job chapters. A lease gives a chapter to one process until a given time, after which another process
// can take over the chapter. A single update decides which process gets the lease, so no lock is needed. If two updates
// on PostgreSQL change one row, the second update finds the lease taken.
import type { RowStore } from '../../platform/store/row-store.ts';

export interface ChapterId {
  jobKey: string;
  chapter: number;
}

export interface OpenChapter extends ChapterId {
  accountId: string;
}

/**
 * Condition for unfinished jobs, which is also the condition of the index `jobs_active`. Every process queries chapters
 * every second. The query starts from this index, because other jobs may have many chapters that are still queued.
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
    now: () => store.now(),
    /** Lists the first free chapter of each unfinished job. The oldest job of every account comes first. */
    listOpen: (nowMs: number, limit: number): Promise<OpenChapter[]> =>
      store.query<OpenChapter>(firstOpen, nowMs, limit),
    /** Counts the chapters of each account that any process has leased. */
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
    /** Releases all leases of a dead process. */
    async endLeasesOf(holder: string): Promise<void> {
      const sql = 'update job_chapters set lease_until_ms = 0, lease_holder = null where lease_holder = $1';
      await store.query(sql, holder);
    },
    /** Takes the lease. Returns false if another process has the lease or the job has ended. */
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
    /** Extends the lease. Returns false if the lease was lost. */
    async renew({ jobKey, chapter }: ChapterId, holder: string, untilMs: number): Promise<boolean> {
      const sql = `update job_chapters set lease_until_ms = $4
        where job_key = $1 and chapter = $2 and lease_holder = $3 and status = 'queued' and ${isActive('$1')}
        returning chapter`;
      return (await store.query(sql, jobKey, chapter, holder, untilMs)).length > 0;
    },
    /** Releases the chapter. From `notBeforeMs` on, a process can take it again. */
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
