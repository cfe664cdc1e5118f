// Speaks a chapter into its file. Segments that have not been stored yet are spoken and stored. All segments are then
// encoded together, so that interruptions of the work do not change the file.
import type { LimitStatus } from '../../accounts.ts';
import { encodedRateOf } from '../../audio.ts';
import type { PlannedCut, SpeechFindings } from '../../speech.ts';
import { type MarkedText, type MarkupKind, readMarkup } from '../../text.ts';
import { removeAudio } from '../clip-remover.ts';
import { openClipWriter } from '../clip-writer.ts';
import { createChapterCaptions } from './chapter-captions.ts';
import { jobKeepMsMax, readingPausesMs } from './job-limits.ts';
import { type JobSettings, toPartRequest } from './job-request.ts';
import type { ChapterRow, JobRow, JobRows } from './job-rows.ts';
import type { JobTools } from './job-tools.ts';
import { keepSegments, type Taken } from './kept-segments.ts';

/** Lifetime of an unfinished chapter's audio. If the process dies, only the expiry removes the audio. */
const keepMsUnfinished = 3_600_000;

export async function speakChapter(job: JobRow, row: ChapterRow, tools: JobTools, signal: AbortSignal): Promise<void> {
  const { rows, speech, clips, index, room, holder, findCaller, onFault } = tools;
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
  const plan = await speech.plan({ ...asked, texts }, caller);
  const { request, main } = plan;
  const addPauses = (cuts: AsyncIterable<PlannedCut>) => withReadingPauses(cuts, { ...request, title: row.title });
  const keep = keepSegments({
    chapter: row,
    rows,
    clips,
    holder,
    take: (chars, until) => chargeJob(job, tools, chars, { signal: until }),
    offsetOf: parts.offsetOf,
    isVerified: request.verify !== undefined,
  });
  const bytes = plan.expectedBytes(row.chars);
  const options = { clips, index, room, bytes, caller, keepMs: keepMsUnfinished, isLinked: true, isCached: false };
  await using writer = await openClipWriter(options);
  const captions = request.captions.length > 0 ? createChapterCaptions(clips, main.languageCode, parts.of) : undefined;
  let findings: SpeechFindings = {};
  try {
    // No pauses are added to an SSML document, which states its own pauses.
    const kept = { caller, signal, keep, addPauses: request.markup === 'ssml' ? undefined : addPauses };
    for await (const event of speech.speakKept(plan, parts.feed, kept)) {
      await captions?.write(event);
      await writer.write(event);
      // The signal is not checked after the last event, because a chapter whose file is stored should be finished.
      if (event.type !== 'done') signal.throwIfAborted();
      else findings = event;
    }
  } finally {
    await captions?.close(writer.row !== undefined);
  }
  const { clipId: audioId, seconds } = writer.row!;
  const sampleCount = Math.round(seconds * encodedRateOf(request.format, request.sampleRateHz));
  try {
    const { suspects = [], unchecked = 0 } = findings;
    const starts = new Map(suspects.map((each) => [parts.offsetOf(each.chunkIndex) + each.offset, each.startSeconds]));
    // The end of the job sets the time until which its audio is kept.
    const keepUntilMs = Date.now() + jobKeepMsMax;
    const done = { holder, audioId, replacedId: row.audioId, seconds, sampleCount, starts, unchecked, keepUntilMs };
    const finished = await rows.finishChapter(id, done);
    // Removes the audio that the chapter had before a suspect was spoken again.
    if (row.audioId) await removeAudio(tools, row.audioId, job.ownerId).catch(onFault);
    // Failures are only reported: the chapter is done, and the clip store's cleanup removes remaining segments.
    for (const key of finished) await clips.remove(key).catch(onFault);
  } catch (error) {
    await removeUnfinished(tools, id, { audioId, ownerId: job.ownerId }).catch(onFault);
    throw error;
  }
}

