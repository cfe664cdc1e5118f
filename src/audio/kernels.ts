// Calls the sample loops of wasm/audio-kernels.ts, compiled to WebAssembly with SIMD. All streams of a thread share one
// instance with memory of a fixed size. A result is a view of this memory that stays valid until the next call, and may
// be the input of that call. A call handles at most `blockSamplesMax` samples. The memory contains:
//      input of other stages | history and input of a filter | output of the first stage | of the last stage | weights
import { readFileSync } from 'node:fs';
import type { Pcm } from '../platform/pcm.ts';
import { webAssembly } from '../platform/web-assembly.ts';

/** Half a second at 32 kHz. Most blocks are smaller. */
export const blockSamplesMax = 16_384;
/** Length of the longest filter, which divides the rate by 1024. */
export const tapsMax = 2 ** 16;
/** Maximum number of weights of all stored filters. */
export const weightsMax = 2 ** 22;

/** A filter with `up` rows of `taps` weights; `taps` is a multiple of 8. Each output advances by `down` rows. */
export interface FilterBank {
  up: number;
  down: number;
  taps: number;
  weights: Float32Array;
}

interface Kernels {
  scale(from: number, to: number, count: number, factor: number): void;
  filter(...numbers: [from: number, weights: number, to: number, count: number, ...bank: number[]]): number;
  limit(from: number, to: number, count: number, knee: number, range: number): number;
  clamp(from: number, to: number, count: number): void;
  round(from: number, to: number, count: number): void;
  countAudible(from: number, count: number, frame: number, quiet: number): number;
  countAtLeast(from: number, count: number, size: number): number;
}

const floatBytes = 4;
const blockBytes = blockSamplesMax * floatBytes;
const inputAt = 0;
const filteredAt = inputAt + blockBytes;
const firstAt = filteredAt + tapsMax * floatBytes + blockBytes;
const lastAt = firstAt + blockBytes;
const weightsAt = lastAt + blockBytes;
const pageBytes = 65_536;
const pages = Math.ceil((weightsAt + weightsMax * floatBytes) / pageBytes);

// The memory never grows, because growing would detach the views. Unused pages take no physical memory.
const memory = new webAssembly.Memory({ initial: pages, maximum: pages });
const { buffer } = memory;
const module = new webAssembly.Module(readFileSync(new URL('../../gen/audio-kernels.wasm', import.meta.url)));
const imports = { env: { memory }, 'audio-kernels': { tanh: Math.tanh } };
const kernels = new webAssembly.Instance(module, imports).exports as Kernels;

const inputFloats = new Float32Array(buffer, inputAt, blockSamplesMax);
const inputIntegers = new Int16Array(buffer, inputAt, blockSamplesMax);
const firstFloats = new Float32Array(buffer, firstAt, blockSamplesMax);
const lastFloats = new Float32Array(buffer, lastAt, blockSamplesMax);
const lastIntegers = new Int16Array(buffer, lastAt, blockSamplesMax);
const allWeights = new Float32Array(buffer, weightsAt, weightsMax);

/** Input of a filter: its history, then `blockSamplesMax` samples. */
export const filterInput = new Float32Array(buffer, filteredAt, tapsMax + blockSamplesMax);

/** Splits samples into views of at most `size` samples. Yields each view with its offset. */
export function* blocksOf<Samples extends Float32Array | Int16Array>(
  samples: Samples,
  size = blockSamplesMax,
): Generator<[block: Samples, from: number]> {
  for (let from = 0; from < samples.length; from += size) yield [samples.subarray(from, from + size) as Samples, from];
}

/** Returns the address of samples. Copies samples into the memory if necessary. */
function addressOf(samples: Float32Array | Int16Array): number {
  if (samples.buffer === buffer) return samples.byteOffset;
  if (samples instanceof Float32Array) inputFloats.set(samples);
  else inputIntegers.set(samples);
  return inputAt;
}

/** Returns the samples multiplied by the factor. */
export function scaled(samples: Int16Array, factor: number): Float32Array {
  kernels.scale(addressOf(samples), firstAt, samples.length, factor);
  return firstFloats.subarray(0, samples.length);
}

/** Writes the samples, multiplied by the factor, into `filterInput`, starting at `index`. */
export function scaleIntoFilter(samples: Int16Array, factor: number, index: number): void {
  kernels.scale(addressOf(samples), filteredAt + index * floatBytes, samples.length, factor);
}

/** Computes `count` outputs from `filterInput` at `index`. The filter advances by `passed` inputs. */
export function filtered(bank: FilterBank, index: number, phase: number, count: number) {
  const { up, down, taps } = bank;
  const from = filteredAt + index * floatBytes;
  const passed = kernels.filter(from, placeOf(bank), firstAt, count, taps, up, down, phase);
  return { samples: firstFloats.subarray(0, count), passed };
}

/** Compresses values above the knee along a tanh curve. Returns `samples` itself if no value is above the knee. */
export function limited(samples: Float32Array, knee: number, range: number): Float32Array {
  const isChanged = kernels.limit(addressOf(samples), lastAt, samples.length, knee, range) !== 0;
  return isChanged ? lastFloats.subarray(0, samples.length) : samples;
}

/** Clips at +-1. NaN becomes silence. */
export function clamped(samples: Float32Array): Float32Array {
  kernels.clamp(addressOf(samples), lastAt, samples.length);
  return lastFloats.subarray(0, samples.length);
}

/** Rounds to nearest and clips at full scale. NaN becomes silence. */
export function rounded(samples: Float32Array): Int16Array {
  kernels.round(addressOf(samples), lastAt, samples.length);
  return lastIntegers.subarray(0, samples.length);
}

/** Counts the samples in frames with a peak above `quiet`. */
export const countAudible = (samples: Int16Array, frame: number, quiet: number): number =>
  kernels.countAudible(addressOf(samples), samples.length, frame, quiet);

/** Counts the samples whose absolute value is at least `size`. */
export const countAtLeast = (samples: Int16Array, size: number): number =>
  kernels.countAtLeast(addressOf(samples), samples.length, size);

const places = new Map<Float32Array, number>();
let weightsEnd = 0;

/** Returns the address of the weights. If the memory for weights is full, discards all other weights. */
function placeOf({ weights }: FilterBank): number {
  const known = places.get(weights);
  if (known !== undefined) return known;
  if (weightsEnd + weights.length > weightsMax) {
    places.clear();
    weightsEnd = 0;
  }
  const place = weightsAt + weightsEnd * floatBytes;
  allWeights.set(weights, weightsEnd);
  weightsEnd += weights.length;
  places.set(weights, place);
  return place;
}

const frameSeconds = 0.01;
const audiblePeak = 64;
/** Samples at full scale count as clipped. */
const clippedPeak = 32_766;

/** Measures how many seconds are audible, and counts the clipped samples. */
export function inspectPcm({ samples, sampleRateHz }: Pcm): { audibleSeconds: number; clipped: number } {
  const frame = Math.min(Math.max(1, Math.round(frameSeconds * sampleRateHz)), blockSamplesMax);
  let audible = 0;
  let clipped = 0;
  for (const [block] of blocksOf(samples, blockSamplesMax - (blockSamplesMax % frame))) {
    audible += countAudible(block, frame, audiblePeak);
    clipped += countAtLeast(block, clippedPeak);
  }
  return { audibleSeconds: audible / sampleRateHz, clipped };
}
