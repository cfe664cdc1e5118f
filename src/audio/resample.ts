// Changes the sample rate of a stream with a rational polyphase filter, without delay and in constant memory. Output n
// is at input position n*down/up, where up/down is out/in in lowest terms: the dot product of nearby input and one of
// `up` rows of weights. After flush there are exactly ceil(n*out/in) samples. The gain is within 0.7 dB up to 0.9 of
// the lower Nyquist frequency. Images and aliases are under -98 dB above 1.05 of that frequency.
import {
  blockSamplesMax,
  blocksOf,
  type FilterBank,
  filtered,
  filterInput,
  scaled,
  scaleIntoFilter,
  tapsMax,
  weightsMax,
} from './kernels.ts';

// 32 zero crossings per side and beta 10 put the stop band at -100 dB, below the noise of 16 bits. The cutoff puts the
// middle of the transition band just under Nyquist, so speech keeps its treble and aliases are inaudible.
const zeroCrossings = 32;
const kaiserBeta = 10;
const cutoffOfNyquist = 0.945;
/** Number of samples that the filter reads at a time, on each side of its middle. */
const halfStep = 4;

/** Maximum number of weights of one filter, which bounds its design. Common rates need at most 164,640. */
const bankWeightsMax = 180_000;

const banks = new Map<string, FilterBank>();

/** Returns a cached or new filter. A filter for common rates takes at most 1 % of the cache. */
function filterBankFor(inRateHz: number, outRateHz: number): FilterBank {
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
  if (taps > tapsMax || up * taps > bankWeightsMax)
    throw new RangeError(`${inRateHz} Hz and ${outRateHz} Hz have too little in common`);
  const weights = new Float32Array(up * taps);
  const row = new Float64Array(taps);
  for (let phase = 0; phase < up; phase++) {
    for (let k = 0; k < taps; k++) {
      const distance = k - half + 1 - phase / up;
      row[k] = sinc(narrowing * cutoffOfNyquist * distance) * kaiser(distance / half);
    }
    // Gives every row unit gain at 0 Hz, because otherwise a constant level would ripple.
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

export class Resampler {
  readonly #bank: FilterBank | undefined;
  /** Received input that the next output needs, oldest first. It is shorter than the filter. */
  readonly #history: Float32Array;
  #held: number;
  #phase = 0;

  constructor({ inRateHz, outRateHz }: { inRateHz: number; outRateHz: number }) {
    this.#bank = inRateHz === outRateHz ? undefined : filterBankFor(inRateHz, outRateHz);
    const taps = this.#bank?.taps ?? 0;
    this.#history = new Float32Array(taps);
    // Silence before the stream centres the filter on the first sample.
    this.#held = Math.max(taps / 2 - 1, 0);
  }

  /** Returns the output that is complete so far. At equal rates, returns `samples` itself. */
  process(samples: Float32Array): Float32Array {
    const bank = this.#bank;
    if (!bank) return samples;
    const out = new Float32Array(countReady(bank, this.#held + samples.length, this.#phase));
    let written = 0;
    this.pass(samples, 1, (piece) => {
      out.set(piece, written);
      written += piece.length;
    });
    return out;
  }

  /** Returns the rest of the output, at the end of the stream. */
  flush(): Float32Array {
    return this.process(this.#rest());
  }

  /**
   * Calls `take` with output of at most `blockSamplesMax` samples, which is valid only during the call. `take` must not
   * resample. Multiplies 16-bit input by the factor.
   */
  pass(samples: Float32Array | Int16Array, factor: number, take: (piece: Float32Array) => void): void {
    for (const [block] of blocksOf(samples)) {
      if (this.#bank) this.#filter(this.#bank, block, factor, take);
      else take(block instanceof Int16Array ? scaled(block, factor) : block);
    }
  }

  /** Like `pass`, but for the rest of the output, at the end of the stream. */
  passRest(take: (piece: Float32Array) => void): void {
    this.pass(this.#rest(), 1, take);
  }

  #rest(): Float32Array {
    return new Float32Array((this.#bank?.taps ?? 0) / 2);
  }

  #filter(
    bank: FilterBank,
    block: Float32Array | Int16Array,
    factor: number,
    take: (piece: Float32Array) => void,
  ): void {
    filterInput.set(this.#history.subarray(0, this.#held));
    if (block instanceof Int16Array) scaleIntoFilter(block, factor, this.#held);
    else filterInput.set(block, this.#held);
    const end = this.#held + block.length;
    let position = 0;
    for (;;) {
      const count = Math.min(countReady(bank, end - position, this.#phase), blockSamplesMax);
      if (count === 0) break;
      const { samples, passed } = filtered(bank, position, this.#phase, count);
      position += passed;
      this.#phase = (this.#phase + count * bank.down) % bank.up;
      take(samples);
    }
    this.#held = end - position;
    this.#history.set(filterInput.subarray(position, end));
  }
}

/**
 * Returns the number of outputs for which `held` inputs suffice, if the first output is `phase`/up after the filter's
 * first position.
 */
function countReady({ up, down, taps }: FilterBank, held: number, phase: number): number {
  const positions = held - taps + 1;
  return positions > 0 ? Math.ceil((positions * up - phase) / down) : 0;
}