/** Charges characters to the key of a job. Throws if the remaining quota is smaller. */
export async function chargeJob(
  job: JobRow,
  { limiter, findCaller }: Pick<JobTools, 'limiter' | 'findCaller'>,
  chars: number,
  { signal, reportLimits: report = () => {} }: { signal: AbortSignal; reportLimits?: (status: LimitStatus) => void },
): Promise<Taken> {
  const caller = await findCaller(job);
  const { end } = await limiter.takeSynthesis(caller, chars, { signal, report, isPart: true, needsNoSlot: true });
  return { keyId: caller.keyId, end };
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

/** Reads the parts of a chapter, each once. */
function createParts(
  rows: Pick<JobRows, 'findPart'>,
  { jobKey, chapter, partCount }: ChapterRow,
  markup: MarkupKind | undefined,
) {
  const parts = new Map<number, MarkedText>();
  const offsets: number[] = [];
  const readPart = async (index: number): Promise<MarkedText> => {
    const row = await rows.findPart(jobKey, chapter, index);
    if (!row) throw new Error(`part ${index} of chapter ${chapter} is missing`);
    offsets[index] = row.offset;
    return readMarkup(row.text, markup);
  };
  const feed = {
    async part(index: number) {
      const marked = parts.get(index) ?? (await readPart(index));
      parts.set(index, marked);
      // Keeps two earlier parts, whose last segments may still be in progress.
      parts.delete(index - 3);
      return { marked, isLast: index === partCount - 1 };
    },
    isDivided: false,
  };
  /** Returns a part that is being spoken or was spoken recently. */
  const of = (index: number) => parts.get(index)!;
  /** Start of a part in the chapter, in code points. */
  const offsetOf = (index: number) => offsets[index]!;
  return { feed, of, offsetOf };
}

// Adds pauses between the paragraphs of a chapter, longer pauses around headings, and the longest pauses between
// scenes. An empty line ends a paragraph, and a separate line without words, such as `* * *`, ends a scene. Pauses that
// the markup states are left unchanged.

interface ReadingPauseOptions {
  /** Title of the chapter. A paragraph at the start that is a part of the title is a heading. */
  title: string;
  speakingRate: number;
}

type Place = keyof typeof readingPausesMs;

/** Maximum length of a heading, in UTF-16 units. */
const headingCharsMax = 100;
const blankLine = /\n[^\S\n]*\n/;
/** A separate line without words between two paragraphs. */
const lineApart = /\n[^\S\n]*\n[^\S\n]*[^\s\p{L}\p{N}][^\n\p{L}\p{N}]*\n[^\S\n]*\n/u;
/** Marks of headings: a line under a paragraph, or number signs before the next paragraph. */
const underline = /^[^\n]*\n {0,3}(?:=+|-+)[^\S\n]*\n/;
const numberSigns = /(?:^|\n) {0,3}#{1,6}[^\S\n]+$/;
const unpunctuatedEnd = /[\p{L}\p{N}][\p{Pe}\p{Pf}"']*\s*$/u;

async function* withReadingPauses(
  cuts: AsyncIterable<PlannedCut>,
  { title, speakingRate }: ReadingPauseOptions,
): AsyncGenerator<PlannedCut, undefined> {
  const source = new WrittenText();
  const isHeading = createHeadingCheck(title);
  let held: PlannedCut | undefined;
  let isBegun = false;
  let paragraph = '';
  for await (const cut of cuts) {
    const { gap, own } = source.read(cut);
    const isMarked = numberSigns.test(gap);
    let pauseMs = 0;
    if (own !== '') {
      const ended = paragraph + gap.split('\n', 1)[0]!;
      const place = isBegun ? placeOf(gap, isHeading, ended) : undefined;
      if (place && cut.pauseBeforeMs === 0)
        pauseMs = readingPausesMs[place === 'paragraph' && isMarked ? 'heading' : place] / speakingRate;
      const begun = isMarked ? '# ' : '';
      const before = place || !isBegun ? begun : ended;
      paragraph = before.length <= headingCharsMax ? before + own : before;
      isBegun = true;
    }
    if (held) yield held.pauseAfterMs === 0 ? { ...held, pauseAfterMs: pauseMs } : held;
    held = pauseMs > 0 ? { ...cut, pauseBeforeMs: pauseMs } : cut;
  }
  if (held) yield held;
}

/** Returns the kind of break after a paragraph; undefined if the paragraph continues. */
function placeOf(gap: string, isHeading: (paragraph: string) => boolean, paragraph: string): Place | undefined {
  const isUnderlined = underline.test(gap);
  if (!isUnderlined && !blankLine.test(gap)) return undefined;
  const heads = isHeading(paragraph);
  if (lineApart.test(gap)) return 'scene';
  if (heads || (isUnderlined && isUnpunctuated(paragraph))) return 'heading';
  return isUnderlined ? 'scene' : 'paragraph';
}

const isUnpunctuated = (paragraph: string): boolean =>
  paragraph.length <= headingCharsMax && unpunctuatedEnd.test(paragraph);

/**
 * Returns a function that recognizes headings. The function must be called for each paragraph in order, because only
 * the first paragraphs of a chapter can be headings without marks.
 */
function createHeadingCheck(title: string): (paragraph: string) => boolean {
  const toWords = (text: string) =>
    text
      .toLowerCase()
      .replace(/[^\p{L}\p{N}]+/gu, ' ')
      .trim();
  const known = toWords(title);
  let isAtStart = true;
  return (paragraph) => {
    if (paragraph.startsWith('# ')) return true;
    const isShort = paragraph.length <= headingCharsMax;
    isAtStart &&= isShort && (isUnpunctuated(paragraph) || known.includes(toWords(paragraph)));
    return isAtStart;
  };
}

/** Reads the text of a chapter cut by cut. */
class WrittenText {
  #chunkIndex = -1;
  #chunk = '';
  /** End of the last words, in UTF-16 units and code points. */
  #index = 0;
  #offset = 0;
  #gap = '';

  /**
   * Returns the text between the previous words and the words of the cut, and the text of the cut. Both texts are empty
   * if the cut has no words.
   */
  read({ chunkIndex, chunk, cut }: PlannedCut): { gap: string; own: string } {
    if (chunkIndex !== this.#chunkIndex) {
      this.#gap += this.#chunk.slice(this.#index);
      [this.#chunkIndex, this.#chunk, this.#index, this.#offset] = [chunkIndex, chunk, 0, 0];
    }
    const [first, last] = [cut?.spans[0], cut?.spans.at(-1)];
    if (!first || !last) return { gap: '', own: '' };
    const gap = (this.#gap + this.#readTo(first.offset)).replace(/\r\n?/g, '\n');
    this.#gap = '';
    return { gap, own: this.#readTo(last.offset + last.length) };
  }

  /** Reads up to an offset. Reads nothing before the current offset, because two cuts may share a word. */
  #readTo(offset: number): string {
    const from = this.#index;
    for (; this.#offset < offset && this.#index < this.#chunk.length; this.#offset++)
      this.#index += this.#chunk.codePointAt(this.#index)! > 0xffff ? 2 : 1;
    return this.#chunk.slice(from, this.#index);
  }
}
