// Fourier transforms of real numbers, by a complex transform of half the length: Stockham's algorithm in passes of 2, 4,
// and odd numbers.

interface Pass {
  radix: number;
  /** Distance of the parts of a group in the output, and number of groups. */
  stride: number;
  groups: number;
  /** Twiddle factors by group and part. */
  cos: Float64Array;
  sin: Float64Array;
  /** Cosines and sines of a transform of `radix` numbers. */
  ownCos: Float64Array;
  ownSin: Float64Array;
}

const table = (length: number, at: (n: number) => number): Float64Array =>
  Float64Array.from({ length }, (_, n) => at(n));

/** The Hann window for a transform of `size` numbers. */
export const hannWindow = (size: number): Float64Array =>
  table(size, (n) => 0.5 - 0.5 * Math.cos((2 * Math.PI * n) / size));

/** The passes multiply to half of `size`. */
export function createRealTransform(size: number, radices: readonly number[]) {
  const half = size / 2;
  const binCount = half + 1;
  const passes: readonly Pass[] = radices.map((radix, n) => {
    const stride = radices.slice(0, n).reduce((product, each) => product * each, 1);
    const groups = half / stride / radix;
    const angle = (k: number) => (-2 * Math.PI * ((Math.floor(k / radix) * (k % radix) * stride) % half)) / half;
    const own = (k: number) => (2 * Math.PI * ((Math.floor(k / radix) * (k % radix)) % radix)) / radix;
    return {
      radix,
      stride,
      groups,
      cos: table(groups * radix, (k) => Math.cos(angle(k))),
      sin: table(groups * radix, (k) => Math.sin(angle(k))),
      ownCos: table(radix * radix, (k) => Math.cos(own(k))),
      ownSin: table(radix * radix, (k) => Math.sin(own(k))),
    };
  });

  const binCos = table(binCount, (k) => Math.cos((2 * Math.PI * k) / size));
  const binSin = table(binCount, (k) => Math.sin((2 * Math.PI * k) / size));

  let re = new Float64Array(half);
  let im = new Float64Array(half);
  let nextRe = new Float64Array(half);
  let nextIm = new Float64Array(half);

  /** Transforms `re` and `im` in place. */
  function transform(): void {
    for (const pass of passes) {
      if (pass.radix === 4) passOf4(pass);
      else if (pass.radix === 2) passOf2(pass);
      else passOfOdd(pass);
      [re, nextRe, im, nextIm] = [nextRe, re, nextIm, im];
    }
  }

  function passOf2({ stride: s, groups, cos, sin }: Pass): void {
    for (let q = 0; q < groups; q++) {
      const c = cos[q * 2 + 1]!;
      const d = sin[q * 2 + 1]!;
      for (let i = s * q, o = 2 * s * q, end = i + s; i < end; i++, o++) {
        const j = i + s * groups;
        const x = re[i]! - re[j]!;
        const y = im[i]! - im[j]!;
        nextRe[o] = re[i]! + re[j]!;
        nextIm[o] = im[i]! + im[j]!;
        nextRe[o + s] = x * c - y * d;
        nextIm[o + s] = x * d + y * c;
      }
    }
  }

  function passOf4({ stride: s, groups, cos, sin }: Pass): void {
    const step = s * groups;
    for (let q = 0; q < groups; q++) {
      const t = q * 4;
      for (let i = s * q, o = 4 * s * q, end = i + s; i < end; i++, o++) {
        const evenRe = re[i]! + re[i + 2 * step]!;
        const evenIm = im[i]! + im[i + 2 * step]!;
        const evenLessRe = re[i]! - re[i + 2 * step]!;
        const evenLessIm = im[i]! - im[i + 2 * step]!;
        const oddRe = re[i + step]! + re[i + 3 * step]!;
        const oddIm = im[i + step]! + im[i + 3 * step]!;
        const turnedRe = im[i + step]! - im[i + 3 * step]!;
        const turnedIm = re[i + 3 * step]! - re[i + step]!;
        nextRe[o] = evenRe + oddRe;
        nextIm[o] = evenIm + oddIm;
        let x = evenLessRe + turnedRe;
        let y = evenLessIm + turnedIm;
        nextRe[o + s] = x * cos[t + 1]! - y * sin[t + 1]!;
        nextIm[o + s] = x * sin[t + 1]! + y * cos[t + 1]!;
        x = evenRe - oddRe;
        y = evenIm - oddIm;
        nextRe[o + 2 * s] = x * cos[t + 2]! - y * sin[t + 2]!;
        nextIm[o + 2 * s] = x * sin[t + 2]! + y * cos[t + 2]!;
        x = evenLessRe - turnedRe;
        y = evenLessIm - turnedIm;
        nextRe[o + 3 * s] = x * cos[t + 3]! - y * sin[t + 3]!;
        nextIm[o + 3 * s] = x * sin[t + 3]! + y * cos[t + 3]!;
      }
    }
  }

  /** The parts k and `radix` - k share their products. */
  function passOfOdd({ radix: p, stride: s, groups, cos, sin, ownCos, ownSin }: Pass): void {
    const step = s * groups;
    const pairs = (p - 1) / 2;
    for (let q = 0; q < groups; q++) {
      for (let i = s * q, o = p * s * q, end = i + s; i < end; i++, o++) {
        let sumRe = re[i]!;
        let sumIm = im[i]!;
        for (let k = 1; k < p; k++) {
          sumRe += re[i + k * step]!;
          sumIm += im[i + k * step]!;
        }
        nextRe[o] = sumRe;
        nextIm[o] = sumIm;
        for (let m = 1; m <= pairs; m++) {
          let alikeRe = re[i]!;
          let alikeIm = im[i]!;
          let turnedRe = 0;
          let turnedIm = 0;
          for (let k = 1; k <= pairs; k++) {
            const a = i + k * step;
            const b = i + (p - k) * step;
            const c = ownCos[m * p + k]!;
            const d = ownSin[m * p + k]!;
            alikeRe += c * (re[a]! + re[b]!);
            alikeIm += c * (im[a]! + im[b]!);
            turnedRe += d * (im[a]! - im[b]!);
            turnedIm -= d * (re[a]! - re[b]!);
          }
          put(o + m * s, alikeRe + turnedRe, alikeIm + turnedIm, cos[q * p + m]!, sin[q * p + m]!);
          const n = p - m;
          put(o + n * s, alikeRe - turnedRe, alikeIm - turnedIm, cos[q * p + n]!, sin[q * p + n]!);
        }
      }
    }
  }

  function put(at: number, x: number, y: number, c: number, d: number): void {
    nextRe[at] = x * c - y * d;
    nextIm[at] = x * d + y * c;
  }

  /** Spectrum of `size` numbers from `from`, each multiplied by its weight. */
  function toSpectrum(
    numbers: Float32Array,
    from: number,
    weights: Float64Array,
    spectrumRe: Float64Array,
    spectrumIm: Float64Array,
  ): void {
    for (let i = 0; i < half; i++) {
      re[i] = numbers[from + 2 * i]! * weights[2 * i]!;
      im[i] = numbers[from + 2 * i + 1]! * weights[2 * i + 1]!;
    }
    transform();
    for (let k = 0; k <= half; k++) {
      const a = k % half;
      const b = (half - k) % half;
      const evenRe = 0.5 * (re[a]! + re[b]!);
      const evenIm = 0.5 * (im[a]! - im[b]!);
      const oddRe = 0.5 * (im[a]! + im[b]!);
      const oddIm = -0.5 * (re[a]! - re[b]!);
      spectrumRe[k] = evenRe + oddRe * binCos[k]! + oddIm * binSin[k]!;
      spectrumIm[k] = evenIm + oddIm * binCos[k]! - oddRe * binSin[k]!;
    }
  }

  /** Adds the numbers of a spectrum to `sum` from `at`, each multiplied by its weight. */
  function addNumbers(
    spectrumRe: Float64Array,
    spectrumIm: Float64Array,
    weights: Float64Array,
    sum: Float32Array,
    at: number,
  ): void {
    // The transform of the numbers with re and im exchanged is the inverse transform.
    for (let k = 0; k < half; k++) {
      const b = half - k;
      const evenRe = 0.5 * (spectrumRe[k]! + spectrumRe[b]!);
      const evenIm = 0.5 * (spectrumIm[k]! - spectrumIm[b]!);
      const lessRe = 0.5 * (spectrumRe[k]! - spectrumRe[b]!);
      const lessIm = 0.5 * (spectrumIm[k]! + spectrumIm[b]!);
      const oddRe = lessRe * binCos[k]! - lessIm * binSin[k]!;
      const oddIm = lessRe * binSin[k]! + lessIm * binCos[k]!;
      im[k] = evenRe - oddIm;
      re[k] = evenIm + oddRe;
    }
    transform();
    for (let i = 0; i < half; i++) {
      sum[at + 2 * i] = sum[at + 2 * i]! + (im[i]! * weights[2 * i]!) / half;
      sum[at + 2 * i + 1] = sum[at + 2 * i + 1]! + (re[i]! * weights[2 * i + 1]!) / half;
    }
  }

  return { toSpectrum, addNumbers };
}
