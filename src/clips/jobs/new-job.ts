// A new job: checks that its texts can be spoken, and creates its rows.

import { createHash } from 'node:crypto';
import { setImmediate as yieldTurn } from 'node:timers/promises';
import type { Caller, KeyCaller } from '../../accounts.ts';
import { countChars } from '../../platform/count-chars.ts';
import { Failure } from '../../platform/errors.ts';
import { createId } from '../../platform/runtime/id.ts';
import { type SpeechRequest, toStoredRequest } from '../../speech.ts';
import { withDisclosure } from '../../text.ts';
import { type ChapterRequest, type JobRequest, toPartRequest } from './job-request.ts';
import type { ChapterRow, JobRow, NewJob } from './job-rows.ts';
import type { JobTools } from './job-tools.ts';

/** Who creates a job, and from where. */
export interface JobCreator {
  caller: KeyCaller;
  address: string;
}

/**
 * Hash of a job request. Identical requests have the same hash on every API: explicit defaults and the order of
 * metadata make no difference.
 */
export function fingerprintOf({ settings: { speech: _, ...settings }, speech, chapters }: JobRequest): string {
  const metadata = Object.fromEntries(
    Object.entries(settings.metadata).toSorted(([one], [other]) => (one < other ? -1 : 1)),
  );
  const spoken = chapters.map(({ title, speech, parts }) => [
    title,
    toSorted(speech),
    parts.map(({ offset, text, request: { chars } }) => ({ offset, text, chars })),
  ]);
  return createHash('sha256')
    .update(JSON.stringify([{ ...settings, metadata }, toStoredRequest(speech), spoken]))
    .digest('base64url');
}

const toSorted = (fields: Readonly<Record<string, unknown>>) =>
  Object.entries(fields).toSorted(([one], [other]) => (one < other ? -1 : 1));

export function checkSame(job: JobRow, fingerprint: string): JobRow {
  if (job.fingerprint === fingerprint) return job;
  throw new Failure('idempotency_conflict', {
    message: 'Another request has already created a job with this id. Use another id.',
  });
}

/**
 * Refuses a request that cannot be synthesized, before anything is charged. Returns the voice and the number of
 * characters of each chapter.
 */
export async function checkSpeech(
  speech: Pick<JobTools['speech'], 'plan'>,
  { settings, chapters }: JobRequest,
  caller: Caller,
): Promise<SaidChapter[]> {
  const said: SaidChapter[] = [];
  const { disclosure } = settings;
  for (const [i, chapter] of chapters.entries()) {
    const saidHere: SaidChapter = { voiceId: '', chars: 0, parts: [] };
    const plan = (request: SpeechRequest) =>
      nameFaults(chapter, async () => {
        const planned = await speech.plan(request, caller);
        planned.check();
        return planned;
      });
    let added = 0;
    for (const { offset, text: given, request: asked } of chapter.parts) {
      let text = given;
      let { request, main } = await plan(asked);
      if (offset === 0 && (disclosure === 'chapters' || (disclosure === 'start' && i === 0))) {
        text = withDisclosure(given, request.markup === 'ssml', main.languageCode);
        ({ request } = await plan(toPartRequest(settings.speech, chapter.speech, text)));
      }
      saidHere.voiceId = request.voiceId;
      saidHere.chars += request.chars;
      saidHere.parts.push({ offset: offset + added, text });
      added += countChars(text) - countChars(given);
      await yieldTurn();
    }
    said.push(saidHere);
  }
  return said;
}

/** Adds the chapter's name to the field names in a Failure. */
async function nameFaults<Planned>({ speech, nameOf }: ChapterRequest, plan: () => Promise<Planned>): Promise<Planned> {
  try {
    return await plan();
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const { reason, message, facts } = error;
    const isOfVoice = Object.hasOwn(speech, 'voice_id') && reason.startsWith('voice_');
    const faults = facts.details ?? (isOfVoice ? [{ field: 'voice_id', reason, message }] : undefined);
    if (!faults) throw error;
    const details = faults.map((fault) => ({ ...fault, field: nameOf(fault.field) }));
    throw new Failure(reason, { ...facts, details }, error.cause);
  }
}

interface SaidChapter {
  voiceId: string;
  /** Number of charged characters, counted after lexicons have been applied. */
  chars: number;
  /** The parts to speak, including the sentence that declares the voice to be synthetic. */
  parts: { offset: number; text: string }[];
}

interface Named {
  id: string | undefined;
  fingerprint: string;
  said: readonly SaidChapter[];
}

export function toNewJob(
  { caller, address }: JobCreator,
  request: JobRequest,
  { id, fingerprint, said }: Named,
): NewJob {
  const jobKey = createId('job');
  const { settings, chapters } = request;
  const job: JobRow = {
    jobKey,
    ownerId: caller.callerId,
    jobId: id ?? jobKey,
    accountId: caller.accountId,
    keyId: caller.keyId,
    address,
    fingerprint,
    status: 'queued',
    settings: JSON.stringify(settings),
    chars: said.reduce((sum, each) => sum + each.chars, 0),
    chapterCount: chapters.length,
    charsDone: 0,
    chaptersDone: 0,
    seconds: 0,
    busyMs: 0,
    revision: 1,
    createdAtMs: Date.now(),
    startedAtMs: null,
    endedAtMs: null,
    endedRevision: null,
    expiresAtMs: null,
    error: null,
    audioId: null,
  };
  const toRow = (chapter: Omit<ChapterRequest, 'nameOf'>, i: number): ChapterRow => ({
    jobKey,
    chapter: i,
    title: chapter.title,
    speech: JSON.stringify(chapter.speech),
    voiceId: said[i]?.voiceId ?? '',
    chars: said[i]?.chars ?? 0,
    charsDone: 0,
    partCount: chapter.parts.length,
    status: 'queued',
    seconds: 0,
    sampleCount: 0,
    audioId: null,
    doneRevision: null,
    suspects: '[]',
    unchecked: 0,
  });
  const joining = toRow({ title: '', speech: {}, parts: [], chars: 0 }, chapters.length);
  return {
    job,
    chapters: [...chapters.map(toRow), { ...joining, status: 'waiting' }],
    parts: said.flatMap(({ parts }, chapter) =>
      parts.map(({ offset, text }, part) => ({ jobKey, chapter, part, offset, text })),
    ),
  };
}
