// A voice of two kilobytes: a model of the VITS kind that sherpa-onnx loads and runs as it does any, made here. It sings
// each letter and digit as a tone of its own, 70 ms long, and is silent at anything else it knows. A further speaker sings
// a fifth higher than the one before.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { float, floats, int64, integers, node, writeOnnx } from './onnx-writer.ts';

export const tinyCharacters = " abcdefghijklmnopqrstuvwxyz0123456789'.,?!-";
const toneSeconds = 0.07;
const amplitude = 0.3;

export interface TinyVits {
  sampleRateHz?: number;
  speakers?: number;
  /** Beside what it has, or in its place; empty for none. */
  metadata?: Readonly<Record<string, string>>;
}

/** The tone of a letter or digit. */
export const toneHz = (character: string, speaker = 0): number =>
  (200 + 20 * tinyCharacters.indexOf(character)) * (1 + speaker / 2);

const isSung = (character: string) => /[a-z0-9]/.test(character);

export function writeTinyVits({ sampleRateHz = 16_000, speakers = 1, metadata = {} }: TinyVits = {}): Uint8Array {
  const characters = [...tinyCharacters];
  const size = [characters.length];
  const isOne = speakers === 1;
  const told = {
    model_type: 'vits',
    sample_rate: String(sampleRateHz),
    n_speakers: String(speakers),
    language: 'English',
    comment: 'a tiny voice for tests',
    frontend: 'characters',
    add_blank: '0',
    use_eos_bos: '0',
    ...metadata,
  };
  return writeOnnx({
    inputs: [
      ['x', int64, [1, 'length']],
      ['x_length', int64, [1]],
      ['noise_scale', float, [1]],
      ['length_scale', float, [1]],
      ['noise_scale_w', float, [1]],
      ...(isOne ? [] : [['sid', int64, [1]] as const]),
    ],
    outputs: [['y', float, [1, 1, 'samples']]],
    constants: {
      tones: floats(
        size,
        characters.map((character) => (isSung(character) ? toneHz(character) : 0)),
      ),
      loudness: floats(
        size,
        characters.map((character) => (isSung(character) ? amplitude : 0)),
      ),
      half: floats([1], [0.5]),
      one: floats([1], [1]),
      samplesPerTone: floats([1], [Math.round(sampleRateHz * toneSeconds)]),
      radiansPerSample: floats([1], [(2 * Math.PI) / sampleRateHz]),
      third: integers([1], [2]),
      thirdAxis: integers([], [2]),
      flat: integers([3], [1, 1, -1]),
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
      // Each letter, [1, length, 1], is drawn out to the samples of its tone, and then all are laid end to end.
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
      node('Mul', ['wave', 'loudnessFlat'], ['y']),
    ],
    metadata: Object.fromEntries(Object.entries(told).filter(([, value]) => value !== '')),
  });
}

export const tinyTokens = [...tinyCharacters].map((character, id) => `${character} ${id}\n`).join('');

/** The model as a folder. */
export async function makeTinyVits(folder: string, asked?: TinyVits): Promise<string> {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'model.onnx'), writeTinyVits(asked));
  await writeFile(join(folder, 'tokens.txt'), tinyTokens);
  return folder;
}
