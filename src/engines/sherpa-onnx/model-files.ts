// The files of a model's folder, as far as needed to recognise and check the model: names and sizes, the headers of its ONNX
// files, the operator's card. The kinds of models check them with the functions here, which return what was looked up, or
// collect a fault.
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { cardName, type ModelCard, readModelCard } from './model-card.ts';
import { ModelFault, type ModelFaults } from './model-fault.ts';
import { type OnnxFile, readOnnxFile } from './onnx-file.ts';
import { readTokensFile, type TokensAsked } from './tokens-file.ts';

export interface ModelFiles {
  folder: string;
  card: ModelCard;
  /** Bytes of each file, by name. */
  sizes: ReadonlyMap<string, number>;
  onnx: ReadonlyMap<string, OnnxFile>;
  /** Every ONNX file, readable or not. */
  onnxNames: readonly string[];
  faults: ModelFaults;
}

const espeakFolder = 'espeak-ng-data';
const espeakFiles = ['phontab', 'phonindex', 'phondata', 'intonations'];
const filesMax = 1_000;
const onnxFilesMax = 16;
const jsonBytesMax = 33_554_432;
const float = 1;
const int64 = 7;
export const elementTypes = { float, int64 } as const;

export async function readModelFiles(folder: string, faults: ModelFaults): Promise<ModelFiles> {
  const entries = (await readdir(folder)).sort();
  if (entries.length > filesMax) faults.add(folder, `has more than ${filesMax} files`);
  const sizes = new Map<string, number>();
  for (const name of entries.slice(0, filesMax)) {
    const found = await faults.catch(name, () => stat(join(folder, name)));
    if (found?.isFile()) sizes.set(name, found.size);
  }
  const onnxNames = [...sizes.keys()].filter((name) => name.endsWith('.onnx'));
  const onnx = new Map<string, OnnxFile>();
  for (const name of onnxNames.slice(0, onnxFilesMax)) {
    const file = await faults.catch(name, () => readOnnxFile(join(folder, name)));
    if (file) onnx.set(name, file);
  }
  const card = await faults.catch(cardName, () => readModelCard(folder));
  return { folder, card: card ?? { speakers: [] }, sizes, onnx, onnxNames, faults };
}

/** The path of a required file. */
export function needFile({ folder, sizes, faults }: ModelFiles, name: string): string {
  if (!sizes.has(name)) faults.add(name, 'is missing');
  return join(folder, name);
}

/** The folder with eSpeak NG's data, which is required and must be complete. */
export async function needEspeakData({ folder, faults }: ModelFiles): Promise<string> {
  for (const name of espeakFiles) {
    await faults.catch(`${espeakFolder}/${name}`, () => stat(join(folder, espeakFolder, name)));
  }
  return join(folder, espeakFolder);
}

export const hasEspeakData = ({ folder }: ModelFiles): Promise<boolean> =>
  stat(join(folder, espeakFolder)).then(
    (found) => found.isDirectory(),
    () => false,
  );

export async function needTokens(
  files: ModelFiles,
  asked: TokensAsked,
  needed: readonly string[] = [],
): Promise<ReadonlyMap<string, number>> {
  const path = join(files.folder, 'tokens.txt');
  const tokens = await files.faults.catch('tokens.txt', () => readTokensFile(path, asked));
  for (const token of needed) {
    if (tokens && !tokens.has(token)) files.faults.add('tokens.txt', `lacks the token ${JSON.stringify(token)}`);
  }
  return tokens ?? new Map();
}

export async function readJson(files: ModelFiles, name: string): Promise<Record<string, unknown> | undefined> {
  return files.faults.catch(name, async () => {
    const path = join(files.folder, name);
    if ((await stat(path)).size > jsonBytesMax) throw new ModelFault(`is larger than ${jsonBytesMax} bytes`);
    try {
      const given: unknown = JSON.parse(await readFile(path, 'utf8'));
      if (typeof given === 'object' && given !== null && !Array.isArray(given)) return given as Record<string, unknown>;
    } catch {
      // Reported below.
    }
    throw new ModelFault('is not a JSON object');
  });
}

/** Checks on one ONNX file. */
export function askOnnx({ onnx, faults }: ModelFiles, name: string) {
  const file = onnx.get(name);
  const text = (key: string): string => file?.metadata.get(key) ?? '';
  const fault = (what: string) => {
    // A file that cannot be read has been reported already.
    if (file) faults.add(name, what);
  };
  const integer = (key: string, min: number, max: number, fallback?: number): number => {
    const given = text(key);
    if (given === '' && fallback !== undefined) return fallback;
    if (given === '') {
      fault(`has no ${key} in its metadata, which the library needs; use a model that was made for sherpa-onnx`);
    } else if (!/^\d{1,9}$/.test(given) || Number(given) < min || Number(given) > max) {
      fault(`has ${JSON.stringify(given)} as ${key} in its metadata; it must be a number from ${min} to ${max}`);
    }
    return Number(given);
  };
  return {
    text,
    integer,
    fault,
    names: (key: string): string[] =>
      text(key)
        .split(',')
        .map((each) => each.trim())
        .filter((each) => each !== ''),
    integers: (key: string): number[] => text(key).split(',').map(Number),
    needText(key: string): string {
      if (text(key) === '') integer(key, 0, 0);
      return text(key);
    },
    /** Its inputs must be of these types, and further ones have these names: others make the library exit. */
    needInputs(types: readonly number[], further: readonly RegExp[] | 'any' = []): void {
      const { inputs = [], outputs = [] } = file ?? {};
      const areRight = types.every((type, n) => inputs[n]?.elementType === type);
      const others = inputs.slice(types.length);
      const areNamed = further === 'any' || others.every(({ name: input }, n) => further[n]?.test(input));
      if (areRight && areNamed && outputs.length > 0) return;
      const found = inputs.map(({ name: input, elementType }) => `${input}:${elementType}`).join(' ') || 'none';
      fault(`has other inputs than a model of this kind (${found}); it is not what its metadata or its name says`);
    },
    inputs: file?.inputs.map((input) => input.name) ?? [],
    outputs: file?.outputs.map((output) => output.name) ?? [],
  };
}
