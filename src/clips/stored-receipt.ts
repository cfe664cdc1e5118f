// Stores a receipt beside audio: what was spoken, how each segment was checked, and the hash of the sound. Audio has a
// receipt if it was made for a link or by a job, provided that files state their origin. The receipt keeps the text until
// the audio is deleted. The stored bytes are the bytes that are signed; the signature is made on each read.
import { hash } from 'node:crypto';
import type { Origin } from '../audio.ts';
import { cutText } from '../platform/count-chars.ts';
import { Failure } from '../platform/errors.ts';
import { SlotQueue } from '../platform/runtime/slot-queue.ts';
import type { SpeechEvent } from '../speech.ts';
import { readFile, receiptKeyOf, storeFile } from './beside-audio.ts';
import type { ClipRow } from './clip-rows.ts';
import { signDetached } from './provenance/certificate.ts';
import type { OpenSigner } from './provenance/places.ts';
import type { ClipStore } from './stores/clip-store.ts';

type Receipted = Pick<
  ClipRow,
  'clipId' | 'format' | 'sampleRateHz' | 'seconds' | 'createdAtMs' | 'fingerprint' | 'origin'
>;

/** The bytes of the file that the clip's fingerprint covers. */
interface SoundRange {
  start: number;
  byteCount: number;
}

/** Id of the receipt in manifests. It is a hash, because the id of the audio is part of its URL. */
export const receiptIdOf = (audioId: string): string => `rcp_${hash('sha256', audioId, 'base64url').slice(0, 26)}`;

const toReceipt = (
  { clipId, format, sampleRateHz, seconds, createdAtMs, fingerprint, origin }: Receipted,
  { start, byteCount }: SoundRange,
) => ({
  version: 1,
  id: receiptIdOf(clipId),
  service: (JSON.parse(origin!) as Origin).software,
  created_at: new Date(createdAtMs).toISOString(),
  audio_id: clipId,
  format,
  sample_rate: sampleRateHz,
  seconds,
  sound: { sha256: fingerprint, start, bytes: byteCount },
});

/** Longest text that a recognizer heard, beyond the length of the segment's own. Recognizers may repeat a word without end. */
const heardCharsMore = 200;

type Segments = NonNullable<SpeechEvent<'done'>['segments']>;

const toSegment = ({
  text,
  spoken,
  voiceId,
  engine,
  seed,
  takes,
  startSeconds,
  seconds,
  ...report
}: Segments[number]) => ({
  text,
  spoken,
  voice_id: voiceId,
  engine,
  seed,
  takes,
  start: startSeconds,
  seconds,
  faults: report.faults,
  heard: report.heard === undefined ? undefined : cutText(report.heard, text.length + heardCharsMore),
  word_errors: report.wordErrors,
});

export const storeReceipt = (
  clips: ClipStore,
  clip: Receipted,
  range: SoundRange,
  segments: Segments,
): Promise<void> => {
  const items = segments.values().map((each) => JSON.stringify(toSegment(each)));
  return writeReceipt(clips, clip, range, { name: 'segments', items });
};

interface ReceiptedChapter {
  title: string;
  startSeconds: number;
  audioId: string;
}

/** Stores the receipt of a joined file, which contains the receipts of its chapters. */
export function storeBookReceipt(
  clips: ClipStore,
  clip: Receipted,
  range: SoundRange,
  chapters: readonly ReceiptedChapter[],
): Promise<void> {
  const items = async function* () {
    for (const { title, startSeconds: start, audioId } of chapters) {
      const receipt = (await readFile(clips, receiptKeyOf(audioId))) ?? 'null';
      yield `${JSON.stringify({ title, start }).slice(0, -1)},"receipt":${receipt}}`;
    }
  };
  return writeReceipt(clips, clip, range, { name: 'chapters', items: items() });
}

const pieceCharsMin = 64 * 1024;

/** Writes a receipt in pieces, because a job has up to 25 000 segments. The items are JSON. */
async function writeReceipt(
  clips: ClipStore,
  clip: Receipted,
  range: SoundRange,
  { name, items }: { name: string; items: Iterable<string> | AsyncIterable<string> },
): Promise<void> {
  if (clip.origin === null || !clips.hasReceipts) return;
  const pieces = async function* () {
    let piece = `${JSON.stringify(toReceipt(clip, range)).slice(0, -1)},"${name}":[`;
    let separator = '';
    for await (const item of items) {
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
