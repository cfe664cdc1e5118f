// What a model's process is sent: the model's configuration, once, and each segment. Speed is always 1: most models round
// each sound to whole frames, so that twice the speed is 1.8 times; the sound is stretched outside the engine. Pauses stay
// as the model makes them; the library would shorten them to a fifth.

import type { Model } from './model.ts';
import type { ModelRequest } from './model-child.ts';
import type { Speaker } from './model-voices.ts';
import type { Reference } from './reference.ts';

export interface SpokenBy {
  model: Model;
  text: string;
  speaker?: Speaker;
  /** The voice to clone, for a model that has no voices. */
  reference?: Reference;
}

/** Sentence by sentence, so that the first is sent while the next is made. */
export const toLibraryConfig = ({ config, rules }: Model, threads: number): object => ({
  model: { ...config, numThreads: threads, provider: 'cpu', debug: false },
  maxNumSentences: 1,
  ...(rules !== '' && { ruleFsts: rules }),
});

export function toLibraryRequest({ model, text, speaker, reference }: SpokenBy): ModelRequest {
  const { zeroShot } = model;
  const extra = { ...zeroShot?.extra, ...speaker?.extra };
  return {
    text,
    generationConfig: {
      sid: speaker?.sid ?? 0,
      speed: 1,
      silenceScale: 1,
      ...(zeroShot && { numSteps: zeroShot.steps }),
      ...(reference && {
        referenceAudio: Float32Array.from(reference.samples, (sample) => sample / 32_768),
        referenceSampleRate: reference.sampleRateHz,
        referenceText: reference.text,
      }),
      ...(Object.keys(extra).length > 0 && { extra }),
    },
  };
}
