// A segment as Google speaks it. Chirp 3 HD voices and clones send sound as it is made, in one call; other voices are called
// once a piece. A segment within the engine's limit is one piece; longer text is cut. Google charges for what it speaks, so
// nothing is requested twice, except text with a sentence that it found too long.
import type { Pcm } from '../../audio/pcm.ts';
import type { Segment } from '../engine.ts';
import { barePcm, wavPcm } from '../pcm-stream.ts';
import { toGoogleLanguage } from './clone-languages.ts';
import { type GoogleClient, type GoogleVoice, streamRateHz } from './google-client.ts';
import { isSentenceTooLong } from './google-failure.ts';
import { isStreaming, languageOf } from './google-voices.ts';
import { cutText, type PieceLimits } from './text-pieces.ts';

/** Three bytes of UTF-8 each at most, so that any segment is one piece. */
export const segmentCharsMax = 1_600;
/** Google accepts 5000 bytes. It does not state how long a sentence may be; voices differ. */
const roomy: PieceLimits = { bytesMax: 4_800, sentenceBytesMax: 500 };
const tight: PieceLimits = { bytesMax: 200, sentenceBytesMax: 200 };

interface GoogleSpeaker {
  voice: GoogleVoice;
  streams: boolean;
  speakingRate: number;
}

export function speakSegment(client: GoogleClient, segment: Segment, signal: AbortSignal): AsyncGenerator<Pcm> {
  const texts = cutText(toPlainText(segment.text), roomy).filter((piece) => piece.trim() !== '');
  return callAll(client, texts, toSpeaker(segment), signal);
}

/** Makes as many calls as the voice needs. A call refused for its sentences is made again, in smaller pieces. */
async function* callAll(
  client: GoogleClient,
  texts: readonly string[],
  speaker: GoogleSpeaker,
  signal: AbortSignal,
): AsyncGenerator<Pcm> {
  const calls = speaker.streams && texts.length > 0 ? [texts] : texts.map((text) => [text]);
  for (const pieces of calls) {
    let isHeard = false;
    try {
      for await (const pcm of call(client, pieces, speaker, signal)) {
        isHeard = true;
        yield pcm;
      }
    } catch (error) {
      const finer = pieces.flatMap((text) => cutText(text, tight));
      if (isHeard || !isSentenceTooLong(error) || finer.length <= pieces.length) throw error;
      yield* callAll(client, finer, speaker, signal);
    }
  }
}

function call(client: GoogleClient, texts: readonly string[], speaker: GoogleSpeaker, signal: AbortSignal) {
  const { voice, streams, speakingRate } = speaker;
  return streams
    ? barePcm(client.stream({ voice, texts, speakingRate }, signal), streamRateHz)
    : wavPcm(once(client.speak({ voice, text: texts.join(''), speakingRate }, signal)));
}

function toSpeaker({ voice, languageCode, speakingRate, clone }: Segment): GoogleSpeaker {
  if (!clone) {
    const named = { languageCode: languageOf(voice), name: voice.voiceId };
    return { voice: named, streams: isStreaming(voice), speakingRate };
  }
  // Always as a stream: where logging is on, Google's client logs other calls in full, with the key.
  const cloningKey = Buffer.from(clone).toString('utf8');
  // A bare language gets the region of the clone.
  const own = voice.languageCodes.find((code) => code.startsWith(`${languageCode}-`)) ?? languageCode;
  return { voice: { languageCode: toGoogleLanguage(own), cloningKey }, streams: true, speakingRate };
}

/** Without lone surrogates, and without control characters except tabs and new lines. */
const toPlainText = (text: string): string =>
  text.toWellFormed().replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, ' ');

async function* once(bytes: Promise<Buffer>): AsyncGenerator<Buffer> {
  yield await bytes;
}
