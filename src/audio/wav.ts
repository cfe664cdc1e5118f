// Writes WAV: RIFF (Multimedia Programming Interface and Data Specifications 1.0) with PCM (RFC 2361, tag 1), one
// channel. Numbers are little-endian, with four bytes, or two if marked `:2`.
//      0 "RIFF" | file size - 8 | "WAVE"
//     12 "fmt " | 16 | 1:2 PCM | 1:2 channel | samples a second | bytes a second | 2:2 bytes a frame | 16:2 bits
//     36 "LIST" | size | "INFO" | for each tag: name | size | text, 0        only if the file states its origin
//        "data" | size | samples, two bytes each
// The length of a stream is unknown, so both sizes are 0xFFFFFFFF, which players read as "to the end". The header of a
// complete file has the true sizes.
import type { Encoder } from './encoder.ts';
import { toInt16 } from './level.ts';
import { ascii, number, type Origin, originInfo } from './origin.ts';
import { join } from './pcm.ts';

const wavHeadBytes = 44;
/** Size in bytes of the name and size fields of the "data" chunk. */
const dataHeadBytes = 8;
const bytesPerSample = 2;
const sizeUnknown = 0xffffffff;

export function createWavEncoder(sampleRateHz: number, origin?: Origin): Encoder {
  const info = wavInfo(origin ? originInfo(origin) : []);
  let header = wavHeader(sampleRateHz, sizeUnknown, info);
  let byteCount = 0;
  const encode = (samples: Float32Array) => {
    const bytes = join(Uint8Array, [header, toBytes(samples)]);
    header = new Uint8Array(0);
    byteCount += bytes.length;
    return bytes;
  };
  const head = () => wavHeader(sampleRateHz, byteCount - wavHeadBytes - info.length, info);
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

/** Returns the samples as bytes in native order. All machines that Sonant supports are little-endian. */
const toBytes = (samples: Float32Array) => new Uint8Array(toInt16(samples).buffer);

/** Puts `info` before the samples. Writes sizes that do not fit into 32 bits as unknown. */
export function wavHeader(sampleRateHz: number, byteCount: number, info: Uint8Array = none): Uint8Array<ArrayBuffer> {
  const header = Buffer.alloc(wavHeadBytes - dataHeadBytes);
  header.write('RIFF....WAVEfmt ', 'latin1');
  header.writeUInt32LE(Math.min(byteCount + info.length + wavHeadBytes - 8, sizeUnknown), 4);
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(sampleRateHz, 24);
  header.writeUInt32LE(sampleRateHz * bytesPerSample, 28);
  header.writeUInt16LE(bytesPerSample, 32);
  header.writeUInt16LE(bytesPerSample * 8, 34);
  return join(Uint8Array, [header, info, ascii('data'), number(Math.min(byteCount, sizeUnknown))]);
}

const none = new Uint8Array();
/** Encodes a text with a NUL byte at its end. */
export const wavText = (value: string): Buffer => Buffer.from(`${value.replaceAll('\0', '')}\0`);

export const wavChunk = (name: string, body: Buffer): Buffer =>
  Buffer.concat([ascii(name), number(body.length), body, Buffer.alloc(body.length % 2)]);

/** Returns the "INFO" chunk with the tags. Empty if there are none. */
export function wavInfo(tags: readonly (readonly [name: string, value: string | undefined])[]): Buffer {
  const chunks = tags.flatMap(([name, value]) => (value ? [wavChunk(name, wavText(value))] : []));
  return chunks.length > 0 ? wavChunk('LIST', Buffer.concat([ascii('INFO'), ...chunks])) : Buffer.alloc(0);
}
