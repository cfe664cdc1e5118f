// Writes a model of a few kilobytes of the Supertonic kind, in the layout of its release, which sherpa-onnx loads like
// the real model, whose weights are in no package registry. It hums 60 ms per character: the first letter of the language sets the pitch, the second the
// loudness, and each further speaker is higher by half of the first speaker's pitch.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { float, floats, int64, integers, node, type OnnxGraph, writeOnnx } from './onnx-writer.ts';

const sampleRateUsual = 44_100;
const chunk = 441;
const secondsPerCharacter = 0.06;
/** A letter's number is its token; all other characters have the last token. */
const tokens = 28;
/** A token that the model does not have, so that its process dies. */
const deadlyToken = 9_999;

const numberOf = (letter: string): number => letter.charCodeAt(0) - 96;

/** Pitch and amplitude (full scale 1) in a language. */
export const hummed = (language: string, sid: number): { hz: number; amplitude: number } => ({
  hz: (300 + 45 * numberOf(language[0]!)) * (1 + sid / 2),
  amplitude: 0.05 + 0.01 * numberOf(language[1]!),
});

/** The library puts the text, which ends with a full stop, between marks of its language. */
export const hummedSeconds = (text: string): number => secondsPerCharacter * (text.length + '<en></en>'.length);

const graph = (options: Omit<OnnxGraph, 'metadata'>): Uint8Array => writeOnnx({ ...options, metadata: {} });

const textInputs = (style: string) =>
  [
    ['text_ids', int64, [1, 'length']],
    [style, float, [1, 1, 1]],
    ['text_mask', float, [1, 1, 'length']],
  ] as const;

const durationPredictor = () =>
  graph({
    inputs: textInputs('style_dp'),
    outputs: [['duration', float, []]],
    constants: {
      perCharacter: floats([], [secondsPerCharacter]),
      silent: floats(
        [tokens],
        Array.from({ length: tokens }, () => 0),
      ),
    },
    nodes: [
      node('Gather', ['silent', 'text_ids'], ['nothings'], { axis: 0 }),
      node('ReduceSum', ['nothings'], ['nothing'], { keepdims: 0 }),
      node('ReduceSum', ['text_mask'], ['length'], { keepdims: 0 }),
      node('ReduceSum', ['style_dp'], ['pace'], { keepdims: 0 }),
      node('Mul', ['length', 'perCharacter'], ['plain']),
      node('Mul', ['plain', 'pace'], ['paced']),
      node('Add', ['paced', 'nothing'], ['duration']),
    ],
  });

/** Encodes the two letters of the language mark, such as "<en>". */
const textEncoder = () =>
  graph({
    inputs: textInputs('style_ttl'),
    outputs: [['text_emb', float, [1, 2, 1]]],
    constants: { letters: integers([2], [1, 2]), shape: integers([3], [1, 2, 1]) },
    nodes: [
      node('Gather', ['text_ids', 'letters'], ['ids'], { axis: 1 }),
      node('Cast', ['ids'], ['numbers'], { to: float }),
      node('Reshape', ['numbers', 'shape'], ['text_emb']),
    ],
  });

const vectorEstimator = () =>
  graph({
    inputs: [
      ['noisy_latent', float, [1, 2, 'frames']],
      ['text_emb', float, [1, 2, 1]],
      ['style_ttl', float, [1, 1, 1]],
      ['latent_mask', float, [1, 1, 'frames']],
      ['text_mask', float, [1, 1, 'length']],
      ['current_step', float, [1]],
      ['total_step', float, [1]],
    ],
    outputs: [['denoised_latent', float, [1, 2, 'frames']]],
    constants: {
      first: integers([1], [0]),
      second: integers([1], [1]),
      hzPerLetter: floats([1], [45]),
      hzBase: floats([1], [300]),
      loudnessPerLetter: floats([1], [0.01]),
      loudnessBase: floats([1], [0.05]),
    },
    nodes: [
      node('Gather', ['text_emb', 'first'], ['letter1'], { axis: 1 }),
      node('Gather', ['text_emb', 'second'], ['letter2'], { axis: 1 }),
      node('Mul', ['letter1', 'hzPerLetter'], ['hzAbove']),
      node('Add', ['hzAbove', 'hzBase'], ['hzPlain']),
      node('Mul', ['hzPlain', 'style_ttl'], ['hz']),
      node('Mul', ['letter2', 'loudnessPerLetter'], ['loudnessAbove']),
      node('Add', ['loudnessAbove', 'loudnessBase'], ['loudness']),
      node('Mul', ['hz', 'latent_mask'], ['hzAll']),
      node('Mul', ['loudness', 'latent_mask'], ['loudnessAll']),
      node('Concat', ['hzAll', 'loudnessAll'], ['denoised_latent'], { axis: 1 }),
    ],
  });

const workSize = 256;

const workConstants = () => ({
  matrix: floats(
    [workSize, workSize],
    Array.from({ length: workSize ** 2 }, () => 1 / workSize),
  ),
  row: floats(
    [1, 1, workSize],
    Array.from({ length: workSize }, () => 1),
  ),
  zero: floats([], [0]),
});

