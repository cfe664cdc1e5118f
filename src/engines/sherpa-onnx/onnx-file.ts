// The header of a model file, read without its weights. An ONNX file is one protobuf message (onnx.proto):
//     ModelProto    1 ir_version   7 graph   8 opset_import*   14 metadata_props*
//     GraphProto    1 node*   5 initializer* (the weights)   11 input*   12 output*
//     ValueInfo     1 name   2 type { 1 tensor_type { 1 elem_type } }
//     StringEntry   1 key   2 value
// A field is a varint, number << 3 | wire type, and what it holds: 0 a varint, 1 eight bytes, 2 a length and as many
// bytes, 5 four bytes. Other fields are skipped, so that of 300 MB of weights a few pages are read.
import { type FileHandle, open } from 'node:fs/promises';
import { ModelFault } from './model-fault.ts';

export interface OnnxValue {
  name: string;
  /** Of TensorProto.DataType: 1 is float, 7 is int64. 0 where it is not stated. */
  elementType: number;
}

export interface OnnxFile {
  inputs: readonly OnnxValue[];
  outputs: readonly OnnxValue[];
  metadata: ReadonlyMap<string, string>;
}

const pageBytes = 65_536;
/** Of a name, a type or an entry of the metadata: lists of a thousand speakers are below this. */
const partBytesMax = 1_048_576;
const fieldsMax = 2_000_000;
const valuesMax = 4_096;
const varintBytesMax = 10;

interface Field {
  number: number;
  wireType: number;
  /** Of a varint. */
  value: number;
  /** Where the bytes of the others begin and end. */
  from: number;
  to: number;
}

/** The bytes of a file, a page at a time. */
interface Pages {
  size: number;
  /** At least `length` bytes from `at` on. */
  read(at: number, length: number): Promise<Buffer>;
}

const damaged = () => new ModelFault('is damaged or cut short; bring it here again');

export async function readOnnxFile(path: string): Promise<OnnxFile> {
  await using handle = await open(path);
  const pages = await openPages(handle);
  const inputs: OnnxValue[] = [];
  const outputs: OnnxValue[] = [];
  const metadata = new Map<string, string>();
  let irVersion = 0;
  let hasGraph = false;
  for await (const field of fieldsOf(pages, 0, pages.size)) {
    // Nothing but a model begins with its version, or has such a one.
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
