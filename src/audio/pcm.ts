// Sound in memory: one channel of 16-bit samples that know their rate. Every engine yields it, and nothing else.

export interface Pcm {
  /** Mono, full scale at +-32768. */
  samples: Int16Array;
  sampleRateHz: number;
}

/** How long the sound lasts. */
export const secondsOf = (pcm: Pcm): number => pcm.samples.length / pcm.sampleRateHz;
