// Linear prediction of a sample from those before it: the best coefficients for a block, by autocorrelation and the
// Levinson-Durbin recursion, quantised to integers as FLAC writes them (RFC 9639, section 9.2.6).

export interface Predictor {
  /** The nearest sample first. */
  coefficients: Int32Array;
  /** The sum of the products is divided by 2^shift. */
  shift: number;
}

/** The limit of FLAC's streamable subset up to 48 kHz. */
const orderMax = 12;
/** Bits of a coefficient: a sum of 12 products of 16 by 12 bits fits into 32 bits. */
export const coefficientBits = 12;
const shiftMax = 15;

/** The predictor with the smallest result; undefined where none helps. */
export function findPredictor(samples: Int16Array): Predictor | undefined {
  const correlation = autocorrelate(samples);
  if (correlation[0] === 0) return undefined;
  let error = correlation[0]!;
  let weights: number[] = [];
  let best: { bits: number; weights: number[] } = { bits: bitsFor(error, samples.length, 0), weights };
  for (let order = 1; order <= Math.min(orderMax, samples.length - 1); order++) {
    const expected = weights.reduce((sum, weight, i) => sum + weight * correlation[order - 1 - i]!, 0);
    const reflection = (correlation[order]! - expected) / error;
    weights = [...weights.map((weight, i) => weight - reflection * weights[order - 2 - i]!), reflection];
    error *= 1 - reflection * reflection;
    if (!(error > 0)) break;
    const bits = bitsFor(error, samples.length, order);
    if (bits < best.bits) best = { bits, weights };
  }
  return best.weights.length > 0 ? quantise(best.weights) : undefined;
}

/** The prediction errors, from the first sample that has enough samples before it. */
export function residualOf(samples: Int16Array, { coefficients, shift }: Predictor): Int32Array {
  const order = coefficients.length;
  const residual = new Int32Array(samples.length - order);
  for (let i = order; i < samples.length; i++) {
    let sum = 0;
    for (let n = 0; n < order; n++) sum += coefficients[n]! * samples[i - 1 - n]!;
    residual[i - order] = samples[i]! - (sum >> shift);
  }
  return residual;
}

/** Of the block under a Welch window, so that its ends do not count as jumps. */
function autocorrelate(samples: Int16Array): Float64Array {
  const half = (samples.length - 1) / 2;
  const windowed = new Float64Array(samples.length);
  for (let i = 0; i < windowed.length; i++) windowed[i] = samples[i]! * (1 - ((i - half) / (half + 1)) ** 2);
  return Float64Array.from({ length: Math.min(orderMax, samples.length - 1) + 1 }, (_, lag) => {
    let sum = 0;
    for (let i = lag; i < windowed.length; i++) sum += windowed[i]! * windowed[i - lag]!;
    return sum;
  });
}

/** The estimated bits of a block with that prediction error; a sample takes at least one. */
const bitsFor = (error: number, length: number, order: number): number =>
  length * Math.max(0.5 * Math.log2(error / length), 0) + order * (coefficientBits + 16);

/** Quantises the weights; the rounding error of each is carried over to the next. */
function quantise(weights: readonly number[]): Predictor | undefined {
  const largest = Math.max(...weights.map(Math.abs));
  const shift = Math.min(coefficientBits - 2 - Math.floor(Math.log2(largest)), shiftMax);
  if (shift < 0) return undefined;
  const limit = 2 ** (coefficientBits - 1);
  let error = 0;
  const coefficients = Int32Array.from(weights, (weight) => {
    const exact = weight * 2 ** shift + error;
    const whole = Math.max(-limit, Math.min(limit - 1, Math.round(exact)));
    error = exact - whole;
    return whole;
  });
  return { coefficients, shift };
}
