// Removes what was made for jobs: audio of chapters and of the whole, with its captions, and the sound of segments.
import { removeClip } from '../delivery/stored-captions.ts';
import { ownTurn } from '../runtime/steps.ts';
import type { JobRow } from '../store/job-rows.ts';
import type { JobTools } from './job-tools.ts';

type Removing = Pick<JobTools, 'rows' | 'clips' | 'index' | 'room'>;

/** Removes stored audio, unless it has expired already. */
export async function removeChapterAudio(
  { clips, index, room }: Omit<Removing, 'rows'>,
  audioId: string,
  ownerId: string,
): Promise<void> {
  const clip = await index.markDeleted(audioId, ownerId, Date.now());
  if (!clip) return;
  await removeClip(clips, audioId);
  await index.markPurged([audioId], Date.now());
  room.noteRemoved({ accountId: clip.accountId ?? clip.ownerId, byteCount: clip.byteCount });
}

/** Removes the sound of all segments of a job. */
async function removeSegments({ rows, clips }: Pick<Removing, 'rows' | 'clips'>, jobKey: string): Promise<void> {
  for (const key of await rows.segmentClipsOf(jobKey)) await clips.remove(key);
}

/** Removes all segments of a job that had ended without success by then, and was not queued again. */
export async function removeLeftSegments(
  tools: Pick<Removing, 'rows' | 'clips'>,
  jobKey: string,
  endedMs: number,
): Promise<void> {
  await removeSegments(tools, jobKey);
  // Where it was queued meanwhile, its segments have no sound, and are spoken again.
  await tools.rows.deleteLeftSegments(jobKey, endedMs);
}

/** Removes the sound of a voice that may not be heard any more. */
export async function removeSegmentsOfVoice(
  { rows, clips }: { rows: Pick<JobTools['rows'], 'deleteSegmentsOfVoice'>; clips: Pick<JobTools['clips'], 'remove'> },
  voiceId: string,
): Promise<void> {
  for (const key of await rows.deleteSegmentsOfVoice(voiceId)) await clips.remove(key);
}

/** Removes a job, with everything that was made for it. */
export async function removeJob(tools: Removing, { jobKey, ownerId, audioId }: JobRow): Promise<void> {
  const { rows } = tools;
  const chapters = await rows.chaptersOf(jobKey);
  await removeSegments(tools, jobKey);
  for (const each of [audioId, ...chapters.map((chapter) => chapter.audioId)])
    if (each) await removeChapterAudio(tools, each, ownerId);
  // The rows of many jobs that are deleted at once are erased in a turn of the event loop each.
  await ownTurn();
  await rows.remove(jobKey);
}
