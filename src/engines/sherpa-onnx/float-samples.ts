// Samples of a model, at full scale 1, as 16-bit samples. What is beyond full scale is clipped, for the guard to find; what
// is not a number has no place in sound.

/** A sample at full scale would count as clipped. */
const peak = 32_766;

/** Undefined where a sample is not a finite number. */
export function toSamples(floats: Float32Array): Int16Array<ArrayBuffer> | undefined {
  const samples = new Int16Array(floats.length);
  for (let i = 0; i < floats.length; i++) {
    const value = floats[i]!;
    if (!Number.isFinite(value)) return undefined;
    samples[i] = Math.round(Math.max(-1, Math.min(1, value)) * peak);
  }
  return samples;
}
