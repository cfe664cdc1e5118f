// Encodes G.711 (ITU-T G.711), the sound of telephones: each sample is one byte, a sign, a segment of three bits and a step
// of four. The segments double in size, so that quiet sound keeps its detail.
//   mu-law: 14 bits, a bias of 33 (132 at 16 bits) added, all bits inverted
//   A-law:  13 bits, every second bit inverted (0x55)
import type { Encoder } from './encoder.ts';
import { toInt16 } from './level.ts';

const muLawBias = 132;
const muLawMax = 32635;

/** Positive samples have the sign bit 0x80 set after the inversion, in both laws. */
function toMuLaw(sample: number): number {
  const sign = sample < 0 ? 0x80 : 0;
  const magnitude = Math.min(Math.abs(sample), muLawMax) + muLawBias;
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

/** A byte for each 16-bit sample. */
const tableOf = (encode: (sample: number) => number) =>
  Uint8Array.from({ length: 65_536 }, (_, i) => encode((i << 16) >> 16));
const tables = new Map<typeof toMuLaw, Uint8Array>();

function createEncoder(law: typeof toMuLaw): Encoder {
  const table = tables.get(law) ?? tableOf(law);
  tables.set(law, table);
  const encode = (samples: Float32Array) => Uint8Array.from(toInt16(samples), (sample) => table[sample & 0xffff]!);
  return { encode, end: () => new Uint8Array(0), close() {} };
}

export const createMuLawEncoder = (): Encoder => createEncoder(toMuLaw);
export const createALawEncoder = (): Encoder => createEncoder(toALaw);