/** Work on each frame, as in a larger model; its result times zero is added to the sound. */
const workNodes = (times: number): Uint8Array[] => [
  node('Mul', ['firstFrames3', 'row'], ['work0']),
  ...Array.from({ length: times }, (_, n) => node('MatMul', [`work${n}`, 'matrix'], [`work${n + 1}`])),
  node('ReduceSum', [`work${times}`], ['sum'], { keepdims: 0 }),
  node('Mul', ['sum', 'zero'], ['nothing']),
  node('Add', ['hum', 'nothing'], ['wav']),
];

const vocoder = (sampleRateHz: number, work: number) =>
  graph({
    inputs: [['latent', float, [1, 2, 'frames']]],
    outputs: [['wav', float, [1, 'samples']]],
    constants: {
      first: integers([], [0]),
      second: integers([], [1]),
      last: integers([1], [2]),
      samples: floats(
        [1, 1, chunk],
        Array.from({ length: chunk }, () => 1),
      ),
      flat: integers([2], [1, -1]),
      radians: floats([1], [(2 * Math.PI) / sampleRateHz]),
      time: integers([], [1]),
      ...(work > 0 && workConstants()),
    },
    nodes: ['first', 'second']
      .flatMap((channel) => [
        node('Gather', ['latent', channel], [`${channel}Frames`], { axis: 1 }),
        node('Unsqueeze', [`${channel}Frames`, 'last'], [`${channel}Frames3`]),
        node('Mul', [`${channel}Frames3`, 'samples'], [`${channel}Drawn`]),
        node('Reshape', [`${channel}Drawn`, 'flat'], [`${channel}Flat`]),
      ])
      .concat([
        node('Mul', ['firstFlat', 'radians'], ['steps']),
        node('CumSum', ['steps', 'time'], ['phase']),
        node('Sin', ['phase'], ['wave']),
        node('Mul', ['wave', 'secondFlat'], [work > 0 ? 'hum' : 'wav']),
        ...(work > 0 ? workNodes(work) : []),
      ]),
  });

const int64s = (values: readonly number[]): Buffer => Buffer.from(BigInt64Array.from(values.map(BigInt)).buffer);

interface TinySupertonicOptions {
  speakers?: number;
  sampleRateHz?: number;
  /** How often each frame is multiplied with a 256 by 256 matrix; the audio does not change. */
  work?: number;
  /** Number of characters that may have a token. */
  characters?: number;
  /** Characters at which the process of the model dies. */
  deadly?: string;
  /** Characters without a token. */
  lacking?: string;
  /** Length factor for each speaker; default 1. */
  paces?: readonly number[];
}

/** The files of a model with one speaker and a small table of characters, unless stated otherwise. */
export const tinyVoiceFiles = (options: TinySupertonicOptions = {}): Record<string, Uint8Array> =>
  supertonicFiles({ speakers: 1, characters: 1_024, ...options });

function supertonicFiles(options: TinySupertonicOptions): Record<string, Uint8Array> {
  const { speakers = 10, lacking = '', deadly = '', paces = [], work = 0, characters = 65_536 } = options;
  const { sampleRateHz = sampleRateUsual } = options;
  const json = {
    ae: { sample_rate: sampleRateHz, base_chunk_size: chunk },
    ttl: { chunk_compress_factor: 1, latent_dim: 2 },
  };
  const styles = Float32Array.from({ length: 2 * speakers }, (_, n) =>
    n < speakers ? 1 + n / 2 : (paces[n - speakers] ?? 1),
  );
  const shape = int64s([speakers, 1, 1, speakers, 1, 1]);
  const letters = Int32Array.from({ length: characters }, (_, code) => {
    if (lacking.includes(String.fromCharCode(code))) return -1;
    if (deadly.includes(String.fromCharCode(code))) return deadlyToken;
    return code >= 97 && code <= 122 ? code - 96 : tokens - 1;
  });
  return {
    'duration_predictor.int8.onnx': durationPredictor(),
    'text_encoder.int8.onnx': textEncoder(),
    'vector_estimator.int8.onnx': vectorEstimator(),
    'vocoder.int8.onnx': vocoder(sampleRateHz, work),
    'tts.json': Buffer.from(JSON.stringify(json)),
    'voice.bin': Buffer.concat([shape, Buffer.from(styles.buffer)]),
    'unicode_indexer.bin': Buffer.from(letters.buffer),
  };
}

async function writeFiles(folder: string, files: Readonly<Record<string, Uint8Array>>): Promise<string> {
  await mkdir(folder, { recursive: true });
  for (const [name, bytes] of Object.entries(files)) await writeFile(join(folder, name), bytes);
  return folder;
}

/** Writes the folder of a model with all its speakers and languages. */
export const makeTinySupertonic = (folder: string, options: TinySupertonicOptions = {}): Promise<string> =>
  writeFiles(folder, supertonicFiles(options));

/** Writes the folder of a model with one voice. */
export const makeTinyVoice = (folder: string, options?: TinySupertonicOptions): Promise<string> =>
  writeFiles(folder, tinyVoiceFiles(options));
