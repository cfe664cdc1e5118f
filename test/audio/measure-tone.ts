// Measures audio for tests and benches: level, pitch, and how pure a tone is.

type Samples = Float32Array | Float64Array | Int16Array;

export interface ToneOptions {
  frequencyHz: number;
  sampleRateHz: number;
  seconds: number;
  amplitude?: number;
}

/** A sine that starts at phase 0. */
export function tone({ frequencyHz, sampleRateHz, seconds, amplitude = 0.5 }: ToneOptions): Float32Array {
  const step = (2 * Math.PI * frequencyHz) / sampleRateHz;
  return Float32Array.from({ length: Math.round(seconds * sampleRateHz) }, (_, i) => amplitude * Math.sin(step * i));
}

/** White noise within -amplitude..amplitude, the same in each run. */
export function noise(length: number, amplitude: number): Float32Array {
  let state = 1;
  return Float32Array.from({ length }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) | 0;
    return (amplitude * state) / 2 ** 31;
  });
}

export const toDb = (ratio: number): number => 20 * Math.log10(ratio);

export function rms(samples: Samples): number {
  let sum = 0;
  for (const sample of samples) sum += sample * sample;
  return Math.sqrt(sum / samples.length);
}

export function peak(samples: Samples): number {
  let highest = 0;
  for (const sample of samples) highest = Math.max(highest, Math.abs(sample));
  return highest;
}

/** The samples without their first and last quarter, where a filter starts and ends. */
export const middle = (samples: Float32Array): Float32Array =>
  samples.subarray(samples.length >> 2, samples.length - (samples.length >> 2));

/**
 * The least-squares fit of a sine of this frequency: its amplitude, and the residue in dB below it (noise, distortion,
 * images and aliases together).
 */
export function fitSine(
  samples: Samples,
  frequencyHz: number,
  sampleRateHz: number,
): { amplitude: number; snrDb: number } {
  const step = (2 * Math.PI * frequencyHz) / sampleRateHz;
  let ss = 0;
  let sc = 0;
  let cc = 0;
  let xs = 0;
  let xc = 0;
  for (let i = 0; i < samples.length; i++) {
    const s = Math.sin(step * i);
    const c = Math.cos(step * i);
    ss += s * s;
    sc += s * c;
    cc += c * c;
    xs += samples[i]! * s;
    xc += samples[i]! * c;
  }
  const determinant = ss * cc - sc * sc;
  const a = (xs * cc - xc * sc) / determinant;
  const b = (xc * ss - xs * sc) / determinant;
  const rest = Float64Array.from(samples, (x, i) => x - a * Math.sin(step * i) - b * Math.cos(step * i));
  const amplitude = Math.hypot(a, b);
  return { amplitude, snrDb: toDb(amplitude / Math.SQRT2 / rms(rest)) };
}

/** The pitch of a periodic signal: the shortest shift from 2 to 20 ms with the highest similarity. */
export function fundamentalHz(samples: Samples, sampleRateHz: number): number {
  const first = Math.floor(0.002 * sampleRateHz);
  const last = Math.ceil(0.02 * sampleRateHz);
  const length = samples.length - last - 1;
  const likeness = (shift: number) => {
    let product = 0;
    let power = 0;
    for (let i = 0; i < length; i++) {
      product += samples[i]! * samples[i + shift]!;
      power += samples[i + shift]! ** 2;
    }
    return product / Math.sqrt(power || 1);
  };
  const likenesses = Array.from({ length: last - first + 1 }, (_, n) => likeness(first + n));
  // A shift of two periods is just as similar, so the first peak close to the highest one is used.
  const enough = 0.9 * Math.max(...likenesses);
  const at = likenesses.findIndex((value, n) => value >= enough && value >= (likenesses[n + 1] ?? 0));
  return sampleRateHz / (first + at + vertex(likenesses, at));
}

/** The strongest frequency in the largest power of two of samples. */
export function dominantFrequencyHz(samples: Samples, sampleRateHz: number): number {
  const size = 2 ** Math.floor(Math.log2(samples.length));
  const windowed = Float64Array.from(
    { length: size },
    (_, i) => samples[i]! * (1 - Math.cos((2 * Math.PI * i) / size)),
  );
  const spectrum = logPowers(windowed);
  const at = spectrum.indexOf(Math.max(...spectrum));
  return ((at + vertex(spectrum, at)) * sampleRateHz) / size;
}

/** Interpolated position of the peak at `n`: the vertex of the parabola through three values. */
function vertex(values: readonly number[], n: number): number {
  const [before, here, after] = [values[n - 1], values[n]!, values[n + 1]];
  if (before === undefined || after === undefined) return 0;
  return (before - after) / (2 * (before - 2 * here + after));
}

/** The logarithm of the power at each frequency from 0 to Nyquist, by a fast Fourier transform. */
function logPowers(samples: Float64Array): number[] {
  const transform = (size: number, from: number, step: number): [Float64Array, Float64Array] => {
    if (size === 1) return [Float64Array.of(samples[from]!), Float64Array.of(0)];
    const [evenRe, evenIm] = transform(size / 2, from, step * 2);
    const [oddRe, oddIm] = transform(size / 2, from + step, step * 2);
    const re = new Float64Array(size);
    const im = new Float64Array(size);
    for (let k = 0; k < size / 2; k++) {
      const cos = Math.cos((2 * Math.PI * k) / size);
      const sin = Math.sin((2 * Math.PI * k) / size);
      const turnedRe = oddRe[k]! * cos + oddIm[k]! * sin;
      const turnedIm = oddIm[k]! * cos - oddRe[k]! * sin;
      re[k] = evenRe[k]! + turnedRe;
      im[k] = evenIm[k]! + turnedIm;
      re[k + size / 2] = evenRe[k]! - turnedRe;
      im[k + size / 2] = evenIm[k]! - turnedIm;
    }
    return [re, im];
  };
  const [re, im] = transform(samples.length, 0, 1);
  return Array.from({ length: samples.length / 2 }, (_, k) => Math.log(re[k]! ** 2 + im[k]! ** 2 + 1e-300));
}
