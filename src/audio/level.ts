// From 16-bit samples to floats at the wanted gain, through a soft limit, and back. The limit has no memory: each
// sample goes through one curve, so nothing pumps, and a piece sounds the same whatever comes before it.

const fullScale = 32768;

// At the house loudness all but a few samples in 100 000 are under the knee, where nothing changes. The rare burst above
// it is rounded off below a ceiling that leaves room for rounding, and for a decoder that does not give back the very
// same peaks.
const kneeDbfs = -1.5;
const ceilingDbfs = -0.3;
const knee = fromDb(kneeDbfs);
const range = fromDb(ceilingDbfs) - knee;

/** The factor that a gain in decibels is. */
export function fromDb(gainDb: number): number {
  return 10 ** (gainDb / 20);
}

/** Full scale at +-1, times the gain; louder than full scale is no loss here. */
export function toFloat(samples: Int16Array, gainDb: number): Float32Array {
  const factor = fromDb(gainDb) / fullScale;
  const floats = new Float32Array(samples.length);
  for (let i = 0; i < floats.length; i++) floats[i] = samples[i]! * factor;
  return floats;
}

/** Cut at full scale; what is no number is silence. */
export function clamp(samples: Float32Array): Float32Array {
  const clamped = new Float32Array(samples.length);
  for (let i = 0; i < clamped.length; i++) clamped[i] = Math.max(-1, Math.min(1, samples[i]! || 0));
  return clamped;
}

/** Rounded to nearest; cut at full scale; what is no number is silence. */
export function toInt16(samples: Float32Array): Int16Array<ArrayBuffer> {
  const integers = new Int16Array(samples.length);
  for (let i = 0; i < integers.length; i++)
    integers[i] = Math.max(-fullScale, Math.min(fullScale - 1, Math.round(samples[i]! * fullScale)));
  return integers;
}

/**
 * Bends what is above the knee smoothly towards the ceiling, which it never passes; slope and curvature run on without
 * a break. Where nothing is above the knee, the answer is `samples` itself.
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
