// Sound in memory: one channel of 16-bit samples, little-endian, and their rate. Every engine yields this.

export interface Pcm {
  /** Mono, full scale at +-32768. */
  samples: Int16Array;
  sampleRateHz: number;
}

/** The duration of the sound. */
export const secondsOf = (pcm: Pcm): number => pcm.samples.length / pcm.sampleRateHz;

/** The whole samples that bytes begin with: without a copy, where they are aligned. */
export function samplesOf({ buffer, byteOffset, length }: Uint8Array): Int16Array {
  const count = length >> 1;
  if (byteOffset % 2 === 0) return new Int16Array(buffer, byteOffset, count);
  return new Int16Array(buffer.slice(byteOffset, byteOffset + 2 * count));
}
