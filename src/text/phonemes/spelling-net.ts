// Pronounces words that no lexicon contains: a small neural network (BART: an encoder and a decoder of one layer with
// one attention head) reads the letters and writes phonemes one by one, each the most probable. The weights are read
// from a NumPy archive. A word costs a few milliseconds.
import { inflateRawSync } from 'node:zlib';

/** Pronounces a word in Latin letters. The result is empty if the network has nothing to say. */
export type SpellingNet = (word: string) => string;

const wordCharsMax = 40;
const firstChar = 4;
const unknownChar = 3;

type Vector = Float32Array;
type Weights = ReadonlyMap<string, Vector>;

export function createSpellingNet(archive: Buffer): SpellingNet {
  const { arrays, facts } = readArchive(archive);
  const width = facts.d_model;
  const embedding = arrayIn(arrays, 'model.shared.weight');
  const bias = arrayIn(arrays, 'final_logits_bias');
  const letters = new Map([...facts.grapheme_chars].map((char, i) => [char, i] as const).slice(firstChar));
  const phonemes = [...facts.phoneme_chars];
  const encoder = createLayer(arrays, 'model.encoder', width, facts.layer_norm_eps);
  const decoder = createLayer(arrays, 'model.decoder', width, facts.layer_norm_eps);
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

function createLayer(arrays: Weights, side: string, width: number, epsilon: number) {
  const read = (name: string) => arrayIn(arrays, `${side}.${name}`);
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

function arrayIn(arrays: Weights, name: string): Vector {
  const found = arrays.get(name);
  if (!found) throw new Error(`the archive has no array ${name}`);
  return found;
}

/** Reads the arrays of a NumPy archive (a ZIP file of .npy files). */
function readArchive(archive: Buffer): { arrays: Weights; facts: NetFacts } {
  const arrays = new Map<string, Vector>();
  let facts: NetFacts | undefined;
  const end = archive.lastIndexOf('PK\x05\x06', undefined, 'latin1');
  let at = archive.readUInt32LE(end + 16);
  for (let count = archive.readUInt16LE(end + 10); count > 0; count--) {
    const [method, packed] = [archive.readUInt16LE(at + 10), archive.readUInt32LE(at + 20)];
    const [nameLength, extra, comment] = [28, 30, 32].map((offset) => archive.readUInt16LE(at + offset));
    const name = archive.toString('latin1', at + 46, at + 46 + nameLength!).replace(/\.npy$/, '');
    const local = archive.readUInt32LE(at + 42);
    const from = local + 30 + archive.readUInt16LE(local + 26) + archive.readUInt16LE(local + 28);
    const body = archive.subarray(from, from + packed);
    const bytes = method === 0 ? body : inflateRawSync(body, { maxOutputLength: 1 << 26 });
    // The header of a .npy file: six magic bytes, two bytes of version, and the length of the text that follows.
    const content = bytes.subarray(10 + bytes.readUInt16LE(8));
    if (name === 'meta_json') facts = JSON.parse(content.toString('utf16le').replaceAll('\0', ''));
    else arrays.set(name, new Float32Array(Uint8Array.from(content).buffer));
    at += 46 + nameLength! + extra! + comment!;
  }
  if (!facts) throw new Error('the archive has no description of the network');
  return { arrays, facts };
}
