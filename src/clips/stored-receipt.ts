// Stores a receipt beside audio: what was spoken, how each segment was checked, and the hash of the sound. Audio has a
// receipt if it was made for a link or by a job, provided that files state their origin. The receipt keeps the text until
// the audio is deleted. The stored bytes are the bytes that are signed; the signature is made on each read.
import { hash } from 'node:crypto';
import type { createFingerprint, Origin } from '../audio.ts';
import { cutText } from '../platform/count-chars.ts';
import { Failure } from '../platform/errors.ts';
import { SlotQueue } from '../platform/runtime/slot-queue.ts';
import type { SpeechEvent } from '../speech.ts';
import { readFile, receiptKeyOf, storeFile } from './beside-audio.ts';
import type { ClipRow } from './clip-rows.ts';
import { signDetached } from './provenance/detached-signature.ts';
import type { OpenSigner } from './provenance/places.ts';
import type { ClipStore } from './stores/clip-store.ts';

/** The bytes of the file that the clip's fingerprint covers. */
type SoundRange = ReturnType<typeof createFingerprint>['range'];

/** Id of the receipt in manifests. It is a hash, because the id of the audio is part of its URL. */
export const receiptIdOf = (audioId: string): string => `rcp_${hash('sha256', audioId, 'base64url').slice(0, 26)}`;

const toReceipt = (clip: ClipRow, { start, byteCount }: SoundRange) => ({
  version: 1,
  id: receiptIdOf(clip.clipId),
  service: (JSON.parse(clip.origin!) as Origin).software,
  created_at: new Date(clip.createdAtMs).toISOString(),
  audio_id: clip.clipId,
  format: clip.format,
  sample_rate: clip.sampleRateHz,
  seconds: clip.seconds,
  sound: { sha256: clip.fingerprint, start, bytes: byteCount },
});

/** Longest text that a recognizer heard, beyond the length of the segment's own. Recognizers may repeat a word without end. */
const heardCharsMore = 200;

type Segments = NonNullable<SpeechEvent<'done'>['segments']>;

const toSegment = (report: Segments[number]) => ({
  text: report.text,
  spoken: report.spoken,
  voice_id: report.voiceId,
  engine: report.engine,
  seed: report.seed,
  takes: report.takes,
  start: report.startSeconds,
  seconds: report.seconds,
  faults: report.faults,
  heard: report.heard === undefined ? undefined : cutText(report.heard, report.text.length + heardCharsMore),
  word_errors: report.wordErrors,
});

/** What a receipt lists. The receipt of a joined file contains the receipts of its chapters. */
type Listed =
  | { segments: Segments }
  | { chapters: readonly { title: string; startSeconds: number; audioId: string }[] };

async function* itemsOf(clips: ClipStore, listed: Listed): AsyncGenerator<string> {
  if ('segments' in listed) for (const each of listed.segments) yield JSON.stringify(toSegment(each));
  else
    for (const { title, startSeconds: start, audioId } of listed.chapters) {
      const receipt = (await readFile(clips, receiptKeyOf(audioId))) ?? 'null';
      yield `${JSON.stringify({ title, start }).slice(0, -1)},"receipt":${receipt}}`;
    }
}

const pieceCharsMin = 64 * 1024;

/** Stores a receipt in pieces, because a job has up to 25 000 segments. */
export async function storeReceipt(clips: ClipStore, clip: ClipRow, range: SoundRange, listed: Listed): Promise<void> {
  if (clip.origin === null || !clips.hasReceipts) return;
  const pieces = async function* () {
    let piece = `${JSON.stringify(toReceipt(clip, range)).slice(0, -1)},"${Object.keys(listed)[0]}":[`;
    let separator = '';
    for await (const item of itemsOf(clips, listed)) {
      piece += separator + item;
      separator = ',';
      if (piece.length < pieceCharsMin) continue;
      yield Buffer.from(piece);
      piece = '';
    }
    yield Buffer.from(`${piece}]}`);
  };
  await storeFile(clips, receiptKeyOf(clip.clipId), 'application/json', pieces());
}

export type SignedReceipt = Awaited<ReturnType<typeof openReceipt>>;

/**
 * Few receipts are read at once: each is kept in memory to be signed, and that of a long job takes many megabytes.
 * Accounts take turns.
 */
const reads = new SlotQueue({
  slotsMax: 2,
  waitingMax: 64,
  isShared: true,
  refusal: () => new Failure('overloaded', { retryAfterSeconds: 1 }),
});

interface ReadingOptions {
  clips: Pick<ClipStore, 'open'>;
  openSigner?: OpenSigner | undefined;
  signal: AbortSignal;
}

/** Reads the receipt of live audio and signs it. Throws `not_found` if the audio has none. */
export async function openReceipt(clip: ClipRow | undefined, { clips, openSigner, signal }: ReadingOptions) {
  if (!clip || clip.expiresAtMs <= Date.now()) throw new Failure('audio_expired');
  using slot = new DisposableStack();
  slot.defer(await reads.take({ signal, owner: clip.accountId ?? clip.ownerId }));
  const bytes = openSigner && (await readFile(clips, receiptKeyOf(clip.clipId)));
  if (!bytes) throw new Failure('not_found', { message: openSigner ? noReceipt : noSigner });
  return { receipt: bytes.toString(), signature: signDetached(await openSigner(), bytes) };
}

const noReceipt =
  'This audio has no receipt. When it was made, it was returned without a link, SONANT_RECEIPTS was off, SONANT_S3_LINKS was public, or Sonant had no receipts yet.';
const noSigner = 'Audio has no receipts, because SONANT_PROVENANCE is off.';
