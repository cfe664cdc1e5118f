// Converts 16-bit samples to floats with a gain, limits them softly, and converts them back. The limiter has no memory, so a
// sample always gives the same result and the level does not pump.
import { blockSamplesMax, blocksOf, clamped, limited, rounded, scaled } from './kernels.ts';

const fullScale = 32768;

// At the target loudness all but a few samples in 10 000 are below the knee, where nothing changes. Rare peaks above it
// are bent below a ceiling that keeps the true peak of every format under -1.5 dBFS: between the samples, and after the
// losses of MP3 and Opus, a peak may be a decibel higher.
const kneeDbfs = -4.5;
const ceilingDbfs = -2.7;
const knee = fromDb(kneeDbfs);
const range = fromDb(ceilingDbfs) - knee;

/** Converts a gain in decibels to a factor. */
export function fromDb(gainDb: number): number {
  return 10 ** (gainDb / 20);
}

/** Factor that maps 16-bit full scale to +-1 times the gain. */
export const factorOf = (gainDb: number): number => fromDb(gainDb) / fullScale;

/** Converts samples to floats, full scale to +-1 times the gain. Does not clip. */
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
 * Bends values above the knee smoothly towards the ceiling, which they never exceed. Slope and curvature are continuous.
 * Returns `samples` itself if no value is above the knee.
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

/** Like `limit`, for at most `blockSamplesMax` samples. The result is valid until the next block. */
export const limitBlock = (block: Float32Array): Float32Array => limited(block, knee, range);
