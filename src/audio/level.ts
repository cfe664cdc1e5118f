// Converts 16-bit samples to floats with a gain, limits them softly, and converts them back. The limiter has no memory:
// every sample goes through the same curve, so nothing pumps, and a piece sounds the same whatever precedes it.

const fullScale = 32768;

// At the target loudness all but a few samples in 100 000 are below the knee, where nothing changes. Rare peaks above it
// are bent below a ceiling that leaves headroom for rounding and for decoders, which do not reproduce peaks exactly.
const kneeDbfs = -1.5;
const ceilingDbfs = -0.3;
const knee = fromDb(kneeDbfs);
const range = fromDb(ceilingDbfs) - knee;

/** A gain in decibels as a factor. */
export function fromDb(gainDb: number): number {
  return 10 ** (gainDb / 20);
}

/** Full scale at +-1, times the gain. Values beyond full scale are not clipped. */
export function toFloat(samples: Int16Array, gainDb: number): Float32Array {
  const factor = fromDb(gainDb) / fullScale;
  const floats = new Float32Array(samples.length);
  for (let i = 0; i < floats.length; i++) floats[i] = samples[i]! * factor;
  return floats;
}

/** Clips at full scale; NaN becomes silence. */
export function clamp(samples: Float32Array): Float32Array {
  const clamped = new Float32Array(samples.length);
  for (let i = 0; i < clamped.length; i++) clamped[i] = Math.max(-1, Math.min(1, samples[i]! || 0));
  return clamped;
}

/** Rounds to nearest and clips at full scale; NaN becomes silence. */
export function toInt16(samples: Float32Array): Int16Array<ArrayBuffer> {
  const integers = new Int16Array(samples.length);
  for (let i = 0; i < integers.length; i++)
    integers[i] = Math.max(-fullScale, Math.min(fullScale - 1, Math.round(samples[i]! * fullScale)));
  return integers;
}

/**
 * Bends values above the knee smoothly towards the ceiling, which they never pass; slope and curvature are continuous.
 * Where nothing is above the knee, `samples` itself is returned.
 */
export function limit(samples: Float32Array): Float32Array {
  let limited = samples;
  for (let i = 0; i < samples.length; i++) {
    const over = Math.abs(samples[i]!) - knee;
    if (!(over > 0)) continue;
    if (limited === samples) limited = samples.slice();
    limited[i] = Math.sign(samples[i]!) * (knee + range * Math.tanh(over / range));
  }
  return limited;
}
