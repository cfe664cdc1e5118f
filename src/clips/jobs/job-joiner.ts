// Joins the finished chapters of a job into one clip with captions (audio/book-file/ joins the bytes), and ends the job.
// A chapter whose file was deleted, by its caller or with its voice, is spoken again first.
import {
  audioFormats,
  type BookChapter,
  type BookTags,
  bookTimeline,
  createFingerprint,
  encodedRateOf,
  joinOrigins,
  writeBookFile,
} from '../../audio.ts';
import { Failure } from '../../platform/errors.ts';
import { createId } from '../../platform/runtime/id.ts';
import { type SpeechRequest, speechFields } from '../../speech.ts';
import { removeClip } from '../beside-audio.ts';
import { removeAudio } from '../clip-remover.ts';
import type { Reservation } from '../clip-room.ts';
import { type ClipRow, toVoiceList } from '../clip-rows.ts';
import { hasPlace, signFile } from '../provenance/places.ts';
import { receiptIdOf, storeReceipt } from '../stored-receipt.ts';
import { isStored } from '../stores/clip-store.ts';
import { storeBookCaptions } from './chapter-captions.ts';
import { expiryOf, type JobSettings, toPartRequest } from './job-request.ts';
import type { ChapterRow, JobRow } from './job-rows.ts';
import type { JobTools } from './job-tools.ts';

/** Number of random bits of an audio id, so that nobody can guess a public audio URL. */
const audioIdBits = 128;

interface Finished {
  row: ChapterRow;
  clip: ClipRow;
}

export async function joinJob(job: JobRow, tools: JobTools, signal: AbortSignal): Promise<void> {
  const { rows, index, room, keepMs } = tools;
  const settings: JobSettings = JSON.parse(job.settings);
  const request = toPartRequest(settings.speech, {});
  const finished = await findChapters(job, tools);
  if (!finished) return;
  const bytes = finished.reduce((sum, { clip }) => sum + clip.byteCount, 0);
  const reservation = await room.reserve({ accountId: job.accountId, bytes, isExact: true, isLinked: true });
  try {
    const stored = await storeBook({ job, settings, request, finished, reservation }, tools, signal);
    const nowMs = await rows.now();
    const expiresAtMs = expiryOf(settings, nowMs, keepMs);
    // If a failure of the store leaves it unknown whether the job has ended, the clip stays and expires with the job.
    const clip = { ...stored, expiresAtMs };
    await removeOnFailure(index.add(clip), clip.clipId, tools);
    reservation.keep(clip.byteCount);
    // If a voice was deleted or withdrawn meanwhile, its chapters are gone and the joined file must be removed too.
    if (!(await areLive(finished, tools))) {
      await removeAudio(tools, clip.clipId, job.ownerId);
      return;
    }
    const { clipId: audioId, seconds } = clip;
    const outcome = { audioId, replacedId: job.audioId, seconds };
    const ended = await rows.end(job.jobKey, { status: 'succeeded', nowMs, expiresAtMs, ...outcome });
    if (!ended) {
      await removeAudio(tools, audioId, job.ownerId);
      return;
    }
    // Removes the audio that the job had before a suspect was spoken again.
    if (job.audioId) await removeAudio(tools, job.audioId, job.ownerId).catch(tools.onFault);
    const chapterIds = finished.map(({ row }) => row.audioId!);
    await index.expireAt(chapterIds, expiresAtMs);
  } finally {
    reservation.release();
  }
}

/** If the work fails, removes the file and what lies beside it, which otherwise only the store's daily cleanup would remove. */
async function removeOnFailure(work: Promise<void>, audioId: string, { clips, onFault }: JobTools): Promise<void> {
  try {
    await work;
  } catch (error) {
    await removeClip(clips, audioId).catch(onFault);
    throw error;
  }
}

/** Returns all chapters with their clips; undefined if some chapters must be spoken again. */
async function findChapters(
  { jobKey }: JobRow,
  { rows, clips, index, onFault }: JobTools,
): Promise<Finished[] | undefined> {
  const finished: Finished[] = [];
  const unneeded: string[] = [];
  let isWhole = true;
  for (const row of await rows.chaptersOf(jobKey)) {
    const clip = row.audioId === null ? undefined : await index.find(row.audioId);
    if (isLive(clip) && (await isStored(clips, clip.clipId))) finished.push({ row, clip });
    else {
      isWhole = false;
      unneeded.push(...(await rows.reopenChapter(row)));
    }
  }
  for (const key of unneeded) await clips.remove(key).catch(onFault);
  return isWhole ? finished : undefined;
}

