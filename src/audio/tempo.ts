// Makes speech faster or slower at the same pitch by cross-fading short frames (waveform-similarity overlap-add,
// WSOLA). Each frame is taken from the input near its nominal time, at the shift that best continues the previous
// frame. Output time t is within a frame of input time t*factor. After flush there are round(length/factor) samples.
// The output does not depend on how the input is split.
import { join } from '../platform/pcm.ts';

export const tempoFactors = { min: 0.25, max: 8 } as const;

const hopSeconds = 0.01;
// Half the longest period of a voice (about 62 Hz). Some shift within this range always aligns the periods.
const reachSeconds = 0.008;
// The search first tries every stride-th shift on every stride-th sample, at about this rate, and then all shifts near
// the best one.
const coarseRateHz = 8000;

export class Tempo {
  readonly #factor: number;
  readonly #hop: number;
  readonly #reach: number;
  readonly #stride: number;
  /** Input from `#start` on; older input is no longer needed. */
  #held = new Float32Array(0);
  #start = 0;
  #received = 0;
  #frames = 0;
  /** The input that follows the last frame. The next frame must resemble this input. */
  #expected = new Float32Array(0);

  constructor({ sampleRateHz, factor }: { sampleRateHz: number; factor: number }) {
    if (!(factor >= tempoFactors.min && factor <= tempoFactors.max))
      throw new RangeError(`invalid tempo factor: ${factor}`);
    this.#factor = factor;
    this.#hop = Math.round(hopSeconds * sampleRateHz);
    this.#reach = Math.round(reachSeconds * sampleRateHz);
    this.#stride = Math.max(1, Math.round(sampleRateHz / coarseRateHz));
  }

  /** Returns the output that is complete so far. */
  process(samples: Float32Array): Float32Array {
    this.#held = join(Float32Array, [this.#held, samples]);
    this.#received += samples.length;
    const hops: Float32Array[] = [];
    while (this.#isNextKnown()) hops.push(this.#nextHop());
    const needless = Math.max(0, Math.min(this.#nominal(this.#frames) - this.#reach, this.#received) - this.#start);
    this.#held = this.#held.slice(needless);
    this.#start += needless;
    return join(Float32Array, hops);
  }

  /** Returns the rest of the output, at the end of the stream. */
  flush(): Float32Array {
    const missing = Math.round(this.#received / this.#factor) - this.#frames * this.#hop;
    const silence = new Float32Array(this.#reach + 2 * this.#hop + this.#nominal(1));
    return this.process(silence).subarray(0, Math.max(0, missing));
  }

  /** The input position that corresponds to the time of a frame. */
  #nominal(frame: number): number {
    return Math.round(frame * this.#hop * this.#factor);
  }

  /**
   * Whether the input covers all positions that the next frame may use and the nominal position of the frame after it.
   */
  #isNextKnown(): boolean {
    const searched = this.#nominal(this.#frames) + this.#reach + 2 * this.#hop;
    return Math.max(searched, this.#nominal(this.#frames + 1)) <= this.#received;
  }

  #nextHop(): Float32Array {
    const hop = this.#hop;
    const nominal = this.#nominal(this.#frames) - this.#start;
    const at = this.#frames === 0 ? nominal : this.#mostSimilar(nominal);
    const frame = this.#held.subarray(at, at + hop);
    const out = this.#frames === 0 ? frame : crossFade(this.#expected, frame);
    this.#expected = this.#held.slice(at + hop, at + 2 * hop);
    this.#frames++;
    return out;
  }

  /** The position within reach of `nominal` where the input is most similar to the expected frame. */
  #mostSimilar(nominal: number): number {
    const best = (first: number, last: number, stride: number, start: number): number => {
      let position = start;
      let highest = similarity(this.#expected, this.#held, start, stride);
      for (let at = first; at <= last; at += stride) {
        const found = similarity(this.#expected, this.#held, at, stride);
        if (found > highest) {
          position = at;
          highest = found;
        }
      }
      return position;
    };
    const first = Math.max(0, nominal - this.#reach);
    const last = nominal + this.#reach;
    const near = best(first, last, this.#stride, nominal);
    if (this.#stride === 1) return near;
    return best(Math.max(first, near - this.#stride + 1), Math.min(last, near + this.#stride - 1), 1, near);
  }
}

/** Correlation of `a` with `b` from `at` on, from -1 to 1, over every stride-th sample. 0 if either is silent. */
function similarity(a: Float32Array, b: Float32Array, at: number, stride: number): number {
  let product = 0;
  let powerA = 0;
  let powerB = 0;
  for (let i = 0; i < a.length; i += stride) {
    const x = a[i]!;
    const y = b[at + i]!;
    product += x * y;
    powerA += x * x;
    powerB += y * y;
  }
  return product === 0 ? 0 : product / Math.sqrt(powerA * powerB);
}

/**
 * Cross-fades along a raised cosine. Similar signals add up in amplitude, but dissimilar signals, such as two parts of
 * an s, only in power. The level is corrected, because it would otherwise flutter at the frame rate.
 */
function crossFade(from: Float32Array, to: Float32Array): Float32Array {
  const similar = Math.max(0, similarity(from, to, 0, 1));
  return to.map((sample, i) => {
    const into = 0.5 - 0.5 * Math.cos((Math.PI * (i + 0.5)) / to.length);
    const out = 1 - into;
    return (from[i]! * out + sample * into) / Math.sqrt(out * out + into * into + 2 * out * into * similar);
  });
}
