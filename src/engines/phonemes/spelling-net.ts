// Pronounces words that no lexicon contains: a small neural network (BART: an encoder and a decoder of one layer with
// one attention head) reads the letters and writes phonemes one by one, each the most probable. The weights are files of
// NumPy. A word costs a few milliseconds.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Pronounces a word in Latin letters. The result is empty if the network has nothing to say. */
export type SpellingNet = (word: string) => string;

const wordCharsMax = 40;
const firstChar = 4;
const unknownChar = 3;

type Vector = Float32Array;
type Weights = (name: string) => Vector;

export function openSpellingNet(folder: string): SpellingNet {
  const weights = (name: string) => new Float32Array(Uint8Array.from(readArray(folder, name)).buffer);
  const facts: NetFacts = JSON.parse(readArray(folder, 'meta_json').toString('utf16le').replaceAll('\0', ''));
  const width = facts.d_model;
  const embedding = weights('model.shared.weight');
  const bias = weights('final_logits_bias');
  const letters = new Map([...facts.grapheme_chars].map((char, i) => [char, i] as const).slice(firstChar));
  const phonemes = [...facts.phoneme_chars];
  const encoder = createLayer(weights, 'model.encoder', width, facts.layer_norm_eps);
  const decoder = createLayer(weights, 'model.decoder', width, facts.layer_norm_eps);
  const toLetters = decoder.attention('encoder_attn');
  const vectorOf = (id: number) => embedding.subarray(id * width, (id + 1) * width);

  function encode(word: string): Vector[] {
    const chars = [...word].slice(0, wordCharsMax).map((char) => letters.get(char) ?? unknownChar);
    const ids = [facts.bos_token_id, ...chars, facts.eos_token_id];
    const hidden = ids.map((id, i) => encoder.embed(vectorOf(id), i + facts.position_offset));
    const seen = hidden.map((vector) => encoder.own.remember(vector));
    return hidden.map((vector) => encoder.feed(encoder.own.attend(vector, seen)));
  }

  return (word) => {
    const memory = encode(word).map((vector) => toLetters.remember(vector));
    const written: Memory[] = [];
    let spoken = '';
    for (let id = facts.decoder_start_token_id, i = 0; i < facts.max_position_embeddings - 1; i++) {
      const hidden = decoder.embed(vectorOf(id), i + facts.position_offset);
      written.push(decoder.own.remember(hidden));
      const out = decoder.feed(toLetters.attend(decoder.own.attend(hidden, written), memory));
      id = mostProbable(multiply(embedding, out, bias));
      if (id === facts.eos_token_id) break;
      if (id >= firstChar) spoken += phonemes[id] ?? '';
    }
    return spoken;
  };
}

/** Key and value of a position. */
interface Memory {
  key: Vector;
  value: Vector;
}

function createLayer(weights: Weights, side: string, width: number, epsilon: number) {
  const read = (name: string) => weights(`${side}.${name}`);
  const linear = (name: string) => {
    const [weight, offset] = [read(`${name}.weight`), read(`${name}.bias`)];
    return (vector: Vector) => multiply(weight, vector, offset);
  };
  const norm = (name: string) => {
    const [weight, offset] = [read(`${name}.weight`), read(`${name}.bias`)];
    return (vector: Vector) => normalize(vector, weight, offset, epsilon);
  };
  const attention = (name: string) => {
    const [query, key, value, out] = ['q', 'k', 'v', 'out'].map((part) => linear(`layers.0.${name}.${part}_proj`));
    const after = norm(`layers.0.${name}_layer_norm`);
    return {
      remember: (vector: Vector): Memory => ({ key: key!(vector), value: value!(vector) }),
      /** The vector after it has taken in what its attention finds in the memory. */
      attend: (vector: Vector, memory: readonly Memory[]): Vector =>
        after(sum(vector, out!(weigh(query!(vector), memory, width)))),
    };
  };
  const positions = read('embed_positions.weight');
  const [toWide, toNarrow, afterFeed, afterEmbedding] = [
    linear('layers.0.fc1'),
    linear('layers.0.fc2'),
    norm('layers.0.final_layer_norm'),
    norm('layernorm_embedding'),
  ];
  return {
    own: attention('self_attn'),
    attention,
    embed: (vector: Vector, position: number): Vector =>
      afterEmbedding(sum(vector, positions.subarray(position * width, (position + 1) * width))),
    feed: (vector: Vector): Vector => afterFeed(sum(vector, toNarrow(toWide(vector).map(gelu)))),
  };
}

function multiply(weight: Vector, vector: Vector, offset: Vector): Vector {
  const out = Float32Array.from(offset);
  for (let row = 0, at = 0; row < out.length; row++) {
    let total = 0;
    for (let i = 0; i < vector.length; i++) total += weight[at++]! * vector[i]!;
    out[row]! += total;
  }
  return out;
}

const sum = (one: Vector, other: Vector): Vector => one.map((value, i) => value + other[i]!);

function normalize(vector: Vector, weight: Vector, offset: Vector, epsilon: number): Vector {
  const mean = vector.reduce((total, value) => total + value, 0) / vector.length;
  const variance = vector.reduce((total, value) => total + (value - mean) ** 2, 0) / vector.length;
  const scale = 1 / Math.sqrt(variance + epsilon);
  return vector.map((value, i) => (value - mean) * scale * weight[i]! + offset[i]!);
}

/** The values in the memory, weighted by the similarity (softmax) of their keys to the query. */
function weigh(query: Vector, memory: readonly Memory[], width: number): Vector {
  const scores = memory.map(
    ({ key }) => key.reduce((total, value, i) => total + value * query[i]!, 0) / Math.sqrt(width),
  );
  const highest = Math.max(...scores);
  const shares = scores.map((score) => Math.exp(score - highest));
  const total = shares.reduce((one, other) => one + other, 0);
  const out = new Float32Array(width);
  for (const [i, { value }] of memory.entries())
    for (let j = 0; j < width; j++) out[j]! += (shares[i]! / total) * value[j]!;
  return out;
}

/** GELU with the error function in the approximation 7.1.26 of Abramowitz and Stegun. */
function gelu(value: number): number {
  const x = Math.abs(value) / Math.SQRT2;
  const t = 1 / (1 + 0.3275911 * x);
  const series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  const erf = 1 - series * Math.exp(-x * x);
  return 0.5 * value * (1 + Math.sign(value) * erf);
}

const mostProbable = (scores: Vector): number =>
  scores.reduce((best, score, i) => (score > scores[best]! ? i : best), 0);

interface NetFacts {
  grapheme_chars: string;
  phoneme_chars: string;
  d_model: number;
  max_position_embeddings: number;
  bos_token_id: number;
  eos_token_id: number;
  decoder_start_token_id: number;
  layer_norm_eps: number;
  position_offset: number;
}

/** The content of a .npy file: after six magic bytes and two bytes of version, the length of a header, and the header. */
function readArray(folder: string, name: string): Buffer {
  const bytes = readFileSync(join(folder, `${name}.npy`));
  return bytes.subarray(10 + bytes.readUInt16LE(8));
}
