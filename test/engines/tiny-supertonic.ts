// Writes a model of a few kilobytes of the Supertonic kind, in the layout of its release, which sherpa-onnx loads like
// the real model. It hums 60 ms per character: the first letter of the language sets the pitch, the second the
// loudness, and each further speaker is higher by half of the first speaker's pitch.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { float, floats, int64, integers, node, type OnnxGraph, writeOnnx } from './onnx-writer.ts';

const sampleRateHz = 44_100;
const chunk = 441;
const secondsPerCharacter = 0.06;

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
    constants: { perCharacter: floats([], [secondsPerCharacter]) },
    nodes: [
      node('ReduceSum', ['text_mask'], ['length'], { keepdims: 0 }),
      node('ReduceSum', ['style_dp'], ['pace'], { keepdims: 0 }),
      node('Mul', ['length', 'perCharacter'], ['plain']),
      node('Mul', ['plain', 'pace'], ['duration']),
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

const vocoder = () =>
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
        node('Mul', ['wave', 'secondFlat'], ['wav']),
      ]),
  });

const int64s = (values: readonly number[]): Buffer => Buffer.from(BigInt64Array.from(values.map(BigInt)).buffer);

interface TinySupertonicOptions {
  speakers?: number;
  /** Characters without a token. */
  lacking?: string;
  /** Length factor for each speaker; default 1. */
  paces?: readonly number[];
}

/** Writes the model folder. */
export async function makeTinySupertonic(
  folder: string,
  { speakers = 10, lacking = '', paces = [] }: TinySupertonicOptions = {},
): Promise<string> {
  await mkdir(folder, { recursive: true });
  const parts = {
    duration_predictor: durationPredictor(),
    text_encoder: textEncoder(),
    vector_estimator: vectorEstimator(),
    vocoder: vocoder(),
  };
  for (const [name, bytes] of Object.entries(parts)) await writeFile(join(folder, `${name}.int8.onnx`), bytes);
  const json = {
    ae: { sample_rate: sampleRateHz, base_chunk_size: chunk },
    ttl: { chunk_compress_factor: 1, latent_dim: 2 },
  };
  await writeFile(join(folder, 'tts.json'), JSON.stringify(json));
  const styles = Float32Array.from({ length: 2 * speakers }, (_, n) =>
    n < speakers ? 1 + n / 2 : (paces[n - speakers] ?? 1),
  );
  const shape = int64s([speakers, 1, 1, speakers, 1, 1]);
  await writeFile(join(folder, 'voice.bin'), Buffer.concat([shape, Buffer.from(styles.buffer)]));
  const letters = Int32Array.from({ length: 65_536 }, (_, code) => {
    if (lacking.includes(String.fromCharCode(code))) return -1;
    return code >= 97 && code <= 122 ? code - 96 : 27;
  });
  await writeFile(join(folder, 'unicode_indexer.bin'), Buffer.from(letters.buffer));
  return folder;
}
