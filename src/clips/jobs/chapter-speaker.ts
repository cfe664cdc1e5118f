// Speaks a chapter into its file. Segments that have not been stored yet are spoken and stored. All segments are then
// encoded together, so that interruptions of the work do not change the file.
import { encodedRateOf } from '../../audio.ts';
import { bestCasting, cutsOf, expectedBytesOf, type Feed } from '../../speech.ts';
import { type MarkedText, type MarkupKind, readMarkup } from '../../text.ts';
import { removeAudio } from '../clip-remover.ts';
import { openClipWriter } from '../clip-writer.ts';
import { createChapterCaptions } from './chapter-captions.ts';
import { chapterLeaseMs, jobKeepHoursMax } from './job-limits.ts';
import { type JobSettings, toPartRequest } from './job-request.ts';
import type { ChapterRow, JobRow, JobRows } from './job-rows.ts';
import type { JobTools } from './job-tools.ts';
import { keepSegments } from './kept-segments.ts';
import { withReadingPauses } from './reading-pauses.ts';

/** Lifetime of an unfinished chapter's audio. If the process dies, only the expiry removes the audio. */
const keepMsUnfinished = 3_600_000;
/** Lifetime of a chapter's audio while its job runs. After the job ends, the audio is kept as long as the job. */
const keepMsMax = jobKeepHoursMax * 3_600_000;

export async function speakChapter(job: JobRow, row: ChapterRow, tools: JobTools, signal: AbortSignal): Promise<void> {
  const { rows, speech, clips, index, room, holder, limiter, findCaller, onFault } = tools;
  const { jobKey, chapter } = row;
  const id = { jobKey, chapter };
  const settings: JobSettings = JSON.parse(job.settings);
  const caller = await findCaller(job);
  // The voice was determined when the job was created, because an alias may move to another voice in the meantime.
  const fields = { ...settings.speech, ...JSON.parse(row.speech), voice_id: row.voiceId };
  const asked = toPartRequest(fields, {});
  const parts = createParts(rows, row, asked.markup);
  // A document may name more voices. It is never divided into parts.
  const texts = asked.markup === 'ssml' ? [(await parts.feed.part(0)).marked] : [];
  const { request, main, cut } = await speech.plan({ ...asked, texts }, caller);
  const plan = await cut(bestCasting, parts.feed);
  // No pauses are added to an SSML document, which states its own pauses.
  const cuts =
    request.markup === 'ssml' ? plan.cuts : withReadingPauses(cutsOf(plan.cuts), { ...request, title: row.title });
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
    offsetOf: (part) => parts.of(part).offset,
  });
  const bytes = expectedBytesOf({ ...request, chars: row.chars });
  const options = { clips, index, room, bytes, caller, keepMs: keepMsUnfinished, isLinked: true, isCached: false };
  await using writer = await openClipWriter(options);
  const textOf = (part: number) => parts.of(part).marked;
  const captions = request.captions.length > 0 ? createChapterCaptions(clips, main.languageCode, textOf) : undefined;
  try {
    for await (const event of speech.speakKept({ ...plan, cuts }, caller, signal, keep)) {
      await captions?.write(event);
      await writer.write(event);
      // The signal is not checked after the last event, because a chapter whose file is stored should be finished.
      if (event.type !== 'done') signal.throwIfAborted();
    }
  } finally {
    await captions?.close(writer.row !== undefined);
  }
  const { clipId: audioId, seconds } = writer.row!;
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
  if (present?.audioId !== audioId) await removeAudio(tools, audioId, ownerId);
}

interface Part {
  /** Start of the part in the chapter, in code points. */
  offset: number;
  marked: MarkedText;
}

/** Reads the parts of a chapter, each once. */
function createParts(
  rows: Pick<JobRows, 'findPart'>,
  { jobKey, chapter, partCount }: ChapterRow,
  markup: MarkupKind | undefined,
) {
  const parts = new Map<number, Part>();
  const readPart = async (index: number): Promise<Part> => {
    const row = await rows.findPart(jobKey, chapter, index);
    if (!row) throw new Error(`part ${index} of chapter ${chapter} is missing`);
    return { offset: row.offset, marked: readMarkup(row.text, markup) };
  };
  const feed: Feed = {
    async part(index) {
      const part = parts.get(index) ?? (await readPart(index));
      parts.set(index, part);
      // Keeps two earlier parts, whose last segments may still be in progress.
      parts.delete(index - 3);
      return { marked: part.marked, isLast: index === partCount - 1 };
    },
    isDivided: false,
  };
  /** Returns a part that is being spoken or was spoken recently. */
  const of = (index: number) => parts.get(index)!;
  return { feed, of };
}
