// Tests the job tables of any row store (src/clips/jobs/job-rows.ts): owners' ids, leases, segments that are charged once,
// and joining when all chapters are done.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createJobRows, type JobRows, type NewJob } from '../../src/clips/jobs/job-rows.ts';
import { LeaseLost } from '../../src/clips/jobs/job-segment-rows.ts';
import { createId } from '../../src/platform/runtime/id.ts';
import type { RowStore } from '../../src/platform/store/row-store.ts';

/** `open` returns a new empty store. */
export function jobTableConformance(name: string, open: () => Promise<RowStore>): void {
  describe(`${name} stores jobs`, () => {
    let store: RowStore;
    let rows: JobRows;
    const ended: string[] = [];
    beforeAll(async () => {
      store = await open();
      rows = createJobRows(store, { onEnd: async (_, { jobId, status }) => void ended.push(`${jobId} ${status}`) });
    });
    afterAll(() => store.close());
    const add = async (job: NewJob = newJob()) => {
      await rows.add(job, 100);
      return job.job;
    };
    const retry = (jobKey: string, unendedMax = 100) => rows.retry(jobKey, { unendedMax, keepUntilMs: 9e15 });
    const charged = async (keyId: string) => {
      const sql = 'select characters from usage where key_id = $1';
      return (await store.query<{ characters: number }>(sql, keyId)).map(({ characters }) => characters);
    };

    test('an id is its owner’s once, and nobody else’s', async () => {
      const first = newJob({ ownerId: 'key_A', jobId: 'book' });
      expect(await rows.add(first, 100)).toMatchObject({ isNew: true });
      expect(await rows.add(newJob({ ownerId: 'key_A', jobId: 'book' }), 100)).toEqual({
        job: first.job,
        isNew: false,
      });
      expect(await rows.add(newJob({ ownerId: 'key_B', jobId: 'book' }), 100)).toMatchObject({ isNew: true });
      expect(await rows.find('key_A', 'book')).toEqual(first.job);
      expect(await rows.find('key_C', 'book')).toBeUndefined();
    });

    test('an account has so many that have not ended', async () => {
      const its = { accountId: createId('key') };
      const job = await add(newJob(its));
      expect(await rows.add(newJob(its), 1)).toBe('too many');
      await rows.end(job.jobKey, { status: 'canceled', nowMs: 1, expiresAtMs: 2 });
      expect(await rows.add(newJob(its), 1)).toMatchObject({ isNew: true });
      expect(await retry(job.jobKey, 1)).toBe('too many');
      expect(await retry(job.jobKey, 2)).toBe('queued');
    });

    test('of open chapters, every account is listed, however many jobs others have', async () => {
      const crowd = { accountId: createId('key') };
      for (let i = 0; i < 5; i++) await add(newJob(crowd));
      const late = await add(newJob({ accountId: createId('key') }));
      const all = await rows.listOpen(50_000, 1_000);
      const accounts = new Set(all.map(({ accountId }) => accountId)).size;
      const listed = await rows.listOpen(50_000, accounts);
      expect(listed.map(({ jobKey }) => jobKey)).toContain(late.jobKey);
    });

    test('of many who claim a chapter one gets it; another when the lease is over, released, or its holder dead', async () => {
      const { jobKey } = await add();
      const id = { jobKey, chapter: 0 };
      const claims = await Promise.all(
        Array.from({ length: 8 }, (_, i) => rows.claim(id, `holder ${i}`, 1_000, 2_000)),
      );
      expect(claims.filter(Boolean)).toHaveLength(1);
      const holder = `holder ${claims.indexOf(true)}`;
      expect(await rows.listHolders(1_500)).toContain(holder);
      expect(await rows.renew(id, 'another', 5_000)).toBe(false);
      expect(await rows.renew(id, holder, 3_000)).toBe(true);
      expect(await rows.claim(id, 'late', 2_500, 4_000)).toBe(false);
      expect(await rows.claim(id, 'late', 3_000, 4_000)).toBe(true);
      expect(await rows.renew(id, holder, 5_000)).toBe(false);
      await rows.release(id, 'late', 9_000);
      const open = async (nowMs: number) => (await rows.listOpen(nowMs, 100)).find((each) => each.jobKey === jobKey);
      expect(await open(3_500)).toMatchObject({ chapter: 1 });
      expect(await open(9_000)).toMatchObject({ chapter: 0 });
      expect(await rows.claim(id, 'dead', 9_000, 99_000)).toBe(true);
      await rows.endLeasesOf('dead');
      expect(await rows.claim(id, 'next', 9_000, 10_000)).toBe(true);
      expect((await rows.countHeld(9_500)).get((await rows.findByKey(jobKey))!.accountId)).toBe(1);
    });

    test('a segment is charged once, also where it is deleted and written again, and only by who holds the chapter', async () => {
      const { jobKey, keyId } = await add();
      const id = { jobKey, chapter: 0 };
      await rows.claim(id, 'me', 1_000, 2_000);
      const write = async (segment: number, holder = 'me') => {
        const isCharged = segment >= (await rows.countCharged(id));
        const usage = { keyId, voiceId: 'ada', day: '2026-11-21', requests: 0, characters: 10, audioMs: 500 };
        const row = {
          ...id,
          segment,
          fingerprint: 'f',
          voiceId: 'ada',
          clipKey: createId('seg'),
          sampleRateHz: 24_000,
        };
        const upTo = { chars: 10 * (segment + 1), seconds: 0.5 * (segment + 1) };
        const charge = { usage: isCharged ? usage : undefined };
        const progress = { holder, leaseUntilMs: 3_000, ...upTo, busyMs: 7, unchecked: 1, ...charge };
        return rows.addSegment({ ...row, words: '[]', report: null }, progress);
      };
      await write(0);
      await write(1);
      await write(0);
      await expect(write(2, 'another')).rejects.toThrow(LeaseLost);
      expect(await charged(keyId)).toEqual([20]);
      expect(await rows.countCharged(id)).toBe(2);
      expect(await rows.findSegment(id, 2)).toBeUndefined();
      expect(await rows.findByKey(jobKey)).toMatchObject({ charsDone: 20, seconds: 1, busyMs: 21 });
      const clips = await rows.segmentClipsOf(jobKey);
      expect(clips).toHaveLength(2);
      expect(await rows.isSegmentClip(clips[0]!)).toBe(true);
      await rows.end(jobKey, { status: 'canceled', nowMs: 5, expiresAtMs: 6 });
      await expect(write(2)).rejects.toThrow(LeaseLost);
      expect(await charged(keyId)).toEqual([20]);
      const isLeft = async (endedMs: number) => (await rows.listLeavingSegments(endedMs, 100)).includes(jobKey);
      expect([await isLeft(4), await isLeft(5)]).toEqual([false, true]);
      expect(await retry(jobKey)).toBe('queued');
      expect(await isLeft(5)).toBe(false);
      await rows.deleteLeftSegments(jobKey, 5);
      expect(await rows.segmentClipsOf(jobKey)).toHaveLength(2);
      await rows.end(jobKey, { status: 'failed', nowMs: 7, expiresAtMs: 8, error: '{}' });
      await rows.deleteLeftSegments(jobKey, 7);
      expect([await isLeft(7), await rows.segmentClipsOf(jobKey)]).toEqual([false, []]);
      await retry(jobKey);
      await rows.claim(id, 'me', 1_000, 2_000);
      await write(0);
      expect(await charged(keyId)).toEqual([20]);
      expect(await rows.findByKey(jobKey)).toMatchObject({ charsDone: 20, seconds: 1 });
      const done = { holder: 'me', audioId: createId('aud'), seconds: 1, sampleCount: 1, keepUntilMs: 0 };
      await rows.finishChapter(id, { ...done, starts: new Map(), unchecked: 2 });
      expect((await rows.chaptersOf(jobKey))[0]).toMatchObject({ unchecked: 2 });
    });

    test('joining is queued when all chapters are done, and waits again when one is reopened', async () => {
      const { jobKey, jobId } = await add();
      const finish = async (chapter: number) => {
        await rows.claim({ jobKey, chapter }, 'me', 1_000, 2_000);
        const done = { holder: 'me', audioId: `aud_${chapter}`, seconds: 2, sampleCount: 96_000, keepUntilMs: 9e15 };
        return rows.finishChapter({ jobKey, chapter }, { ...done, starts: new Map(), unchecked: 0 });
      };
      const open = async () => (await rows.listOpen(50_000, 100)).find((each) => each.jobKey === jobKey)?.chapter;
      await finish(1);
      expect(await open()).toBe(0);
      await finish(0);
      expect(await open()).toBe(2);
      await expect(finish(0)).rejects.toThrow(LeaseLost);
      const revisions = (await rows.chaptersOf(jobKey)).map(({ doneRevision }) => doneRevision!);
      expect(revisions).toHaveLength(2);
      expect(revisions[1]).toBeLessThan(revisions[0]!);
      await rows.reopenChapter({ jobKey, chapter: 1, audioId: 'aud_0' });
      expect(await open()).toBe(2);
      await rows.reopenChapter({ jobKey, chapter: 1, audioId: 'aud_1' });
      expect(await open()).toBe(1);
      await finish(1);
      const end = { status: 'succeeded', nowMs: 5, expiresAtMs: 6, audioId: 'aud_A', seconds: 4 } as const;
      expect(await rows.end(jobKey, end)).toMatchObject({ status: 'succeeded', audioId: 'aud_A', seconds: 4 });
      expect(await rows.end(jobKey, end)).toBeUndefined();
      expect(ended.filter((each) => each.startsWith(jobId))).toEqual([`${jobId} succeeded`]);
      expect(await retry(jobKey)).toBe('left');
      expect(await rows.findPart(jobKey, 0, 0)).toBeUndefined();
    });

    test('what has failed is queued again; what is removed is gone', async () => {
      const { jobKey } = await add();
      await rows.end(jobKey, { status: 'failed', nowMs: 5, expiresAtMs: 6, error: '{}' });
      expect((await rows.listExpired(6, 100)).map((job) => job.jobKey)).toContain(jobKey);
      const isOpen = async () => (await rows.listOpen(50_000, 1_000)).some((each) => each.jobKey === jobKey);
      expect(await isOpen()).toBe(false);
      expect(await retry(jobKey)).toBe('queued');
      expect(await isOpen()).toBe(true);
      expect(await rows.findByKey(jobKey)).toMatchObject({ status: 'queued', error: null, expiresAtMs: null });
      await rows.remove(jobKey);
      expect(await rows.findByKey(jobKey)).toBeUndefined();
      expect(await rows.chaptersOf(jobKey)).toEqual([]);
    });

    test('a list is the newest first, of one owner, by status, and goes on where it ended', async () => {
      const ownerId = createId('key');
      const keys: string[] = [];
      for (let i = 0; i < 3; i++) {
        keys.unshift((await add(newJob({ ownerId }))).jobKey);
        // Ids of the same millisecond have no order.
        await sleep(2);
      }
      const list = async (status: string, after?: string) =>
        (await rows.list(ownerId, { status, limit: 2, after })).map(({ jobKey }) => jobKey);
      expect(await list('')).toEqual(keys.slice(0, 2));
      expect(await list('', keys[1])).toEqual(keys.slice(2));
      await rows.end(keys[2]!, { status: 'canceled', nowMs: 5, expiresAtMs: 6 });
      expect(await list('canceled')).toEqual(keys.slice(2));
    });
  });
}

