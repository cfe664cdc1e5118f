// The files of a model's folder, as far as needed to recognise and check the model: names and sizes, the headers of its ONNX
// files, the operator's card. The kinds of models check them with the methods here, which return what was looked up, or
// collect a fault.
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { cardName, type ModelCard, readModelCard } from './model-card.ts';
import { ModelFault, type ModelFaults } from './model-fault.ts';
import { type OnnxFile, readOnnxFile } from './onnx-file.ts';
import { readTokensFile, type TokenRules } from './tokens-file.ts';

const espeakFolder = 'espeak-ng-data';
const espeakFiles = ['phontab', 'phonindex', 'phondata', 'intonations'];
const filesMax = 1_000;
const onnxFilesMax = 16;
const jsonBytesMax = 33_554_432;
const float = 1;
const int64 = 7;
export const elementTypes = { float, int64 } as const;

export type ModelFiles = Awaited<ReturnType<typeof readModelFiles>>;

export async function readModelFiles(folder: string, faults: ModelFaults) {
  const sizes = await readSizes(folder, faults);
  const onnxNames = [...sizes.keys()].filter((name) => name.endsWith('.onnx'));
  const onnx = new Map<string, OnnxFile>();
  for (const name of onnxNames.slice(0, onnxFilesMax)) {
    const file = await faults.catch(name, () => readOnnxFile(join(folder, name)));
    if (file) onnx.set(name, file);
  }
  const card: ModelCard = (await faults.catch(cardName, () => readModelCard(folder))) ?? { speakers: [] };
  return {
    folder,
    card,
    /** Bytes of each file, by name. */
    sizes,
    /** Every ONNX file, readable or not. */
    onnxNames,
    isReadable: (name: string): boolean => onnx.has(name),
    faults,
    /** Checks on one ONNX file. */
    checkOnnx: (name: string) => new OnnxChecks(onnx.get(name), (fault) => faults.add(name, fault)),
    /** The path of a required file. */
    needFile(name: string): string {
      if (!sizes.has(name)) faults.add(name, 'is missing');
      return join(folder, name);
    },
    hasEspeakData: (): Promise<boolean> =>
      stat(join(folder, espeakFolder)).then(
        (found) => found.isDirectory(),
        () => false,
      ),
    /** The folder with eSpeak NG's data, which is required and must be complete. */
    async needEspeakData(): Promise<string> {
      for (const name of espeakFiles)
        await faults.catch(`${espeakFolder}/${name}`, () => stat(join(folder, espeakFolder, name)));
      return join(folder, espeakFolder);
    },
    async needTokens(rules: TokenRules, needed: readonly string[] = []): Promise<ReadonlyMap<string, number>> {
      const tokens = await faults.catch('tokens.txt', () => readTokensFile(join(folder, 'tokens.txt'), rules));
      for (const token of needed) {
        if (tokens && !tokens.has(token)) faults.add('tokens.txt', `lacks the token ${JSON.stringify(token)}`);
      }
      return tokens ?? new Map();
    },
    readJson: (name: string) => faults.catch(name, () => readJsonFile(join(folder, name))),
  };
}

async function readSizes(folder: string, faults: ModelFaults): Promise<ReadonlyMap<string, number>> {
  const entries = (await readdir(folder)).sort();
  if (entries.length > filesMax) faults.add(folder, `has more than ${filesMax} files`);
  const sizes = new Map<string, number>();
  for (const name of entries.slice(0, filesMax)) {
    const found = await faults.catch(name, () => stat(join(folder, name)));
    if (found?.isFile()) sizes.set(name, found.size);
  }
  return sizes;
}

async function readJsonFile(path: string): Promise<Record<string, unknown>> {
  if ((await stat(path)).size > jsonBytesMax) throw new ModelFault(`is larger than ${jsonBytesMax} bytes`);
  try {
    const given: unknown = JSON.parse(await readFile(path, 'utf8'));
    if (typeof given === 'object' && given !== null && !Array.isArray(given)) return given as Record<string, unknown>;
  } catch {
    // Reported below.
  }
  throw new ModelFault('is not a JSON object');
}

/** Checks on one ONNX file; one that cannot be read has been reported already. */
export class OnnxChecks {
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly #file: OnnxFile | undefined;
  readonly #addFault: (fault: string) => void;

  constructor(file: OnnxFile | undefined, addFault: (fault: string) => void) {
    this.#file = file;
    this.#addFault = addFault;
    this.inputs = file?.inputs.map(({ name }) => name) ?? [];
    this.outputs = file?.outputs.map(({ name }) => name) ?? [];
  }

  fault(what: string): void {
    if (this.#file) this.#addFault(what);
  }

  text(key: string): string {
    return this.#file?.metadata.get(key) ?? '';
  }

  needText(key: string): string {
    if (this.text(key) === '') this.integer(key, 0, 0);
    return this.text(key);
  }

  names(key: string): string[] {
    const names = this.text(key).split(',');
    return names.map((name) => name.trim()).filter((name) => name !== '');
  }

  integer(key: string, min: number, max: number, fallback?: number): number {
    const given = this.text(key);
    if (given === '' && fallback !== undefined) return fallback;
    if (given === '') {
      this.fault(`has no ${key} in its metadata, which the library needs; use a model that was made for sherpa-onnx`);
    } else if (!/^\d{1,9}$/.test(given) || Number(given) < min || Number(given) > max) {
      this.fault(`has ${JSON.stringify(given)} as ${key} in its metadata; it must be a number from ${min} to ${max}`);
    }
    return Number(given);
  }

  /** Its inputs must be of these types, and further ones have these names: others make the library exit. */
  needInputs(types: readonly number[], further: readonly RegExp[] | 'any' = []): void {
    const { inputs = [], outputs = [] } = this.#file ?? {};
    const areRight = types.every((type, n) => inputs[n]?.elementType === type);
    const others = inputs.slice(types.length);
    const areNamed = further === 'any' || others.every(({ name: input }, n) => further[n]?.test(input));
    if (areRight && areNamed && outputs.length > 0) return;
    const found = inputs.map(({ name: input, elementType }) => `${input}:${elementType}`).join(' ') || 'none';
    this.fault(`has other inputs than a model of this kind (${found}); it is not what its metadata or its name says`);
  }
}
