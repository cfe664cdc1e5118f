// The family hibari: small models that give the spectra of frames. The decoder sees only 27 frames
// around each frame, so its windows overlap by as many.
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createRealTransform, hannWindow } from '../../platform/real-transform.ts';
import { faulty, openFront } from './durations.ts';
import type { Family, FoundModel, FoundSpeaker, Vocabulary } from './family.ts';
import { cutFrames } from './kept-frames.ts';
import { floatValue, type OnnxModel } from './onnx-file.ts';
import type { Values } from './onnx-runtime.ts';
import { mix, normalNumbers } from './seeded-noise.ts';
import { vocabularyName } from './voice-folders.ts';

// Turns the spectra of a model such as hibari into samples. Each frame of 300 samples has a spectrum of three parts: a
// train of pulses at the pitch of the voice, shaped by a filter; noise, shaped by its level; and a free part with its
// own phase. The frames overlap four times. The pulses and the overlap continue from call to call, so that the samples
// do not depend on the windows in which the spectra arrive.

const frameSamples = 300;
const soundRateHz = 24_000;
/** Samples of a frame that begin before its own place. */
const transformSize = 1_200;
const binCount = transformSize / 2 + 1;
const { toSpectrum, addNumbers } = createRealTransform(transformSize, [4, 2, 3, 5, 5]);
const lead = transformSize / 2;
const overlap = transformSize / frameSamples;
/** Below this pitch, a frame has no pulses. */
const pitchHzMin = 40;
const harmonicsHzMax = 11_000;
const logMax = 7;
/** Frames whose parameters are read together, because the model stores them bin by bin. */
const blockFrames = 16;
const newBlock = () => new Float32Array(binCount * blockFrames);

const window = hannWindow(transformSize);
const pulseWindow = window.map((weight) => weight / frameSamples);
/** The squares of four overlapping windows add up to 1.5. */
const soundWindow = window.map((weight) => weight / 1.5);

const spectra = ['lh', 'theta', 'ln', 'lr', 'phi'] as const;
/** Parameters of frames, bin by bin: the filter's level and phase, and the levels and phase of the other two parts. */
type Spectra = Record<(typeof spectra)[number], Values>;

/** Normal random numbers, always the same. A frame uses a part of them that depends on the seed and the frame. */
const noiseSize = 65_536;
let noise: Float32Array | undefined;

class HarmonicSound {
  readonly #pitches: Float32Array;
  readonly #seed: number;
  /** The pulses, from `lead` samples before the sound. */
  readonly #pulses: Float32Array;
  readonly #sum: Float32Array;
  readonly #re = new Float64Array(binCount);
  readonly #im = new Float64Array(binCount);
  readonly #block = { filterRe: newBlock(), filterIm: newBlock(), freeRe: newBlock(), freeIm: newBlock() };
  #pulsesTo = 0;
  #phase = 0;
  #framesDone = 0;
  #samplesDone = 0;

  /** `pitches` has the pitch of all frames of the sound. */
  constructor(pitches: Float32Array, seed: number) {
    this.#pitches = pitches;
    this.#seed = seed;
    this.#pulses = new Float32Array(pitches.length * frameSamples + transformSize);
    this.#sum = new Float32Array((pitches.length + overlap) * frameSamples);
    noise ??= Float32Array.from({ length: noiseSize }, normalNumbers(0x9e3779b9));
  }

  /**
   * Adds `count` frames; the first frame may be any, and the others follow. Their parameters begin at `offset` of rows.
   * Returns the samples that are complete.
   */
  add(spectra: Spectra, first: number, count: number, offset: number): Float32Array {
    if (first !== this.#framesDone) {
      this.#framesDone = first;
      this.#samplesDone = first * frameSamples;
      this.#pulsesTo = Math.max(0, first - overlap / 2);
    }
    for (let at = 0; at < count; at += blockFrames) {
      const size = Math.min(blockFrames, count - at);
      this.#readBlock(spectra, offset + at, size);
      for (let n = 0; n < size; n++) this.#addFrame(n);
    }
    const isLast = this.#framesDone === this.#pitches.length;
    const from = this.#samplesDone;
    this.#samplesDone = Math.max(from, (this.#framesDone - (isLast ? 0 : overlap / 2)) * frameSamples);
    return this.#sum.subarray(from + lead, this.#samplesDone + lead);
  }

