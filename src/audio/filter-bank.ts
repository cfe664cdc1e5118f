// Designs the filters of the resampler, and keeps them: with out/in = up/down in lowest terms, `up` rows of a
// Kaiser-windowed sinc, each shifted by 1/up of an input sample against the one before.
import { type FilterBank, tapsMax, weightsMax } from './kernels.ts';

// 32 zero crossings a side and beta 10 put the stop band at -100 dB, below the noise of 16 bits. The cutoff puts the
// middle of the transition band just under Nyquist: speech keeps its treble, and its mirror image stays inaudible.
const zeroCrossings = 32;
const kaiserBeta = 10;
const cutoffOfNyquist = 0.945;
/** The filter reads so many samples at a time, on each side of its middle. */
const halfStep = 4;

const banks = new Map<string, FilterBank>();

/** The usual rates take 0.01 each of what is kept. */
export function filterBankFor(inRateHz: number, outRateHz: number): FilterBank {
  const key = `${inRateHz}/${outRateHz}`;
  const known = banks.get(key);
  if (known) return known;
  const bank = designBank(inRateHz, outRateHz);
  banks.set(key, bank);
  let cached = 0;
  for (const { weights } of banks.values()) cached += weights.length;
  for (const [oldest, { weights }] of banks) {
    if (cached <= weightsMax) break;
    banks.delete(oldest);
    cached -= weights.length;
  }
  return bank;
}

function designBank(inRateHz: number, outRateHz: number): FilterBank {
  if (!(Number.isInteger(inRateHz) && Number.isInteger(outRateHz) && inRateHz > 0 && outRateHz > 0))
    throw new RangeError(`cannot resample from ${inRateHz} Hz to ${outRateHz} Hz`);
  const divisor = greatestCommonDivisor(inRateHz, outRateHz);
  const up = outRateHz / divisor;
  const down = inRateHz / divisor;
  const narrowing = Math.min(1, up / down);
  const half = Math.ceil(zeroCrossings / narrowing / halfStep) * halfStep;
  const taps = 2 * half;
  if (taps > tapsMax || up * taps > weightsMax)
    throw new RangeError(`${inRateHz} Hz and ${outRateHz} Hz have too little in common`);
  const weights = new Float32Array(up * taps);
  const row = new Float64Array(taps);
  for (let phase = 0; phase < up; phase++) {
    for (let k = 0; k < taps; k++) {
      const distance = k - half + 1 - phase / up;
      row[k] = sinc(narrowing * cutoffOfNyquist * distance) * kaiser(distance / half);
    }
    // Unit gain at 0 Hz in every row: otherwise a constant level would ripple.
    const sum = row.reduce((total, weight) => total + weight, 0);
    for (let k = 0; k < taps; k++) weights[phase * taps + k] = row[k]! / sum;
  }
  return { up, down, taps, weights };
}

const greatestCommonDivisor = (a: number, b: number): number => (b === 0 ? a : greatestCommonDivisor(b, a % b));

const sinc = (x: number): number => (x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x));

/** The Kaiser window over -1..1, up to a constant factor, which normalising the rows removes. */
const kaiser = (x: number): number => (Math.abs(x) < 1 ? besselI0(kaiserBeta * Math.sqrt(1 - x * x)) : 0);

/** The modified Bessel function of order zero, by its power series. */
function besselI0(x: number): number {
  let sum = 1;
  for (let term = 1, k = 1; term > sum * Number.EPSILON; k++) {
    term *= (x / (2 * k)) ** 2;
    sum += term;
  }
  return sum;
}
