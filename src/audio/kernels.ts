// Calls the loops over samples that are compiled to WebAssembly with SIMD (wasm/audio-kernels.ts): one instance for each
// thread, with memory of a fixed size that all streams share. Between calls it keeps nothing but filter weights. Results are
// views of it, valid until the next call; they may be passed on to another kernel, which then reads them where they are.
// Every call takes and returns `blockSamplesMax` samples at most. The memory holds, each for a block:
//      input from elsewhere | history and input of a filter | output of the first stage | of the last | weights
import { readFileSync } from 'node:fs';

/** Half a second at 32 kHz: more than is worked on at a time. */
export const blockSamplesMax = 16_384;
/** The longest filter: from 1024 times the rate. */
export const tapsMax = 2 ** 16;
/** Of all filters that are held together. */
export const weightsMax = 2 ** 22;

/** Filter weights: `up` rows of `taps`, a multiple of 8. Each output is a row's, `down` rows after the one before it. */
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
  countAbove(from: number, count: number, size: number): number;
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

/** The part of the interface that is used. Node has it, but TypeScript knows it only together with a browser's DOM. */
interface WebAssemblyApi {
  Memory: new (options: { initial: number; maximum: number }) => { buffer: ArrayBuffer };
  Module: new (bytes: Uint8Array) => object;
  Instance: new (module: object, imports: object) => { exports: unknown };
}
const { WebAssembly } = globalThis as unknown as { WebAssembly: WebAssemblyApi };

// It never grows, which would detach the views. What is not touched takes no memory of the machine.
const memory = new WebAssembly.Memory({ initial: pages, maximum: pages });
const { buffer } = memory;
const module = new WebAssembly.Module(readFileSync(new URL('../../gen/audio-kernels.wasm', import.meta.url)));
const imports = { env: { memory }, 'audio-kernels': { tanh: Math.tanh } };
const kernels = new WebAssembly.Instance(module, imports).exports as Kernels;

const inputFloats = new Float32Array(buffer, inputAt, blockSamplesMax);
const inputIntegers = new Int16Array(buffer, inputAt, blockSamplesMax);
const firstFloats = new Float32Array(buffer, firstAt, blockSamplesMax);
const lastFloats = new Float32Array(buffer, lastAt, blockSamplesMax);
const lastIntegers = new Int16Array(buffer, lastAt, blockSamplesMax);
const allWeights = new Float32Array(buffer, weightsAt, weightsMax);

/** What a filter reads: its history, and behind it `blockSamplesMax` samples. */
export const filterInput = new Float32Array(buffer, filteredAt, tapsMax + blockSamplesMax);

/** The samples in views that one call takes, and where each begins. */
export function* blocksOf<Samples extends Float32Array | Int16Array>(
  samples: Samples,
  size = blockSamplesMax,
): Generator<[block: Samples, from: number]> {
  for (let from = 0; from < samples.length; from += size) yield [samples.subarray(from, from + size) as Samples, from];
}

/** The address of samples, which are copied in where they are not here. */
function addressOf(samples: Float32Array | Int16Array): number {
  if (samples.buffer === buffer) return samples.byteOffset;
  if (samples instanceof Float32Array) inputFloats.set(samples);
  else inputIntegers.set(samples);
  return inputAt;
}

/** The samples times the factor. */
export function scaled(samples: Int16Array, factor: number): Float32Array {
  kernels.scale(addressOf(samples), firstAt, samples.length, factor);
  return firstFloats.subarray(0, samples.length);
}

/** The same, into `filterInput` from an index on. */
export function scaleIntoFilter(samples: Int16Array, factor: number, index: number): void {
  kernels.scale(addressOf(samples), filteredAt + index * floatBytes, samples.length, factor);
}

/** So many outputs from `filterInput` at an index, and by how many inputs the filter advanced. */
export function filtered(bank: FilterBank, index: number, phase: number, count: number) {
  const { up, down, taps } = bank;
  const from = filteredAt + index * floatBytes;
  const passed = kernels.filter(from, placeOf(bank), firstAt, count, taps, up, down, phase);
  return { samples: firstFloats.subarray(0, count), passed };
}

/** What is above the knee, bent along a tanh; where nothing is, the samples themselves. */
export function limited(samples: Float32Array, knee: number, range: number): Float32Array {
  const isChanged = kernels.limit(addressOf(samples), lastAt, samples.length, knee, range) !== 0;
  return isChanged ? lastFloats.subarray(0, samples.length) : samples;
}

/** Clipped at +-1; NaN becomes silence. */
export function clamped(samples: Float32Array): Float32Array {
  kernels.clamp(addressOf(samples), lastAt, samples.length);
  return lastFloats.subarray(0, samples.length);
}

/** Rounded to nearest and clipped at full scale; NaN becomes silence. */
export function rounded(samples: Float32Array): Int16Array {
  kernels.round(addressOf(samples), lastAt, samples.length);
  return lastIntegers.subarray(0, samples.length);
}

/** How many samples are in frames with a peak above `quiet`. */
export const countAudible = (samples: Int16Array, frame: number, quiet: number): number =>
  kernels.countAudible(addressOf(samples), samples.length, frame, quiet);

/** How many samples are of that size or larger. */
export const countAbove = (samples: Int16Array, size: number): number =>
  kernels.countAbove(addressOf(samples), samples.length, size);

const places = new Map<Float32Array, number>();
let weightsEnd = 0;

/** The address of the weights; where there is no room for them, all others make room. */
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
