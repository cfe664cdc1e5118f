// Stores the sound of a stream while the caller reads it: first in a draft, and at the end as a clip with its final header,
// in the index. A stream that fails or is abandoned leaves nothing.
import type { ClipDraft, ClipStore } from '../clips/clip-store.ts';
import type { Caller } from '../speech/request.ts';
import type { SpeechDone, SpeechEvent, SpeechInfo } from '../speech/speech-events.ts';
import type { TimedWord } from '../speech/word-timing.ts';
import type { ClipRow, ClipRows } from '../store/clip-rows.ts';
import { type CaptionedText, toCues } from './captions.ts';
import { removeClip, storeCaptions } from './stored-captions.ts';

/** The row of a clip in the index. */
export type ClipRecord = Omit<ClipRow, 'deletedAtMs'>;

export interface StoreClipOptions {
  clips: ClipStore;
  index: Pick<ClipRows, 'add' | 'markDeleted'>;
  keepMs: number;
  caller: Caller;
  /** The cache key of the clip; null where it is not cached. */
  toCacheKey(info: SpeechInfo): string | null;
  /** The text to caption with the word times of the stream; undefined for no captions. */
  captioned?: CaptionedText | undefined;
}

export interface StoredClip {
  /** The events of the stream; `done` comes after the clip is stored. */
  events: AsyncIterable<SpeechEvent>;
  /** The clip, after the events were read to their end. */
  readonly clip: ClipRecord;
}

export function storeClip(events: AsyncIterable<SpeechEvent>, options: StoreClipOptions): StoredClip {
  const { clips, captioned } = options;
  let clip: ClipRecord | undefined;

  async function* store(): AsyncGenerator<SpeechEvent> {
    let draft: ClipDraft | undefined;
    let info: SpeechInfo | undefined;
    const words: TimedWord[] = [];
    try {
      for await (const event of events) {
        if (event.type === 'info') {
          info = event;
          draft = await clips.create(info.audioId, info.contentType);
        } else if (event.type === 'audio') {
          await draft!.write(event.audio);
        } else if (event.type === 'timestamps' && captioned !== undefined) {
          words.push(...event.words);
        } else if (event.type === 'done') {
          await draft!.commit(event.head);
          clip = toRecord(info!, event, options);
          await addOrRemove(clip, info!, words, options);
        }
        yield event;
      }
    } finally {
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

function toRecord(info: SpeechInfo, done: SpeechDone, { keepMs, caller, toCacheKey }: StoreClipOptions): ClipRecord {
  const now = Date.now();
  return {
    clipId: info.audioId,
    ownerId: caller.callerId,
    cacheKey: toCacheKey(info),
    format: info.format,
    byteCount: done.byteCount,
    seconds: done.seconds,
    chars: done.chars,
    sampleRateHz: info.sampleRateHz,
    voiceId: info.voice.voiceId,
    voiceName: info.voice.name,
    warnings: info.warnings.join(' '),
    createdAtMs: now,
    expiresAtMs: now + keepMs,
  };
}

/** Stores the captions and indexes the clip. Where that fails, or its voice has been deleted meanwhile, removes it. */
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
