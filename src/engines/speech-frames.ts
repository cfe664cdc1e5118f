// Describes speech in frames, for the search for faults: the level of each frame, and its spectrum in a few bands. The
// samples are added in pieces of any length. Costs about a thousandth of the time of the audio.
import { createRealTransform, hannWindow } from '../platform/real-transform.ts';

/** Enough for the sounds that distinguish words. */
const rateHzMax = 8_000;
const windowSamples = 256;
/** 12 ms. */
const tailSamples = 96;
export const frameSeconds = 0.016;
/** Number of bands of a spectrum; they have equal widths on the mel scale. */
export const bandCount = 14;
const lowestHz = 120;

export class SpeechFrames {
  /** Root mean square of each frame, of full scale. */
  readonly levels: number[] = [];
  readonly hasSpectra: boolean;
  /** `bandCount` values per frame: the logarithm of each band, without the frame's level. */
  readonly bands: number[] = [];
  readonly #step: number;
  readonly #frame: number;
  readonly #weights: readonly Band[];
  readonly #window = new Float32Array(windowSamples);
  #filled = 0;
  #sum = 0;
  #summed = 0;
  #before = 0;

  /** Without spectra, the description and the search cost a quarter. */
  constructor(sampleRateHz: number, { hasSpectra = true }: { hasSpectra?: boolean } = {}) {
    this.hasSpectra = hasSpectra;
    this.#step = Math.max(1, Math.round(sampleRateHz / rateHzMax));
    const rateHz = sampleRateHz / this.#step;
    this.#frame = Math.round(frameSeconds * rateHz);
    this.#weights = bandWeights(rateHz);
  }

  /** Root mean square of the last samples; 0 before the first frame. */
  get tailLevel(): number {
    const tail = this.levels.length > 0 ? this.#window.subarray(this.#filled - tailSamples, this.#filled) : [];
    return levelOf(tail);
  }

  add(samples: Int16Array): void {
    for (const sample of samples) {
      this.#sum += sample;
      if (++this.#summed < this.#step) continue;
      this.#window[this.#filled++] = this.#sum / this.#step / 32_768;
      this.#sum = 0;
      this.#summed = 0;
      if (this.#filled === windowSamples) this.#describe();
    }
  }

  #describe(): void {
    const window = this.#window;
    this.levels.push(levelOf(window.subarray(windowSamples - this.#frame)));
    if (this.hasSpectra) this.#describeSpectrum();
    window.copyWithin(0, this.#frame);
    this.#filled -= this.#frame;
  }

  #describeSpectrum(): void {
    const window = this.#window;
    let last = this.#before;
    for (let i = 0; i < windowSamples; i++) {
      // Speech has less energy at high frequencies, so the differences are described.
      differences[i] = window[i]! - 0.95 * last;
      last = window[i]!;
    }
    toSpectrum(differences, 0, hann, real, imaginary);
    for (let k = 0; k < halfSize; k++) powers[k] = real[k]! ** 2 + imaginary[k]! ** 2;
    const bands = this.#weights.map(({ from, weights }) => {
      let power = 1e-9;
      for (let k = 0; k < weights.length; k++) power += weights[k]! * powers[from + k]!;
      return Math.log(power);
    });
    const mean = bands.reduce((sum, each) => sum + each, 0) / bandCount;
    for (const band of bands) this.bands.push(band - mean);
    this.#before = window[this.#frame - 1]!;
  }
}

const levelOf = (samples: ArrayLike<number>): number => {
  let energy = 0;
  for (let i = 0; i < samples.length; i++) energy += samples[i]! ** 2;
  return samples.length > 0 ? Math.sqrt(energy / samples.length) : 0;
};

const { toSpectrum } = createRealTransform(windowSamples, [4, 4, 4, 2]);
const halfSize = windowSamples / 2;
const differences = new Float32Array(windowSamples);
const real = new Float64Array(halfSize + 1);
const imaginary = new Float64Array(halfSize + 1);
const powers = new Float64Array(halfSize);
const hann = hannWindow(windowSamples);

const toMel = (hz: number): number => Math.log1p(hz / 700);

/** Weights of the frequencies of a band, from the first that counts. */
interface Band {
  from: number;
  weights: Float32Array;
}

/** Triangular weights of the bands over the first half of the transform. */
function bandWeights(rateHz: number): Band[] {
  const [low, high] = [toMel(lowestHz), toMel(Math.min(rateHz / 2, 3_800))];
  const edges = Array.from({ length: bandCount + 2 }, (_, n) => low + ((high - low) * n) / (bandCount + 1));
  return Array.from({ length: bandCount }, (_, n) => {
    const [from, peak, to] = [edges[n]!, edges[n + 1]!, edges[n + 2]!];
    const weights = Float32Array.from({ length: halfSize }, (_, k) => {
      const mel = toMel((k * rateHz) / windowSamples);
      return Math.max(0, Math.min((mel - from) / (peak - from), (to - mel) / (to - peak)));
    });
    const first = weights.findIndex((weight) => weight > 0);
    return { from: first, weights: weights.slice(first, weights.findLastIndex((weight) => weight > 0) + 1) };
  });
}