/** A job with two chapters. */
function newJob(own: Partial<NewJob['job']> = {}): NewJob {
  const jobKey = createId('job');
  const ownerId = createId('key');
  const job = {
    ...{ jobKey, ownerId, jobId: jobKey, accountId: ownerId, keyId: ownerId, address: '::1', fingerprint: 'f' },
    ...{ status: 'queued', settings: '{}', chars: 20, chapterCount: 2, charsDone: 0, chaptersDone: 0, seconds: 0 },
    ...{ busyMs: 0, revision: 1, createdAtMs: 1, startedAtMs: null, endedAtMs: null, endedRevision: null },
    ...{ expiresAtMs: null, error: null, audioId: null, ...own },
  };
  const chapters = [0, 1, 2].map((chapter) => ({
    ...{ jobKey, chapter, title: '', speech: '{}', voiceId: 'ada', chars: 10, charsDone: 0, partCount: 1 },
    ...{ status: chapter < 2 ? ('queued' as const) : ('waiting' as const), seconds: 0, sampleCount: 0 },
    ...{ audioId: null, doneRevision: null, suspects: '[]', unchecked: 0 },
  }));
  const parts = [0, 1].map((chapter) => ({ jobKey, chapter, part: 0, offset: 0, text: 'Some text.' }));
  return { job, chapters, parts };
}
