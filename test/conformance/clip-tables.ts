// Tests the clip index of any row store (src/clips/clip-rows.ts).
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ClipRows, createClipRows, type ExpiredQuery, toVoiceList } from '../../src/clips/clip-rows.ts';
import { createId } from '../../src/platform/runtime/id.ts';
import type { RowStore } from '../../src/platform/store/row-store.ts';
import { withNotices } from '../platform/store/open-test-store.ts';
import { clipRow } from '../platform/store/stored-clip.ts';

/** `open` returns a new empty store each time. */
export function clipTableConformance(name: string, open: () => Promise<RowStore>): void {
  describe(`${name} stores the index of clips`, () => {
    let store: RowStore;
    beforeAll(async () => {
      store = await open();
    });
    afterAll(() => store.close());

    test('a clip is found by its id, as it was added', async () => {
      const clips = createClipRows(store);
      const clip = clipRow({ voiceName: 'Zoë 声', seconds: 1.25, cacheKey: null });
      await clips.add(clip);
      expect(await clips.find(clip.clipId)).toEqual({ ...clip, deletedAtMs: null });
      expect(await clips.find('aud_unknown')).toBeUndefined();
    });

    test("the newest of the owner's clips for a request is found while it lasts, and nobody else's", async () => {
      const clips = createClipRows(store);
      const cacheKey = 'same request';
      const [older, newer, foreign] = [
        clipRow({ cacheKey, createdAtMs: 1_000, expiresAtMs: 9_000 }),
        clipRow({ cacheKey, createdAtMs: 2_000, expiresAtMs: 8_000 }),
        clipRow({ cacheKey, createdAtMs: 3_000, expiresAtMs: 9_999, ownerId: 'key_other' }),
      ];
      for (const clip of [newer, older, foreign]) await clips.add(clip);
      const foundAt = async (untilMs: number) => (await clips.findCached('key_owner', cacheKey, untilMs))?.clipId;
      expect(await foundAt(7_999)).toBe(newer.clipId);
      expect(await foundAt(8_000)).toBe(older.clipId);
      expect(await foundAt(9_000)).toBeUndefined();
      expect(await clips.findCached('key_owner', 'other request', 0)).toBeUndefined();
    });

    test('only its owner deletes a clip, and only once; then it is gone for requests and due to be purged', async () => {
      const clips = createClipRows(store);
      const clip = clipRow({ cacheKey: 'to delete', expiresAtMs: 2 ** 45 });
      await clips.add(clip);
      expect(await clips.markDeleted(clip.clipId, 'key_other', 500)).toBeUndefined();
      expect(await clips.markDeleted(clip.clipId, 'key_owner', 500)).toMatchObject({
        deletedAtMs: 500,
        expiresAtMs: 500,
      });
      expect(await clips.markDeleted(clip.clipId, 'key_owner', 600)).toBeUndefined();
      expect(await clips.findCached('key_owner', 'to delete', 500)).toBeUndefined();
      expect(await expiredIds(clips, { nowMs: 500, limit: 10 })).toEqual([clip.clipId]);
      await clips.markPurged([clip.clipId], 500);
    });

    test('expired clips come up in batches until they are purged, and are forgotten later', async () => {
      const clips = createClipRows(store);
      const made = [100, 200, 300, 400].map((expiresAtMs) => clipRow({ expiresAtMs }));
      for (const clip of made.toReversed()) await clips.add(clip);
      const ids = made.map(({ clipId }) => clipId);
      expect(await expiredIds(clips, { nowMs: 300, limit: 2 })).toEqual(ids.slice(0, 2));
      await clips.markPurged(ids.slice(0, 2), 1_000);
      expect(await expiredIds(clips, { nowMs: 300, limit: 2 })).toEqual(ids.slice(2, 3));
      expect(await clips.find(ids[0]!)).toBeDefined();
      expect(await clips.deletePurged(1_001, 1)).toBe(1);
      expect(await clips.deletePurged(1_001, 10)).toBe(2);
      expect(await clips.deletePurged(1_001, 10)).toBe(0);
      expect(await clips.find(ids[1]!)).toBeUndefined();
      expect(await clips.find(ids[2]!)).toBeDefined();
    });

    test('stored bytes are summed by account; its oldest clips are found, without a link and with none of late', async () => {
      const clips = createClipRows(store);
      const accountId = createId('key');
      const own = [300, 100, 200].map((at) => clipRow({ accountId, createdAtMs: at, usedAtMs: at, byteCount: 1_000 }));
      const byOwner = clipRow({ ownerId: accountId, createdAtMs: 50, byteCount: 500 });
      for (const clip of [...own, byOwner]) await clips.add(clip);
      const sumOf = async () => (await clips.sumStored()).find((sum) => sum.accountId === accountId);
      expect(await sumOf()).toEqual({ accountId, bytes: 3_500, clips: 4 });
      const oldest = async (beforeMs: number, limit = 10) =>
        (await clips.listUnused(accountId, beforeMs, limit)).map(({ clipId }) => clipId);
      const unlinked = async () => (await clips.listUnlinked(accountId, 10)).map(({ clipId }) => clipId);
      const [third, first, second] = own.map(({ clipId }) => clipId) as [string, string, string];
      expect([await unlinked(), await oldest(1_000)]).toEqual([[byOwner.clipId], [first, second, third]]);
      expect([await oldest(300), await oldest(300, 1)]).toEqual([[first, second], [first]]);
      expect([await clips.markUsed(first), await clips.markUsed(byOwner.clipId)]).toEqual([true, true]);
      expect([await unlinked(), await oldest(1_000)]).toEqual([[], [second, third]]);
      expect([await clips.expireUnused(first, 1_000), await clips.expireUnused(second, 1_000)]).toEqual([false, true]);
      expect([await clips.expireUnused(second, 1_000), await clips.markUsed(second)]).toEqual([false, false]);
      expect(await oldest(1_000)).toEqual([third]);
      const query = { nowMs: 2 ** 44, limit: 10, accountId };
      expect(await expiredIds(clips, query)).toEqual([second]);
      await clips.markPurged([second], 1_000);
      expect([await expiredIds(clips, query), (await sumOf())!.clips]).toEqual([[], 3]);
      while (await clips.deletePurged(2 ** 45, 10));
    });

    test('all clips in which a voice speaks expire with it', async () => {
      const clips = createClipRows(store);
      const others = (...ids: string[]) => clipRow({ otherVoiceIds: toVoiceList(ids) });
      const made = [
        clipRow({ voiceId: 'ann 1%' }),
        others('x', 'ann 1%'),
        others('ann 1%', 'y'),
        others('ann 1'),
        clipRow(),
      ];
      for (const clip of made) await clips.add(clip);
      expect(await clips.expireOfVoice('ann 1%', 2 ** 45, 10)).toBe(3);
      const alive = await Promise.all(made.map(({ clipId }) => clips.isAlive(clipId)));
      expect(alive).toEqual([false, false, false, true, true]);
    });

    test('expired clips are listed on from any of them, and of rows that are purged so many are kept', async () => {
      const clips = createClipRows(store);
      const accountId = createId('key');
      const made = [1, 1, 2, 3].map((expiresAtMs) => clipRow({ accountId, expiresAtMs }));
      for (const clip of made) await clips.add(clip);
      const query = { nowMs: 10, limit: 2, accountId };
      const some = await clips.listExpired(query);
      const rest = await clips.listExpired({ ...query, after: some.at(-1) });
      const ids = [...some, ...rest].map(({ clipId }) => clipId);
      expect(ids.toSorted()).toEqual(made.map(({ clipId }) => clipId).toSorted());
      expect(some[0]).toMatchObject({ accountId, byteCount: 200_000, expiresAtMs: 1 });
      for (const [i, id] of ids.entries()) await clips.markPurged([id], 100 + i);
      expect([await clips.deletePurgedBeyond(1, 2), await clips.deletePurgedBeyond(1, 2)]).toEqual([2, 1]);
      expect((await clips.find(ids.at(-1)!))?.clipId).toBe(ids.at(-1));
      expect(await clips.deletePurgedBeyond(0, 2)).toBe(1);
    });

    test('each change that ends clips early notifies other processes once, and no other change does', async () => {
      const { rows, announced } = withNotices(store);
      const clips = createClipRows(rows);
      const made = [clipRow(), clipRow({ voiceId: 'ended' }), clipRow()] as const;
      for (const clip of made) await clips.add(clip);
      for (let again = 0; again < 2; again++) {
        await clips.markDeleted(made[0].clipId, 'key_owner', 500);
        await clips.expireOfVoice('ended', 2 ** 45, 10);
        await clips.expireUnused(made[2].clipId, 1_000);
      }
      expect(announced).toEqual(Array(3).fill('clips'));
    });

    test('the newest clip with the same audio is found, even after it has expired', async () => {
      const clips = createClipRows(store);
      const made = [1_000, 2_000].map((createdAtMs) => clipRow({ createdAtMs, fingerprint: 'f00d', expiresAtMs: 1 }));
      for (const clip of made) await clips.add(clip);
      expect((await clips.findByFingerprint('f00d'))?.clipId).toBe(made[1]!.clipId);
      expect(await clips.findByFingerprint('beef')).toBeUndefined();
    });
  });
}

const expiredIds = async (clips: ClipRows, query: ExpiredQuery) =>
  (await clips.listExpired(query)).map(({ clipId }) => clipId);
