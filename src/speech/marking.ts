// Determines the origin to write into the files of a request.
import { joinOrigins, type Origin, sourceTypes } from '../audio.ts';
import type { Cast, Casting } from './cast.ts';

/** Information about the installation that is written into files. */
export type Marking = Pick<Origin, 'software' | 'operator'>;

/** Returns the origin of a request whose engines are chosen by `casting`; undefined without marking. */
export function originOf(marking: Marking | undefined, { main, others }: Cast, casting: Casting): Origin | undefined {
  if (!marking) return undefined;
  const origins = [main, ...others].map((cast): Origin => {
    const { engine, speaker, openClone } = casting(cast);
    // The labels of a clone are ignored, because its owner chooses them.
    const model = openClone ? undefined : (speaker.labels.model ?? speaker.labels.base);
    const medium = engine.capabilities.isSynthetic ? 'algorithmicMedia' : 'trainedAlgorithmicMedia';
    return {
      ...marking,
      sourceType: `${sourceTypes}${medium}`,
      model: model === undefined ? engine.name : `${engine.name} ${model}`,
      voice: cast.offered.voice.voiceId,
    };
  });
  return joinOrigins(origins);
}
