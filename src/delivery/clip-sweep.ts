// Removes expired clips: their files every minute, their rows a week later, and once a day the files that a crash left
// without a row. One sweep runs at a time, in small batches, so that requests do not wait for it.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ClipStore } from '../clips/clip-store.ts';
import type { ClipRows } from '../store/clip-rows.ts';
import { audioOf, removeClip } from './stored-captions.ts';

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
/** How long a URL answers `audio_expired`, before it answers `not_found`. */
const expiredRowsMs = 7 * dayMs;
const batch = 100;

export type ClipSweep = ReturnType<typeof openClipSweep>;

export function openClipSweep(options: {
  clips: ClipStore;
  index: Pick<ClipRows, 'find' | 'listExpired' | 'markPurged' | 'deletePurged'>;
  onFault(fault: unknown): void;
}) {
  const { clips, index, onFault } = options;
  let sweptLeftoversAt = 0;
  let isClosed = false;

  /** Returns the clips that were removed; the others are tried again a minute later. */
  const remove = async (clipIds: readonly string[]): Promise<string[]> => {
    const removed: string[] = [];
    for (const clipId of clipIds) {
      if (isClosed) break;
      await removeClip(clips, clipId).then(() => removed.push(clipId), onFault);
    }
    return removed;
  };

  const sweep = async () => {
    for (;;) {
      const purged = await remove(await index.listExpired(Date.now(), batch));
      if (purged.length > 0) await index.markPurged(purged, Date.now());
      const forgotten = await index.deletePurged(Date.now() - expiredRowsMs, batch);
      if (isClosed || (purged.length < batch && forgotten < batch)) break;
      await nextTurn();
    }
    if (isClosed || Date.now() - sweptLeftoversAt < dayMs) return;
    sweptLeftoversAt = Date.now();
    await clips.sweep(async (key) => isClosed || (await index.find(audioOf(key))) !== undefined);
  };

  let running = Promise.resolve();
  /** Sweeps now, after the sweep that is running. */
  const run = (): Promise<void> => {
    running = running.then(sweep).catch(onFault);
    return running;
  };
  void run();
  const timer = setInterval(run, minuteMs);
  timer.unref();
  return {
    run,
    async close(): Promise<void> {
      isClosed = true;
      clearInterval(timer);
      await running;
    },
  };
}
