// Converts 16-bit samples to floats with a gain, limits them softly, and converts them back. The limiter has no memory,
// so the same samples always give the same results and the level does not pump.
import { fromDb } from '../platform/pcm.ts';
import { blockSamplesMax, blocksOf, limited, rounded, scaled } from './kernels.ts';

const fullScale = 32768;

// The limiter changes only samples above the knee: at the target loudness, a few in 10 000. Peaks between samples, or
// after MP3 or Opus coding, may exceed the ceiling by a decibel. The ceiling allows for this, so the true peak of every
// format stays under -1.5 dBFS.
const kneeDbfs = -4.5;
const ceilingDbfs = -2.7;
const knee = fromDb(kneeDbfs);
const range = fromDb(ceilingDbfs) - knee;

/** Factor that maps 16-bit full scale to +-1 times the gain. */
export const factorOf = (gainDb: number): number => fromDb(gainDb) / fullScale;

/** Converts samples to floats without clipping. Full scale becomes +-1 times the gain. */
export function toFloat(samples: Int16Array, gainDb: number): Float32Array<ArrayBuffer> {
  const factor = factorOf(gainDb);
  const floats = new Float32Array(samples.length);
  for (const [block, from] of blocksOf(samples)) floats.set(scaled(block, factor), from);
  return floats;
}

/** Rounds to nearest and clips at full scale; NaN becomes silence. */
export function toInt16(samples: Float32Array): Int16Array<ArrayBuffer> {
  // Copying avoids filling a new array with zeros first.
  if (samples.length <= blockSamplesMax) return new Int16Array(rounded(samples));
  const integers = new Int16Array(samples.length);
  for (const [block, from] of blocksOf(samples)) integers.set(rounded(block), from);
  return integers;
}

/**
 * Smoothly compresses values above the knee, so that none exceeds the ceiling. Slope and curvature are continuous. The
 * block has at most `blockSamplesMax` samples. The result is the block itself if no value is above the knee; otherwise,
 * it is valid until the next call.
 */
export const limitBlock = (block: Float32Array): Float32Array => limited(block, knee, range);
