// What has had its day goes, whatever stands in the way of some of it, and a sweep ends when the service does.
import { expect, test } from 'vitest';
import type { ClipStore } from '../../src/clips/clip-store.ts';
import { openClipSweep } from '../../src/delivery/clip-sweep.ts';

function openSwept(clipIds: string[], remove: (clipId: string) => Promise<void>) {
  const purged: string[] = [];
  const faults: unknown[] = [];
  const clips = { remove, sweep: async () => 0 } as Partial<ClipStore> as ClipStore;
  const index = {
    find: async () => undefined,
    listExpired: async (_nowMs: number, limit: number) => clipIds.filter((id) => !purged.includes(id)).slice(0, limit),
    markPurged: async (ids: readonly string[]) => void purged.push(...ids),
    deletePurged: async () => 0,
  };
  return { sweep: openClipSweep({ clips, index, onFault: (fault) => faults.push(fault) }), purged, faults };
}

test('a clip that cannot be removed stops no other', async () => {
  const stuck = new Error('busy');
  const { purged, faults } = openSwept(['a', 'stuck', 'b'], async (id) => {
    if (id === 'stuck') throw stuck;
  });
  await expect.poll(() => purged).toEqual(['a', 'b']);
  expect(faults).toEqual([stuck]);
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
