// Measures the loudness of speech (ITU-R BS.1770, one channel) and computes the gain to the target loudness. After
// K-weighting (a high shelf and a high-pass filter), 400 ms blocks that start every 100 ms are measured. The loudness
// is the mean power of the blocks that pass two gates: an absolute gate at -70 LUFS, and a relative gate 10 LU below
// the mean of all blocks that pass the absolute gate.
import type { Pcm } from '../platform/pcm.ts';

/** Target loudness of every voice. Speech peaks are 14 to 21 dB higher, nearly always under the limiter's knee. */
export const targetLoudnessLufs = -21;

/** The largest gain, up or down. A voice that needs more gain is faulty, not quiet. */
export const gainDbMax = 24;

const absoluteGateLufs = -70;
const relativeGateLu = -10;
const stepSeconds = 0.1;
const stepsPerBlock = 4;

/** Returns the loudness in LUFS; -Infinity for silence. Audio shorter than a block is measured as one block. */
export function measureLoudness({ samples, sampleRateHz }: Pcm): number {
  const powers = blockPowers(samples, sampleRateHz);
  const audible = powers.filter((power) => toLufs(power) > absoluteGateLufs);
  const gate = toLufs(mean(audible)) + relativeGateLu;
  return toLufs(mean(audible.filter((power) => toLufs(power) > gate)));
}

/** Returns the gain in decibels to the target loudness, within +-`gainDbMax`; 0 for silence. */
export function gainDbFor(pcm: Pcm): number {
  const loudness = measureLoudness(pcm);
  if (loudness === -Infinity) return 0;
  return Math.max(-gainDbMax, Math.min(gainDbMax, targetLoudnessLufs - loudness));
}

const toLufs = (power: number): number => -0.691 + 10 * Math.log10(power);

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

const mean = (values: readonly number[]): number => sum(values) / (values.length || 1);

/** Returns the K-weighted mean power of each block. */
function blockPowers(samples: Int16Array, sampleRateHz: number): number[] {
  const shelf = highShelf(sampleRateHz);
  const highPass = highPassFilter(sampleRateHz);
  const step = Math.round(stepSeconds * sampleRateHz);
  const energies: number[] = [];
  let energy = 0;
  for (const [i, sample] of samples.entries()) {
    energy += highPass(shelf(sample / 32768)) ** 2;
    if ((i + 1) % step === 0) {
      energies.push(energy);
      energy = 0;
    }
  }
  const blockCount = energies.length - stepsPerBlock + 1;
  if (blockCount < 1) return [(sum(energies) + energy) / (samples.length || 1)];
  return Array.from({ length: blockCount }, (_, n) => mean(energies.slice(n, n + stepsPerBlock)) / step);
}

type Filter = (sample: number) => number;

// BS.1770 defines both filters by coefficients at 48 kHz. The functions below convert the equivalent analogue filters
// (a shelf of 4 dB at 1682 Hz and a high pass at 38 Hz) to any sample rate by the bilinear transform.

function highShelf(sampleRateHz: number): Filter {
  const k = Math.tan((Math.PI * 1681.974450955533) / sampleRateHz);
  const q = 0.7071752369554196;
  const high = 10 ** (3.999843853973347 / 20);
  const middle = high ** 0.4996667741545416;
  return biquad(
    [high + (middle * k) / q + k * k, 2 * (k * k - high), high - (middle * k) / q + k * k],
    [1 + k / q + k * k, 2 * (k * k - 1), 1 - k / q + k * k],
  );
}

function highPassFilter(sampleRateHz: number): Filter {
  const k = Math.tan((Math.PI * 38.13547087602444) / sampleRateHz);
  const q = 0.5003270373238773;
  const poles: Triple = [1 + k / q + k * k, 2 * (k * k - 1), 1 - k / q + k * k];
  // The normalised numerator of BS.1770 is 1, -2, 1. The numerator is multiplied by poles[0] here, because `biquad`
  // divides by poles[0].
  return biquad([poles[0], -2 * poles[0], poles[0]], poles);
}

type Triple = readonly [number, number, number];

function biquad([b0, b1, b2]: Triple, [a0, a1, a2]: Triple): Filter {
  let s1 = 0;
  let s2 = 0;
  return (sample) => {
    const out = (b0 * sample + s1) / a0;
    s1 = b1 * sample - a1 * out + s2;
    s2 = b2 * sample - a2 * out;
    return out;
  };
}