async function areLive(finished: readonly Finished[], { index }: Pick<JobTools, 'index'>): Promise<boolean> {
  for (const { clip } of finished) if (!isLive(await index.find(clip.clipId))) return false;
  return true;
}

const isLive = (clip: ClipRow | undefined): clip is ClipRow => clip !== undefined && clip.expiresAtMs > Date.now();

interface Joining {
  job: JobRow;
  settings: JobSettings;
  request: SpeechRequest;
  finished: readonly Finished[];
  reservation: Reservation;
}

async function storeBook(joining: Joining, tools: JobTools, signal: AbortSignal): Promise<ClipRow> {
  const { clips, openSigner } = tools;
  const { job, settings, request, finished, reservation } = joining;
  const { format, sampleRateHz, captions } = request;
  const { contentType } = audioFormats[format];
  const origin = joinOrigins(finished.flatMap(({ clip }) => (clip.origin ? [JSON.parse(clip.origin)] : [])));
  const rateHz = encodedRateOf(format, sampleRateHz);
  const chapters = finished.map(({ row, clip }, i): BookChapter => {
    const gapSeconds = i === finished.length - 1 ? 0 : settings.gapSeconds;
    const gapSampleCount = Math.round(gapSeconds * rateHz);
    const file = async function* () {
      const stored = await clips.open(clip.clipId);
      if (!stored) throw new Failure('storage_unavailable', {}, new Error('the audio of a chapter was deleted'));
      yield* stored.body as AsyncIterable<Uint8Array>;
    };
    return { title: row.title, sampleCount: row.sampleCount, gapSampleCount, file };
  });
  const timeline = bookTimeline(format, sampleRateHz, chapters);
  const audioId = createId('aud', audioIdBits);
  const draft = await clips.create(audioId, contentType);
  const fingerprint = createFingerprint();
  const tags = { ...toTags(settings, request), origin };
  let byteCount = 0;
  try {
    const plain = writeBookFile(format, sampleRateHz, chapters, tags);
    const receipt = clips.hasReceipts ? receiptIdOf(audioId) : undefined;
    const isSigned = openSigner && origin && hasPlace(format);
    const file = isSigned ? signFile(plain, format, { ...origin, receipt }, openSigner) : undefined;
    for await (const bytes of file?.pieces ?? plain) {
      signal.throwIfAborted();
      byteCount += bytes.length;
      fingerprint.update(bytes);
      await reservation.grow(byteCount);
      await draft.write(bytes);
    }
    const placed = finished.map(({ row, clip }, i) => {
      return { title: row.title, audioId: clip.clipId, startSeconds: timeline.chapters[i]!.startSample / rateHz };
    });
    const seconds = timeline.sampleCount / rateHz;
    const made = { clipId: audioId, byteCount, seconds, fingerprint: fingerprint.digest() };
    const clip = toClip(job, finished, { ...made, origin: origin ? JSON.stringify(origin) : null });
    const store = async () => {
      if (captions.length > 0) await storeBookCaptions(clips, audioId, placed);
      await storeReceipt(clips, clip, fingerprint.range, { chapters: placed });
      await draft.commit(file?.head);
    };
    await removeOnFailure(store(), audioId, tools);
    return clip;
  } finally {
    await draft.discard();
  }
}

function toClip(
  job: JobRow,
  finished: readonly Finished[],
  made: Pick<ClipRow, 'clipId' | 'byteCount' | 'seconds' | 'fingerprint' | 'origin'>,
): ClipRow {
  const first = finished[0]!.clip;
  const voiceIds = new Set(finished.map(({ clip }) => clip.voiceId));
  voiceIds.delete(first.voiceId);
  const nowMs = Date.now();
  return {
    ...first,
    ...made,
    chars: job.chars,
    otherVoiceIds:
      `${toVoiceList([...voiceIds]) ?? ''}${finished.map(({ clip }) => clip.otherVoiceIds ?? '').join('')}` || null,
    createdAtMs: nowMs,
    usedAtMs: nowMs,
  };
}

function toTags({ metadata, cover }: JobSettings, { languageCode }: SpeechRequest): BookTags {
  const { title, author, narrator, publisher, date } = metadata;
  const language = languageCode === speechFields.autoLanguage ? undefined : languageCode;
  const contentType = cover?.startsWith('/9j/') ? 'image/jpeg' : 'image/png';
  const picture = cover === undefined ? undefined : ({ contentType, bytes: Buffer.from(cover, 'base64') } as const);
  return { title, author, narrator, publisher, date, language, cover: picture };
}
