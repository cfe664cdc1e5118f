// Writes WAV: RIFF (Multimedia Programming Interface and Data Specifications 1.0) with one channel. Numbers are
// little-endian, with four bytes, or two if marked `:2`.
//      0 "RIFF" | file size - 8 | "WAVE"
//     12 "fmt " | size | tag:2 | 1:2 channel | samples a second | bytes a second | bytes a frame:2 | bits:2
//        0:2 | "fact" | 4 | number of samples                                only if the samples are not PCM
//        "LIST" | size | "INFO" | for each tag: name | size | text, 0        only if the file states its origin
//        "data" | size | samples
// The length of a stream is unknown, so both sizes are 0xFFFFFFFF, which players read as "to the end". The header of a
// complete file has the true sizes.
import { join } from '../platform/pcm.ts';
import type { Encoder } from './encoder.ts';
import { toInt16 } from './level.ts';
import { ascii, number, type Origin, originInfo } from './origin.ts';
import { floatTag, pcmTag } from './wav-reader.ts';

const sizeUnknown = 0xffffffff;

/** Size of the header of a file without tags. */
export const wavHeadBytes = ({ tag }: SampleCoding): number => (tag === pcmTag ? 44 : 58);

export function createWavEncoder(sampleRateHz: number, origin?: Origin, coding = int16): Encoder {
  const info = wavInfo(origin ? originInfo(origin) : []);
  let header = wavHeader(sampleRateHz, sizeUnknown, info, coding);
  let byteCount = -header.length;
  const encode = (samples: Float32Array) => {
    const bytes = join(Uint8Array, [header, coding.toBytes(samples)]);
    header = new Uint8Array(0);
    byteCount += bytes.length;
    return bytes;
  };
  const head = () => wavHeader(sampleRateHz, byteCount, info, coding);
  return { encode, end: () => encode(new Float32Array(0)), head, close() {} };
}

/** Returns a complete file. */
export function wavFile(samples: Float32Array, sampleRateHz: number): Uint8Array<ArrayBuffer> {
  const bytes = int16.toBytes(samples);
  return join(Uint8Array, [wavHeader(sampleRateHz, bytes.length), bytes]);
}

/** Puts `info` before the samples. Writes sizes that do not fit into 32 bits as unknown. */
export function wavHeader(
  sampleRateHz: number,
  byteCount: number,
  info: Uint8Array = none,
  coding = int16,
): Uint8Array<ArrayBuffer> {
  const { tag, bytesPerSample } = coding;
  const isPcm = tag === pcmTag;
  const header = Buffer.alloc(isPcm ? 36 : 38);
  header.write('RIFF....WAVEfmt ', 'latin1');
  header.writeUInt32LE(Math.min(byteCount + info.length + wavHeadBytes(coding) - 8, sizeUnknown), 4);
  header.writeUInt32LE(isPcm ? 16 : 18, 16);
  header.writeUInt16LE(tag, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(sampleRateHz, 24);
  header.writeUInt32LE(sampleRateHz * bytesPerSample, 28);
  header.writeUInt16LE(bytesPerSample, 32);
  header.writeUInt16LE(bytesPerSample * 8, 34);
  const size = Math.min(byteCount, sizeUnknown);
  const fact = isPcm ? none : wavChunk('fact', number(size === sizeUnknown ? size : size / bytesPerSample));
  return join(Uint8Array, [header, fact, info, ascii('data'), number(size)]);
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

// How samples are written without compression: as 16-bit integers, as floats, or as mu-law and A-law bytes of telephony
// (ITU-T G.711; RFC 3551, section 4.5.14). All machines that Sonant supports are little-endian, as the files are.

export interface SampleCoding {
  /** Format tag in a WAV (RFC 2361). */
  tag: number;
  bytesPerSample: number;
  toBytes(samples: Float32Array): Uint8Array<ArrayBuffer>;
}

export const int16: SampleCoding = {
  tag: pcmTag,
  bytesPerSample: 2,
  toBytes: (samples) => new Uint8Array(toInt16(samples).buffer),
};
export const float32: SampleCoding = {
  tag: floatTag,
  bytesPerSample: 4,
  toBytes: (samples) => new Uint8Array(samples.slice().buffer),
};
export const aLaw = oneByte(6, toALaw);
export const muLaw = oneByte(7, toMuLaw);

/** Creates an encoder that writes the samples without a header. */
export function createRawEncoder({ toBytes }: SampleCoding): Encoder {
  return { encode: toBytes, end: () => new Uint8Array(0), close() {} };
}

function oneByte(tag: number, encode: (sample: number) => number): SampleCoding {
  /** The byte for each 16-bit sample. */
  let table: Uint8Array | undefined;
  return {
    tag,
    bytesPerSample: 1,
    toBytes(samples) {
      table ??= Uint8Array.from({ length: 65_536 }, (_, i) => encode((i << 16) >> 16));
      const bytes = table;
      return Uint8Array.from(toInt16(samples), (sample) => bytes[sample & 0xffff]!);
    },
  };
}

/** In mu-law and A-law, positive samples have the sign bit 0x80 after the inversion. */
function toMuLaw(sample: number): number {
  const bias = 132;
  const sign = sample < 0 ? 0x80 : 0;
  const magnitude = Math.min(Math.abs(sample), 32_635) + bias;
  const segment = 24 - Math.clz32(magnitude);
  return ~(sign | (segment << 4) | ((magnitude >> (segment + 3)) & 0x0f)) & 0xff;
}

function toALaw(sample: number): number {
  const sign = sample < 0 ? 0 : 0x80;
  const magnitude = (sample < 0 ? ~sample : sample) >> 3;
  const segment = Math.max(0, 27 - Math.clz32(magnitude));
  const step = segment < 2 ? magnitude >> 1 : magnitude >> segment;
  return (sign | (segment << 4) | (step & 0x0f)) ^ 0x55;
}
