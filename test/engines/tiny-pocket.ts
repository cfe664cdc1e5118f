// Writes a cloning model of a few kilobytes of the Pocket kind, in five parts that sherpa-onnx loads like any other. It
// measures the loudness of the reference, and hums 80 ms per letter; a louder reference makes it hum higher.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { float, floats, int64, integers, node, type OnnxGraph, writeOnnx } from './onnx-writer.ts';

const sampleRateHz = 24_000;
const samplesPerFrame = 1_920;
const embeddingSize = 1_024;
const latentSize = 32;
const hzPerLoudness = 1_000;

/** The pitch after a reference with this mean sample size (full scale 1). */
export const humHz = (loudness: number): number => hzPerLoudness * loudness;

const graph = (options: Omit<OnnxGraph, 'metadata'>): Uint8Array => writeOnnx({ ...options, metadata: {} });

/** One number per letter, as an embedding. */
const textConditioner = () =>
  graph({
    inputs: [['token_ids', int64, [1, 'length']]],
    outputs: [['embeddings', float, [1, 'length', embeddingSize]]],
    constants: { third: integers([1], [2]), size: integers([1], [embeddingSize]) },
    nodes: [
      node('Cast', ['token_ids'], ['numbers'], { to: float }),
      node('Unsqueeze', ['numbers', 'third'], ['numbers3']),
      node('Shape', ['token_ids'], ['letters']),
      node('Concat', ['letters', 'size'], ['shape'], { axis: 0 }),
      node('Expand', ['numbers3', 'shape'], ['embeddings']),
    ],
  });

/** The mean size of the samples, as one embedding. */
const encoder = () =>
  graph({
    inputs: [['audio', float, [1, 1, 'samples']]],
    outputs: [['embedding', float, [1, 1, embeddingSize]]],
    constants: { shape: integers([3], [1, 1, embeddingSize]) },
    nodes: [
      node('Abs', ['audio'], ['sizes']),
      node('GlobalAveragePool', ['sizes'], ['mean']),
      node('Expand', ['mean', 'shape'], ['embedding']),
    ],
  });

/**
 * The library runs this model first on the voice, then on the text, then for each frame. Its states are the measured
 * loudness (0 before that), and the number of remaining frames, one for each letter.
 */
const lmMain = () =>
  graph({
    inputs: [
      ['sequence', float, [1, 'frames', latentSize]],
      ['embeddings', float, [1, 'length', embeddingSize]],
      ['voice', float, [1]],
      ['left', float, [1]],
    ],
    outputs: [
      ['conditioning', float, [1, latentSize]],
      ['eos_logit', float, [1, 1]],
      ['voice_after', float, [1]],
      ['left_after', float, [1]],
    ],
    constants: {
      size: floats([1], [embeddingSize]),
      zero: floats([1], [0]),
      one: floats([1], [1]),
      steep: floats([1], [-10]),
      second: integers([1], [1]),
      latents: integers([2], [1, latentSize]),
      single: integers([2], [1, 1]),
      list: integers([1], [1]),
    },
    nodes: [
      node('ReduceSum', ['embeddings'], ['sum3'], { keepdims: 1 }),
      node('Reshape', ['sum3', 'list'], ['sum']),
      node('Div', ['sum', 'size'], ['heard']),
      node('Equal', ['voice', 'zero'], ['isVoiceless']),
      node('Cast', ['isVoiceless'], ['isFirst'], { to: float }),
      node('Mul', ['isFirst', 'heard'], ['newVoice']),
      node('Add', ['voice', 'newVoice'], ['voice_after']),
      node('Shape', ['embeddings'], ['embeddingsShape']),
      node('Gather', ['embeddingsShape', 'second'], ['lettersCount'], { axis: 0 }),
      node('Cast', ['lettersCount'], ['letters'], { to: float }),
      node('Sub', ['one', 'isFirst'], ['isLater']),
      node('Mul', ['isLater', 'letters'], ['newLetters']),
      node('Shape', ['sequence'], ['sequenceShape']),
      node('Gather', ['sequenceShape', 'second'], ['framesCount'], { axis: 0 }),
      node('Cast', ['framesCount'], ['frames'], { to: float }),
      node('Add', ['left', 'newLetters'], ['toMake']),
      node('Sub', ['toMake', 'frames'], ['left_after']),
      node('Mul', ['left_after', 'steep'], ['logit']),
      node('Reshape', ['logit', 'single'], ['eos_logit']),
      node('Expand', ['voice_after', 'latents'], ['conditioning']),
    ],
  });

/** Gives the direction that leads from noise to its condition in one step. */
const lmFlow = () =>
  graph({
    inputs: [
      ['c', float, [1, latentSize]],
      ['s', float, [1, 1]],
      ['t', float, [1, 1]],
      ['x', float, [1, latentSize]],
    ],
    outputs: [['direction', float, [1, latentSize]]],
    constants: { one: floats([1, 1], [1]) },
    nodes: [
      node('Sub', ['c', 'x'], ['way']),
      node('Sub', ['one', 's'], ['timeLeft']),
      node('Div', ['way', 'timeLeft'], ['direction']),
    ],
  });

const decoder = () =>
  graph({
    inputs: [['latent', float, [1, 'frames', latentSize]]],
    outputs: [['audio', float, [1, 1, 'samples']]],
    constants: {
      frame: integers([3], [1, 1, samplesPerFrame]),
      flat: integers([3], [1, 1, -1]),
      radians: floats([1], [(2 * Math.PI * hzPerLoudness) / sampleRateHz]),
      amplitude: floats([1], [0.3]),
      thirdAxis: integers([], [2]),
    },
    nodes: [
      node('GlobalAveragePool', ['latent'], ['loudness']),
      node('Expand', ['loudness', 'frame'], ['drawnOut']),
      node('Reshape', ['drawnOut', 'flat'], ['levels']),
      node('Mul', ['levels', 'radians'], ['steps']),
      node('CumSum', ['steps', 'thirdAxis'], ['phase']),
      node('Sin', ['phase'], ['wave']),
      node('Mul', ['wave', 'amplitude'], ['audio']),
    ],
  });

/** Writes the model folder. */
export async function makeTinyPocket(folder: string): Promise<string> {
  await mkdir(folder, { recursive: true });
  const parts = {
    text_conditioner: textConditioner(),
    encoder: encoder(),
    lm_main: lmMain(),
    lm_flow: lmFlow(),
    decoder: decoder(),
  };
  for (const [name, bytes] of Object.entries(parts)) await writeFile(join(folder, `${name}.onnx`), bytes);
  const byte = (_: unknown, value: number) => `<0x${value.toString(16).toUpperCase().padStart(2, '0')}>`;
  const tokens = [...Array.from({ length: 256 }, byte), '▁', ...'abcdefghijklmnopqrstuvwxyz.,'];
  const vocabulary = Object.fromEntries(tokens.map((token, id) => [token, id]));
  const scores = Object.fromEntries(tokens.map((token) => [token, token.length > 1 ? -10 : -1]));
  await writeFile(join(folder, 'vocab.json'), JSON.stringify(vocabulary));
  await writeFile(join(folder, 'token_scores.json'), JSON.stringify(scores));
  return folder;
}
