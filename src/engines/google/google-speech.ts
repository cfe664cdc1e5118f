// Speaks a segment with Google. Chirp 3 HD voices and clones stream audio in one call; other voices need one call per
// piece. A segment within the engine's limit is one piece. Google charges for all spoken text, so nothing is requested
// twice, except text with a sentence that Google found too long.
import type { Pcm } from '../../platform/pcm.ts';
import type { Segment } from '../engine.ts';
import { barePcm, wavPcm } from '../pcm-stream.ts';
import { type GoogleClient, type GoogleVoice, isSentenceTooLong, streamRateHz } from './google-client.ts';
import { isStreaming, languageOf, toGoogleLanguage } from './google-voices.ts';

/** A UTF-16 unit has at most three bytes in UTF-8, so the longest segment is within Google's limit. */
export const segmentCharsMax = 1_600;
/** Google accepts 5000 bytes per call. Its limit on a sentence is not documented and differs between voices. */
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

/** Makes one call per piece. A call that is refused because a sentence is too long is repeated in smaller pieces. */
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
    : wavPcm(client.speak({ voice, text: texts.join(''), speakingRate }, signal));
}

function toSpeaker({ voice, languageCode, speakingRate, clone }: Segment): GoogleSpeaker {
  if (!clone) {
    const named = { languageCode: languageOf(voice), name: voice.voiceId };
    return { voice: named, streams: isStreaming(voice), speakingRate };
  }
  const cloningKey = Buffer.from(clone).toString('utf8');
  // A language without a region gets the region of the clone.
  const own = voice.languageCodes.find((code) => code.startsWith(`${languageCode}-`)) ?? languageCode;
  return { voice: { languageCode: toGoogleLanguage(own), cloningKey }, streams: true, speakingRate };
}

/** Removes lone surrogates, and control characters except tabs and new lines. */
const toPlainText = (text: string): string =>
  text.toWellFormed().replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, ' ');

interface PieceLimits {
  /** Maximum size of a piece; large enough for any single character. */
  bytesMax: number;
  /** Maximum size of a sentence, or of its remaining part, within a piece. */
  sentenceBytesMax: number;
}

type Cut = (text: string) => Iterable<string>;

const bytesOf = (text: string): number => Buffer.byteLength(text);

/** Cuts after clause marks and line breaks. The `u` flag prevents a cut within a surrogate pair. */
const clauses: Cut = (text) =>
  text.match(
    /.*?(?:(?<![,;:\u2013\u2014\u2026)\]])[,;:\u2013\u2014\u2026)\]]+\s+|[\u060c\u061b\u3001\uff0c\uff1a\uff1b]|\n|$)/gsu,
  ) ?? [];
const words: Cut = (text) => text.match(/\S+\s*|\s+/gu) ?? [];

const segments = (granularity: 'sentence' | 'word' | 'grapheme'): Cut => {
  // Created on first use, because its data takes long to load.
  let segmenter: Intl.Segmenter | undefined;
  return (text) => {
    // The language hardly affects where text may be cut; dictionaries are chosen by script.
    segmenter ??= new Intl.Segmenter('en', { granularity });
    return Iterator.from(segmenter.segment(text)).map(({ segment }) => segment);
  };
};
const sentences = segments('sentence');
/**
 * Ways to cut a sentence, from coarse to fine. A dictionary finds words in scripts without spaces, such as Thai or
 * Chinese.
 */
const withinSentences: readonly Cut[] = [clauses, words, segments('word'), segments('grapheme'), (text) => text];

export function cutText(text: string, { bytesMax, sentenceBytesMax }: PieceLimits): string[] {
  const pieces: string[] = [];
  let piece = '';
  for (const sentence of sentences(text)) {
    for (const [index, part] of cutWithin(sentence, Math.min(sentenceBytesMax, bytesMax)).entries()) {
      // Two parts of one sentence go to different pieces, because together they would be too long a sentence again.
      if (piece !== '' && (index > 0 || bytesOf(piece) + bytesOf(part) > bytesMax)) {
        pieces.push(piece);
        piece = '';
      }
      piece += part;
    }
  }
  return piece === '' ? pieces : [...pieces, piece];
}

/** Cuts the text into as few parts as possible, with the coarsest cut that suffices. */
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
