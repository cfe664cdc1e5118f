// The cache key: a hash of everything that the sound of a request depends on.
import { createHash } from 'node:crypto';
import type { Casting, CastVoice } from '../speech/cast.ts';
import { soundFactsOf } from '../speech/fields.ts';
import type { PlannedSpeech } from '../speech/plan.ts';
import type { SpeechRequest } from '../speech/request.ts';
import type { SpeechInfo } from '../speech/speech-events.ts';

/** Who speaks: the voices that callers know, each with the voice of an engine that speaks it; and by which lexicons. */
export type Speakers = Pick<SpeechInfo, 'voice' | 'speaker' | 'others' | 'lexiconVersions'>;

/** Everything that the sound depends on, and whether there are captions with it. */
export function cacheKeyOf(request: SpeechRequest, speakers: Speakers): string {
  const versions = [speakers, ...speakers.others].flatMap(({ voice, speaker: { engine, voiceId, version } }) => {
    return [voice.voiceId, voice.version, engine, voiceId, version];
  });
  const { lexiconVersions } = speakers;
  const lexicons = lexiconVersions.length > 0 ? [lexiconVersions] : [];
  const facts = [...versions, request.chunks, ...soundFactsOf(request), ...lexicons];
  return createHash('sha256').update(JSON.stringify(facts)).digest('base64url');
}

/** The speakers of a planned request. */
export const speakersOf = (
  { cast: { main, others }, lexiconVersions }: Pick<PlannedSpeech, 'cast' | 'lexiconVersions'>,
  casting: Casting,
): Speakers => {
  const toSpeaker = (cast: CastVoice) => ({ voice: cast.offered.voice, speaker: casting(cast).speaker });
  return { ...toSpeaker(main), others: others.map(toSpeaker), lexiconVersions };
};
