// MP3: MPEG-1 and MPEG-2 Audio Layer III (ISO/IEC 11172-3 and 13818-3), by LAME as WebAssembly. One channel at a constant
// 64 kbit/s, which is plenty for speech. Nothing but frames: no ID3 tag, and no Xing frame, which a stream could not
// fill in. Bytes follow the sound by 0.1 s or less, give or take a frame. The wasm is loaded on first use and encoders,
// 2 MB each, serve one stream after another: each starts afresh, and the same sound gives the same bytes.
import { readFile } from 'node:fs/promises';
import type { WasmMediaEncoder } from 'wasm-media-encoders';
import type { Encoder } from './formats.ts';
import { join } from './join.ts';
import { clamp } from './level.ts';

type Lame = WasmMediaEncoder<'audio/mpeg'>;
type Mp3SampleRateHz = NonNullable<Parameters<Lame['configure']>[0]['outputSampleRate']>;

/** What LAME puts before the sound, 576, and the filters of any decoder, 529; without a Xing frame nobody skips them. */
export const mp3DelaySamples = 1105;

const bitrateKbps = 64;
const idleEncodersMax = 8;
/** The wasm's memory grows to the largest block it was ever given, and never shrinks. */
const blockSamples = 8192;

const idleEncoders: Lame[] = [];
/** The wasm: its bytes at first, then compiled. */
let wasm: unknown;

export async function openMp3Encoder(sampleRateHz: number): Promise<Encoder> {
  let lame: Lame | undefined = idleEncoders.pop() ?? (await createLame());
  // LAME picks an output rate of its own where none is asked for; one that MP3 does not have it refuses.
  const outputSampleRate = sampleRateHz as Mp3SampleRateHz;
  lame.configure({ sampleRate: sampleRateHz, outputSampleRate, channels: 1, bitrate: bitrateKbps });

  // What it answers is a view of its memory, so it is copied. One that traps is out of our hands, never to be reused.
  const run = (step: (lame: Lame) => Uint8Array): Uint8Array<ArrayBuffer> => {
    if (!lame) throw new Error('This MP3 encoder has ended.');
    const working = lame;
    lame = undefined;
    const bytes = step(working).slice();
    lame = working;
    return bytes;
  };
  const close = () => {
    if (lame && idleEncoders.length < idleEncodersMax) idleEncoders.push(lame);
    lame = undefined;
  };
  return {
    encode(samples) {
      const pieces: Uint8Array<ArrayBuffer>[] = [];
      for (let from = 0; from < samples.length; from += blockSamples)
        pieces.push(run((lame) => lame.encode([clamp(samples.subarray(from, from + blockSamples))])));
      return join(Uint8Array, pieces);
    },
    end() {
      const bytes = run((lame) => lame.finalize());
      close();
      return bytes;
    },
    close,
  };
}

async function createLame(): Promise<Lame> {
  const { createEncoder } = await import('wasm-media-encoders');
  wasm ??= await readFile(new URL(import.meta.resolve('wasm-media-encoders/wasm/mp3')));
  return createEncoder('audio/mpeg', wasm as Uint8Array, (compiled) => {
    wasm = compiled;
  });
}
