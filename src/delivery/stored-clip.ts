// Keeps the sound of a stream as it passes: into a draft as it comes, and when it is done, under its id with its true
// sizes and into the index. A stream that fails or is left leaves nothing.
import type { ClipDraft, ClipStore } from '../clips/clip-store.ts';
import type { Caller } from '../speech/request.ts';
import type { SpeechEvent, SpeechInfo } from '../speech/speech-events.ts';
import type { TimedWord } from '../speech/word-timing.ts';
import { type CaptionedText, toCues } from './captions.ts';
import { removeClip, storeCaptions } from './stored-captions.ts';

/** What the index knows of a clip. */
export interface ClipRecord {
  clipId: string;
  /** Who asked for it, and may delete it. */
  ownerId: string;
  /** What finds it for the same request; null where it is not to be found so. */
  cacheKey: string | null;
  format: string;
  byteCount: number;
  seconds: number;
  chars: number;
  sampleRateHz: number;
  voiceId: string;
  voiceName: string;
  /** Separated by spaces. */
  warnings: string;
  createdAtMs: number;
  expiresAtMs: number;
}

export interface StoreClipOptions {
  clips: ClipStore;
  index: {
    add(clip: ClipRecord): Promise<void>;
    markDeleted(clipId: string, ownerId: string, nowMs: number): Promise<unknown>;
  };
  keepMs: number;
  caller: Caller;
  /** What finds it for the same request, by who spoke it; null for nothing. */
  toCacheKey(info: SpeechInfo): string | null;
  /** The text to caption by the stream's own word times; undefined for no captions. */
  captioned?: CaptionedText | undefined;
}

export interface StoredClip {
  /** The stream's own events; `done` comes when the clip is there. */
  events: AsyncIterable<SpeechEvent>;
  /** The clip, once the events are read to their end. */
  readonly clip: ClipRecord;
}

export function storeClip(events: AsyncIterable<SpeechEvent>, options: StoreClipOptions): StoredClip {
  const { clips, index, keepMs, caller, toCacheKey, captioned } = options;
  let clip: ClipRecord | undefined;

  /** A clip that nobody will find is not kept, nor one of a voice that has ended while it was put away. */
  const addOrRemove = async (made: ClipRecord, { ended }: SpeechInfo) => {
    try {
      await index.add(made);
      if (ended?.aborted) {
        await index.markDeleted(made.clipId, made.ownerId, Date.now());
        throw ended.reason;
      }
    } catch (error) {
      await removeClip(clips, made.clipId).catch(() => undefined);
      throw error;
    }
  };

  async function* keep(): AsyncGenerator<SpeechEvent> {
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
          if (captioned !== undefined)
            await storeCaptions(clips, info!.audioId, toCues(captioned, words, event.seconds)).catch(async (error) => {
              await clips.remove(info!.audioId).catch(() => undefined);
              throw error;
            });
          const now = Date.now();
          const { audioId, voice, format, sampleRateHz, warnings } = info!;
          const cacheKey = toCacheKey(info!);
          const { byteCount, seconds, chars } = event;
          clip = {
            ...{ clipId: audioId, ownerId: caller.callerId, cacheKey, format, byteCount, seconds, chars, sampleRateHz },
            ...{ voiceId: voice.voiceId, voiceName: voice.name, warnings: warnings.join(' ') },
            ...{ createdAtMs: now, expiresAtMs: now + keepMs },
          };
          await addOrRemove(clip, info!);
        }
        yield event;
      }
    } finally {
      await draft?.discard();
    }
  }

  return {
    events: keep(),
    get clip() {
      if (!clip) throw new Error('the stream was not read to its end');
      return clip;
    },
  };
}
