// Deletes the stored audio of a voice that must not be heard any more: first from the index, in batches so that other
// queries are not delayed, then the files, by a sweep.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ClipSweep } from '../delivery/clip-sweep.ts';
import type { ClipRows } from '../store/clip-rows.ts';

const batchSize = 500;

export const createVoicePurge =
  (index: Pick<ClipRows, 'expireOfVoice'>, sweep: Pick<ClipSweep, 'run'>) =>
  async (voiceId: string, madeBeforeMs: number): Promise<void> => {
    // SQLite and PostgreSQL can store this time; `Infinity` they cannot.
    const before = Math.min(madeBeforeMs, Number.MAX_SAFE_INTEGER);
    while ((await index.expireOfVoice(voiceId, before, batchSize)) === batchSize) await nextTurn();
    await sweep.run();
  };
