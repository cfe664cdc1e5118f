// Speaks a chapter into its file. Segments that have not been stored yet are spoken and stored. All segments are then
// encoded together, so that interruptions of the work do not change the file.
import type { Caller } from '../../accounts.ts';
import { encodedRateOf } from '../../audio.ts';
import {
  bestCasting,
  createTextCutter,
  cutsOf,
  expectedBytesOf,
  type PlannedCut,
  type Speech,
  type SpeechPlan,
  type SpeechRequest,
  type TextPart,
} from '../../speech.ts';
import { storeClip } from '../stored-clip.ts';
import { storeChapterCaptions } from './chapter-captions.ts';
import { chapterLeaseMs, jobKeepHoursMax } from './job-limits.ts';
import { type JobSettings, toPartRequest } from './job-request.ts';
import type { ChapterRow, JobRow, JobRows, PartRow } from './job-rows.ts';
import { removeChapterAudio } from './job-sweep.ts';
import type { JobTools } from './job-tools.ts';
import { keepSegments } from './kept-segments.ts';
import { withReadingPauses } from './reading-pauses.ts';

/** Lifetime of an unfinished chapter's audio. If the process dies, only the expiry removes the audio. */
const keepMsUnfinished = 3_600_000;
/** Lifetime of a chapter's audio while its job runs. After the job ends, the audio is kept as long as the job. */
const keepMsMax = jobKeepHoursMax * 3_600_000;

export async function speakChapter(job: JobRow, row: ChapterRow, tools: JobTools, signal: AbortSignal): Promise<void> {
  const { rows, speech, clips, index, room, holder, limiter, findCaller, onFault } = tools;
  const { jobKey, chapter, partCount, title } = row;
  const id = { jobKey, chapter };
  const settings: JobSettings = JSON.parse(job.settings);
  const caller = await findCaller(job);
  // The voice was determined when the job was created, because an alias may move to another voice in the meantime.
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
    leaseUntilMs: async () => (await rows.now()) + chapterLeaseMs,
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
  // The signal is not checked after the last event, because a chapter whose file is stored should be finished.
  for await (const { type } of stored.events) if (type !== 'done') signal.throwIfAborted();
  const { clipId: audioId, seconds } = stored.clip;
  const sampleCount = Math.round(seconds * encodedRateOf(request.format, request.sampleRateHz));
  try {
    const done = { holder, audioId, seconds, sampleCount, keepUntilMs: Date.now() + keepMsMax };
    const segments = await rows.finishChapter(id, done);
    // Failures are only reported: the chapter is done, and the clip store's cleanup removes remaining segments.
    for (const key of segments) await clips.remove(key).catch(onFault);
  } catch (error) {
    await removeUnfinished(tools, id, { audioId, ownerId: job.ownerId }).catch(onFault);
    throw error;
  }
}

/** Removes the audio, unless the chapter was finished with this audio and only the store's answer was lost. */
async function removeUnfinished(
  tools: JobTools,
  { jobKey, chapter }: Pick<ChapterRow, 'jobKey' | 'chapter'>,
  { audioId, ownerId }: { audioId: string; ownerId: string },
): Promise<void> {
  const present = (await tools.rows.chaptersOf(jobKey)).find((each) => each.chapter === chapter);
  // If the chapter is finished with this audio after the check, the joiner finds the file missing, and the chapter is
  // spoken again.
  if (present?.audioId !== audioId) await removeChapterAudio(tools, audioId, ownerId);
}

interface ChapterPlanOptions {
  jobKey: string;
  chapter: number;
  partCount: number;
  title: string;
  /** Speech fields from the job and from the chapter. */
  speech: Readonly<Record<string, unknown>>;
  caller: Caller;
}

interface PlannedChapter {
  plan: SpeechPlan;
  request: SpeechRequest;
  /** Returns a part that is being spoken or was spoken recently. */
  partOf(part: number): PartRow;
}

async function planChapter(
  { speech, rows }: { speech: Pick<Speech, 'plan'>; rows: Pick<JobRows, 'findPart'> },
  { jobKey, chapter, partCount, title, speech: fields, caller }: ChapterPlanOptions,
): Promise<PlannedChapter> {
  const cutText = createTextCutter();
  const state: TextPart['state'] = { fence: '', within: false };
  const parts = new Map<number, PartRow>();
  const planPart = async (part: number) => {
    const row = await rows.findPart(jobKey, chapter, part);
    if (!row) throw new Error(`part ${part} of chapter ${chapter} is missing`);
    parts.set(part, row);
    // Keeps two earlier parts, whose last segments may still be in progress.
    parts.delete(part - 3);
    const planned = await speech.plan(toPartRequest(fields, {}, row.text), caller);
    const plan = await planned.planFor(bestCasting, { cutText, state, endsRequest: part === partCount - 1 });
    return { plan, request: planned.request };
  };
  const first = await planPart(0);
  async function* cuts(): AsyncGenerator<PlannedCut, undefined> {
    yield* cutsOf(first.plan.cuts);
    for (let part = 1; part < partCount; part++) yield* cutsOf((await planPart(part)).plan.cuts);
  }
  const { request } = first;
  // No pauses are added to an SSML document, which states its own pauses.
  const paused = request.markup === 'ssml' ? cuts() : withReadingPauses(cuts(), { ...request, title });
  return {
    plan: { ...first.plan, chunkCount: partCount, cuts: paused },
    request,
    partOf: (part) => parts.get(part)!,
  };
}
