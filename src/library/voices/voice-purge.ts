// Expires the stored audio of voices that may no longer be used. This happens in batches, so that other queries are not
// delayed. The cleanup of the clip store removes the files later.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ClipMemory, ClipRows, ClipSweep, JobRows } from '../../clips.ts';

const batchSize = 500;

interface VoicePurgeOptions {
  index: Pick<ClipRows, 'expireOfVoice'>;
  segments: Pick<JobRows, 'deleteSegmentsOfVoice'>;
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
