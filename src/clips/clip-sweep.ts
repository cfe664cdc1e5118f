// Removes the files of expired clips every minute, and their rows a week later. Once a day, also removes files that a
// crash left without a row. Restores the minimum free space. A clip that cannot be removed is skipped until the next
// sweep. A sweep works in small batches, so that requests are not delayed. Audio of voices that may no longer be used is
// expired first.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Failure, isOfOthers } from '../platform/errors.ts';
import { createPolling } from '../platform/runtime/polling.ts';
import { audioKeyOf, removeClip } from './beside-audio.ts';
import type { ClipMemory } from './clip-memory.ts';
import type { ClipRoom } from './clip-room.ts';
import type { ClipRows, StoredClipRow } from './clip-rows.ts';
import type { JobSegmentRows } from './jobs/job-segment-rows.ts';
import type { ClipStore } from './stores/clip-store.ts';

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
/** Time for which the URL of an expired clip returns `audio_expired`. Afterwards, the URL returns `not_found`. */
const expiredRowsMs = 7 * dayMs;
/** Largest number of rows of purged clips. */
const expiredRowsMax = 50_000;
const batch = 100;

export type ClipSweep = ReturnType<typeof openClipSweep>;

interface ClipSweepOptions {
  clips: ClipStore;
  index: Pick<ClipRows, 'find' | 'listExpired' | 'markPurged' | 'deletePurged' | 'deletePurgedBeyond'>;
  room: Pick<ClipRoom, 'noteRemoved' | 'restore'>;
  /** Whether a file without its own row is needed. Default: no such file is needed. */
  isNeeded?(key: string): Promise<boolean>;
  onFault(fault: unknown): void;
}

export function openClipSweep(options: ClipSweepOptions) {
  const { clips, index, room, isNeeded = async () => false, onFault } = options;
  const removeExpired = createExpiredRemoval(options);
  /** Keys of discarded files that have not been removed yet. */
  const discarded = new Set<string>();
  let sweptLeftoversAt = 0;
  let isClosed = false;

  const removeDiscarded = async (): Promise<unknown[]> => {
    const faults: unknown[] = [];
    for (const key of discarded) {
      if (isClosed) break;
      await clips.remove(key).then(
        () => discarded.delete(key),
        (fault) => faults.push(fault),
      );
    }
    return faults;
  };

  const sweep = async () => {
    const faults = [...(await removeDiscarded()), ...(await removeExpired(() => isClosed))];
    if (faults.length > 0) onFault(toFault(faults));
    const hasRoom = isClosed || (await room.restore());
    const beforeMs = Date.now() - (hasRoom ? expiredRowsMs : 0);
    while (!isClosed && (await index.deletePurged(beforeMs, batch)) === batch) await nextTurn();
    while (!isClosed && (await index.deletePurgedBeyond(expiredRowsMax, batch)) === batch) await nextTurn();
    if (isClosed || Date.now() - sweptLeftoversAt < dayMs) return;
    sweptLeftoversAt = Date.now();
    const isKnown = async (key: string) => (await index.find(audioKeyOf(key))) !== undefined || (await isNeeded(key));
    await clips.sweep(async (key) => isClosed || (await isKnown(key)));
  };

  const polling = createPolling(sweep, { everyMs: minuteMs, onFault });
  void polling.wake();
  return {
    /** Sweeps after the running sweep. All calls before the start of the new sweep share the new sweep. */
    run: polling.wake,
    /** Leaves the files for the next sweep to remove. No row may refer to these files. */
    discard(keys: readonly string[]): void {
      for (const key of keys) discarded.add(key);
    },
    async close(): Promise<void> {
      isClosed = true;
      await polling.close();
    },
  };
}

function createExpiredRemoval({ clips, index, room }: ClipSweepOptions) {
  /** Returns the errors that prevented removals. */
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

  return async (isClosed: () => boolean): Promise<unknown[]> => {
    const nowMs = Date.now();
    const faults: unknown[] = [];
    let after: StoredClipRow | undefined;
    do {
      const expired = await index.listExpired({ nowMs, limit: batch, after });
      faults.push(...(await remove(expired, isClosed)));
      after = expired.length === batch ? expired.at(-1) : undefined;
      await nextTurn();
    } while (after && !isClosed());
    return faults;
  };
}

function toFault(faults: readonly unknown[]): Error {
  const message = `${faults.length} expired clips were not removed; trying again later`;
  // An unreachable store is not a fault of the program.
  const isStore = faults.every(isOfOthers);
  return isStore
    ? new Failure('storage_unavailable', { message }, faults[0])
    : new Error(message, { cause: faults[0] });
}

/** Number of clips of a voice that are expired at once. */
const batchSize = 500;

interface VoicePurgeOptions {
  index: Pick<ClipRows, 'expireOfVoice'>;
  segments: Pick<JobSegmentRows, 'deleteSegmentsOfVoice'>;
  memory: Pick<ClipMemory, 'clear'>;
  sweep: Pick<ClipSweep, 'discard' | 'run'>;
}

export const createVoicePurge =
  ({ index, segments, memory, sweep }: VoicePurgeOptions) =>
  /** For each voice in `due`, expires the audio that was generated before the given time. */
  async (due: ReadonlyMap<string, number>): Promise<void> => {
    try {
      for (const [voiceId, madeBeforeMs] of due) {
        // SQLite and PostgreSQL can store this time, but not `Infinity`.
        const before = Math.min(madeBeforeMs, Number.MAX_SAFE_INTEGER);
        while ((await index.expireOfVoice(voiceId, before, batchSize)) === batchSize) await nextTurn();
      }
    } finally {
      memory.clear();
    }
    for (const voiceId of due.keys()) sweep.discard(await segments.deleteSegmentsOfVoice(voiceId));
    void sweep.run();
  };
