// The family hibari: small models that give the spectra of frames (harmonic-sound.ts). The decoder sees only 27 frames
// around each frame, so its windows overlap by as many.
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Failure } from '../../platform/errors.ts';
import { atSpeed, durationSeconds, framesPerDuration, soundingRange, startsOf } from './durations.ts';
import type { AskedUtterance, Family, FoundModel, FoundSpeaker, Utterance, Vocabulary } from './family.ts';
import { frameSamples, HarmonicSound, type Spectra, soundRateHz } from './harmonic-sound.ts';
import { cutFrames } from './kept-frames.ts';
import { elementTypes, findDurations, type OnnxModel } from './onnx-file.ts';
import type { Values } from './onnx-runtime.ts';
import { vocabularyName } from './voice-folders.ts';

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
