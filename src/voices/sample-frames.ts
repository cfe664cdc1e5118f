// Measures a recording in frames of 20 ms: short enough to separate a sound from the gap beside it, long enough for a
// level, in decibels below full scale.
import type { Recording } from '../audio/recording/track.ts';

export interface SampleFrames {
  /** The level of each frame. */
  levels: readonly number[];
  /** How often the sound changes its sign in each frame, in hertz: the pitch of a tone, and high for hiss. */
  crossingsHz: readonly number[];
}

export const framesPerSecond = 50;
/** The level of digital silence. */
const lowestDb = -120;

export function measureFrames({ samples, sampleRateHz }: Recording): SampleFrames {
  const length = Math.round(sampleRateHz / framesPerSecond);
  const levels: number[] = [];
  const crossingsHz: number[] = [];
  for (let from = 0; from + length <= samples.length; from += length) {
    let power = 0;
    let crossings = 0;
    let before = samples[from]!;
    for (let i = from; i < from + length; i++) {
      const sample = samples[i]!;
      power += sample * sample;
      if (sample >= 0 !== before >= 0) crossings++;
      before = sample;
    }
    levels.push(Math.max(lowestDb, 10 * Math.log10(power / length)));
    crossingsHz.push((crossings / 2) * framesPerSecond);
  }
  return { levels, crossingsHz };
}

/** The value below which this share (0 to 1) of the values lie. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? lowestDb;
}

const bins = 4_096;

/**
 * The share of the samples (0 to 1) at `level` or above, and the share within a tenth of the level that a thousandth of
 * them exceeds, which is small unless the peaks are clipped.
 */
export function measurePeaks({ samples }: Recording, level: number): { above: number; flattened: number } {
  const counts = new Uint32Array(bins);
  const peak = samples.reduce((highest, sample) => Math.max(highest, Math.abs(sample)), 0);
  let above = 0;
  for (const sample of samples) {
    const size = Math.abs(sample);
    if (size >= level) above++;
    counts[Math.min(bins - 1, Math.floor((size / peak) * bins))]!++;
  }
  // Counts from the top down to the level that a thousandth exceeds, then on to nine tenths of that level.
  let passed = 0;
  let top = bins;
  while (top > 0 && passed < samples.length / 1_000) passed += counts[--top]!;
  for (let bin = Math.floor(0.9 * top); bin < top; bin++) passed += counts[bin]!;
  return { above: above / samples.length, flattened: passed / samples.length };
}
