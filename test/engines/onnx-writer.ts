// Writes ONNX models, one protobuf field at a time (see src/engines/sherpa-onnx/model-files.ts for the format), so that
// tests have models of a few hundred bytes that the real library loads.

export const float = 1;
export const int64 = 7;

/** A name, a type, and the size of each dimension: a number, or a name for any size. */
export type ValueShape = readonly [name: string, elementType: number, sizes: readonly (number | string)[]];

export interface OnnxGraph {
  inputs: readonly ValueShape[];
  outputs: readonly ValueShape[];
  /** Constants by name. */
  constants: Readonly<Record<string, Uint8Array>>;
  nodes: readonly Uint8Array[];
  metadata: Readonly<Record<string, string>>;
}

function varint(value: number): number[] {
  // Negative numbers are written as 64 bits.
  let rest = BigInt.asUintN(64, BigInt(value));
  const bytes: number[] = [];
  for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  return [...bytes, Number(rest)];
}

const number = (field: number, value: number): Uint8Array => Uint8Array.from([...varint(field * 8), ...varint(value)]);

function message(field: number, ...parts: readonly Uint8Array[]): Uint8Array {
  const body = Buffer.concat(parts);
  return Buffer.concat([Uint8Array.from([...varint(field * 8 + 2), ...varint(body.length)]), body]);
}

const text = (field: number, value: string): Uint8Array => message(field, Buffer.from(value));

const tensor = (
  sizes: readonly number[],
  elementType: number,
  numbers: Float32Array | BigInt64Array | Uint8Array,
): Uint8Array =>
  Buffer.concat([
    ...sizes.map((size) => number(1, size)),
    number(2, elementType),
    message(9, new Uint8Array(numbers.buffer)),
  ]);

export const floats = (sizes: readonly number[], values: readonly number[]): Uint8Array =>
  tensor(sizes, float, Float32Array.from(values));

export const integers = (sizes: readonly number[], values: readonly number[]): Uint8Array =>
  tensor(sizes, int64, BigInt64Array.from(values.map(BigInt)));

export const bytes = (sizes: readonly number[], values: readonly number[]): Uint8Array =>
  tensor(sizes, 2, Uint8Array.from(values));

/** One operation, with integers or lists of them as attributes. */
export function node(
  operation: string,
  inputs: readonly string[],
  outputs: readonly string[],
  attributes: Readonly<Record<string, number>> = {},
): Uint8Array {
  const settings = Object.entries(attributes).map(([name, value]) =>
    message(5, text(1, name), number(3, value), number(20, 2)),
  );
  return Buffer.concat([
    ...inputs.map((name) => text(1, name)),
    ...outputs.map((name) => text(2, name)),
    text(4, operation),
    ...settings,
  ]);
}

function valueInfo(field: number, [name, elementType, sizes]: ValueShape): Uint8Array {
  const dimensions = sizes.map((size) => message(1, typeof size === 'string' ? text(2, size) : number(1, size)));
  return message(field, text(1, name), message(2, message(1, number(1, elementType), message(2, ...dimensions))));
}

export function writeOnnx({ inputs, outputs, constants, nodes, metadata }: OnnxGraph): Uint8Array {
  const graph = message(
    7,
    ...nodes.map((each) => message(1, each)),
    text(2, 'tiny'),
    ...Object.entries(constants).map(([name, value]) => message(5, value, text(8, name))),
    ...inputs.map((value) => valueInfo(11, value)),
    ...outputs.map((value) => valueInfo(12, value)),
  );
  const entries = Object.entries(metadata).map(([key, value]) => message(14, text(1, key), text(2, value)));
  return Buffer.concat([number(1, 8), message(8, text(1, ''), number(2, 13)), graph, ...entries]);
}
