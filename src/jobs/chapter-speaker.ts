// Speaks a chapter into its file: segments that were kept are read, the others are spoken and kept, and all are encoded in one
// pass, so that the file is the same however often the work was interrupted.
import { encodedRateOf } from '../audio/book-file/book-file.ts';
import { storeClip } from '../delivery/stored-clip.ts';
import { expectedBytesOf } from '../speech/estimate.ts';
import type { ChapterRow, JobRow } from '../store/job-rows.ts';
import { storeChapterCaptions } from './chapter-captions.ts';
import { planChapter } from './chapter-plan.ts';
import type { JobSettings } from './job-request.ts';
import type { JobTools } from './job-tools.ts';
import { keepSegments } from './kept-segments.ts';
import { chapterLeaseMs, jobKeepHoursMax } from './limits.ts';
import { removeChapterAudio } from './removal.ts';

/** Of a chapter that is not finished. Where its process dies then, or the store is away, nobody else removes its audio. */
const keepMsUnfinished = 3_600_000;
/** Of a chapter while its job runs; then it is kept as long as the job. */
const keepMsMax = jobKeepHoursMax * 3_600_000;

export async function speakChapter(job: JobRow, row: ChapterRow, tools: JobTools, signal: AbortSignal): Promise<void> {
  const { rows, speech, clips, index, room, holder, limiter, findCaller, onFault } = tools;
  const { jobKey, chapter, partCount, title } = row;
  const id = { jobKey, chapter };
  const settings: JobSettings = JSON.parse(job.settings);
  const caller = await findCaller(job);
  // An alias may move to another voice meanwhile: who reads the chapter was found when the job was made.
  const fields = { ...settings.speech, ...JSON.parse(row.speech), voice_id: row.voiceId };
  const { plan, request, partOf } = await planChapter(tools, { ...id, partCount, title, speech: fields, caller });
  const take = async (chars: number, until: AbortSignal) => {
    const present = await findCaller(job);
    const options = { signal: until, report() {}, isPart: true, needsNoSlot: true };
    const { end } = await limiter.takeSynthesis(present, chars, options);
    return { keyId: present.keyId, end };
  };
  const keep = keepSegments({
    id,
    rows,
    clips,
    holder,
    leaseUntilMs: () => Date.now() + chapterLeaseMs,
    take,
    offsetOf: (part) => partOf(part).offset,
  });
  const bytes = expectedBytesOf({ ...request, chars: row.chars });
  const reservation = await room.reserve({ accountId: caller.accountId, bytes, isLinked: true });
  const spoken = speech.speakKept(plan, caller, signal, keep);
  const { markup, captions } = request;
  const { languageCode } = plan.main;
  const textOf = (part: number) => partOf(part).text;
  const events = captions.length > 0 ? storeChapterCaptions(spoken, { clips, markup, languageCode, textOf }) : spoken;
  const stored = storeClip(events, {
    clips,
    index,
    reservation,
    caller,
    keepMs: keepMsUnfinished,
    isLinked: true,
    toCacheKey: () => null,
  });
  // A chapter whose file is stored is finished, or found to be another's.
  for await (const { type } of stored.events) if (type !== 'done') signal.throwIfAborted();
  const { clipId: audioId, seconds } = stored.clip;
  const sampleCount = Math.round(seconds * encodedRateOf(request.format, request.sampleRateHz));
  try {
    const done = { holder, audioId, seconds, sampleCount, keepUntilMs: Date.now() + keepMsMax };
    const segments = await rows.finishChapter(id, done);
    // The chapter is done: what cannot be removed is left to the sweep.
    for (const key of segments) await clips.remove(key).catch(onFault);
  } catch (error) {
    await removeUnfinished(tools, id, { audioId, ownerId: job.ownerId }).catch(onFault);
    throw error;
  }
}

/** Removes audio that the chapter is not finished with. It may be after all, where the answer of the store was lost. */
async function removeUnfinished(
  tools: JobTools,
  { jobKey, chapter }: Pick<ChapterRow, 'jobKey' | 'chapter'>,
  { audioId, ownerId }: { audioId: string; ownerId: string },
): Promise<void> {
  const present = (await tools.rows.chaptersOf(jobKey)).find((each) => each.chapter === chapter);
  // Should it be finished only after this look, then joining finds its file gone, and has it spoken again.
  if (present?.audioId !== audioId) await removeChapterAudio(tools, audioId, ownerId);
}
