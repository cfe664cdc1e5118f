// Reads the files of a model's folder, as far as model-folder.ts needs them to recognise and check the model: names,
// sizes, ONNX headers, tokens and the operator's card. The checks, which the reader of each kind of model calls, return
// values or collect faults.
import { type FileHandle, open, readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { cardName, type ModelCard, readModelCard } from './model-card.ts';
import { ModelFault, type ModelFaults } from './model-fault.ts';

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
    /** File sizes in bytes, by name. */
    sizes,
    /** All ONNX files, readable or not. */
    onnxNames,
    faults,
    checkOnnx: (name: string) => new OnnxChecks(onnx.get(name), (fault) => faults.add(name, fault)),
    /** The path of a required file. */
    needFile(name: string): string {
      if (!sizes.has(name)) faults.add(name, 'is missing');
      return join(folder, name);
    },
    /** The folder with eSpeak NG's data, which must be complete. */
    async needEspeakData(): Promise<string> {
      for (const name of espeakFiles)
        await faults.catch(`${espeakFolder}/${name}`, () => stat(join(folder, espeakFolder, name)));
      return join(folder, espeakFolder);
    },
    async needTokens(needed: readonly string[]): Promise<void> {
      const tokens = await faults.catch('tokens.txt', () => readTokensFile(join(folder, 'tokens.txt')));
      for (const token of needed) {
        if (tokens && !tokens.has(token)) faults.add('tokens.txt', `lacks the token ${JSON.stringify(token)}`);
      }
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
    // The fault is reported below.
  }
  throw new ModelFault('is not a JSON object');
}

/** Checks on one ONNX file. An unreadable file has already been reported. */
class OnnxChecks {
  readonly #file: OnnxFile | undefined;
  readonly #addFault: (fault: string) => void;

  constructor(file: OnnxFile | undefined, addFault: (fault: string) => void) {
    this.#file = file;
    this.#addFault = addFault;
  }

