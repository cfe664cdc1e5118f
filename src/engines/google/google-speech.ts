// A segment as Google says it. What Chirp 3 HD says, and every clone, comes as it is made, in one call; other voices say a
// piece a call. A segment as long as the engine wants it is one piece; what is longer is cut. Google charges for what it
// says, so nothing is asked for twice, but for a sentence that it found too long.
import type { Pcm } from '../../audio/pcm.ts';
import { Failure } from '../../errors.ts';
import { audiblePcm } from '../audible-pcm.ts';
import type { Segment } from '../engine.ts';
import { barePcm, wavPcm } from '../pcm-stream.ts';
import { toGoogleLanguage } from './clone-languages.ts';
import { type GoogleClient, type GoogleVoice, streamRateHz } from './google-client.ts';
import { isSentenceTooLong } from './google-failure.ts';
import { isStreaming, languageOf } from './google-voices.ts';
import { cutText, type PieceLimits } from './text-pieces.ts';

/** Three bytes of UTF-8 each at most, so that any segment is one piece. */
export const segmentCharsMax = 1_600;
/** In code points; what is longer is no segment. */
const textCharsMax = 5_000;
/** Google takes 5000 bytes. How long a sentence may be it does not say; voices differ. */
const roomy: PieceLimits = { bytesMax: 4_800, sentenceBytesMax: 500 };
const tight: PieceLimits = { bytesMax: 200, sentenceBytesMax: 200 };
const soundSecondsPerChar = 1;
const soundSecondsLeast = 60;
const silenceSeconds = 0.2;

interface Saying {
  voice: GoogleVoice;
  streams: boolean;
  speakingRate: number;
}

export async function* saySegment(client: GoogleClient, segment: Segment, signal: AbortSignal): AsyncGenerator<Pcm> {
  const text = toPlainText(segment.text);
  if ([...text].length > textCharsMax) throw new Failure('engine_error', {}, new Error('far too long for a segment'));
  const texts = cutText(text, roomy).filter((piece) => piece.trim() !== '');
  let sampleRateHz: number | undefined;
  for await (const pcm of say(client, texts, toSaying(segment), signal)) {
    sampleRateHz ??= pcm.sampleRateHz;
    if (pcm.sampleRateHz !== sampleRateHz) throw new Failure('engine_error', {}, new Error('its rate changes'));
    yield pcm;
    signal.throwIfAborted();
  }
  if (sampleRateHz === undefined) yield silence();
}

/** As many calls as the voice needs; those that it refuses for their sentences once more, in smaller pieces. */
async function* say(
  client: GoogleClient,
  texts: readonly string[],
  saying: Saying,
  signal: AbortSignal,
): AsyncGenerator<Pcm> {
  const calls = saying.streams && texts.length > 0 ? [texts] : texts.map((text) => [text]);
  for (const asked of calls) {
    let isHeard = false;
    try {
      for await (const pcm of call(client, asked, saying, signal)) {
        isHeard = true;
        yield pcm;
      }
    } catch (error) {
      const finer = asked.flatMap((text) => cutText(text, tight));
      if (isHeard || !isSentenceTooLong(error) || finer.length <= asked.length) throw error;
      yield* say(client, finer, saying, signal);
    }
  }
}

/** One call, its sound complete. */
function call(client: GoogleClient, texts: readonly string[], saying: Saying, signal: AbortSignal) {
  const { voice, streams, speakingRate } = saying;
  const text = texts.join('');
  const sound = streams
    ? barePcm(client.stream({ voice, texts, speakingRate }, signal), streamRateHz)
    : wavPcm(once(client.speak({ voice, text, speakingRate }, signal)));
  return audiblePcm(sound, text, soundSecondsLeast + (soundSecondsPerChar * text.length) / speakingRate);
}

function toSaying({ voice, languageCode, speakingRate, clone }: Segment): Saying {
  if (!clone) {
    const named = { languageCode: languageOf(voice), name: voice.voiceId };
    return { voice: named, streams: isStreaming(voice), speakingRate };
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
