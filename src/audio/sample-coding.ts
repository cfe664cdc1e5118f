// How samples are written without compression: as 16-bit integers, as floats, or as mu-law and A-law bytes of telephony
// (ITU-T G.711; RFC 3551, section 4.5.14). All machines that Sonant supports are little-endian, as the files are.
import type { Encoder } from './encoder.ts';
import { toInt16 } from './level.ts';
import { floatTag, pcmTag } from './wav-reader.ts';

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
