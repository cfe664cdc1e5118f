// Computes the cache key: a hash of everything that the audio of a request depends on. The key needs only the request
// and its voices, so that the cache can be searched before the text is planned or segmented.
import { hash } from 'node:crypto';
import {
  bestCasting,
  type Casting,
  type CastSpeech,
  type CastVoice,
  originOf,
  type SpeechInfo,
  type SpeechRequest,
} from '../speech.ts';

/** Voices as callers know them, their engine voices, their lexicon versions, and the origin that the file states. */
type Speakers = Pick<SpeechInfo, 'voice' | 'speaker' | 'others' | 'lexiconVersions' | 'origin'>;

/** Returns the key of the audio, which also depends on whether there are captions. */
export function cacheKeyOf(request: SpeechRequest, speakers: Speakers): string {
  const versions = [speakers, ...speakers.others].flatMap(({ voice, speaker: { engine, voiceId, version } }) => {
    return [voice.voiceId, voice.version, engine, voiceId, version];
  });
  const { lexiconVersions, origin } = speakers;
  const lexicons = lexiconVersions.length > 0 ? [lexiconVersions] : [];
  const facts = [...versions, request.chunks, ...soundFactsOf(request), ...lexicons, ...(origin ? [origin] : [])];
  return hash('sha256', JSON.stringify(facts), 'base64url');
}

/** The fields that change the audio, without the text, the voice and the lexicons. */
export function soundFactsOf(request: SpeechRequest): unknown[] {
  const { sampleRateHz, languageCode, format, speakingRate, captions, markup, normalize, instructions, seed } = request;
  // An undefined value is left out, so that a new field does not invalidate existing keys.
  const added = [instructions, seed].filter((value) => value !== undefined);
  // Stored captions can be returned in every format, so the key states only whether there are captions.
  return [sampleRateHz, languageCode, format, speakingRate, captions.length > 0, markup, normalize, ...added];
}

type Found = Pick<CastSpeech, 'request' | 'cast' | 'lexiconVersions' | 'marking'>;

const speakersOf = (
  { cast, lexiconVersions, marking }: Pick<Found, 'cast' | 'lexiconVersions' | 'marking'>,
  casting: Casting,
): Speakers => {
  const toSpeaker = (cast: CastVoice) => ({ voice: cast.offered.voice, speaker: casting(cast).speaker });
  const { main, others } = cast;
  const origin = originOf(marking, cast, casting);
  return { ...toSpeaker(main), others: others.map(toSpeaker), lexiconVersions, origin };
};

/** Returns the key of the request for this choice of engines. */
export const keyOfCasting = (found: Found, casting: Casting): string =>
  cacheKeyOf(found.request, speakersOf(found, casting));

/** Returns the key of the request for the best engines. */
export const bestKeyOf = (found: Found): string => keyOfCasting(found, bestCasting);
