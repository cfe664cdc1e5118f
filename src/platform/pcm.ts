// Audio in memory: one channel of 16-bit samples, little-endian, and the sample rate. All engines return this type.

export interface Pcm {
  /** Mono, full scale at +-32768. */
  samples: Int16Array;
  sampleRateHz: number;
}

/** Converts a gain in decibels to a factor. */
export function fromDb(gainDb: number): number {
  return 10 ** (gainDb / 20);
}

/** The duration of the audio. */
export const secondsOf = (pcm: Pcm): number => pcm.samples.length / pcm.sampleRateHz;

/** Returns the complete samples at the start of the bytes. Copies only samples that are not aligned. */
export function samplesOf({ buffer, byteOffset, length }: Uint8Array): Int16Array {
  const count = length >> 1;
  if (byteOffset % 2 === 0) return new Int16Array(buffer, byteOffset, count);
  return new Int16Array(buffer.slice(byteOffset, byteOffset + 2 * count));
}

type Numbers = Uint8Array<ArrayBuffer> | Int16Array<ArrayBuffer> | Float32Array<ArrayBuffer>;

export function join<T extends Numbers>(ArrayOf: new (length: number) => T, parts: readonly ArrayLike<number>[]): T {
  const whole = new ArrayOf(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Joins pieces of the same sample rate; undefined if there are none. */
export function joinPcm(pieces: readonly Pcm[]): Pcm | undefined {
  const [first] = pieces;
  const parts = pieces.map(({ samples }) => samples);
  return first && { samples: join(Int16Array, parts), sampleRateHz: first.sampleRateHz };
}
