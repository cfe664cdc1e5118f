// Converts 16-bit samples to floats with a gain, limits them softly, and converts them back. The limiter has no memory:
// every sample goes through the same curve, so nothing pumps, and a piece sounds the same whatever precedes it.
import { blockSamplesMax, blocksOf, clamped, limited, rounded, scaled } from './kernels.ts';

const fullScale = 32768;

// At the target loudness all but a few samples in 10 000 are below the knee, where nothing changes. Rare peaks above it
// are bent below a ceiling that keeps the true peak of every format under -1.5 dBFS: between the samples, and after the
// losses of MP3 and Opus, a peak may be a decibel higher.
const kneeDbfs = -4.5;
const ceilingDbfs = -2.7;
const knee = fromDb(kneeDbfs);
const range = fromDb(ceilingDbfs) - knee;

/** A gain in decibels as a factor. */
export function fromDb(gainDb: number): number {
  return 10 ** (gainDb / 20);
}

/** What 16-bit samples are multiplied by, so that full scale is at +-1 times the gain. */
export const factorOf = (gainDb: number): number => fromDb(gainDb) / fullScale;

/** Full scale at +-1, times the gain. Values beyond full scale are not clipped. */
export function toFloat(samples: Int16Array, gainDb: number): Float32Array<ArrayBuffer> {
  const factor = factorOf(gainDb);
  const floats = new Float32Array(samples.length);
  for (const [block, from] of blocksOf(samples)) floats.set(scaled(block, factor), from);
  return floats;
}

/** Rounds to nearest and clips at full scale; NaN becomes silence. */
export function toInt16(samples: Float32Array): Int16Array<ArrayBuffer> {
  // A copy of an array is not filled with zeros first.
  if (samples.length <= blockSamplesMax) return new Int16Array(rounded(samples));
  const integers = new Int16Array(samples.length);
  for (const [block, from] of blocksOf(samples)) integers.set(rounded(block), from);
  return integers;
}

/** Clips at full scale; NaN becomes silence. */
export function clamp(samples: Float32Array): Float32Array<ArrayBuffer> {
  const within = new Float32Array(samples.length);
  for (const [block, from] of blocksOf(samples)) within.set(clamped(block), from);
  return within;
}

/**
 * Bends values above the knee smoothly towards the ceiling, which they never pass; slope and curvature are continuous.
 * Where nothing is above the knee, `samples` itself is returned.
 */
export function limit(samples: Float32Array): Float32Array {
  let whole = samples;
  for (const [block, from] of blocksOf(samples)) {
    const bent = limitBlock(block);
    if (bent === block) continue;
    if (whole === samples) whole = samples.slice();
    whole.set(bent, from);
  }
  return whole;
}

/** The same of at most `blockSamplesMax`; valid until the next block. */
export const limitBlock = (block: Float32Array): Float32Array => limited(block, knee, range);
