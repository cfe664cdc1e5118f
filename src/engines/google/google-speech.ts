// A segment as Google speaks it. Chirp 3 HD voices and clones send sound as it is made, in one call; other voices are called
// once a piece. A segment within the engine's limit is one piece; longer text is cut. Google charges for what it speaks, so
// nothing is requested twice, except text with a sentence that it found too long.
import type { Pcm } from '../../audio/pcm.ts';
import type { Segment } from '../engine.ts';
import { barePcm, wavPcm } from '../pcm-stream.ts';
import { type GoogleClient, type GoogleVoice, isSentenceTooLong, streamRateHz } from './google-client.ts';
import { isStreaming, languageOf, toGoogleLanguage } from './google-voices.ts';

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

interface PieceLimits {
  /** Of a piece; room enough for any one character. */
  bytesMax: number;
  /** Of a sentence, or of what is left of one, within a piece. */
  sentenceBytesMax: number;
}

type Cut = (text: string) => Iterable<string>;

const bytesOf = (text: string): number => Buffer.byteLength(text);

/** A lone surrogate is none of these, and passes as a character of its own. */
const clauses: Cut = (text) =>
  text.match(/.*?(?:[,;:\u2013\u2014\u2026)\]]+\s+|[\u060c\u061b\u3001\uff0c\uff1a\uff1b]|\n|$)/gsu) ?? [];
const words: Cut = (text) => text.match(/\S+\s*|\s+/gu) ?? [];

const segments = (granularity: 'sentence' | 'word' | 'grapheme'): Cut => {
  // Made on first use: its data takes a while to load.
  let segmenter: Intl.Segmenter | undefined;
  return (text) => {
    // What language a text is in hardly matters to where it may be cut; dictionaries are chosen by script.
    segmenter ??= new Intl.Segmenter('en', { granularity });
    return Iterator.from(segmenter.segment(text)).map(({ segment }) => segment);
  };
};
const sentences = segments('sentence');
/** From rough to fine; words without spaces between them, as in Thai or Chinese, are found by dictionary. */
const withinSentences: readonly Cut[] = [clauses, words, segments('word'), segments('grapheme'), (text) => text];

export function cutText(text: string, { bytesMax, sentenceBytesMax }: PieceLimits): string[] {
  const pieces: string[] = [];
  let piece = '';
  for (const sentence of sentences(text)) {
    for (const [index, part] of cutWithin(sentence, Math.min(sentenceBytesMax, bytesMax)).entries()) {
      // Two parts of one sentence in one piece would be that sentence again.
      if (piece !== '' && (index > 0 || bytesOf(piece) + bytesOf(part) > bytesMax)) {
        pieces.push(piece);
        piece = '';
      }
      piece += part;
    }
  }
  return piece === '' ? pieces : [...pieces, piece];
}

/** The text in as few parts as the first cut that suffices gives. */
function cutWithin(text: string, bytesMax: number, [cut, ...finer] = withinSentences): string[] {
  if (bytesOf(text) <= bytesMax || cut === undefined) return [text];
  const parts: string[] = [];
  let part = '';
  let bytes = 0;
  for (const unit of cut(text)) {
    const more = bytesOf(unit);
    if (bytes + more > bytesMax) {
      if (part !== '') parts.push(part);
      const within = cutWithin(unit, bytesMax, finer);
      part = within.pop()!;
      bytes = bytesOf(part);
      parts.push(...within);
    } else {
      part += unit;
      bytes += more;
    }
  }
  return part === '' ? parts : [...parts, part];
}
