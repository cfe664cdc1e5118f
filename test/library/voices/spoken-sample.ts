// Provides a sample like a person's, spoken by the embedded voice, and ways to degrade it.

import { toFloat } from '../../../src/audio/level.ts';
import type { Recording } from '../../../src/audio/recording/track.ts';
import { openFlite } from '../../../src/engines/flite/flite.ts';
import { join } from '../../../src/platform/pcm.ts';
import { noise, rms } from '../../audio/measure-tone.ts';
import { openGuard } from '../../engines/open-guard.ts';

const sentences = 'The boat left the harbour early, long before the sun came up. Nobody on the quay had seen it go.';

/** Five or six seconds of each of this many voices. */
export async function speakSamples(voices = 3): Promise<Recording[]> {
  const engine = await openFlite({ threads: 2 });
  const guard = openGuard(engine);
  const segment = { text: sentences, languageCode: 'en', speakingRate: 1, timings: false, urgent: true };
  const samples = await Promise.all(
    engine.voices.slice(0, voices).map(async (voice) => {
      const pieces = await Array.fromAsync(guard.speak({ ...segment, voice }, 'test', new AbortController().signal));
      const samples = join(
        Float32Array,
        pieces.map((pcm) => toFloat(pcm.samples, voice.gainDb)),
      );
      return { samples, sampleRateHz: pieces[0]!.sampleRateHz };
    }),
  );
  await engine.close();
  return samples;
}

export const gained = ({ samples, sampleRateHz }: Recording, factor: number): Recording => ({
  samples: samples.map((sample) => Math.max(-1, Math.min(1, factor * sample))),
  sampleRateHz,
});

/** Adds white noise at this signal-to-noise ratio. */
export function noisy({ samples, sampleRateHz }: Recording, snrDb: number): Recording {
  // Uniform noise over -1..1 has an effective value of 1/sqrt(3).
  const amplitude = Math.sqrt(3) * rms(samples) * 10 ** (-snrDb / 20);
  const hiss = noise(samples.length, amplitude);
  return { samples: samples.map((sample, i) => sample + hiss[i]!), sampleRateHz };
}

export function padded({ samples, sampleRateHz }: Recording, before: number, after: number): Recording {
  const silence = (seconds: number) => new Float32Array(Math.round(seconds * sampleRateHz));
  return { samples: join(Float32Array, [silence(before), samples, silence(after)]), sampleRateHz };
}

export const secondsFrom = ({ samples, sampleRateHz }: Recording, from: number, to: number): Recording => ({
  samples: samples.slice(Math.round(from * sampleRateHz), Math.round(to * sampleRateHz)),
  sampleRateHz,
});
