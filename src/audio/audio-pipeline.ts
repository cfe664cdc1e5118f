// Converts the samples of an engine to the bytes of a response: gain, tempo, resampling, limiter, encoder. A pipeline
// keeps its state between the segments of a response, so the file has no clicks or gaps. Rate, gain and tempo may
// change between segments.

import { join } from '../platform/pcm.ts';
import type { AudioFormat } from './formats.ts';
import { factorOf, limitBlock, toFloat } from './level.ts';
import type { Origin } from './origin.ts';
import { Resampler } from './resample.ts';
import { Tempo } from './tempo.ts';

/** Number of samples of silence that are encoded at a time, and number of such blocks that are yielded at a time. */
const silenceBlock = 4096;
const silenceBlocks = 6;

interface AudioInput {
  inRateHz: number;
  gainDb: number;
  /** Speed factor. The pitch does not change. */
  tempo: number;
}

export interface AudioPipelineOptions extends AudioInput {
  format: AudioFormat;
  outRateHz: number;
  /** Origin to write into the tags of the file. Default: none. */
  origin?: Origin | undefined;
}

export type AudioPipeline = Awaited<ReturnType<typeof openAudioPipeline>>;

const openStages = ({ inRateHz, tempo }: AudioInput, outRateHz: number) => ({
  stretch: tempo === 1 ? undefined : new Tempo({ sampleRateHz: inRateHz, factor: tempo }),
  resampler: new Resampler({ inRateHz, outRateHz }),
});

/** Multiplies all samples by the gain and, if factors are given, each sample by its own factor. */
function scale(samples: Int16Array, gainDb: number, factors: Float32Array | undefined): Float32Array {
  const scaled = toFloat(samples, gainDb);
  if (factors) for (let i = 0; i < scaled.length; i++) scaled[i]! *= factors[i]!;
  return scaled;
}

export async function openAudioPipeline(options: AudioPipelineOptions) {
  const { format, outRateHz, origin } = options;
  const encodedRateHz = format.encodedRateHz?.(outRateHz) ?? outRateHz;
  let input: AudioInput = options;
  let stages = openStages(input, encodedRateHz);
  const encoder = await format.openEncoder(outRateHz, origin);
  let samplesOut = 0;

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
  const endInput = (): Uint8Array => {
    const { stretch, resampler } = stages;
    if (stretch) resampler.pass(stretch.flush(), 1, encode);
    resampler.passRest(encode);
    stages = openStages(input, encodedRateHz);
    return take();
  };
  return {
    /** Encodes samples, each with an optional factor in addition to the gain. Returns the bytes that are ready. */
    push(samples: Int16Array, factors?: Float32Array): Uint8Array {
      const { stretch, resampler } = stages;
      if (stretch) resampler.pass(stretch.process(scale(samples, input.gainDb, factors)), 1, encode);
      else if (factors) resampler.pass(scale(samples, input.gainDb, factors), 1, encode);
      else resampler.pass(samples, factorOf(input.gainDb), encode);
      return take();
    },
    /**
     * Encodes the audio that is still buffered in the stages and resets the stages. Returns the bytes that are ready.
     */
    endInput,
    /** Sets rate, gain and tempo of later input. Call `endInput` first, or buffered audio is lost. */
    setInput(next: AudioInput): void {
      input = next;
      stages = openStages(input, encodedRateHz);
    },
    setGain(gainDb: number): void {
      input = { ...input, gainDb };
    },
    /**
     * Calls `endInput`, then encodes `seconds` of silence. Yields the bytes that are ready, because a long silence takes
     * too long at once. The tempo does not affect the silence.
     */
    *silence(seconds: number): Generator<Uint8Array> {
      const rest = endInput();
      ready.push(rest);
      for (let left = Math.round(seconds * encodedRateHz); left > 0; left -= silenceBlock) {
        encode(new Float32Array(Math.min(left, silenceBlock)));
        if (ready.length >= silenceBlocks) yield take();
      }
      if (ready.length > 0) yield take();
    },
    /** Returns what the encoder holds back and can return without ending the file. Call `endInput` or `silence` first. */
    flush: (): Uint8Array => encoder.flush?.() ?? new Uint8Array(),
    /** Ends the stream. Returns its last bytes. */
    end(): Uint8Array {
      return join(Uint8Array, [endInput(), encoder.end()]);
    },
    /**
     * Final first bytes of the file, available after `end`. They replace the first bytes of the stream. Undefined if
     * nothing changes.
     */
    get head(): Uint8Array | undefined {
      return encoder.head?.();
    },
    /** The duration of the audio encoded so far. */
    get seconds(): number {
      return samplesOut / encodedRateHz;
    },
    /** Frees the encoder. The pipeline cannot be used afterwards. */
    close: () => encoder.close(),
  };
}