  fault(what: string): void {
    if (this.#file) this.#addFault(what);
  }

  text(key: string): string {
    return this.#file?.metadata.get(key) ?? '';
  }

  integer(key: string, min: number, max: number, fallback: number): number {
    const given = this.text(key);
    if (given === '') return fallback;
    if (!/^\d{1,9}$/.test(given) || Number(given) < min || Number(given) > max) {
      this.fault(`has ${JSON.stringify(given)} as ${key} in its metadata; it must be a number from ${min} to ${max}`);
    }
    return Number(given);
  }

  /** The first inputs must have these types, or the library would exit. */
  needInputs(types: readonly number[], { hasMore = false } = {}): void {
    const { inputs = [], outputs = [] } = this.#file ?? {};
    const areRight = types.every((type, n) => inputs[n]?.elementType === type);
    if (areRight && (hasMore || inputs.length === types.length) && outputs.length > 0) return;
    const found = inputs.map(({ name: input, elementType }) => `${input}:${elementType}`).join(' ') || 'none';
    this.fault(`has other inputs than a model of this kind (${found}); its metadata or its name is wrong`);
  }
}

const fileBytesMax = 16_777_216;

async function readTokensFile(path: string): Promise<ReadonlySet<string>> {
  const { size } = await stat(path);
  if (size > fileBytesMax) throw new ModelFault(`is larger than ${fileBytesMax} bytes`);
  const lines = (await readFile(path, 'utf8')).split('\n');
  if (lines.at(-1)?.trim() === '') lines.pop();
  const tokens = new Set<string>();
  for (const [index, line] of lines.entries()) {
    const parts = line.split(/[ \t\r\v\f]+/).filter((part) => part !== '');
    const [token, number] = parts.length === 1 ? [' ', parts[0]!] : parts;
    if (parts.length < 1 || parts.length > 2 || !/^\d{1,9}$/.test(number!)) {
      throw new ModelFault(`must have a token and its number in each line; line ${index + 1} does not`);
    }
    tokens.add(token!);
  }
  if (tokens.size === 0) throw new ModelFault('is empty');
  return tokens;
}

interface OnnxValue {
  name: string;
  /** TensorProto.DataType: 1 is float, 7 is int64; 0 if it is not stated. */
  elementType: number;
}

interface OnnxFile {
  inputs: readonly OnnxValue[];
  outputs: readonly OnnxValue[];
  metadata: ReadonlyMap<string, string>;
}

const pageBytes = 65_536;
/** Largest size of a name, a type or a metadata entry. A list of a thousand speakers is smaller. */
const partBytesMax = 1_048_576;
const fieldsMax = 2_000_000;
const valuesMax = 4_096;
const varintBytesMax = 10;

interface Field {
  number: number;
  wireType: number;
  /** Value of a varint. */
  value: number;
  /** Byte range of a field that is not a varint. */
  from: number;
  to: number;
}

/** Reads the bytes of a file page by page. */
interface Pages {
  size: number;
  /** Reads at least `length` bytes from `at`. */
  read(at: number, length: number): Promise<Buffer>;
}

const damaged = () => new ModelFault('is damaged or incomplete; copy it again');

async function readOnnxFile(path: string): Promise<OnnxFile> {
  await using handle = await open(path);
  const pages = await openPages(handle);
  const inputs: OnnxValue[] = [];
  const outputs: OnnxValue[] = [];
  const metadata = new Map<string, string>();
  let irVersion = 0;
  let hasGraph = false;
  for await (const field of fieldsOf(pages, 0, pages.size)) {
    // Only an ONNX file begins with its version, and the version must be plausible.
    if (field.number === 1 && field.wireType === 0) irVersion = field.value;
    else if (irVersion === 0) throw new ModelFault('is not an ONNX file');
    if (field.number === 7 && field.wireType === 2) {
      hasGraph = true;
      for await (const part of fieldsOf(pages, field.from, field.to)) {
        const values = part.number === 11 ? inputs : part.number === 12 ? outputs : undefined;
        if (values && part.wireType === 2 && values.length < valuesMax) values.push(await readValue(pages, part));
      }
    }
    if (field.number === 14 && field.wireType === 2) await readEntry(pages, field, metadata);
  }
  if (irVersion < 1 || irVersion > 1_000 || !hasGraph) throw new ModelFault('is not an ONNX file');
  return { inputs, outputs, metadata };
}

async function openPages(handle: FileHandle): Promise<Pages> {
  const { size } = await handle.stat();
  let page: Buffer = Buffer.alloc(0);
  let start = 0;
  return {
    size,
    async read(at, length) {
      if (at < start || at + length > start + page.length) {
        const room = Buffer.alloc(Math.min(Math.max(length, pageBytes), size - at));
        const { bytesRead } = await handle.read(room, 0, room.length, at);
        page = room.subarray(0, bytesRead);
        start = at;
      }
      const bytes = page.subarray(at - start);
      if (bytes.length < length) throw damaged();
      return bytes;
    },
  };
}

async function* fieldsOf(pages: Pages, from: number, to: number): AsyncGenerator<Field> {
  let at = from;
  const readVarint = async (): Promise<number> => {
    const bytes = await pages.read(at, Math.min(varintBytesMax, to - at));
    let value = 0;
    for (let i = 0; i < varintBytesMax && at + i < to; i++) {
      value += (bytes[i]! & 127) * 2 ** (7 * i);
      if (bytes[i]! < 128) {
        at += i + 1;
        return value;
      }
    }
    throw damaged();
  };
  for (let count = 0; at < to; count++) {
    if (count > fieldsMax) throw damaged();
    const key = await readVarint();
    const wireType = key % 8;
    const number = Math.floor(key / 8);
    if (number === 0 || ![0, 1, 2, 5].includes(wireType))
      throw at < 16 ? new ModelFault('is not an ONNX file') : damaged();
    const value = wireType === 0 || wireType === 2 ? await readVarint() : 0;
    const length = wireType === 0 ? 0 : wireType === 1 ? 8 : wireType === 5 ? 4 : value;
    if (at + length > to) throw damaged();
    yield { number, wireType, value, from: at, to: at + length };
    at += length;
  }
}

async function readText(pages: Pages, { from, to }: Field): Promise<string> {
  if (to - from > partBytesMax) throw damaged();
  return (await pages.read(from, to - from)).toString('utf8', 0, to - from);
}

async function readEntry(pages: Pages, { from, to }: Field, metadata: Map<string, string>): Promise<void> {
  let key = '';
  let value = '';
  for await (const field of fieldsOf(pages, from, to)) {
    if (field.number === 1) key = await readText(pages, field);
    if (field.number === 2) value = await readText(pages, field);
  }
  if (metadata.size < valuesMax) metadata.set(key, value);
}

async function readValue(pages: Pages, { from, to }: Field): Promise<OnnxValue> {
  const value: OnnxValue = { name: '', elementType: 0 };
  for await (const field of fieldsOf(pages, from, to)) {
    if (field.number === 1) value.name = await readText(pages, field);
    if (field.number !== 2 || field.wireType !== 2) continue;
    for await (const type of fieldsOf(pages, field.from, field.to)) {
      if (type.number !== 1 || type.wireType !== 2) continue;
      for await (const tensor of fieldsOf(pages, type.from, type.to)) {
        if (tensor.number === 1 && tensor.wireType === 0) value.elementType = tensor.value;
      }
    }
  }
  return value;
}

// Finds the parts of models that consist of several ONNX files, by the beginning of their names.

/** The ONNX file with this prefix. A smaller version (.int8) is preferred, as in the releases. */
export function findPart({ onnxNames }: ModelFiles, beginning: string): string | undefined {
  const found = onnxNames.filter((name) => name.startsWith(beginning));
  return found.find((name) => name.includes('int8')) ?? found[0];
}

export function needPart(files: ModelFiles, beginning: string): string {
  const name = findPart(files, beginning);
  if (name === undefined) files.faults.add(`${beginning}.onnx`, 'is missing');
  return name ?? `${beginning}.onnx`;
}
