// The stages between the samples of an engine and the bytes of a response: gain, tempo, resampling, limiter, encoder. One
// pipeline serves a whole response and keeps its state between segments: no click, no gap, one valid file.
import type { AudioFormat } from './formats.ts';
import { join } from './join.ts';
import { factorOf, limitBlock, toFloat } from './level.ts';
import { Resampler } from './resample.ts';
import { Tempo } from './tempo.ts';

export interface AudioPipelineOptions {
  format: AudioFormat;
  inRateHz: number;
  outRateHz: number;
  gainDb: number;
  /** How many times faster the sound becomes, at the same pitch; 1 leaves it as it is. */
  tempo: number;
}

export type AudioPipeline = Awaited<ReturnType<typeof openAudioPipeline>>;

export async function openAudioPipeline(options: AudioPipelineOptions) {
  const { format, inRateHz, outRateHz, gainDb, tempo } = options;
  const stretch = tempo === 1 ? undefined : new Tempo({ sampleRateHz: inRateHz, factor: tempo });
  const encodedRateHz = format.encodedRateHz?.(outRateHz) ?? outRateHz;
  const resampler = new Resampler({ inRateHz, outRateHz: encodedRateHz });
  const encoder = await format.openEncoder(outRateHz);
  let samplesOut = 0;

  const factor = factorOf(gainDb);
  let ready: Uint8Array[] = [];
  const encode = (samples: Float32Array) => {
    samplesOut += samples.length;
    ready.push(encoder.encode(limitBlock(samples)));
  };
  const take = () => {
    const bytes = ready.length === 1 ? ready[0]! : join(Uint8Array, ready);
    ready = [];
    return bytes;
  };
  return {
    /** The bytes that are ready; it may return none. */
    push(samples: Int16Array): Uint8Array {
      if (stretch) resampler.pass(stretch.process(toFloat(samples, gainDb)), 1, encode);
      else resampler.pass(samples, factor, encode);
      return take();
    },
    /** The last bytes. */
    end(): Uint8Array {
      if (stretch) resampler.pass(stretch.flush(), 1, encode);
      resampler.passRest(encode);
      ready.push(encoder.end());
      return take();
    },
    /** After `end`, the first bytes of the whole file, where they differ from those of the stream; otherwise undefined. */
    get head(): Uint8Array | undefined {
      return encoder.head?.();
    },
    /** The duration of the sound encoded so far. */
    get seconds(): number {
      return samplesOut / encodedRateHz;
    },
    /** Frees the encoder. The pipeline cannot be used after it. */
    close: () => encoder.close(),
  };
}
