// Metrics of what calls have spoken, by voice and engine.
import type { EndedCall } from '../api/ended-call.ts';
import type { Metrics } from '../telemetry/metrics.ts';

/** Voices beyond these count as "other": callers can make any number of them. */
const labelledVoicesMax = 100;

/** What calls have spoken, by voice and engine. */
export function createSpeechMetrics(metrics: Metrics) {
  const firstSound = metrics.distribution('sonant_first_sound_seconds', 'Time from a call to its first sound.');
  const characters = metrics.counter('sonant_characters_total', 'Characters spoken.');
  const seconds = metrics.counter('sonant_audio_seconds_total', 'Sound delivered, in seconds.');
  const cache = metrics.counter('sonant_cache_total', 'Whole texts by whether they came out of the cache.');
  const voices = new Set<string>();
  return ({ speech }: EndedCall): void => {
    const { voiceId, engine, firstSoundMs, audioSeconds, isCached } = speech;
    if (voiceId === undefined || engine === undefined) return;
    if (voices.size < labelledVoicesMax) voices.add(voiceId);
    const labels = { voice: voices.has(voiceId) ? voiceId : 'other', engine };
    if (firstSoundMs !== undefined) firstSound(labels, firstSoundMs / 1000);
    if (isCached !== undefined) cache({ result: isCached ? 'hit' : 'miss' });
    if (audioSeconds === undefined) return;
    characters(labels, speech.characters);
    seconds(labels, audioSeconds);
  };
}
