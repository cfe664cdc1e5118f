// Writes WAV: RIFF (Multimedia Programming Interface and Data Specifications 1.0) with PCM (RFC 2361, tag 1), one
// channel. Numbers are little-endian, with four bytes, or two if marked `:2`.
//      0 "RIFF" | file size - 8 | "WAVE"
//     12 "fmt " | 16 | 1:2 PCM | 1:2 channel | samples a second | bytes a second | 2:2 bytes a frame | 16:2 bits
//     36 "data" | file size - 44
//     44 samples, two bytes each
// The length of a stream is unknown, so both its sizes are 0xFFFFFFFF, which players read as "to the end". The header
// of a complete file has the true sizes.
import type { Encoder } from './encoder.ts';
import { toInt16 } from './level.ts';
import { join } from './pcm.ts';

export const wavHeadBytes = 44;
const bytesPerSample = 2;
const sizeUnknown = 0xffffffff;

export function createWavEncoder(sampleRateHz: number): Encoder {
  let header = wavHeader(sampleRateHz, sizeUnknown);
  let byteCount = 0;
  const encode = (samples: Float32Array) => {
    const bytes = join(Uint8Array, [header, toBytes(samples)]);
    header = new Uint8Array(0);
    byteCount += bytes.length;
    return bytes;
  };
  const head = () => wavHeader(sampleRateHz, byteCount - wavHeadBytes);
  return { encode, end: () => encode(new Float32Array(0)), head, close() {} };
}

/** Encodes like `createWavEncoder`, but without a header. */
export function createPcmEncoder(): Encoder {
  return { encode: toBytes, end: () => new Uint8Array(0), close() {} };
}

/** Returns a complete file. */
export function wavFile(samples: Float32Array, sampleRateHz: number): Uint8Array<ArrayBuffer> {
  const bytes = toBytes(samples);
  return join(Uint8Array, [wavHeader(sampleRateHz, bytes.length), bytes]);
}

/** Returns the bytes of samples in memory. All machines that Sonant supports are little-endian. */
const toBytes = (samples: Float32Array) => new Uint8Array(toInt16(samples).buffer);

/** Sizes that do not fit into 32 bits are written as unknown. */
export function wavHeader(sampleRateHz: number, byteCount: number): Uint8Array<ArrayBuffer> {
  const header = new Uint8Array(wavHeadBytes);
  header.set(Buffer.from('RIFF....WAVEfmt ', 'latin1'));
  header.set(Buffer.from('data', 'latin1'), 36);
  const view = new DataView(header.buffer);
  view.setUint32(4, Math.min(byteCount + wavHeadBytes - 8, sizeUnknown), true);
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true);
  view.setUint16(22, 1, true);
  view.setUint32(24, sampleRateHz, true);
  view.setUint32(28, sampleRateHz * bytesPerSample, true);
  view.setUint16(32, bytesPerSample, true);
  view.setUint16(34, bytesPerSample * 8, true);
  view.setUint32(40, Math.min(byteCount, sizeUnknown), true);
  return header;
}
