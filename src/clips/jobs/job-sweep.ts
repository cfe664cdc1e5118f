// Deletes expired jobs with their audio and rows. Segments of ended jobs are deleted earlier, because no quota counts
// them and they are large.

import { createPolling } from '../../platform/runtime/polling.ts';
import { ownTurn } from '../../platform/runtime/steps.ts';
import { removeAudio } from '../clip-remover.ts';
import { jobSweepMs, leftSegmentsMs } from './job-limits.ts';
import type { JobRow } from './job-rows.ts';
import type { JobTools } from './job-tools.ts';

/** Number of jobs per round. */
const batch = 20;

export function openJobSweep(tools: Pick<JobTools, 'rows' | 'clips' | 'index' | 'room' | 'onFault'>) {
  const { rows, onFault } = tools;
  let isClosed = false;
  const sweepAll = async <One>(list: () => Promise<One[]>, remove: (one: One) => Promise<void>) => {
    for (;;) {
      const found = isClosed ? [] : await list();
      for (const one of found) await remove(one);
      if (found.length < batch) return;
    }
  };
  const sweep = async () => {
    await sweepAll(
      () => rows.listExpired(Date.now(), batch),
      (job) => removeJob(tools, job),
    );
    const endedMs = Date.now() - leftSegmentsMs;
    await sweepAll(
      () => rows.listLeavingSegments(endedMs, batch),
      (jobKey) => removeLeftSegments(tools, jobKey, endedMs),
    );
  };
  const polling = createPolling(sweep, { everyMs: jobSweepMs, onFault });
  return {
    run: polling.wake,
    async close(): Promise<void> {
      isClosed = true;
      await polling.close();
    },
  };
}

type Removing = Pick<JobTools, 'rows' | 'clips' | 'index' | 'room'>;

/** Removes the audio of all segments of a job. */
async function removeSegments({ rows, clips }: Pick<Removing, 'rows' | 'clips'>, jobKey: string): Promise<void> {
  for (const key of await rows.segmentClipsOf(jobKey)) await clips.remove(key);
}

/** Removes all segments of a job that ended before `endedMs`. */
async function removeLeftSegments(
  tools: Pick<Removing, 'rows' | 'clips'>,
  jobKey: string,
  endedMs: number,
): Promise<void> {
  await removeSegments(tools, jobKey);
  // If the job was queued again in the meantime, the rows of its segments stay, and the segments are spoken again.
  await tools.rows.deleteLeftSegments(jobKey, endedMs);
}

/** Removes the segments of a voice that may no longer be used. */
export async function removeSegmentsOfVoice(
  { rows, clips }: { rows: Pick<JobTools['rows'], 'deleteSegmentsOfVoice'>; clips: Pick<JobTools['clips'], 'remove'> },
  voiceId: string,
): Promise<void> {
  for (const key of await rows.deleteSegmentsOfVoice(voiceId)) await clips.remove(key);
}

/** Removes a job with its audio and rows. */
export async function removeJob(tools: Removing, { jobKey, ownerId, audioId }: JobRow): Promise<void> {
  const { rows } = tools;
  const chapters = await rows.chaptersOf(jobKey);
  await removeSegments(tools, jobKey);
  for (const each of [audioId, ...chapters.map((chapter) => chapter.audioId)])
    if (each) await removeAudio(tools, each, ownerId);
  // Yields to the event loop before each deletion, because erasing many rows takes long.
  await ownTurn();
  await rows.remove(jobKey);
}
