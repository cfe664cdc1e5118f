// The way of one response's sound from what an engine made to the bytes that leave: level, tempo, sample rate, limiter,
// encoder. One line serves a whole response, so its state runs through every seam: no click, no gap, one valid file.
import type { AudioFormat } from './formats.ts';
import { join } from './join.ts';
import { limit, toFloat } from './level.ts';
import { Resampler } from './resample.ts';
import { Tempo } from './tempo.ts';

export interface SoundLine {
  /** The bytes that these samples push out; none, at times. */
  push(samples: Int16Array): Uint8Array;
  /** The last bytes. */
  end(): Uint8Array;
  /** What a whole file begins with, once it has ended; undefined where it is what the stream began with. */
  readonly head: Uint8Array | undefined;
  /** How long the sound is that has been pushed out. */
  readonly seconds: number;
  /** Frees the encoder; the line is of no use after it. */
  close(): void;
}

export interface SoundLineOptions {
  format: AudioFormat;
  inRateHz: number;
  outRateHz: number;
  gainDb: number;
  /** How much faster than it was made the sound shall be, pitch kept; 1 leaves it alone. */
  tempo: number;
}

export async function openSoundLine({
  format,
  inRateHz,
  outRateHz,
  gainDb,
  tempo,
}: SoundLineOptions): Promise<SoundLine> {
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
