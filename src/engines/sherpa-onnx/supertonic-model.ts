// Supertonic 3: four ONNX files, tts.json, and two files of little-endian numbers. It reads text as written, without
// eSpeak NG, in 31 languages, and must know the language of each text. It generates audio from noise in steps: more
// steps sound better but take longer.
//     voice.bin             six int64, the shapes of both styles (speakers, rows, columns), then the styles as 32-bit floats
//     unicode_indexer.bin   an int32 per code unit: the number of its token, negative if there is none
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ModelFacts, StyleFile } from './model.ts';
import { ModelFault } from './model-fault.ts';
import { elementTypes, type ModelFiles, needPart } from './model-files.ts';

const { float, int64 } = elementTypes;

/** The languages that the library accepts. English is first: it is used if the caller states no language. */
export const supertonicLanguages: readonly string[] =
  'en ar bg cs da de el es et fi fr hi hr hu id it ja ko lt lv nl pl pt ro ru sk sl sv tr uk vi'.split(' ');

/** Names of the speakers, in the order of the styles in the release. */
const releasedNames = ['F1', 'F2', 'F3', 'F4', 'F5', 'M1', 'M2', 'M3', 'M4', 'M5'];
const stepsUsual = 5;
/** Speeds that the model's makers recommend. The length of the audio is divided exactly by the speed. */
const speakingRates = { min: 0.9, max: 1.5 };
const voiceHeaderBytes = 48;
const voiceBytesMax = 67_108_864;
const indexerBytesMax = 4 * 65_536;

const parts = {
  durationPredictor: { beginning: 'duration_predictor', inputs: [int64, float, float] },
  textEncoder: { beginning: 'text_encoder', inputs: [int64, float, float] },
  vectorEstimator: { beginning: 'vector_estimator', inputs: [float, float, float, float, float, float, float] },
  vocoder: { beginning: 'vocoder', inputs: [float] },
} as const;

export async function readSupertonicModel(files: ModelFiles): Promise<ModelFacts> {
  const { faults, folder } = files;
  const paths: Record<string, string> = {};
  for (const [key, { beginning, inputs }] of Object.entries(parts)) {
    const name = needPart(files, beginning);
    files.checkOnnx(name).needInputs(inputs);
    paths[key] = join(folder, name);
  }
  const sampleRateHz = await readSampleRate(files);
  const voicePath = files.needFile('voice.bin');
  const shape = (await faults.catch('voice.bin', () => readShape(voicePath))) ?? [0];
  const speakers = shape[0]!;
  const codes = await faults.catch('unicode_indexer.bin', () => readIndexer(files.needFile('unicode_indexer.bin')));
  return {
    config: {
      supertonic: {
        ...paths,
        ttsJson: join(folder, 'tts.json'),
        unicodeIndexer: join(folder, 'unicode_indexer.bin'),
        voiceStyle: voicePath,
      },
    },
    styles: toStyleFile(voicePath, shape),
    sampleRateHz,
    speakers,
    speakerNames: speakers === releasedNames.length ? releasedNames : [],
    labelsOf: (name) => ({ gender: name.startsWith('F') ? 'female' : 'male' }),
    languageCodes: supertonicLanguages,
    hasCode: (codeUnit) => (codes?.[codeUnit] ?? -1) >= 0,
    steps: stepsUsual,
    isSeeded: true,
    speakingRates,
    optionsFor: (languageCode) => ({ lang: new Intl.Locale(languageCode).language }),
  };
}

async function readSampleRate(files: ModelFiles): Promise<number> {
  const json = await files.readJson('tts.json');
  if (!json) return 0;
  const section = (name: string) => (json[name] ?? {}) as Record<string, unknown>;
  const check = (name: string, key: string, min: number, max: number): number => {
    const value = section(name)[key];
    if (Number.isInteger(value) && (value as number) >= min && (value as number) <= max) return value as number;
    files.faults.add('tts.json', `must have a whole number from ${min} to ${max} as ${name}.${key}`);
    return 0;
  };
  check('ae', 'base_chunk_size', 1, 1_000_000);
  check('ttl', 'chunk_compress_factor', 1, 10_000);
  check('ttl', 'latent_dim', 1, 10_000);
  return check('ae', 'sample_rate', 8_000, 48_000);
}

const product = (sizes: readonly number[]) => sizes.reduce((all, size) => all * size, 1);

/** Each speaker has one style for sound and one for rhythm. */
function toStyleFile(path: string, shape: readonly number[]): StyleFile {
  const [sound, rhythm] = [shape.slice(1, 3), shape.slice(4)].map((sizes) => 4 * product(sizes)) as [number, number];
  const sections = [
    { offset: voiceHeaderBytes, bytesPerSpeaker: sound },
    { offset: voiceHeaderBytes + shape[0]! * sound, bytesPerSpeaker: rhythm },
  ];
  return { path, sections };
}

async function readShape(path: string): Promise<number[]> {
  const bytes = await readFile(path);
  const shape = Array.from({ length: 6 }, (_, n) =>
    8 * n + 8 <= bytes.length ? Number(bytes.readBigInt64LE(8 * n)) : 0,
  );
  const needed = voiceHeaderBytes + 4 * (product(shape.slice(0, 3)) + product(shape.slice(3)));
  const isShape = shape.every((size) => size > 0) && shape[0] === shape[3] && needed <= voiceBytesMax;
  if (isShape && needed === bytes.length) return shape;
  const sizes = isShape
    ? `has ${bytes.length} bytes, but its header states ${needed}`
    : 'does not begin with two shapes';
  throw new ModelFault(`${sizes}; it is damaged or incomplete; copy it again`);
}

async function readIndexer(path: string): Promise<Int32Array> {
  const bytes = await readFile(path);
  if (bytes.length === 0 || bytes.length % 4 !== 0 || bytes.length > indexerBytesMax) {
    throw new ModelFault(`has ${bytes.length} bytes; it must have four for each of at most 65536 characters`);
  }
  return Int32Array.from({ length: bytes.length / 4 }, (_, n) => bytes.readInt32LE(4 * n));
}
