// Plans a chapter part by part, as its parts are spoken, into one plan: sentences, code blocks and pauses go on across parts.
// One engine speaks all of it, the best for the voice: where that one cannot speak, a job waits for it, so that nobody hears
// another voice from one sentence to the next.
import { bestCasting, type SpeechPlan, type TextPart } from '../speech/plan.ts';
import type { Caller, SpeechRequest } from '../speech/request.ts';
import type { Speech } from '../speech/synthesize.ts';
import { createTextCutter, type PlannedCut } from '../speech/text-cutter.ts';
import type { JobRows, PartRow } from '../store/job-rows.ts';
import { toPartRequest } from './job-request.ts';
import { withReadingPauses } from './reading-pauses.ts';

export interface ChapterPlanOptions {
  jobKey: string;
  chapter: number;
  partCount: number;
  title: string;
  /** Fields of speech, of the job and of the chapter. */
  speech: Readonly<Record<string, unknown>>;
  caller: Caller;
}

export interface PlannedChapter {
  plan: SpeechPlan;
  request: SpeechRequest;
  /** A part that is being spoken, or was last. */
  partOf(part: number): PartRow;
}

export async function planChapter(
  { speech, rows }: { speech: Pick<Speech, 'plan'>; rows: Pick<JobRows, 'findPart'> },
  { jobKey, chapter, partCount, title, speech: fields, caller }: ChapterPlanOptions,
): Promise<PlannedChapter> {
  const cutText = createTextCutter();
  const state: TextPart['state'] = { fence: '', within: false };
  const parts = new Map<number, PartRow>();
  const planPart = async (part: number) => {
    const row = await rows.findPart(jobKey, chapter, part);
    if (!row) throw new Error(`part ${part} of chapter ${chapter} is not there`);
    parts.set(part, row);
    // The one before is still being heard, and so may be the end of that before it.
    parts.delete(part - 3);
    const planned = await speech.plan(toPartRequest(fields, {}, row.text), caller);
    const plan = planned.planFor(bestCasting, { cutText, state, endsRequest: part === partCount - 1 });
    return { plan, request: planned.request };
  };
  const first = await planPart(0);
  async function* cuts(): AsyncGenerator<PlannedCut, undefined> {
    yield* cutsOf(first.plan);
    for (let part = 1; part < partCount; part++) yield* cutsOf((await planPart(part)).plan);
  }
  const { request } = first;
  // A document states its own pauses.
  const paused = request.markup === 'ssml' ? cuts() : withReadingPauses(cuts(), { ...request, title });
  return {
    plan: { ...first.plan, chunkCount: partCount, cuts: paused },
    request,
    partOf: (part) => parts.get(part)!,
  };
}

async function* cutsOf({ cuts }: SpeechPlan): AsyncGenerator<PlannedCut> {
  for (let next = await cuts.next(); !next.done; next = await cuts.next()) yield next.value;
}
