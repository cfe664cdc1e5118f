// Stores finished speech. A whole text is spoken into a clip and answered when all of it is stored; the same request of
// the same caller is answered from that clip while it lasts (the cache), and joins the synthesis while it runs. A stream
// is stored besides if it asks for a link. A clip has an address that nobody can guess, and expires.
import { audioFormats, type FormatName } from '../audio/formats.ts';
import type { ClipStore } from '../clips/clip-store.ts';
import type { Voice } from '../engines/engine.ts';
import { Failure } from '../errors.ts';
import type { CaptionKind } from '../speech/fields.ts';
import type { PlannedSpeech } from '../speech/plan.ts';
import type { Caller, SpeechRequest } from '../speech/request.ts';
import type { SpeechEvent, SpeechInfo } from '../speech/speech-events.ts';
import type { Speech } from '../speech/synthesize.ts';
import type { ClipRows } from '../store/clip-rows.ts';
import { cacheKeyOf } from './cache-key.ts';
import { createSingleFlight, type SingleFlight } from './single-flight.ts';
import { removeClip } from './stored-captions.ts';
import { type ClipRecord, storeClip } from './stored-clip.ts';

export interface Delivery {
  /** Speaks the text, or takes it from the cache unless it must be `fresh`; resolves when all of it is stored. */
  deliver(planned: PlannedSpeech, caller: Caller, signal: AbortSignal, options: { fresh: boolean }): Promise<Delivered>;
  /** Streams the speech while it is stored; its info and its end have the link. */
  storeStream(planned: PlannedSpeech, caller: Caller, signal: AbortSignal): AsyncIterable<SpeechEvent>;
  /** A Failure `not_found` where the caller has no such audio. */
  remove(audioId: string, caller: Caller): Promise<void>;
}

export interface Delivered {
  audioId: string;
  voice: Voice;
  chars: number;
  format: FormatName;
  sampleRateHz: number;
  seconds: number;
  byteCount: number;
  /** Whether it came out of the cache, without an engine. */
  cached: boolean;
  warnings: readonly string[];
  /** Empty where none was wanted. */
  audioUrl: string;
  /** Where its captions are, of the kinds that were asked for. */
  captionUrls: Partial<Record<CaptionKind, string>>;
  expiresAt: Date;
  /** The file, from its beginning. */
  open(): AsyncIterable<Uint8Array>;
}

export interface DeliveryOptions {
  speech: Pick<Speech, 'speak' | 'restMs'>;
  clips: ClipStore;
  index: Pick<ClipRows, 'add' | 'findCached' | 'markDeleted'>;
  /** Where clips are served, and how long they are kept. */
  links: { baseUrl(): string; keepMs: number };
}

/** A clip answers for a request while it has this share of its life before it. */
const cachedLifeMin = 0.5;

/** `singleFlight` spans the replicas, where there are several. */
export function createDelivery(options: DeliveryOptions, singleFlight: SingleFlight = createSingleFlight()): Delivery {
  const { speech, clips, index, links } = options;
  const { urlOf, toDelivered } = createAnswers(options);
  const storeOptions = { clips, index, keepMs: links.keepMs };

  const findCached = async (ownerId: string, cacheKey: string): Promise<ClipRecord | undefined> => {
    const clip = await index.findCached(ownerId, cacheKey, Date.now() + Math.round(links.keepMs * cachedLifeMin));
    if (!clip) return undefined;
    const stored = await clips.open(clip.clipId, { first: 0, last: 0 });
    stored?.body.destroy();
    return stored && clip;
  };

  /** A clip of the best engine always counts, one of a lesser engine while those before it cannot speak. */
  const findSpoken = async ({ request, voice, bindings }: PlannedSpeech, ownerId: string) => {
    for (const binding of bindings) {
      const cached = await findCached(ownerId, cacheKeyOf(request, voice.voice, binding.speaker));
      if (cached || speech.restMs(binding) === 0) return cached;
    }
    return undefined;
  };

  const speakIntoClip = async (planned: PlannedSpeech, caller: Caller, signal: AbortSignal): Promise<ClipRecord> => {
    const { request } = planned;
    const { captions, chunks, languageCode } = request;
    const toCacheKey = (info: SpeechInfo) => cacheKeyOf(request, info.voice, info.speaker);
    const captioned = captions.length > 0 ? { text: chunks[0]!, languageCode } : undefined;
    const options = { ...storeOptions, caller, toCacheKey, captioned };
    const stored = storeClip(speech.speak(planned, caller, signal), options);
    for await (const _ of stored.events);
    return stored.clip;
  };

  return {
    async deliver(planned, caller, signal, { fresh }) {
      const { callerId } = caller;
      const { request, bindings } = planned;
      const { voice } = planned.voice;
      if (fresh) return toDelivered(await speakIntoClip(planned, caller, signal), voice, false, request);
      const cached = await findSpoken(planned, callerId);
      if (cached) return toDelivered(cached, voice, true, request);
      const flight = `${callerId} ${cacheKeyOf(request, voice, bindings[0]!.speaker)}`;
      const { value: clip, isMade } = await singleFlight.run(flight, signal, {
        find: () => findSpoken(planned, callerId),
        make: (until) => speakIntoClip(planned, caller, until),
      });
      return toDelivered(clip, voice, !isMade, request);
    },

    async *storeStream(planned, caller, signal) {
      const events = speech.speak(planned, caller, signal);
      const stored = storeClip(events, { ...storeOptions, caller, toCacheKey: () => null });
      let audioUrl = '';
      for await (const event of stored.events) {
        if (event.type === 'info') {
          audioUrl = urlOf({ clipId: event.audioId, format: event.format });
          yield { ...event, audioUrl, expiresAt: new Date(Date.now() + links.keepMs) };
        } else yield event.type === 'done' ? { ...event, audioUrl } : event;
      }
    },

    async remove(audioId, caller) {
      const clip = await index.markDeleted(audioId, caller.callerId, Date.now());
      if (!clip) throw new Failure('not_found');
      await removeClip(clips, audioId);
    },
  };
}

/** A clip as the answer to a request, with the addresses of its files. */
function createAnswers({ clips, links }: Pick<DeliveryOptions, 'clips' | 'links'>) {
  const fileUrl = (clipId: string, extension: string) => `${links.baseUrl()}/audio/${clipId}.${extension}`;
  const urlOf = ({ clipId, format }: Pick<ClipRecord, 'clipId' | 'format'>) =>
    fileUrl(clipId, audioFormats[format as FormatName].extension);
  const toDelivered = (clip: ClipRecord, voice: Voice, cached: boolean, request: SpeechRequest): Delivered => ({
    audioId: clip.clipId,
    voice,
    chars: clip.chars,
    format: clip.format as FormatName,
    sampleRateHz: clip.sampleRateHz,
    seconds: clip.seconds,
    byteCount: clip.byteCount,
    cached,
    warnings: clip.warnings === '' ? [] : clip.warnings.split(' '),
    audioUrl: request.returnFormat === 'url' ? urlOf(clip) : '',
    captionUrls: Object.fromEntries(request.captions.map((kind) => [kind, fileUrl(clip.clipId, kind)])),
    expiresAt: new Date(clip.expiresAtMs),
    open: () => readClip(clips, clip.clipId),
  });
  return { urlOf, toDelivered };
}

async function* readClip(clips: ClipStore, clipId: string): AsyncGenerator<Uint8Array> {
  const stored = await clips.open(clipId);
  if (!stored) throw new Failure('audio_expired');
  yield* stored.body;
}
