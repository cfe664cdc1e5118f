// Stores the audio of a stream while the caller reads the stream: first as a draft, at the end as an indexed clip with
// its final header. A stream that fails or is abandoned leaves no clip and releases its reserved room.
import type { Caller } from '../accounts.ts';
import { createFingerprint } from '../audio.ts';
import type { SpeechDone, SpeechEvent, SpeechInfo, TimedWord } from '../speech.ts';
import { type CaptionedText, toCues } from './captions.ts';
import type { Reservation } from './clip-room.ts';
import { type ClipRow, type ClipRows, type SpeechCheck, toVoiceList } from './clip-rows.ts';
import { removeClip, storeCaptions } from './stored-captions.ts';
import type { ClipDraft, ClipStore } from './stores/clip-store.ts';

/** The row of a clip in the index. */
export type ClipRecord = Omit<ClipRow, 'deletedAtMs'>;

interface ClipRecordOptions {
  keepMs: number;
  caller: Caller;
  /** Whether the caller receives a link to the clip. */
  isLinked: boolean;
  /** Whether later requests may be answered from the clip. */
  isCached: boolean;
}

interface StoreClipOptions extends ClipRecordOptions {
  clips: ClipStore;
  index: Pick<ClipRows, 'add' | 'markDeleted'>;
  reservation: Reservation;
  /** The text of the captions. Undefined if there are no captions. */
  captioned?: CaptionedText | undefined;
}

interface StoredClip {
  /** The events of the stream. `done` follows when the clip is stored. */
  events: AsyncIterable<SpeechEvent>;
  /** The clip, which is available after all events were read. */
  readonly clip: ClipRecord;
}

export function storeClip(events: AsyncIterable<SpeechEvent>, options: StoreClipOptions): StoredClip {
  const { clips, captioned, reservation } = options;
  let clip: ClipRecord | undefined;

  async function* store(): AsyncGenerator<SpeechEvent> {
    let draft: ClipDraft | undefined;
    let info: SpeechInfo | undefined;
    const words: TimedWord[] = [];
    const fingerprint = createFingerprint();
    let byteCount = 0;
    try {
      for await (const event of events) {
        if (event.type === 'info') {
          info = event;
          draft = await clips.create(info.audioId, info.contentType);
        } else if (event.type === 'audio') {
          byteCount += event.audio.length;
          await reservation.grow(byteCount);
          fingerprint.update(event.audio);
          await draft!.write(event.audio);
        } else if (event.type === 'timestamps' && captioned !== undefined) {
          words.push(...event.words);
        } else if (event.type === 'done') {
          await draft!.commit(event.head);
          clip = { ...toClipRecord(info!, event, options), fingerprint: fingerprint.digest() };
          await addOrRemove(clip, info!, words, options);
          reservation.keep(clip.byteCount);
        }
        yield event;
      }
    } finally {
      reservation.release();
      await draft?.discard();
    }
  }

  return {
    events: store(),
    get clip() {
      if (!clip) throw new Error('the stream was not read to its end');
      return clip;
    },
  };
}

export const accountOf = ({ accountId, callerId }: Caller): string => accountId ?? callerId;

export function toClipRecord(
  info: SpeechInfo,
  done: Pick<SpeechDone, 'byteCount' | 'seconds' | 'chars' | 'suspects'>,
  { keepMs, caller, isLinked, isCached }: ClipRecordOptions,
): ClipRecord {
  const now = Date.now();
  return {
    clipId: info.audioId,
    ownerId: caller.callerId,
    accountId: accountOf(caller),
    cacheKey: isCached ? info.cacheKey!() : null,
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
    usedAtMs: isLinked ? now : null,
    fingerprint: null,
    origin: info.origin ? JSON.stringify(info.origin) : null,
    speechCheck: checkOf(done),
  };
}

const checkOf = ({ suspects }: Pick<SpeechDone, 'suspects'>): SpeechCheck => {
  if (!suspects) return 'unchecked';
  return suspects.length > 0 ? 'suspect' : 'good';
};

/** Stores the captions and indexes the clip. Removes the clip after an error or if its voice has been deleted. */
async function addOrRemove(
  clip: ClipRecord,
  { ended }: SpeechInfo,
  words: readonly TimedWord[],
  { clips, index, captioned }: StoreClipOptions,
): Promise<void> {
  try {
    if (captioned) await storeCaptions(clips, clip.clipId, toCues(captioned, words, clip.seconds));
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
