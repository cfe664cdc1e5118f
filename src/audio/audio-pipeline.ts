// The stages between the samples of an engine and the bytes of a response: gain, tempo, resampling, limiter, encoder. One
// pipeline serves a whole response and keeps its state between segments: no click, no gap, one valid file.
import type { AudioFormat } from './formats.ts';
import { join } from './join.ts';
import { limit, toFloat } from './level.ts';
import { Resampler } from './resample.ts';
import { Tempo } from './tempo.ts';

export interface AudioPipeline {
  /** The bytes that are ready; it may return none. */
  push(samples: Int16Array): Uint8Array;
  /** The last bytes. */
  end(): Uint8Array;
  /** After `end`, the first bytes of the whole file, where they differ from those of the stream; otherwise undefined. */
  readonly head: Uint8Array | undefined;
  /** The duration of the sound encoded so far. */
  readonly seconds: number;
  /** Frees the encoder. The pipeline cannot be used after it. */
  close(): void;
}

export interface AudioPipelineOptions {
  format: AudioFormat;
  inRateHz: number;
  outRateHz: number;
  gainDb: number;
  /** How many times faster the sound becomes, at the same pitch; 1 leaves it as it is. */
  tempo: number;
}

export async function openAudioPipeline({
  format,
  inRateHz,
  outRateHz,
  gainDb,
  tempo,
}: AudioPipelineOptions): Promise<AudioPipeline> {
  const stretch = tempo === 1 ? undefined : new Tempo({ sampleRateHz: inRateHz, factor: tempo });
  const encodedRateHz = format.encodedRateHz?.(outRateHz) ?? outRateHz;
  const resampler = new Resampler({ inRateHz, outRateHz: encodedRateHz });
  const encoder = await format.openEncoder(outRateHz);
  let samplesOut = 0;

  const encode = (samples: Float32Array) => {
    samplesOut += samples.length;
    return encoder.encode(limit(samples));
  };
  return {
    push(samples) {
      const made = toFloat(samples, gainDb);
      return encode(resampler.process(stretch ? stretch.process(made) : made));
    },
    end() {
      const rest = stretch ? encode(resampler.process(stretch.flush())) : new Uint8Array();
      return join(Uint8Array, [rest, encode(resampler.flush()), encoder.end()]);
    },
    get head() {
      return encoder.head?.();
    },
    get seconds() {
      return samplesOut / encodedRateHz;
    },
    close: () => encoder.close(),
  };
}