  #readBlock({ lh, theta, ln, lr, phi }: Spectra, offset: number, size: number): void {
    const { filterRe, filterIm, freeRe, freeIm } = this.#block;
    const width = lh.dims[2]!;
    const starts = Array.from({ length: size }, (_, n) => mix(this.#seed, this.#framesDone + n) % noiseSize);
    for (let bin = 0; bin < binCount; bin++) {
      for (let n = 0, from = bin * width + offset, to = bin; n < size; n++, from++, to += binCount) {
        const level = Math.exp(Math.min(lh.data[from]!, logMax));
        const phase = Math.PI * Math.tanh(theta.data[from]!);
        filterRe[to] = level * Math.cos(phase);
        filterIm[to] = level * Math.sin(phase);
        const noiseLevel = Math.exp(Math.min(ln.data[from]!, logMax));
        const freeLevel = Math.exp(Math.min(lr.data[from]!, logMax));
        const at = starts[n]! + 2 * bin;
        freeRe[to] = noiseLevel * noise![at % noiseSize]! + freeLevel * Math.cos(phi.data[from]!);
        freeIm[to] = noiseLevel * noise![(at + 1) % noiseSize]! + freeLevel * Math.sin(phi.data[from]!);
      }
    }
  }

  #addFrame(n: number): void {
    const frame = this.#framesDone++;
    this.#makePulses(Math.min(this.#pitches.length, frame + overlap / 2));
    const re = this.#re;
    const im = this.#im;
    toSpectrum(this.#pulses, frame * frameSamples, pulseWindow, re, im);
    const { filterRe, filterIm, freeRe, freeIm } = this.#block;
    for (let bin = 0, at = n * binCount; bin < binCount; bin++, at++) {
      const x = re[bin]!;
      const y = im[bin]!;
      re[bin] = x * filterRe[at]! - y * filterIm[at]! + freeRe[at]!;
      im[bin] = x * filterIm[at]! + y * filterRe[at]! + freeIm[at]!;
    }
    im[0] = 0;
    im[binCount - 1] = 0;
    addNumbers(re, im, soundWindow, this.#sum, frame * frameSamples);
  }

  /** Makes the pulses up to a frame: all harmonics below 11 kHz, each as strong. The pitch is interpolated. */
  #makePulses(toFrame: number): void {
    const pitches = this.#pitches;
    for (; this.#pulsesTo < toFrame; this.#pulsesTo++) {
      const frame = this.#pulsesTo;
      const own = pitches[frame]!;
      const before = pitches[Math.max(0, frame - 1)]!;
      const after = pitches[Math.min(pitches.length - 1, frame + 1)]!;
      for (let n = 0; n < frameSamples; n++) {
        const place = (n + 0.5) / frameSamples - 0.5;
        const pitch = own + place * (place < 0 ? own - before : after - own);
        this.#phase = (this.#phase + Math.max(pitch, pitchHzMin) / soundRateHz) % 1;
        if (pitch <= pitchHzMin) continue;
        const angle = Math.PI * this.#phase;
        const harmonics = Math.floor(harmonicsHzMax / pitch) + 0.5;
        const sine = 2 * Math.sin(angle);
        const sum = Math.abs(sine) <= 2e-3 ? harmonics : Math.sin(2 * harmonics * angle) / sine;
        this.#pulses[lead + frame * frameSamples + n] = sum - 0.5;
      }
    }
  }
}

const decoderStart = '/dec_in/Conv';
const contextFrames = 27;

/** The result that the decoder reads. */
const boundaryOf = ({ nodes }: OnnxModel): string | undefined =>
  nodes.find(({ name, operation }) => name === decoderStart && operation === 'Conv')?.inputs[0];

export const hibari: Family = {
  name: 'hibari',
  isOwn: (model) => boundaryOf(model) !== undefined && ['f0', ...spectra].every((name) => model.outputs.includes(name)),
  async describe(found) {
    const vocabulary = found.files.find((path) => /\/(vocab|vocabulary)\.json$/.test(path));
    return { files: { [vocabularyName]: vocabulary }, speakers: [await findSpeaker(found)] };
  },
  async open(model, openGraph, folder) {
    const vocabulary: Vocabulary = JSON.parse(await readFile(join(folder, vocabularyName), 'utf8'));
    const boundary = boundaryOf(model)!;
    const front = await openFront(model, openGraph, vocabulary, {
      input: 'ids',
      ends: [boundary, 'f0'],
      durationSizes: ['sounds'],
    });
    const decoder = await openGraph(model.cut(spectra, [floatValue(boundary, 1, 'channels', 'frames')]));
    return {
      sampleRateHz: soundRateHz,
      earlySeconds: 0.075,
      async begin(asked) {
        const { begun, frames, starts } = await front(asked);
        const given = begun[boundary]!.dims[2];
        if (given !== frames) throw faulty(`${given} frames instead of ${frames}`);
        const sound = new HarmonicSound(begun.f0!.data, asked.seed);
        return {
          frames,
          frameSamples,
          starts,
          async render(from, to) {
            const first = Math.max(0, from - contextFrames);
            const seen = cutFrames(begun[boundary]!, first, Math.min(frames, to + contextFrames));
            return sound.add((await decoder.run({ [boundary]: seen })) as Spectra, from, to - from, from - first);
          },
        };
      },
    };
  },
};

/** What the maker's list says of the voice with these weights. */
async function findSpeaker({ weights, sha256 }: FoundModel): Promise<FoundSpeaker> {
  const usual = { id: '', languageCode: 'en-US' };
  try {
    const list = JSON.parse(await readFile(join(dirname(weights), 'voices.json'), 'utf8'));
    const rows = Object.entries(list as Record<string, Record<string, unknown>>);
    const [name, row = {}] = rows.find(([, each]) => each.sha256 === sha256) ?? [];
    const { language, gender } = row;
    return {
      ...usual,
      ...(name && { name }),
      ...(typeof language === 'string' && { languageCode: language }),
      ...(typeof gender === 'string' && { gender }),
    };
  } catch {
    // There is no list.
    return usual;
  }
}
