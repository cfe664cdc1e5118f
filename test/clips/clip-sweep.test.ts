// Tests that expired audio is removed even if some files cannot be deleted, and that cleanup stops with the service.
import { expect, test } from 'vitest';
import type { ExpiredQuery } from '../../src/clips/clip-rows.ts';
import { openClipSweep } from '../../src/clips/clip-sweep.ts';
import type { ClipStore } from '../../src/clips/stores/clip-store.ts';
import { Failure } from '../../src/platform/errors.ts';

function openSwept(clipIds: string[], remove: (clipId: string) => Promise<void>) {
  const purged: string[] = [];
  const faults: unknown[] = [];
  const deletedBeforeMs: number[] = [];
  const clips = { remove, sweep: async () => 0 } as Partial<ClipStore> as ClipStore;
  const index = {
    find: async () => undefined,
    listExpired: async ({ limit, after }: ExpiredQuery) =>
      clipIds
        .filter((id) => !purged.includes(id) && (!after || clipIds.indexOf(id) > clipIds.indexOf(after.clipId)))
        .slice(0, limit)
        .map((clipId) => ({ clipId, accountId: 'ada', byteCount: 1, expiresAtMs: 1 })),
    markPurged: async (ids: readonly string[]) => void purged.push(...ids),
    async deletePurged(beforeMs: number) {
      deletedBeforeMs.push(beforeMs);
      return 0;
    },
    deletePurgedBeyond: async () => 0,
  };
  const room = { noteRemoved() {}, restore: async () => true };
  const sweep = openClipSweep({ clips, index, room, onFault: (fault) => faults.push(fault) });
  return { sweep, purged, faults, room, deletedBeforeMs };
}

test('a clip that cannot be removed stops no other', async () => {
  const stuck = new Error('busy');
  const { purged, faults } = openSwept(['a', 'stuck', 'b'], async (id) => {
    if (id === 'stuck') throw stuck;
  });
  await expect.poll(() => purged).toEqual(['a', 'b']);
  await expect.poll(() => faults).toMatchObject([{ message: expect.stringMatching(/^1 expired clip/), cause: stuck }]);
});

test.each([
  [true, 7 * 24 * 3_600_000],
  [false, 0],
])('rows of removed clips are kept only if there is room: %s', async (hasRoom, keptMs) => {
  const { room, deletedBeforeMs, sweep } = openSwept([], async () => {});
  await sweep.run();
  room.restore = async () => hasRoom;
  deletedBeforeMs.length = 0;
  const nowMs = Date.now();
  await sweep.run();
  expect(Math.abs(deletedBeforeMs[0]! + keptMs - nowMs)).toBeLessThan(3_600_000);
});

test('while the store is away, that is what is told', async () => {
  const away = new Failure('storage_unavailable');
  const { faults } = openSwept(['a'], () => Promise.reject(away));
  await expect.poll(() => faults).toMatchObject([{ reason: 'storage_unavailable', cause: away }]);
});

test('a hundred clips that cannot be removed hold up none of those behind them, and are tried again', async () => {
  const stuck = Array.from({ length: 250 }, (_, i) => `stuck_${i}`);
  let isStuck = true;
  const { sweep, purged, faults } = openSwept([...stuck, 'a', 'b'], async (id) => {
    if (isStuck && id.startsWith('stuck')) throw new Error('busy');
  });
  await sweep.run();
  expect(purged).toEqual(['a', 'b']);
  expect(faults).toHaveLength(1);
  isStuck = false;
  await sweep.run();
  expect(purged).toHaveLength(252);
});

test('those who ask for a sweep while one runs share the next one, which begins after it', async () => {
  const asked: string[] = [];
  const begun = Promise.withResolvers<void>();
  const stuck = Promise.withResolvers<void>();
  const { sweep } = openSwept(['stuck'], async (id) => {
    asked.push(id);
    begun.resolve();
    await stuck.promise;
  });
  await begun.promise;
  const runs = Promise.all(Array.from({ length: 5 }, () => sweep.run()));
  stuck.reject(new Error('busy'));
  await runs;
  expect(asked).toEqual(['stuck', 'stuck']);
});

test('it ends in the middle when it is closed', async () => {
  const removed: string[] = [];
  const all = Array.from({ length: 100 }, (_, i) => `aud_${i}`);
  const { sweep, purged } = openSwept(all, async (id) => {
    if (id.startsWith('aud_')) removed.push(id);
    if (removed.length === 3) void sweep.close();
  });
  await expect.poll(() => removed.length).toBe(3);
  await sweep.close();
  expect(purged).toEqual(['aud_0', 'aud_1', 'aud_2']);
});
