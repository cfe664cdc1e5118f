// Reads ONNX models from their bytes: checks a model, finds the durations of its sounds, and cuts parts out of its
// graph. A runtime loads only what `cut` wrote. Every step is linear in the size of the file. Numbers of the fields:
//     model 1 version, 7 graph, 8 operators, 25 functions   graph 1 node, 2 name, 5 constant, 11 input, 12 output
//     node 1 input, 2 output, 4 operation, 5 attribute      attribute 5 and 10 tensors, 6 and 11 graphs
//     tensor 1 size, 2 element type, 4 to 7, 10 and 11 numbers, 8 name, 9 bytes, 13 and 14 data in another file
import { Failure } from '../../platform/errors.ts';

export const elementTypes = { float: 1, uint8: 2, int8: 3, int64: 7 } as const;

/** A name and its type; sizes are numbers, or names for any size. */
export interface OnnxValue {
  name: string;
  elementType: number;
  sizes: readonly (number | string)[];
}

export interface OnnxModel {
  inputs: readonly string[];
  outputs: readonly string[];
  /** The operations in order; each uses only results of earlier ones. */
  nodes: readonly OnnxNode[];
  /**
   * Returns a model that computes `outputs` (of floats) from `inputs`, which may be results inside the graph, and from
   * those inputs of this model that are still needed. It has only the operations and constants that it needs.
   */
  cut(outputs: readonly string[], inputs?: readonly OnnxValue[], change?: GraphChange): Buffer;
  /** A constant of floats or bytes; undefined if there is none, or if it is of another type. */
  constant(name: string): OnnxConstant | undefined;
}

export interface OnnxConstant {
  sizes: readonly number[];
  toFloats(): Float32Array;
}

/** Changes that a cut makes. */
export interface GraphChange {
  /** Operations that take the places of others, and give their results. */
  nodes: ReadonlyMap<OnnxNode, ChangedNode>;
  /** New constants by name. */
  constants: ReadonlyMap<string, OnnxConstant>;
}

export interface ChangedNode {
  operation: string;
  inputs: readonly string[];
  /** The operation whose attributes it gets. */
  like: OnnxNode;
}

export interface OnnxNode {
  name: string;
  operation: string;
  inputs: readonly string[];
  outputs: readonly string[];
  /** Attributes that are lists of integers, such as the sizes of a kernel. */
  sizes: Readonly<Record<string, readonly number[]>>;
}

/** Bounds of a model. Real models of speech have up to 4,000 operations, 10 inputs and outputs, and 400 MB. */
const fileBytesMax = 1_073_741_824;
const fieldsMax = 2_000_000;
const nodesMax = 50_000;
const valuesMax = 64;
const nameBytesMax = 1_024;
const dimensionsMax = 16;
const graphDepthMax = 4;
const versionMax = 1_000;
/** Largest result that a constant shape may ask for. */
const filledElementsMax = 2 ** 26;
const fillers = ['ConstantOfShape', 'Expand', 'Tile'];
/** Longest constant that may be the shape of a filler. */
const shapeBytesMax = 8 * dimensionsMax;

/** Bytes of one element, by element type; other types are refused. */
const elementBytes: Readonly<Record<number, number>> = {
  1: 4,
  2: 1,
  3: 1,
  4: 2,
  5: 2,
  6: 4,
  7: 8,
  9: 1,
  10: 2,
  11: 8,
  12: 4,
  13: 8,
  16: 2,
};

const fault = (what: string) => new Failure('invalid_request', { message: `the ONNX file ${what}` });
const damaged = () => fault('is damaged or incomplete; copy it again');

interface Field {
  number: number;
  wire: number;
  value: number;
  /** Range with the tag, and range of the content. */
  start: number;
  from: number;
  to: number;
}

interface Tensor {
  name: string;
  field: Field;
  /** Numbers of a constant that may be a shape. */
  shape: readonly bigint[] | undefined;
}

interface Node extends OnnxNode {
  field: Field;
}

interface Graph {
  nodes: Node[];
  constants: Tensor[];
  inputs: { name: string; field: Field }[];
  outputs: { name: string; field: Field }[];
  name: Field | undefined;
}

/** Names that are defined at a place of a graph, and the constants that may be shapes. */
interface Scope {
  names: Set<string>;
  shapes: Map<string, readonly bigint[]>;
  outer: Scope | undefined;
  depth: number;
}

