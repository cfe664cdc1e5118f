// The family hibari: small models that give the spectra of frames. The decoder sees only 27 frames
// around each frame, so its windows overlap by as many.
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Failure } from '../../platform/errors.ts';
import { createRealTransform } from '../../platform/real-transform.ts';
import { atSpeed, durationSeconds, framesPerDuration, soundingRange, startsOf } from './durations.ts';
import type { AskedUtterance, Family, FoundModel, FoundSpeaker, Utterance, Vocabulary } from './family.ts';
import { cutFrames } from './kept-frames.ts';
import { elementTypes, findDurations, type OnnxModel } from './onnx-file.ts';
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

const window = Float64Array.from(
  { length: transformSize },
  (_, n) => 0.5 - 0.5 * Math.cos((2 * Math.PI * n) / transformSize),
);
const pulseWindow = window.map((weight) => weight / frameSamples);
/** The squares of four overlapping windows add up to 1.5. */
const soundWindow = window.map((weight) => weight / 1.5);

/** Parameters of frames, bin by bin: the filter's level and phase, and the levels and phase of the other two parts. */
interface Spectra {
  lh: Float32Array;
  theta: Float32Array;
  ln: Float32Array;
  lr: Float32Array;
  phi: Float32Array;
}

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
  readonly #blocks = Array.from({ length: 4 }, () => new Float32Array(binCount * blockFrames));
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

  /** Begins the sound with this frame. */
  skipTo(frame: number): void {
    this.#framesDone = frame;
    this.#samplesDone = frame * frameSamples;
    this.#pulsesTo = Math.max(0, frame - overlap / 2);
  }

  /** Adds `count` frames, whose parameters begin at `offset` of rows of `width`. Returns the samples that are complete. */
  add(spectra: Spectra, offset: number, count: number, width: number): Float32Array {
    for (let at = 0; at < count; at += blockFrames) {
      const size = Math.min(blockFrames, count - at);
      this.#readBlock(spectra, offset + at, size, width);
      for (let n = 0; n < size; n++) this.#addFrame(n);
    }
    const isLast = this.#framesDone === this.#pitches.length;
    const to = (this.#framesDone - (isLast ? 0 : overlap / 2)) * frameSamples;
    const from = Math.min(this.#samplesDone, to);
    this.#samplesDone = Math.max(from, to);
    return this.#sum.subarray(from + lead, Math.max(from, to) + lead);
  }

  #readBlock({ lh, theta, ln, lr, phi }: Spectra, offset: number, size: number, width: number): void {
    const [filterRe, filterIm, freeRe, freeIm] = this.#blocks as [
      Float32Array,
      Float32Array,
      Float32Array,
      Float32Array,
    ];
    const starts = Array.from({ length: size }, (_, n) => this.#noiseAt(this.#framesDone + n));
    for (let bin = 0; bin < binCount; bin++) {
      for (let n = 0, from = bin * width + offset, to = bin; n < size; n++, from++, to += binCount) {
        const level = Math.exp(Math.min(lh[from]!, logMax));
        const phase = Math.PI * Math.tanh(theta[from]!);
        filterRe[to] = level * Math.cos(phase);
        filterIm[to] = level * Math.sin(phase);
        const noiseLevel = Math.exp(Math.min(ln[from]!, logMax));
        const freeLevel = Math.exp(Math.min(lr[from]!, logMax));
        const at = starts[n]! + 2 * bin;
        freeRe[to] = noiseLevel * noise![at % noiseSize]! + freeLevel * Math.cos(phi[from]!);
        freeIm[to] = noiseLevel * noise![(at + 1) % noiseSize]! + freeLevel * Math.sin(phi[from]!);
      }
    }
  }

  #noiseAt(frame: number): number {
    return mix(this.#seed, frame) % noiseSize;
  }

  #addFrame(n: number): void {
    const frame = this.#framesDone++;
    this.#makePulses(Math.min(this.#pitches.length, frame + overlap / 2));
    const re = this.#re;
    const im = this.#im;
    toSpectrum(this.#pulses, frame * frameSamples, pulseWindow, re, im);
    const [filterRe, filterIm, freeRe, freeIm] = this.#blocks as [
      Float32Array,
      Float32Array,
      Float32Array,
      Float32Array,
    ];
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

const spectra = ['lh', 'theta', 'ln', 'lr', 'phi'] as const;
const decoderStart = '/dec_in/Conv';
const contextFrames = 27;
/** Two minutes; no utterance takes longer. */
const framesMax = 9_600;

/** The result that the decoder reads. */
const boundaryOf = ({ nodes }: OnnxModel): string | undefined =>
  nodes.find(({ name, operation }) => name === decoderStart && operation === 'Conv')?.inputs[0];

const faulty = (what: string) => new Failure('engine_error', {}, new Error(`the model gave ${what}`));

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
    const { rounded, exact, shared } = findDurations(model, [boundary, 'f0']);
    const float = (name: string, ...sizes: (number | string)[]) => ({ name, elementType: elementTypes.float, sizes });
    const given = [float(rounded, 'sounds'), ...shared.map((name) => float(name, 'batch', 'sounds', 'channels'))];
    const timing = await openGraph(model.cut([rounded, exact, ...shared]));
    const front = await openGraph(model.cut([boundary, 'f0'], given));
    const decoder = await openGraph(model.cut(spectra, [float(boundary, 1, 'channels', 'frames')]));

    async function begin({ phonemes, speed, seed }: AskedUtterance): Promise<Utterance> {
      const spoken = phonemes.filter((phoneme) => vocabulary[phoneme] !== undefined);
      const ids = [0, ...spoken.map((phoneme) => vocabulary[phoneme]!), 0];
      const asked = {
        ids: { data: BigInt64Array.from(ids, BigInt), dims: [1, ids.length] },
        speed: { data: Float32Array.of(1), dims: [1] },
      };
      const timed = await timing.run(asked);
      const { first, end } = soundingRange(spoken);
      const inner = { first: first + 1, end: end + 1 };
      const durations = atSpeed(timed[rounded]!.data, timed[exact]!.data, speed, inner, durationSeconds);
      const frameCount = framesPerDuration * durations.reduce((sum, each) => sum + each, 0);
      if (!(frameCount <= framesMax)) throw faulty(`${frameCount} frames for ${ids.length} phonemes`);
      const begun = await front.run({ ...asked, ...timed, [rounded]: { data: durations, dims: [ids.length] } });
      const features = begun[boundary]!;
      const frames = features.dims[2]!;
      const sound = new HarmonicSound(begun.f0!.data, seed);
      let from = 0;
      return {
        frames,
        frameSamples,
        starts: startsOf(phonemes, vocabulary, durations),
        skipTo(frame) {
          from = frame;
          sound.skipTo(frame);
        },
        async render(to) {
          const first = Math.max(0, from - contextFrames);
          const end = Math.min(frames, to + contextFrames);
          const decoded = await decoder.run({ [boundary]: cutFrames(features, first, end) });
          const samples = sound.add(toSpectra(decoded), from - first, to - from, end - first);
          from = to;
          return samples;
        },
      };
    }
    return { sampleRateHz: soundRateHz, earlySeconds: 0.075, begin };
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

const toSpectra = (decoded: Readonly<Record<string, Values>>): Spectra =>
  Object.fromEntries(spectra.map((name) => [name, decoded[name]!.data])) as unknown as Spectra;
