// Stores the audio of a stream event by event: first as a draft, at the end as an indexed clip with its final header. A
// stream that fails or is abandoned leaves no clip and releases its reserved room.
import type { Caller } from '../accounts.ts';
import { createFingerprint } from '../audio.ts';
import type { SpeechEvent, SpeechFindings, TimedWord } from '../speech.ts';
import { removeClip, storeCaptions } from './beside-audio.ts';
import { type CaptionedText, toCues } from './captions.ts';
import type { ClipRoom, Reservation } from './clip-room.ts';
import { type ClipRow, type ClipRows, type SpeechCheck, toVoiceList } from './clip-rows.ts';
import { storeReceipt } from './stored-receipt.ts';
import type { ClipDraft, ClipStore } from './stores/clip-store.ts';

interface ClipRowOptions {
  keepMs: number;
  caller: Caller;
  /** Whether the caller receives a link to the clip. Only such a clip has a receipt. */
  isLinked: boolean;
  /** Whether later requests may be answered from the clip. */
  isCached: boolean;
}

interface ClipWriterOptions extends ClipRowOptions {
  clips: ClipStore;
  index: Pick<ClipRows, 'add' | 'markDeleted'>;
  room: Pick<ClipRoom, 'reserve'>;
  /** Expected size of the audio. */
  bytes: number;
  /** The text of the captions. Undefined if there are no captions. */
  captioned?: CaptionedText | undefined;
}

/** Makes room for a clip, or throws `storage_full`. */
export async function openClipWriter(options: ClipWriterOptions): Promise<ClipWriter> {
  const { room, caller, bytes, isLinked } = options;
  return new ClipWriter(options, await room.reserve({ accountId: caller.accountId, bytes, isLinked }));
}

export class ClipWriter {
  readonly #options: ClipWriterOptions;
  readonly #reservation: Reservation;
  readonly #words: TimedWord[] = [];
  readonly #fingerprint = createFingerprint();
  #info: SpeechEvent<'info'> | undefined;
  #draft: ClipDraft | undefined;
  #byteCount = 0;
  /** The row of the clip, after the event `done` was written. */
  row: ClipRow | undefined;

  constructor(options: ClipWriterOptions, reservation: Reservation) {
    this.#options = options;
    this.#reservation = reservation;
  }

  /** Stores the next event of the stream. */
  async write(event: SpeechEvent): Promise<void> {
    if (event.type === 'info') {
      this.#info = event;
      this.#draft = await this.#options.clips.create(event.audioId, event.contentType);
    } else if (event.type === 'audio') {
      this.#byteCount += event.audio.length;
      await this.#reservation.grow(this.#byteCount);
      this.#fingerprint.update(event.audio);
      await this.#draft!.write(event.audio);
    } else if (event.type === 'timestamps' && this.#options.captioned) this.#words.push(...event.words);
    else if (event.type === 'done') {
      await this.#draft!.commit(event.head);
      const { range } = this.#fingerprint;
      const row = { ...toClipRow(this.#info!, event, this.#options), fingerprint: this.#fingerprint.digest() };
      const { clips, captioned, isLinked } = this.#options;
      await addOrRemove(row, this.#info!, this.#options, async () => {
        if (captioned) await storeCaptions(clips, row.clipId, toCues(captioned, this.#words, row.seconds));
        if (isLinked) await storeReceipt(clips, row, range, { segments: event.segments ?? [] });
      });
      this.#reservation.keep(row.byteCount);
      this.row = row;
    }
  }

  /** Releases the room, and leaves no clip if the stream was not written to its end. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#reservation.release();
    // After a fault of the store, the draft may remain. It must not hide the fault; the cleanup removes the draft.
    if (!this.row) await this.#draft?.discard().catch(() => undefined);
  }
}

export function toClipRow(
  info: SpeechEvent<'info'>,
  done: SpeechEvent<'done'>,
  { keepMs, caller, isLinked, isCached }: ClipRowOptions,
): ClipRow {
  const now = Date.now();
  return {
    clipId: info.audioId,
    ownerId: caller.callerId,
    accountId: caller.accountId,
    // Audio that was not checked is not reused: the recognizer may answer for a later request.
    cacheKey: isCached && !done.unchecked ? info.cacheKey!() : null,
    format: info.format,
    byteCount: done.byteCount,
    seconds: done.seconds,
    chars: done.chars,
    sampleRateHz: info.sampleRateHz,
    voiceId: info.voice.voiceId,
    voiceName: info.voice.name,
    otherVoiceIds: toVoiceList(info.others.map(({ voice }) => voice.voiceId)),
    warnings: info.warnings.join(' '),
    createdAtMs: now,
    expiresAtMs: now + keepMs,
    deletedAtMs: null,
    usedAtMs: isLinked ? now : null,
    fingerprint: null,
    origin: info.origin ? JSON.stringify(info.origin) : null,
    speechCheck: checkOf(done),
  };
}

const checkOf = ({ suspects, unchecked }: SpeechFindings): SpeechCheck => {
  if (suspects?.length) return 'suspect';
  return suspects && !unchecked ? 'good' : 'unchecked';
};

/**
 * Stores captions and the receipt, then indexes the clip. Removes all of it after an error, or if the voice has been
 * deleted.
 */
async function addOrRemove(
  clip: ClipRow,
  { ended }: SpeechEvent<'info'>,
  { clips, index }: ClipWriterOptions,
  addBeside: () => Promise<void>,
): Promise<void> {
  try {
    await addBeside();
    await index.add(clip);
    if (ended?.aborted) {
      await index.markDeleted(clip.clipId, clip.ownerId, Date.now());
      throw ended.reason;
    }
  } catch (error) {
    await removeClip(clips, clip.clipId).catch(() => undefined);
    throw error;
  }
}