class Reader {
  readonly bytes: Buffer;
  #fieldsLeft = fieldsMax;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  *fields(from: number, to: number): Generator<Field> {
    for (let at = from; at < to; ) {
      if (this.#fieldsLeft-- === 0) throw fault(`has more than ${fieldsMax} fields`);
      const start = at;
      const key = this.varint(at, to);
      const wire = key.value % 8;
      const number = Math.floor(key.value / 8);
      if (number === 0 || ![0, 1, 2, 5].includes(wire)) throw damaged();
      at = key.to;
      let value = 0;
      if (wire === 0 || wire === 2) ({ value, to: at } = this.varint(at, to));
      const content = at;
      at += wire === 0 ? 0 : wire === 1 ? 8 : wire === 5 ? 4 : value;
      if (at > to) throw damaged();
      yield { number, wire, value, start, from: content, to: at };
    }
  }

  varint(from: number, end: number): { value: number; to: number } {
    let value = 0;
    for (let at = from, scale = 1; at < end && at < from + 10; at++, scale *= 128) {
      const byte = this.bytes[at]!;
      value += (byte & 127) * scale;
      if (byte < 128) return { value, to: at + 1 };
    }
    throw damaged();
  }

  text({ wire, from, to }: Field): string {
    if (wire !== 2) throw damaged();
    if (to - from > nameBytesMax) throw fault(`has a name of more than ${nameBytesMax} bytes`);
    return this.bytes.toString('utf8', from, to);
  }

  message({ wire, from, to }: Field): Generator<Field> {
    if (wire !== 2) throw damaged();
    return this.fields(from, to);
  }

  tensor(field: Field): Tensor {
    let name = '';
    let elementType = 0;
    let elements = 1;
    let dimensions = 0;
    let numbers = 0;
    let raw: Field | undefined;
    let int64s: Field | undefined;
    for (const part of this.message(field)) {
      if (part.number === 1) {
        for (const size of this.numbers(part)) {
          if (++dimensions > dimensionsMax) throw fault(`has a constant of more than ${dimensionsMax} dimensions`);
          elements *= size;
        }
      } else if (part.number === 2) elementType = part.value;
      else if (part.number === 8) name = this.text(part);
      else if (part.number === 9) raw = part;
      else if (part.number === 13 || (part.number === 14 && part.value !== 0)) {
        throw fault('keeps its weights in another file; use a model in one file');
      } else if ([4, 5, 7, 10, 11].includes(part.number)) {
        if (part.number === 7) int64s = part;
        numbers += this.countNumbers(part);
      }
    }
    const bytes = elementBytes[elementType];
    if (bytes === undefined) throw fault(`has a constant of the type ${elementType}, which is not supported`);
    const isWhole = raw ? raw.wire === 2 && raw.to - raw.from === elements * bytes : numbers === elements;
    if (!isWhole) throw fault('has a constant whose size differs from its data');
    return { name, field, shape: elementType === elementTypes.int64 ? this.shape(raw, int64s) : undefined };
  }

  /** Numbers of one field, which may be packed. */
  *numbers(field: Field): Generator<number> {
    if (field.wire === 0) yield field.value;
    else if (field.wire !== 2) throw damaged();
    else
      for (let at = field.from; at < field.to; ) {
        const { value, to } = this.varint(at, field.to);
        yield value;
        at = to;
      }
  }

  countNumbers({ number, wire, from, to }: Field): number {
    if (wire !== 2) return 1;
    if (number === 4) return (to - from) / 4;
    if (number === 10) return (to - from) / 8;
    let count = 0;
    for (let at = from; at < to; at++) if (this.bytes[at]! < 128) count++;
    return count;
  }

  shape(raw: Field | undefined, int64s: Field | undefined): readonly bigint[] | undefined {
    const data = raw ?? int64s;
    if (!data || data.to - data.from > shapeBytesMax) return undefined;
    if (!raw) return Array.from(this.numbers(data), BigInt);
    return Array.from({ length: (data.to - data.from) / 8 }, (_, n) => this.bytes.readBigInt64LE(data.from + 8 * n));
  }

