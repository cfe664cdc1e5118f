// Changes the sample rate of a stream with a rational polyphase filter: with out/in = up/down in lowest terms, output n is
// at n*down/up in input samples and is a dot product of the input around it with one of `up` rows of a Kaiser-windowed
// sinc. Promises: no delay (output 0 is at input 0), exactly ceil(n*out/in) samples after flush, the same bits however
// the input is split, and constant memory. Up to 0.9 of the lower Nyquist frequency the gain is within 0.7 dB; images
// and aliases, from 1.05 of it on, are under -98 dB.

interface FilterBank {
  up: number;
  down: number;
  taps: number;
  /** `up` rows of `taps` weights. */
  weights: Float64Array;
}

// 32 zero crossings a side and beta 10 put the stop band at -100 dB, below the noise of 16 bits. The cutoff puts the
// middle of the transition band just under Nyquist: speech keeps its treble, and its mirror image stays inaudible.
const zeroCrossings = 32;
const kaiserBeta = 10;
const cutoffOfNyquist = 0.945;

/** The limit of one filter bank, and of all cached ones together: 32 MiB. The usual rates take 0.01 of it each. */
const weightsMax = 2 ** 22;
const blockSamples = 4096;

const banks = new Map<string, FilterBank>();

export class Resampler {
  readonly #bank: FilterBank | undefined;
  // The input that the next output needs, oldest first, and room for one more block.
  readonly #history: Float64Array;
  #held: number;
  #phase = 0;

  constructor({ inRateHz, outRateHz }: { inRateHz: number; outRateHz: number }) {
    this.#bank = inRateHz === outRateHz ? undefined : bankFor(inRateHz, outRateHz);
    const taps = this.#bank?.taps ?? 0;
    this.#history = new Float64Array(taps + blockSamples);
    // Silence before the stream centres the filter on the first sample.
    this.#held = Math.max(taps / 2 - 1, 0);
  }

  /** The output that is complete so far. At equal rates, `samples` itself. */
  process(samples: Float32Array): Float32Array {
    const bank = this.#bank;
    if (!bank) return samples;
    const out = new Float32Array(countReady(bank, this.#held + samples.length, this.#phase));
    let written = 0;
    for (let from = 0; from < samples.length; from += blockSamples) {
      const block = samples.subarray(from, from + blockSamples);
      this.#history.set(block, this.#held);
      this.#held += block.length;
      const count = countReady(bank, this.#held, this.#phase);
      const passed = filter(bank, this.#history, this.#phase, out.subarray(written, written + count));
      written += count;
      this.#phase = (this.#phase + count * bank.down) % bank.up;
      this.#history.copyWithin(0, passed, this.#held);
      this.#held -= passed;
    }
    return out;
  }

  /** The rest of the output, at the end of the stream. */
  flush(): Float32Array {
    return this.process(new Float32Array((this.#bank?.taps ?? 0) / 2));
  }
}

/** How many outputs `held` inputs suffice for, when the first is `phase`/up after the filter's first position. */
function countReady({ up, down, taps }: FilterBank, held: number, phase: number): number {
  const positions = held - taps + 1;
  return positions > 0 ? Math.ceil((positions * up - phase) / down) : 0;
}

/**
 * Fills `out`, and returns by how many inputs the filter has advanced. Outputs a multiple of `up` apart use the same row,
 * so four of them are computed at once and load a weight once, not four times. The order of each sum is unchanged.
 */
function filter({ up, down, taps, weights }: FilterBank, x: Float64Array, phase: number, out: Float32Array): number {
  const lane = Math.floor(out.length / (4 * up)) * up;
  const stride = (lane / up) * down;
  let position = 0;
  for (let n = 0; n < lane; n++) {
    let a = 0;
    let b = 0;
    let c = 0;
    let d = 0;
    const row = phase * taps;
    for (let k = 0, i = position; k < taps; k++, i++) {
      const weight = weights[row + k]!;
      a += x[i]! * weight;
      b += x[i + stride]! * weight;
      c += x[i + 2 * stride]! * weight;
      d += x[i + 3 * stride]! * weight;
    }
    out[n] = a;
    out[n + lane] = b;
    out[n + 2 * lane] = c;
    out[n + 3 * lane] = d;
    phase += down;
    while (phase >= up) {
      phase -= up;
      position++;
    }
  }
  position += 3 * stride;
  for (let n = 4 * lane; n < out.length; n++) {
    let sum = 0;
    const row = phase * taps;
    for (let k = 0; k < taps; k++) sum += x[position + k]! * weights[row + k]!;
    out[n] = sum;
    phase += down;
    while (phase >= up) {
      phase -= up;
      position++;
    }
  }
  return position;
}

function bankFor(inRateHz: number, outRateHz: number): FilterBank {
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
  const half = Math.ceil(zeroCrossings / narrowing);
  const taps = 2 * half;
  if (up * taps > weightsMax) throw new RangeError(`${inRateHz} Hz and ${outRateHz} Hz have too little in common`);
  const weights = new Float64Array(up * taps);
  for (let phase = 0; phase < up; phase++) {
    const row = weights.subarray(phase * taps, (phase + 1) * taps);
    for (let k = 0; k < taps; k++) {
      const distance = k - half + 1 - phase / up;
      row[k] = sinc(narrowing * cutoffOfNyquist * distance) * kaiser(distance / half);
    }
    // Unit gain at 0 Hz in every row: otherwise a constant level would ripple.
    const sum = row.reduce((total, weight) => total + weight, 0);
    for (let k = 0; k < taps; k++) row[k]! /= sum;
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
