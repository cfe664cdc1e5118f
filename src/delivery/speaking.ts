// Speaks a whole text: into a clip, where the answer is a link, or into memory, where it is the sound. Sound in memory is
// stored before the answer if the store is quick, and behind it if not; where memory is short it goes to the store at once.
import type { Failure } from '../errors.ts';
import { expectedBytesOf } from '../speech/estimate.ts';
import type { PlannedSpeech } from '../speech/plan.ts';
import type { Caller } from '../speech/request.ts';
import type { SpeechEvent, SpeechInfo } from '../speech/speech-events.ts';
import type { Speech } from '../speech/synthesize.ts';
import type { ClipRows } from '../store/clip-rows.ts';
import { readMarkup } from '../text/read-markup.ts';
import { cacheKeyOf } from './cache-key.ts';
import type { ClipRoom } from './clip-room.ts';
import { createSoundMemory, type HeldSound } from './held-sound.ts';
import { toCaptioned } from './marked-captions.ts';
import type { StorePatience } from './store-patience.ts';
import { accountOf, type ClipRecord, storeClip, toClipRecord } from './stored-clip.ts';
import type { ClipStore } from './stores/clip-store.ts';

/** What was spoken. Its sound is in memory too, unless a link was asked for or memory was short. */
export interface Spoken {
  clip: ClipRecord;
  held?: HeldSound | undefined;
}

export interface SizeLimit {
  bytesMax: number;
  refuse(byteCount: number): Failure;
}

export interface SpeakingOptions {
  speech: Pick<Speech, 'speak'>;
  clips: ClipStore;
  index: Pick<ClipRows, 'add' | 'markDeleted'>;
  room: Pick<ClipRoom, 'reserve'>;
  patience: StorePatience;
  keepMs: number;
  onFault(fault: unknown): void;
}

export interface Speaking {
  intoClip(planned: PlannedSpeech, caller: Caller, signal: AbortSignal): Promise<Spoken>;
  intoMemory(
    planned: PlannedSpeech,
    caller: Caller,
    signal: AbortSignal,
    sizeLimit: SizeLimit | undefined,
  ): Promise<Spoken>;
}

export function createSpeaking(options: SpeakingOptions): Speaking {
  const { speech, clips, index, room, patience, keepMs, onFault } = options;
  const memory = createSoundMemory();

  const recordOptions = ({ request }: PlannedSpeech, caller: Caller) => {
    const isLinked = request.returnFormat === 'url';
    const toCacheKey = (info: SpeechInfo) => cacheKeyOf(request, info);
    return { keepMs, caller, isLinked, toCacheKey };
  };

  /** Makes room before the first event is read. */
  const store = async (events: AsyncIterable<SpeechEvent>, planned: PlannedSpeech, caller: Caller, bytes: number) => {
    const { captions, chunks, markup } = planned.request;
    const { languageCode } = planned.cast.main;
    const captioned = captions.length > 0 ? toCaptioned(readMarkup(chunks[0]!, markup), languageCode) : undefined;
    const record = recordOptions(planned, caller);
    const reservation = await room.reserve({ accountId: accountOf(caller), bytes, isLinked: record.isLinked });
    const stored = storeClip(events, { clips, index, reservation, captioned, ...record });
    for await (const _ of stored.events);
    return stored.clip;
  };

  const keep = (held: HeldSound, planned: PlannedSpeech, caller: Caller) => {
    const stored = () => store(replay(held.events()), planned, caller, held.done.byteCount);
    // The answer does not depend on it, whatever is wrong.
    return patience.run(stored).catch(onFault);
  };

  return {
    async intoClip(planned, caller, signal) {
      const events = speech.speak(planned, caller, signal);
      return { clip: await store(events, planned, caller, expectedBytesOf(planned.request)) };
    },

    async intoMemory(planned, caller, signal, sizeLimit) {
      const expected = expectedBytesOf(planned.request);
      const events = limitSize(speech.speak(planned, caller, signal), sizeLimit);
      if (!memory.hasRoom(expected)) return { clip: await store(events, planned, caller, expected) };
      const held = memory.open();
      try {
        for (let next = await events.next(); !next.done; next = await events.next()) {
          if (held.add(next.value)) continue;
          const all = replay([...held.events(), next.value], events);
          const clip = await store(all, planned, caller, expected);
          held.release();
          return { clip };
        }
        const clip = await keep(held, planned, caller);
        // Nobody would read it.
        signal.throwIfAborted();
        // A clip that is stored may make room for others before the answer is read, so the sound stays in memory.
        return { clip: clip ?? toClipRecord(held.info, held.done, recordOptions(planned, caller)), held };
      } catch (error) {
        held.release();
        throw error;
      } finally {
        await events.return(undefined);
      }
    },
  };
}

async function* replay(before: readonly SpeechEvent[], rest: Iterable<SpeechEvent> | AsyncIterable<SpeechEvent> = []) {
  yield* before;
  yield* rest;
}

/** The same events, until their sound is too large. */
async function* limitSize(
  events: AsyncIterable<SpeechEvent>,
  limit: SizeLimit | undefined,
): AsyncGenerator<SpeechEvent, undefined> {
  let byteCount = 0;
  for await (const event of events) {
    if (event.type === 'audio') byteCount += event.audio.length;
    if (limit && byteCount > limit.bytesMax) throw limit.refuse(byteCount);
    yield event;
  }
}