  content({ field }: Tensor): OnnxConstant | undefined {
    const sizes: number[] = [];
    let elementType = 0;
    let bytes: Buffer | undefined;
    for (const part of this.message(field)) {
      if (part.number === 1) sizes.push(...this.numbers(part));
      else if (part.number === 2) elementType = part.value;
      else if (part.number === 9) bytes = this.bytes.subarray(part.from, part.to);
      // Few numbers of one byte may be written as 32 bits.
      else if (part.number === 5) bytes = Buffer.from([...this.numbers(part)].map((value) => value % 256));
    }
    const content = bytes;
    if (!content) return undefined;
    if (elementType === elementTypes.float) {
      const count = content.length / 4;
      return { sizes, toFloats: () => Float32Array.from({ length: count }, (_, n) => content.readFloatLE(4 * n)) };
    }
    if (elementType === elementTypes.uint8) return { sizes, toFloats: () => Float32Array.from(content) };
    if (elementType === elementTypes.int8)
      return { sizes, toFloats: () => Float32Array.from(content, (byte) => (byte << 24) >> 24) };
    return undefined;
  }

  /** Writes the operation that takes the place of a node. */
  changed({ name, outputs }: Node, { operation, inputs, like }: ChangedNode): Buffer {
    const attributes: Buffer[] = [];
    for (const part of this.message((like as Node).field))
      if (part.number === 5) attributes.push(this.bytes.subarray(part.start, part.to));
    const text = (number: number, value: string) => message(number, Buffer.from(value));
    return message(
      1,
      ...inputs.map((input) => text(1, input)),
      ...outputs.map((output) => text(2, output)),
      text(3, name),
      text(4, operation),
      ...attributes,
    );
  }

  value(field: Field): { name: string; field: Field } {
    for (const part of this.message(field)) if (part.number === 1) return { name: this.text(part), field };
    throw damaged();
  }

  graph(field: Field, outer: Scope | undefined): Graph {
    const scope: Scope = { names: new Set(['']), shapes: new Map(), outer, depth: (outer?.depth ?? 0) + 1 };
    if (scope.depth > graphDepthMax) throw fault(`has graphs nested more than ${graphDepthMax} deep`);
    const graph: Graph = { nodes: [], constants: [], inputs: [], outputs: [], name: undefined };
    const nodes: Field[] = [];
    for (const part of this.message(field)) {
      if (part.number === 1) nodes.push(part);
      else if (part.number === 2) graph.name = part;
      else if (part.number === 5) graph.constants.push(this.tensor(part));
      else if (part.number === 11) graph.inputs.push(this.value(part));
      else if (part.number === 12) graph.outputs.push(this.value(part));
      else if (part.number === 15) throw fault('has sparse constants, which are not supported');
      if (nodes.length > nodesMax) throw fault(`has more than ${nodesMax} operations`);
    }
    const { length } = graph.outputs;
    if (length > valuesMax) throw fault(`has ${length} outputs; at most ${valuesMax} are possible`);
    const inputs = new Set(graph.inputs.map(({ name }) => name));
    for (const { name } of graph.inputs) define(scope, name);
    for (const { name, shape } of graph.constants) {
      // Old models list their constants among the inputs.
      if (!inputs.delete(name)) define(scope, name);
      if (shape) scope.shapes.set(name, shape);
    }
    if (inputs.size > valuesMax) throw fault(`has ${inputs.size} inputs; at most ${valuesMax} are possible`);
    for (const part of nodes) graph.nodes.push(this.node(part, scope));
    for (const { name } of graph.outputs) if (!isDefined(scope, name)) throw undefinedName(name);
    return graph;
  }

  node(field: Field, scope: Scope): Node {
    const inputs: string[] = [];
    const outputs: string[] = [];
    let name = '';
    let operation = '';
    let shape: readonly bigint[] | undefined;
    const sizes: Record<string, readonly number[]> = {};
    for (const part of this.message(field)) {
      if (part.number === 1) inputs.push(this.text(part));
      else if (part.number === 2) outputs.push(this.text(part));
      else if (part.number === 3) name = this.text(part);
      else if (part.number === 4) operation = this.text(part);
      else if (part.number === 5) {
        let attribute = '';
        for (const each of this.message(part)) {
          if (each.number === 1) attribute = this.text(each);
          else if (each.number === 8) sizes[attribute] = [...(sizes[attribute] ?? []), ...this.numbers(each)];
          else if (each.number === 5 || each.number === 10) shape = this.tensor(each).shape;
          else if (each.number === 6 || each.number === 11) inputs.push(...this.captured(each, scope));
          else if (each.number === 22 || each.number === 23)
            throw fault('has sparse constants, which are not supported');
        }
      }
    }
    for (const input of inputs) if (!isDefined(scope, input)) throw undefinedName(input);
    const filled = fillers.includes(operation) ? scope.shapes.get(inputs.at(-1) ?? '') : undefined;
    const elements = filled?.reduce((product, size) => product * (size < 0n ? 1n : size), 1n) ?? 0n;
    if (elements > filledElementsMax) throw fault(`asks for ${elements} elements at once`);
    for (const output of outputs) define(scope, output);
    if (operation === 'Constant' && shape) scope.shapes.set(outputs[0] ?? '', shape);
    return { name, operation, inputs, outputs, sizes, field };
  }

