// Converts a model's float samples (full scale 1) to 16-bit samples. Values beyond full scale are clipped, which the
// guard detects; NaN and infinity are refused.

/** Full scale. The guard (sound-check.ts) counts samples of this size as clipped. */
const peak = 32_766;

/** Converts samples; undefined if one of them is not a finite number. */
export function toSamples(floats: Float32Array): Int16Array<ArrayBuffer> | undefined {
  const samples = new Int16Array(floats.length);
  for (let i = 0; i < floats.length; i++) {
    const value = floats[i]!;
    if (!Number.isFinite(value)) return undefined;
    // Faster in V8 than Math.round.
    samples[i] = Math.floor(Math.max(-1, Math.min(1, value)) * peak + 0.5);
  }
  return samples;
}
