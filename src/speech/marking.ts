// Decides which origin the files of a request state.
import { joinOrigins, type Origin, sourceTypes } from '../audio/origin.ts';
import type { Cast, Casting } from './cast.ts';

/** The facts of the installation that files state. */
export type Marking = Pick<Origin, 'software' | 'operator'>;

/** Undefined without marking. The casting chooses the engines. */
export function originOf(marking: Marking | undefined, { main, others }: Cast, casting: Casting): Origin | undefined {
  if (!marking) return undefined;
  const origins = [main, ...others].map((cast): Origin => {
    const { engine, speaker, openClone } = casting(cast);
    // The owner of a clone chooses its labels.
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