  /** Names outside of a nested graph that it uses. */
  captured(field: Field, scope: Scope): string[] {
    const { nodes, constants, inputs, outputs } = this.graph(field, scope);
    const own = new Set([...inputs, ...constants].map(({ name }) => name));
    for (const node of nodes) for (const output of node.outputs) own.add(output);
    const used = [...nodes.flatMap((node) => node.inputs), ...outputs.map(({ name }) => name)];
    return [...new Set(used)].filter((name) => !own.has(name));
  }
}

function define({ names }: Scope, name: string): void {
  if (name !== '' && names.has(name)) throw fault(`defines ${JSON.stringify(name)} twice`);
  names.add(name);
}

const isDefined = ({ names, outer }: Scope, name: string): boolean =>
  names.has(name) || (outer !== undefined && isDefined(outer, name));

const undefinedName = (name: string) =>
  fault(`uses ${JSON.stringify(name)} before it is computed; its graph has a cycle or is incomplete`);

/** Reads and checks a model. Throws `invalid_request` with the reason if the model cannot be used. */
export function readOnnxModel(bytes: Uint8Array): OnnxModel {
  if (bytes.length > fileBytesMax) throw fault(`has more than ${fileBytesMax} bytes`);
  const reader = new Reader(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length));
  const head: Field[] = [];
  let graph: Graph | undefined;
  for (const part of reader.fields(0, bytes.length)) {
    if (head.length === 0 && (part.number !== 1 || part.value < 1 || part.value > versionMax))
      throw fault('does not contain an ONNX model');
    if (part.number === 1 || part.number === 8) head.push(part);
    if (head.length > valuesMax) throw damaged();
    if (part.number === 25) throw fault('defines functions, which are not supported');
    if (part.number !== 7) continue;
    if (graph) throw fault('has two graphs');
    graph = reader.graph(part, undefined);
  }
  if (!graph) throw damaged();
  const { nodes, inputs, outputs } = graph;
  const whole = graph;
  return {
    inputs: inputs.map(({ name }) => name),
    outputs: outputs.map(({ name }) => name),
    nodes,
    cut: (wanted, given = [], change = noChange) => cutGraph(reader, head, whole, { wanted, given, change }),
    constant(name) {
      const found = whole.constants.find((each) => each.name === name);
      return found && reader.content(found);
    },
  };
}

const noChange: GraphChange = { nodes: new Map(), constants: new Map() };

interface Cut {
  wanted: readonly string[];
  given: readonly OnnxValue[];
  change: GraphChange;
}

function cutGraph(reader: Reader, head: readonly Field[], graph: Graph, { wanted, given, change }: Cut): Buffer {
  const { bytes } = reader;
  const makers = new Map(graph.nodes.flatMap((node) => node.outputs.map((output) => [output, node])));
  const isGiven = new Set(given.map(({ name }) => name));
  const used = new Set<string>();
  const kept = new Set<Node>();
  for (const waiting = [...wanted]; waiting.length > 0; ) {
    const name = waiting.pop()!;
    if (name === '' || used.has(name)) continue;
    used.add(name);
    const maker = isGiven.has(name) ? undefined : makers.get(name);
    if (!maker || kept.has(maker)) continue;
    kept.add(maker);
    waiting.push(...(change.nodes.get(maker)?.inputs ?? maker.inputs));
  }
  const own = [...graph.inputs, ...graph.constants];
  const known = new Set(own.map(({ name }) => name));
  for (const name of wanted) if (!makers.has(name) && !known.has(name)) throw fault(`has no ${JSON.stringify(name)}`);
  const copy = ({ start, to }: Field) => bytes.subarray(start, to);
  const toNode = (node: Node) => {
    const changed = change.nodes.get(node);
    return changed ? reader.changed(node, changed) : copy(node.field);
  };
  const parts = [
    ...graph.nodes.filter((node) => kept.has(node)).map(toNode),
    ...(graph.name ? [copy(graph.name)] : []),
    ...own.filter(({ name }) => used.has(name) && !isGiven.has(name)).map(({ field }) => copy(field)),
    ...[...change.constants].filter(([name]) => used.has(name)).map(([name, value]) => writeFloats(name, value)),
    ...given.filter(({ name }) => used.has(name)).map((value) => writeValue(11, value)),
    ...wanted.map((name) => {
      const stated = graph.outputs.find((output) => output.name === name);
      return stated ? copy(stated.field) : writeValue(12, { name, elementType: elementTypes.float, sizes: [] });
    }),
  ];
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  return Buffer.concat([...head.map(copy), varint(7 * 8 + 2), varint(length), ...parts]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return Buffer.from([...bytes, rest]);
    bytes.push((rest % 128) + 128);
  }
}

