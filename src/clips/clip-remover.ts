// Removes stored clips before they expire, for their owner or to make room; clip-sweep.ts removes expired clips. The row
// of a clip expires before the file is removed, so that no link leads to a missing file. A clip that cannot be removed
// is skipped, and `ClipSweep` tries again.
import { hasReason } from '../platform/errors.ts';
import { removeClip } from './beside-audio.ts';
import type { ClipRows, StoredClipRow } from './clip-rows.ts';
import type { ClipStore } from './stores/clip-store.ts';

/** Minimum lifetime of a clip after a response with its link. */
export const keptMsMin = 60_000;
/** Number of clips per query. */
const batch = 50;

export interface ClipRemoverOptions {
  clips: Pick<ClipStore, 'remove'>;
  index: Pick<ClipRows, 'listExpired' | 'listUnlinked' | 'listUnused' | 'expireUnused' | 'markPurged'>;
  onRemoved(clip: StoredClipRow): void;
  onFault(fault: unknown): void;
}

/** Removes the owner's audio. Returns false if there is none, or if it has expired. */
export async function removeAudio(
  { clips, index, room }: RemoveAudioOptions,
  audioId: string,
  ownerId: string,
): Promise<boolean> {
  const row = await index.markDeleted(audioId, ownerId, Date.now());
  if (!row) return false;
  await removeClip(clips, audioId);
  await index.markPurged([audioId], Date.now());
  room.noteRemoved({ accountId: row.accountId ?? row.ownerId, byteCount: row.byteCount });
  return true;
}

interface RemoveAudioOptions {
  clips: Pick<ClipStore, 'remove'>;
  index: Pick<ClipRows, 'markDeleted' | 'markPurged'>;
  room: { noteRemoved(row: Pick<StoredClipRow, 'accountId' | 'byteCount'>): void };
}

export type ClipRemover = ReturnType<typeof createClipRemover>;

export function createClipRemover({ clips, index, onRemoved, onFault }: ClipRemoverOptions) {
  let removedClips = 0;

  /** Removes clips until enough bytes are free. `remove` returns false for a clip that must stay. */
  const removeSome = async (
    listed: readonly StoredClipRow[],
    bytes: number,
    remove: (clipId: string) => Promise<boolean>,
  ): Promise<number> => {
    const removed: StoredClipRow[] = [];
    let freed = 0;
    for (const clip of listed) {
      if (freed >= bytes) break;
      const isRemoved = await remove(clip.clipId).catch(onFault);
      if (!isRemoved) continue;
      removed.push(clip);
      freed += clip.byteCount;
      onRemoved(clip);
    }
    if (removed.length > 0) {
      const ids = removed.map(({ clipId }) => clipId);
      await index.markPurged(ids, Date.now()).catch(onFault);
    }
    return freed;
  };

  return {
    /**
     * Removes expired clips of an account or of all accounts to free `bytes` bytes. Returns the number of freed bytes.
     */
    async removeExpired(bytes: number, accountId?: string): Promise<number> {
      const nowMs = Date.now();
      let after: StoredClipRow | undefined;
      for (;;) {
        const listed = await index.listExpired({ nowMs, limit: batch, after, accountId });
        const freed = await removeSome(listed, bytes, async (clipId) => {
          await removeClip(clips, clipId);
          return true;
        });
        after = listed.at(-1);
        if (freed > 0 || !after) return freed;
      }
    },
    /**
     * Removes the oldest clips of an account: either clips without a link, or clips whose link was not returned recently.
     * Returns the number of freed bytes.
     */
    async removeOldest(accountId: string, bytes: number, kind: 'unlinked' | 'linked'): Promise<number> {
      const beforeMs = Date.now() - keptMsMin;
      const listed = await (kind === 'unlinked'
        ? index.listUnlinked(accountId, batch)
        : index.listUnused(accountId, beforeMs, batch));
      return removeSome(listed, bytes, async (clipId) => {
        const expire = () => index.expireUnused(clipId, beforeMs);
        let isExpired = false;
        try {
          isExpired = await expire();
          if (isExpired) await removeClip(clips, clipId);
        } catch (error) {
          if (!hasReason(error, 'storage_full')) throw error;
          // If the database has no room to change the row, removing the file first makes room.
          await removeClip(clips, clipId);
          isExpired = await expire();
        }
        if (isExpired) removedClips++;
        return isExpired;
      });
    },
    /** Number of clips that were removed before they expired. */
    get removedClips(): number {
      return removedClips;
    },
  };
}
