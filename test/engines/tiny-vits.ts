// Writes a VITS model of two kilobytes that sherpa-onnx loads like any other. It plays each letter and digit as a tone
// of 70 ms, and is silent for other known characters. Each further speaker is a fifth higher. In the Piper format, it
// plays the phonemes that eSpeak NG produces for a text.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { float, floats, int64, integers, node, writeOnnx } from './onnx-writer.ts';

export const tinyCharacters = " abcdefghijklmnopqrstuvwxyz0123456789'.,?!-";
/** Piper's marks (between phonemes, before and after a sentence), silent signs, and some English phonemes. */
const piperCharacters = '_^$ ,.?!ˈˌːabdefhijklmnoprstuvwxzæðŋɐɑɔəɚɛɜɡɪɹɾʃʊʌʒθᵻ';
const toneSeconds = 0.07;
const amplitude = 0.3;

export interface TinyVits {
  isPiper?: boolean;
  sampleRateHz?: number;
  speakers?: number;
  /**
   * How often each letter is multiplied with a 256 by 256 matrix, to simulate the work of larger models; the audio does
   * not change.
   */
  work?: number;
  /** Entries that are added to the model's metadata or replace some of it; an empty value removes an entry. */
  metadata?: Readonly<Record<string, string>>;
}

/** The tone of a letter or digit. */
export const toneHz = (character: string, speaker = 0): number =>
  (200 + 20 * tinyCharacters.indexOf(character)) * (1 + speaker / 2);

const isSung = (character: string) => /[\p{L}\p{N}]/u.test(character) && !'ˈˌː'.includes(character);

const piperMetadata = {
  comment: 'piper',
  voice: 'en-us',
  has_espeak: '1',
  frontend: '',
  add_blank: '',
  use_eos_bos: '',
};

export function writeTinyVits(options: TinyVits = {}): Uint8Array {
  const { isPiper = false, sampleRateHz = 16_000, speakers = 1, metadata = {}, work = 0 } = options;
  const characters = [...(isPiper ? piperCharacters : tinyCharacters)];
  const size = [characters.length];
  const isOne = speakers === 1;
  const modelMetadata = {
    model_type: 'vits',
    sample_rate: String(sampleRateHz),
    n_speakers: String(speakers),
    language: 'English',
    comment: 'a tiny voice for tests',
    frontend: 'characters',
    add_blank: '0',
    use_eos_bos: '0',
    ...(isPiper ? piperMetadata : {}),
    ...metadata,
  };
  return writeOnnx({
    inputs: [
      ['x', int64, [1, 'length']],
      ['x_length', int64, [1]],
      ...(isPiper
        ? [['scales', float, [3]] as const]
        : ['noise_scale', 'length_scale', 'noise_scale_w'].map((name) => [name, float, [1]] as const)),
      ...(isOne ? [] : [['sid', int64, [1]] as const]),
    ],
    outputs: [['y', float, [1, 1, 'samples']]],
    constants: {
      tones: floats(
        size,
        characters.map((character, n) => (isSung(character) ? 200 + 20 * n : 0)),
      ),
      loudness: floats(
        size,
        characters.map((character) => (isSung(character) ? amplitude : 0)),
      ),
      half: floats([1], [0.5]),
      one: floats([1], [1]),
      samplesPerTone: floats([1], [Math.round(sampleRateHz * toneSeconds)]),
      radiansPerSample: floats([1], [(2 * Math.PI) / sampleRateHz]),
      second: integers([1], [1]),
      third: integers([1], [2]),
      thirdAxis: integers([], [2]),
      flat: integers([3], [1, 1, -1]),
      ...(work > 0 && workConstants()),
    },
    nodes: [
      node('Gather', ['tones', 'x'], ['letterTone'], { axis: 0 }),
      node('Gather', ['loudness', 'x'], ['letterLoudness'], { axis: 0 }),
      // The speaker's number raises every tone.
      ...(isOne
        ? [node('Identity', ['letterTone'], ['tone'])]
        : [
            node('Cast', ['sid'], ['speaker'], { to: float }),
            node('Mul', ['speaker', 'half'], ['rise']),
            node('Add', ['one', 'rise'], ['factor']),
            node('Mul', ['letterTone', 'factor'], ['tone']),
          ]),
      node('Unsqueeze', ['tone', 'third'], ['tones3']),
      node('Unsqueeze', ['letterLoudness', 'third'], ['loudness3']),
      ...(isPiper ? [node('Slice', ['scales', 'second', 'third'], ['length_scale'])] : []),
      // Each letter, [1, length, 1], is extended to the samples of its tone, and all are concatenated.
      node('Mul', ['length_scale', 'samplesPerTone'], ['drawnOut']),
      node('Cast', ['drawnOut'], ['samples'], { to: int64 }),
      node('Shape', ['x'], ['letters']),
      node('Concat', ['letters', 'samples'], ['shape'], { axis: 0 }),
      node('Expand', ['tones3', 'shape'], ['tonesLong']),
      node('Expand', ['loudness3', 'shape'], ['loudnessLong']),
      node('Reshape', ['tonesLong', 'flat'], ['tonesFlat']),
      node('Reshape', ['loudnessLong', 'flat'], ['loudnessFlat']),
      node('Mul', ['tonesFlat', 'radiansPerSample'], ['steps']),
      node('CumSum', ['steps', 'thirdAxis'], ['phase']),
      node('Sin', ['phase'], ['wave']),
      ...(work > 0 ? workNodes(work) : [node('Mul', ['wave', 'loudnessFlat'], ['y'])]),
    ],
    metadata: Object.fromEntries(Object.entries(modelMetadata).filter(([, value]) => value !== '')),
  });
}

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
  nothing: floats([1], [0]),
});

/** Simulated work on each letter; its result times zero is added to the audio. */
const workNodes = (times: number): Uint8Array[] => [
  node('Mul', ['tones3', 'row'], ['work0']),
  ...Array.from({ length: times }, (_, n) => node('MatMul', [`work${n}`, 'matrix'], [`work${n + 1}`])),
  node('GlobalAveragePool', [`work${times}`], ['pooled']),
  node('ReduceSum', ['pooled'], ['sum'], { keepdims: 0 }),
  node('Mul', ['sum', 'nothing'], ['zero']),
  node('Mul', ['wave', 'loudnessFlat'], ['loudWave']),
  node('Add', ['loudWave', 'zero'], ['y']),
];

const toTokens = (characters: string): string =>
  [...characters].map((character, id) => `${character} ${id}\n`).join('');

export const tinyTokens = toTokens(tinyCharacters);

/** Writes the model folder. */
export async function makeTinyVits(folder: string, options?: TinyVits): Promise<string> {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'model.onnx'), writeTinyVits(options));
  await writeFile(join(folder, 'tokens.txt'), options?.isPiper ? toTokens(piperCharacters) : tinyTokens);
  return folder;
}