function message(number: number, ...parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  return Buffer.concat([varint(number * 8 + 2), varint(body.length), body]);
}

function writeFloats(name: string, { sizes, toFloats }: OnnxConstant): Buffer {
  const { buffer, byteOffset, byteLength } = toFloats();
  return message(
    5,
    ...sizes.flatMap((size) => [varint(8), varint(size)]),
    Buffer.concat([varint(16), varint(elementTypes.float)]),
    message(8, Buffer.from(name)),
    message(9, Buffer.from(buffer, byteOffset, byteLength)),
  );
}

/** Writes a name with its type; without sizes, any shape is possible. */
function writeValue(number: number, { name, elementType, sizes }: OnnxValue): Buffer {
  const dimensions = sizes.map((size) =>
    message(1, typeof size === 'number' ? Buffer.concat([varint(8), varint(size)]) : message(2, Buffer.from(size))),
  );
  const shape = sizes.length > 0 ? [message(2, ...dimensions)] : [];
  return message(
    number,
    message(1, Buffer.from(name)),
    message(2, message(1, varint(8), varint(elementType), ...shape)),
  );
}

const roundings = ['Ceil', 'Clip', 'Round'];
/** Operations between the rounding of the durations and their sum. */
const stepsMax = 6;

export interface Durations {
  /** The result that has the duration of each sound in frames: it is rounded, and then summed up. */
  rounded: string;
  /** The same before it is rounded. */
  exact: string;
  /** Other results from which the durations are computed and that the rest of the graph needs, too. */
  shared: readonly string[];
}

/** Finds the durations. `outputs` are the results that are computed from them. */
export function findDurations({ nodes }: OnnxModel, outputs: readonly string[]): Durations {
  const makers = new Map(nodes.flatMap((node) => node.outputs.map((output) => [output, node])));
  const found = new Set<string>();
  for (const { operation, inputs } of nodes) {
    if (operation !== 'CumSum') continue;
    let name = inputs[0] ?? '';
    for (let step = 0; step < stepsMax; step++) {
      const maker = makers.get(name);
      if (maker && roundings.includes(maker.operation)) found.add(name);
      if (!maker || found.has(name)) break;
      name = maker.inputs[0] ?? '';
    }
  }
  const [rounded, ...others] = found;
  if (rounded === undefined || others.length > 0) throw fault('has no durations of sounds that Sonant can find');
  let exact = rounded;
  for (let maker = makers.get(exact); maker && roundings.includes(maker.operation); maker = makers.get(exact)) {
    exact = maker.inputs[0] ?? '';
  }
  const makersOf = (wanted: readonly string[], stop?: OnnxNode) => {
    const kept = new Set<OnnxNode>();
    for (const waiting = [...wanted]; waiting.length > 0; ) {
      const maker = makers.get(waiting.pop()!);
      if (!maker || maker === stop || kept.has(maker)) continue;
      kept.add(maker);
      waiting.push(...maker.inputs);
    }
    return kept;
  };
  const before = makersOf([rounded]);
  const after = [...makersOf(outputs, makers.get(rounded))].filter((node) => !before.has(node));
  const isShared = (name: string) => {
    const maker = makers.get(name);
    return name !== rounded && maker !== undefined && maker.operation !== 'Constant' && before.has(maker);
  };
  return { rounded, exact, shared: [...new Set(after.flatMap(({ inputs }) => inputs))].filter(isShared) };
}
