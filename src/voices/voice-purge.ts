// Of a voice that nobody may hear any more, nothing is left to be heard: its stored audio is gone from the index at once,
// and its files right after. A file that cannot be removed now is removed by the sweep.
import type { ClipStore } from '../clips/clip-store.ts';
import type { ClipRows } from '../store/clip-rows.ts';

export interface VoicePurgeOptions {
  clips: Pick<ClipStore, 'remove'>;
  index: Pick<ClipRows, 'expireOfVoice' | 'markPurged'>;
}

export const createVoicePurge =
  ({ clips, index }: VoicePurgeOptions) =>
  async (voiceId: string): Promise<void> => {
    const clipIds = await index.expireOfVoice(voiceId, Date.now());
    const ends = await Promise.allSettled(clipIds.map((clipId) => clips.remove(clipId)));
    const removed = clipIds.filter((_, i) => ends[i]!.status === 'fulfilled');
    if (removed.length > 0) await index.markPurged(removed, Date.now());
  };
