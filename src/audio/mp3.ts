// Encodes MP3 (MPEG-1 and MPEG-2 Audio Layer III; ISO/IEC 11172-3 and 13818-3) with LAME as WebAssembly: one channel at
// a constant bit rate. There is no Xing frame, because the length of a stream is unknown. The output lags behind the
// input by about 0.1 s. An encoder takes 2 MB and is reused after a reset, so the same audio gives the same bytes.
import { readFile } from 'node:fs/promises';
import type { WasmMediaEncoder } from 'wasm-media-encoders';
import { join } from '../platform/pcm.ts';
import type { Encoder } from './encoder.ts';
import { blocksOf, clamped } from './kernels.ts';
import { id3OriginTag, type Origin } from './origin.ts';

type Lame = WasmMediaEncoder<'audio/mpeg'>;
type Mp3Kbps = NonNullable<Parameters<Lame['configure']>[0]['bitrate']>;
type Mp3SampleRateHz = NonNullable<Parameters<Lame['configure']>[0]['outputSampleRate']>;

/**
 * LAME's encoder delay of 576 samples plus the decoder's delay of 529. Without a Xing frame, players do not skip these
 * samples.
 */
export const mp3DelaySamples = 1105;

/** The bit rate at a sample rate for a wanted bit rate: MPEG-1 has more, MPEG-2.5 less than MPEG-2. */
export const mp3KbpsAt = (sampleRateHz: number, kbps: number): number => {
  if (sampleRateHz >= 32_000) return Math.max(32, kbps);
  return Math.min(kbps, sampleRateHz >= 16_000 ? 160 : 64);
};

const idleEncodersMax = 8;
const idleEncoders: Lame[] = [];
/** The bytes of the WebAssembly module, or the module itself once it is compiled. */
let wasm: unknown;

export async function openMp3Encoder(sampleRateHz: number, origin: Origin | undefined, kbps: number): Promise<Encoder> {
  let lame: Lame | undefined = idleEncoders.pop() ?? (await createLame());
  // LAME rejects a rate that MP3 does not have. LAME would choose a rate itself if no rate were set.
  const outputSampleRate = sampleRateHz as Mp3SampleRateHz;
  const bitrate = mp3KbpsAt(sampleRateHz, kbps) as Mp3Kbps;
  lame.configure({ sampleRate: sampleRateHz, outputSampleRate, channels: 1, bitrate });
  const scale = lameScaleAt(bitrate);

  // LAME's result is a view of WebAssembly memory, so it is copied. An encoder that traps is not reused.
  const run = (step: (lame: Lame) => Uint8Array): Uint8Array<ArrayBuffer> => {
    if (!lame) throw new Error('This MP3 encoder has ended.');
    const working = lame;
    lame = undefined;
    const bytes = step(working).slice();
    lame = working;
    return bytes;
  };
  let tag: Uint8Array = origin ? id3OriginTag(origin) : new Uint8Array();
  /** Puts the tag before the first frame. */
  const tagged = (bytes: Uint8Array<ArrayBuffer>) => {
    if (bytes.length === 0 || tag.length === 0) return bytes;
    const whole = join(Uint8Array, [tag, bytes]);
    tag = new Uint8Array();
    return whole;
  };
  const close = () => {
    if (lame && idleEncoders.length < idleEncodersMax) idleEncoders.push(lame);
    lame = undefined;
  };
  return {
    encode(samples) {
      // LAME's memory grows to the largest block that it encodes and never shrinks, so blocks are small.
      const pieces = Array.from(blocksOf(samples), ([block]) =>
        run((lame) => lame.encode([toLevel(clamped(block), scale)])),
      );
      return tagged(pieces.length === 1 ? pieces[0]! : join(Uint8Array, pieces));
    },
    end() {
      const bytes = tagged(run((lame) => lame.finalize()));
      close();
      return bytes;
    },
    close,
  };
}

/** The factor by which LAME multiplies its input at a bit rate. */
const lameScaleAt = (kbps: number): number => (kbps > 160 ? 0.97 : 0.95);

/** Scales the samples in place, to compensate for LAME's factor. */
function toLevel(samples: Float32Array, lameScale: number): Float32Array {
  for (let i = 0; i < samples.length; i++) samples[i]! /= lameScale;
  return samples;
}

async function createLame(): Promise<Lame> {
  const { createEncoder } = await import('wasm-media-encoders');
  wasm ??= await readFile(new URL(import.meta.resolve('wasm-media-encoders/wasm/mp3')));
  return createEncoder('audio/mpeg', wasm as Uint8Array, (compiled) => {
    wasm = compiled;
  });
}
