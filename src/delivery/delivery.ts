// Speech that is kept. A whole text is spoken into a clip and answered when all of it is there; the same request of the
// same caller is answered from the clip while it lasts, and joins in while it is being spoken. A stream is kept besides
// if it asks for a link. What is kept has an address that nobody can guess, and a day to live.
import { createHash } from 'node:crypto';
import { audioFormats, type FormatName } from '../audio/formats.ts';
import type { ClipStore } from '../clips/clip-store.ts';
import type { Voice } from '../engines/engine.ts';
import { Failure } from '../errors.ts';
import { inVoiceLanguage, planSpeech, type SpeechPlans } from '../speech/plan.ts';
import type { Caller, CaptionKind, SpeechRequest } from '../speech/request.ts';
import type { SpeechEvent, SpeechInfo } from '../speech/speech-events.ts';
import type { Speech } from '../speech/synthesize.ts';
import { type Voices, voicesFor } from '../speech/voice.ts';
import { createSingleFlight, type SingleFlight } from './single-flight.ts';
import { removeClip } from './stored-captions.ts';
import { type ClipRecord, storeClip } from './stored-clip.ts';

export interface Delivery {
  /** Speaks the text, or takes it from the cache unless it must be `fresh`, and answers when all of it is kept. */
  deliver(
    request: SpeechRequest,
    caller: Caller,
    signal: AbortSignal,
    options: { fresh: boolean; audioUrlWanted: boolean },
  ): Promise<Delivered>;
  /** The heart's stream; kept besides, and its info telling of that, where the request asks for a link. */
  streamSpeech(
    request: SpeechRequest,
    caller: Caller,
    signal: AbortSignal,
  ): AsyncGenerator<SpeechEvent | DeliveredInfo>;
  /** A Failure `voice_not_found` where the caller has no such voice. */
  checkVoice(request: SpeechRequest, caller: Caller): void;
  estimate(request: SpeechRequest, caller: Caller): Promise<Estimate>;
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

/** The info of a stream whose sound is kept. */
export interface DeliveredInfo extends SpeechInfo {
  cached?: boolean;
  audioUrl?: string;
  expiresAt?: Date;
}

export interface Estimate {
  chars: number;
  seconds: number;
  byteCount: number;
  segmentCount: number;
  warnings: readonly string[];
}

/** The index of clips, as far as it is needed here. */
export interface ClipIndex {
  add(clip: ClipRecord): Promise<void>;
  findCached(ownerId: string, cacheKey: string, untilMs: number): Promise<ClipRecord | undefined>;
  markDeleted(clipId: string, ownerId: string, nowMs: number): Promise<ClipRecord | undefined>;
}

export interface DeliveryOptions {
  speech: Speech;
  voices: Voices;
  clips: ClipStore;
  index: ClipIndex;
  /** Where clips are served, and how long they are kept. */
  links: { baseUrl(): string; keepMs: number };
}

type Wanted = Pick<SpeechRequest, 'captions'> & { audioUrlWanted: boolean };

/** A clip answers for a request while it has this share of its life before it. */
const cachedLifeMin = 0.5;
/** What people speak at, in characters of text as it is said. */
const charsPerSecond = 14.5;

/** `singleFlight` spans the replicas, where there are several. */
export function createDelivery(options: DeliveryOptions, singleFlight: SingleFlight = createSingleFlight()): Delivery {
  const { speech, voices, clips, index, links } = options;
  const fileUrl = (clipId: string, extension: string) => `${links.baseUrl()}/audio/${clipId}.${extension}`;
  const urlOf = ({ clipId, format }: Pick<ClipRecord, 'clipId' | 'format'>) =>
    fileUrl(clipId, audioFormats[format as FormatName].extension);

  const keepOptions = { clips, index, keepMs: links.keepMs };

  const toDelivered = (clip: ClipRecord, voice: Voice, cached: boolean, wanted: Wanted): Delivered => ({
    audioId: clip.clipId,
    voice,
    chars: clip.chars,
    format: clip.format as FormatName,
    sampleRateHz: clip.sampleRateHz,
    seconds: clip.seconds,
    byteCount: clip.byteCount,
    cached,
    warnings: clip.warnings === '' ? [] : clip.warnings.split(' '),
    audioUrl: wanted.audioUrlWanted ? urlOf(clip) : '',
    captionUrls: Object.fromEntries(wanted.captions.map((kind) => [kind, fileUrl(clip.clipId, kind)])),
    expiresAt: new Date(clip.expiresAtMs),
    open: () => readClip(clips, clip.clipId),
  });

  const findCached = async (ownerId: string, cacheKey: string): Promise<ClipRecord | undefined> => {
    const clip = await index.findCached(ownerId, cacheKey, Date.now() + Math.round(links.keepMs * cachedLifeMin));
    if (!clip) return undefined;
    const stored = await clips.open(clip.clipId, { first: 0, last: 0 });
    stored?.body.destroy();
    return stored && clip;
  };

  /** What was spoken by the best engine is taken always, what was by a lesser one while those before it cannot speak. */
  const findSpoken = async (request: SpeechRequest, ownerId: string, { voice, bindings }: SpeechPlans) => {
    for (const binding of bindings) {
      const cached = await findCached(ownerId, cacheKeyOf(request, voice.voice, binding.speaker));
      if (cached || speech.restMs(binding) === 0) return cached;
    }
    return undefined;
  };

  return {
    async deliver(request, caller, signal, { fresh, audioUrlWanted }) {
      const plans = planSpeech(voicesFor(voices, caller), request);
      const { voice } = plans.voice;
      const { captions, chunks, languageCode } = inVoiceLanguage(request, plans.voice);
      const wanted = { audioUrlWanted, captions };
      const captioned = captions.length > 0 ? { text: chunks[0]!, languageCode } : undefined;
      const cached = fresh ? undefined : await findSpoken(request, caller.callerId, plans);
      if (cached) return toDelivered(cached, voice, true, wanted);
      const speak = async (until: AbortSignal) => {
        const toCacheKey = (info: SpeechInfo) => cacheKeyOf(request, info.voice, info.speaker);
        const asked = captioned === undefined ? request : { ...request, timestamps: true };
        const options = { ...keepOptions, caller, toCacheKey, captioned };
        const kept = storeClip(speech.streamSpeech(asked, caller, until), options);
        for await (const _ of kept.events);
        return kept.clip;
      };
      if (fresh) return toDelivered(await speak(signal), voice, false, wanted);
      const flight = `${caller.callerId} ${cacheKeyOf(request, voice, plans.bindings[0]!.speaker)}`;
      const { value: clip, isMade } = await singleFlight.run(flight, signal, {
        find: () => findSpoken(request, caller.callerId, plans),
        make: speak,
      });
      return toDelivered(clip, voice, !isMade, wanted);
    },

    async *streamSpeech(request, caller, signal) {
      const events = speech.streamSpeech(request, caller, signal);
      if (request.returnFormat !== 'url') return yield* events;
      const kept = storeClip(events, { ...keepOptions, caller, toCacheKey: () => null });
      for await (const event of kept.events) {
        if (event.type !== 'info') yield event;
        else
          yield {
            ...event,
            audioUrl: urlOf({ clipId: event.audioId, format: event.format }),
            expiresAt: new Date(Date.now() + links.keepMs),
          } satisfies DeliveredInfo;
      }
    },

    checkVoice: ({ voiceId }, caller) => void voicesFor(voices, caller).find(voiceId),

    async estimate(request, caller) {
      const { bindings, planFor } = planSpeech(voicesFor(voices, caller), request);
      const { cuts, warnings } = planFor(bindings[0]!);
      let said = 0;
      let segmentCount = 0;
      for (let next = cuts.next(); !next.done; next = cuts.next()) {
        said += next.value.cut?.text.length ?? 0;
        if (next.value.cut) segmentCount++;
      }
      const { chars, format, sampleRateHz, speakingRate } = request;
      const seconds = said / charsPerSecond / speakingRate;
      const { bytesPerSecond, headBytes = 0 } = audioFormats[format];
      const byteCount = Math.round(seconds * bytesPerSecond(sampleRateHz)) + headBytes;
      return { chars, seconds, byteCount, segmentCount, warnings };
    },

    async remove(audioId, caller) {
      const clip = await index.markDeleted(audioId, caller.callerId, Date.now());
      if (!clip) throw new Failure('not_found');
      await removeClip(clips, audioId);
    },
  };
}

/** Everything that the sound depends on, and whether there are captions with it. */
function cacheKeyOf(request: SpeechRequest, voice: Voice, { engine, voiceId, version }: Voice): string {
  const { chunks, languageCode, speakingRate, sampleRateHz, format, captions } = request;
  const who = [voice.voiceId, voice.version, engine, voiceId, version];
  const facts = [
    ...who,
    chunks,
    languageCode,
    speakingRate,
    sampleRateHz,
    format,
    ...(captions.length > 0 ? ['captions'] : []),
  ];
  return createHash('sha256').update(JSON.stringify(facts)).digest('base64url');
}

async function* readClip(clips: ClipStore, clipId: string): AsyncGenerator<Uint8Array> {
  const stored = await clips.open(clipId);
  if (!stored) throw new Failure('audio_expired');
  yield* stored.body;
}
