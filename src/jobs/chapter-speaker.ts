// Speaks a chapter into its file: segments that were kept are read, the others are spoken and kept, and all are encoded in one
// pass, so that the file is the same however often the work was interrupted.
import { encodedRateOf } from '../audio/book-file/timeline.ts';
import { storeClip } from '../delivery/stored-clip.ts';
import { expectedBytesOf } from '../speech/estimate.ts';
import type { ChapterRow, JobRow } from '../store/job-rows.ts';
import { LeaseLost } from '../store/job-segment-rows.ts';
import { storeChapterCaptions } from './chapter-captions.ts';
import { planChapter } from './chapter-plan.ts';
import type { JobSettings } from './job-request.ts';
import type { JobTools } from './job-tools.ts';
import { keepSegments } from './kept-segments.ts';
import { chapterLeaseMs, jobKeepHoursMax } from './limits.ts';
import { removeChapterAudio } from './removal.ts';

/** Of a chapter while its job runs; then it is kept as long as the job. */
const keepMsMax = jobKeepHoursMax * 3_600_000;

export async function speakChapter(job: JobRow, row: ChapterRow, tools: JobTools, signal: AbortSignal): Promise<void> {
  const { rows, speech, clips, index, room, holder, limiter, findCaller, onFault } = tools;
  const { jobKey, chapter, partCount, title } = row;
  const id = { jobKey, chapter };
  const settings: JobSettings = JSON.parse(job.settings);
  const caller = await findCaller(job);
  const fields = { ...settings.speech, ...JSON.parse(row.speech) };
  const { plan, request, partOf } = await planChapter(tools, { ...id, partCount, title, speech: fields, caller });
  const take = async (chars: number, until: AbortSignal) => {
    const present = await findCaller(job);
    const { end } = await limiter.takeSynthesis(present, chars, { signal: until, report() {}, refundsRequest: false });
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
    keepMs: keepMsMax,
    isLinked: true,
    toCacheKey: () => null,
  });
  for await (const _ of stored.events) signal.throwIfAborted();
  const { clipId: audioId, seconds } = stored.clip;
  const sampleCount = Math.round(seconds * encodedRateOf(request.format, request.sampleRateHz));
  try {
    const segments = await rows.finishChapter(id, { holder, audioId, seconds, sampleCount });
    // The chapter is done: what cannot be removed is left to the sweep.
    for (const key of segments) await clips.remove(key).catch(onFault);
  } catch (error) {
    if (error instanceof LeaseLost) await removeChapterAudio(tools, audioId, job.ownerId);
    throw error;
  }
}
