// Of a voice that nobody may hear any more, nothing is left to be heard: its stored audio is gone from the index at once, a
// batch at a time so that nobody waits for it, and its files by the sweep right after.
import { setImmediate as breathe } from 'node:timers/promises';
import type { ClipSweep } from '../delivery/clip-sweep.ts';
import type { ClipRows } from '../store/clip-rows.ts';

export interface VoicePurgeOptions {
  index: Pick<ClipRows, 'expireOfVoice'>;
  sweep: Pick<ClipSweep, 'run'>;
}

const batch = 500;

export const createVoicePurge =
  ({ index, sweep }: VoicePurgeOptions) =>
  async (voiceId: string, madeBeforeMs: number): Promise<void> => {
    // A time that both databases can hold.
    const before = Math.min(madeBeforeMs, Number.MAX_SAFE_INTEGER);
    while ((await index.expireOfVoice(voiceId, before, batch)) === batch) await breathe();
    await sweep.run();
  };
