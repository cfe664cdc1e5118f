// Speaks with Google's voices and with clones of them. What Chirp 3 HD says, and every clone, comes as it is made; other
// voices say a piece at a time. A segment is one call, so long as it is no longer than Google takes in one; what is longer
// is cut. Google charges for what it says, so nothing is asked for twice, but for a sentence that it found too long.
import type { Pcm } from '../../audio/pcm.ts';
import { Failure } from '../../errors.ts';
import { audiblePcm } from '../audible-pcm.ts';
import { barePcm } from '../bare-pcm.ts';
import type { Engine, Segment, Voice } from '../engine.ts';
import { wavPcm } from '../wav-pcm.ts';
import { toGoogleLanguage } from './clone-languages.ts';
import { type GoogleLogin, type GoogleVoice, openGoogleClient, streamRateHz } from './google-client.ts';
import { createCloning } from './google-cloning.ts';
import { isSentenceTooLong } from './google-failure.ts';
import { isStreaming, languageOf, toVoices } from './google-voices.ts';
import { cutText, type PieceLimits } from './text-pieces.ts';

export interface GoogleOptions extends GoogleLogin {
  /** Names of voices, or how they begin; empty for all that stream. */
  voices: readonly string[];
  segmentsPerMinute: number;
  cloneSegmentsPerMinute: number;
  segmentsSpokenMax: number;
  refreshMs?: number;
}

export const engineName = 'google';
/** Three bytes of UTF-8 each at most, so that any segment is one piece. */
const segmentCharsMax = 1_600;
/** In code points; what is longer is no segment. */
const textCharsMax = 5_000;
/** Google takes 5000 bytes. How long a sentence may be it does not say; voices differ. */
const roomy: PieceLimits = { bytesMax: 4_800, sentenceBytesMax: 500 };
const tight: PieceLimits = { bytesMax: 200, sentenceBytesMax: 200 };
const soundSecondsPerChar = 1;
const soundSecondsLeast = 60;
const silenceSeconds = 0.2;
const askMs = 20_000;
const refreshMsUsual = 6 * 3_600_000;

interface Saying {
  voice: GoogleVoice;
  streams: boolean;
  speakingRate: number;
}

export async function openGoogle(options: GoogleOptions): Promise<Engine> {
  const { segmentsPerMinute, cloneSegmentsPerMinute, segmentsSpokenMax, refreshMs = refreshMsUsual } = options;
  const client = await openGoogleClient(options);
  const closing = new AbortController();
  const list = async (): Promise<Voice[]> => {
    const signal = AbortSignal.any([closing.signal, AbortSignal.timeout(askMs)]);
    return toVoices(await client.listVoices(signal), options.voices, engineName);
  };

  let voices: readonly Voice[];
  try {
    voices = await list();
    if (voices.length === 0)
      throw new Failure('engine_unavailable', { message: 'Google lists none of the voices wanted' });
  } catch (error) {
    await client.close();
    throw error;
  }
  const refreshing = setInterval(async () => {
    const listed = await list().catch(() => []);
    // A list that does not come, or comes empty, takes nobody's voice away.
    if (listed.length > 0 && JSON.stringify(listed) !== JSON.stringify(voices)) voices = listed;
  }, refreshMs).unref();

  /** One call, its sound complete. */
  async function* call(texts: readonly string[], { voice, streams, speakingRate }: Saying, signal: AbortSignal) {
    const text = texts.join('');
    const secondsMax = soundSecondsLeast + (soundSecondsPerChar * text.length) / speakingRate;
    const sound = streams
      ? barePcm(client.stream({ voice, texts, speakingRate }, signal), streamRateHz)
      : wavPcm(once(client.speak({ voice, text, speakingRate }, signal)));
    yield* audiblePcm(sound, text, secondsMax);
  }

  /** As many calls as the voice needs; those that it refuses for their sentences once more, in smaller pieces. */
  async function* say(texts: readonly string[], saying: Saying, signal: AbortSignal): AsyncGenerator<Pcm> {
    const calls = saying.streams ? [texts] : texts.map((text) => [text]);
    for (const asked of calls) {
      let isHeard = false;
      try {
        for await (const pcm of call(asked, saying, signal)) {
          isHeard = true;
          yield pcm;
        }
      } catch (error) {
        const finer = asked.flatMap((text) => cutText(text, tight));
        if (isHeard || !isSentenceTooLong(error) || finer.length <= asked.length) throw error;
        yield* say(finer, saying, signal);
      }
    }
  }

  async function* speak(segment: Segment, callersSignal: AbortSignal): AsyncGenerator<Pcm> {
    const signal = AbortSignal.any([callersSignal, closing.signal]);
    signal.throwIfAborted();
    const text = toPlainText(segment.text);
    if ([...text].length > textCharsMax) throw new Failure('engine_error', {}, new Error('far too long for a segment'));
    const texts = cutText(text, roomy).filter((piece) => piece.trim() !== '');
    let sampleRateHz: number | undefined;
    for await (const pcm of say(texts, toSaying(segment), signal)) {
      sampleRateHz ??= pcm.sampleRateHz;
      if (pcm.sampleRateHz !== sampleRateHz) throw new Failure('engine_error', {}, new Error('its rate changes'));
      yield pcm;
      signal.throwIfAborted();
    }
    if (sampleRateHz === undefined) yield silence();
  }

  return {
    name: engineName,
    get voices() {
      return voices;
    },
    capabilities: {
      speakingRates: { min: 0.25, max: 2 },
      timings: false,
      readsNumbers: true,
      segmentCharsMax,
      // A call is a call, however short, and its sound comes while it is made.
      firstSegmentCharsMax: segmentCharsMax,
      segmentsAtOnce: 2,
      segmentsSpokenMax,
      segmentsPerMinute,
      cloneSegmentsPerMinute,
    },
    cloning: createCloning(client, closing.signal),
    speak,
    async close() {
      clearInterval(refreshing);
      closing.abort(new Failure('engine_unavailable'));
      await client.close();
    },
  };
}

function toSaying({ voice, languageCode, speakingRate, clone }: Segment): Saying {
  if (!clone) {
    return {
      voice: { languageCode: languageOf(voice), name: voice.voiceId },
      streams: isStreaming(voice),
      speakingRate,
    };
  }
  // Always as a stream: of other calls Google's client logs what was asked, the key too, where it is told to log.
  const cloningKey = Buffer.from(clone).toString('utf8');
  // Where just a language is asked for, the region is the clone's.
  const own = voice.languageCodes.find((code) => code.startsWith(`${languageCode}-`)) ?? languageCode;
  return { voice: { languageCode: toGoogleLanguage(own), cloningKey }, streams: true, speakingRate };
}

/** Without what is no text: halves of characters, and control characters but tabs and new lines. */
const toPlainText = (text: string): string =>
  text.toWellFormed().replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, ' ');

const silence = (): Pcm => ({ samples: new Int16Array(silenceSeconds * streamRateHz), sampleRateHz: streamRateHz });

async function* once(bytes: Promise<Buffer>): AsyncGenerator<Buffer> {
  yield await bytes;
}
