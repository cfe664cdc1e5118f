// What the next sample will be, told from those before it: the coefficients that fit a block best, by its autocorrelation
// and the recursion of Levinson and Durbin, in whole numbers as FLAC writes them (RFC 9639, section 9.2.6).

export interface Predictor {
  /** The nearest sample first. */
  coefficients: Int32Array;
  /** The sum of the products is divided by 2^shift. */
  shift: number;
}

/** What FLAC's streamable subset allows up to 48 kHz. */
const orderMax = 12;
/** Bits of a coefficient. Twelve times 16 bits by 12 stay within 32 bits. */
export const coefficientBits = 12;
const shiftMax = 15;

/** The predictor that makes the block smallest; undefined where none helps. */
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
  return best.weights.length > 0 ? inWholeNumbers(best.weights) : undefined;
}

/** What the predictor misses the samples by, from the first that has enough of them before it. */
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

/** Of the block as it is faded in and out (Welch), so that its ends do not count for jumps. */
function autocorrelate(samples: Int16Array): Float64Array {
  const half = (samples.length - 1) / 2;
  const faded = new Float64Array(samples.length);
  for (let i = 0; i < faded.length; i++) faded[i] = samples[i]! * (1 - ((i - half) / (half + 1)) ** 2);
  return Float64Array.from({ length: Math.min(orderMax, samples.length - 1) + 1 }, (_, lag) => {
    let sum = 0;
    for (let i = lag; i < faded.length; i++) sum += faded[i]! * faded[i - lag]!;
    return sum;
  });
}

/** About how many bits a block takes of which that much is left over; a sample cannot take less than one. */
const bitsFor = (error: number, length: number, order: number): number =>
  length * Math.max(0.5 * Math.log2(error / length), 0) + order * (coefficientBits + 16);

/** With what is lost by rounding one handed on to the next. */
function inWholeNumbers(weights: readonly number[]): Predictor | undefined {
  const largest = Math.max(...weights.map(Math.abs));
  const shift = Math.min(coefficientBits - 2 - Math.floor(Math.log2(largest)), shiftMax);
  if (shift < 0) return undefined;
  const limit = 2 ** (coefficientBits - 1);
  let lost = 0;
  const coefficients = Int32Array.from(weights, (weight) => {
    const exact = weight * 2 ** shift + lost;
    const whole = Math.max(-limit, Math.min(limit - 1, Math.round(exact)));
    lost = exact - whole;
    return whole;
  });
  return { coefficients, shift };
}
