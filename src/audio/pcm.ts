// Sound in memory: one channel of 16-bit samples and their rate. Every engine yields this.

export interface Pcm {
  /** Mono, full scale at +-32768. */
  samples: Int16Array;
  sampleRateHz: number;
}

/** The duration of the sound. */
export const secondsOf = (pcm: Pcm): number => pcm.samples.length / pcm.sampleRateHz;
