// The cache key: a hash of everything that the sound of a request depends on. It is made of the fields of the request and
// of the voices that were found for it, so that no text is planned, nor cut into segments, before the cache is looked at.
import { hash } from 'node:crypto';
import type { Casting, CastVoice } from '../speech/cast.ts';
import { soundFactsOf } from '../speech/fields.ts';
import { bestCasting, type CastSpeech } from '../speech/plan.ts';
import type { SpeechRequest } from '../speech/request.ts';
import type { SpeechInfo } from '../speech/speech-events.ts';

/** Who speaks: the voices that callers know, each with the voice of an engine that speaks it; and by which lexicons. */
type Speakers = Pick<SpeechInfo, 'voice' | 'speaker' | 'others' | 'lexiconVersions'>;

/** Everything that the sound depends on, and whether there are captions with it. */
export function cacheKeyOf(request: SpeechRequest, speakers: Speakers): string {
  const versions = [speakers, ...speakers.others].flatMap(({ voice, speaker: { engine, voiceId, version } }) => {
    return [voice.voiceId, voice.version, engine, voiceId, version];
  });
  const { lexiconVersions } = speakers;
  const lexicons = lexiconVersions.length > 0 ? [lexiconVersions] : [];
  const facts = [...versions, request.chunks, ...soundFactsOf(request), ...lexicons];
  return hash('sha256', JSON.stringify(facts), 'base64url');
}

type Found = Pick<CastSpeech, 'request' | 'cast' | 'lexiconVersions'>;

/** The speakers of a request. */
const speakersOf = (
  { cast: { main, others }, lexiconVersions }: Pick<Found, 'cast' | 'lexiconVersions'>,
  casting: Casting,
): Speakers => {
  const toSpeaker = (cast: CastVoice) => ({ voice: cast.offered.voice, speaker: casting(cast).speaker });
  return { ...toSpeaker(main), others: others.map(toSpeaker), lexiconVersions };
};

/** Of the request as that choice of engines speaks it. */
export const keyOfCasting = (found: Found, casting: Casting): string =>
  cacheKeyOf(found.request, speakersOf(found, casting));

/** Of the request as the best engines speak it. */
export const bestKeyOf = (found: Found): string => keyOfCasting(found, bestCasting);
