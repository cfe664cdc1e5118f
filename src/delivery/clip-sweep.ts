// Removes expired clips: their files every minute, their rows a week later, and once a day the files that a crash left
// without a row; and restores the free space that stored audio must leave. A clip that cannot be removed is passed over
// until the next sweep. One sweep runs at a time, in small batches, so that requests do not wait for it.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ClipStore } from '../clips/clip-store.ts';
import { Failure, isOfOthers } from '../errors.ts';
import type { StoredClipRow } from '../store/clip-removal-rows.ts';
import type { ClipRows } from '../store/clip-rows.ts';
import type { ClipRoom } from './clip-room.ts';
import { audioOf, removeClip } from './stored-captions.ts';

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
/** How long a URL answers `audio_expired`, before it answers `not_found`. */
const expiredRowsMs = 7 * dayMs;
/** The rows of purged clips that are kept, whatever their age. */
const expiredRowsMax = 50_000;
const batch = 100;

export type ClipSweep = ReturnType<typeof openClipSweep>;

export interface ClipSweepOptions {
  clips: ClipStore;
  index: Pick<ClipRows, 'find' | 'listExpired' | 'markPurged' | 'deletePurged' | 'deletePurgedBeyond'>;
  room: Pick<ClipRoom, 'noteRemoved' | 'restore'>;
  /** Whether a file without a row of its own is needed. Default: none is. */
  isNeeded?(key: string): Promise<boolean>;
  onFault(fault: unknown): void;
}

export function openClipSweep(options: ClipSweepOptions) {
  const { clips, index, room, isNeeded = async () => false, onFault } = options;
  const removeExpired = createExpiredRemoval(options);
  let sweptLeftoversAt = 0;
  let isClosed = false;

  const sweep = async () => {
    await removeExpired(() => isClosed);
    const hasRoom = isClosed || (await room.restore());
    const beforeMs = Date.now() - (hasRoom ? expiredRowsMs : 0);
    while (!isClosed && (await index.deletePurged(beforeMs, batch)) === batch) await nextTurn();
    while (!isClosed && (await index.deletePurgedBeyond(expiredRowsMax, batch)) === batch) await nextTurn();
    if (isClosed || Date.now() - sweptLeftoversAt < dayMs) return;
    sweptLeftoversAt = Date.now();
    const isKnown = async (key: string) => (await index.find(audioOf(key))) !== undefined || (await isNeeded(key));
    await clips.sweep(async (key) => isClosed || (await isKnown(key)));
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

function createExpiredRemoval({ clips, index, room, onFault }: ClipSweepOptions) {
  /** Returns what kept clips from being removed. */
  const remove = async (expired: readonly StoredClipRow[], isClosed: () => boolean): Promise<unknown[]> => {
    const removed: StoredClipRow[] = [];
    const faults: unknown[] = [];
    for (const clip of expired) {
      if (isClosed()) break;
      await removeClip(clips, clip.clipId).then(
        () => removed.push(clip),
        (fault) => faults.push(fault),
      );
    }
    const ids = removed.map(({ clipId }) => clipId);
    if (ids.length > 0) await index.markPurged(ids, Date.now());
    for (const clip of removed) room.noteRemoved(clip);
    return faults;
  };

  return async (isClosed: () => boolean): Promise<void> => {
    const nowMs = Date.now();
    const faults: unknown[] = [];
    let after: StoredClipRow | undefined;
    do {
      const expired = await index.listExpired({ nowMs, limit: batch, after });
      faults.push(...(await remove(expired, isClosed)));
      after = expired.length === batch ? expired.at(-1) : undefined;
      await nextTurn();
    } while (after && !isClosed());
    if (faults.length === 0) return;
    const message = `${faults.length} expired clips could not be removed; they are tried again`;
    // A store that is away is no fault of the program.
    const isStore = faults.every(isOfOthers);
    onFault(
      isStore ? new Failure('storage_unavailable', { message }, faults[0]) : new Error(message, { cause: faults[0] }),
    );
  };
}
