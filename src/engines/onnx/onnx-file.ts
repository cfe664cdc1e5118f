// Reads ONNX models from their bytes: checks a model, finds the durations of its sounds, and cuts parts out of its
// graph. A runtime loads only what `cut` wrote. Every step is linear in the size of the file. Numbers of the fields:
//     model 1 version, 7 graph, 8 operators, 25 functions   graph 1 node, 2 name, 5 constant, 11 input, 12 output
//     node 1 input, 2 output, 4 operation, 5 attribute      attribute 5 and 10 tensors, 6 and 11 graphs
//     tensor 1 size, 2 element type, 4 to 7, 10 and 11 numbers, 8 name, 9 bytes, 13 and 14 data in another file
import { Failure } from '../../platform/errors.ts';

export const elementTypes = { float: 1, uint8: 2, int8: 3, int64: 7 } as const;

/** The name of a result of floats; sizes are numbers, or names for any size. */
export interface OnnxValue {
  name: string;
  sizes: readonly (number | string)[];
}

export const floatValue = (name: string, ...sizes: (number | string)[]): OnnxValue => ({ name, sizes });

export interface OnnxModel {
  inputs: readonly string[];
  outputs: readonly string[];
  /** The operations in order; each uses only results of earlier ones. */
  nodes: readonly OnnxNode[];
  /** The operations by their results. */
  makers: ReadonlyMap<string, OnnxNode>;
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
  /** Attributes that are short lists of integers, such as the sizes of a kernel. */
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

/** Bytes of an element of the types 1 to 16; types with 0 bytes are refused. */
const elementBytes = [0, 4, 1, 1, 2, 2, 4, 8, 0, 1, 2, 8, 4, 8, 0, 0, 2];

const fault = (what: string) => new Failure('invalid_request', { message: `the ONNX file ${what}` });
const damaged = () => fault('is damaged or incomplete; copy it again');
const sparse = () => fault('has sparse constants, which are not supported');

interface Field {
  wire: number;
  value: number;
  /** Range with the tag, and range of the content. */
  start: number;
  from: number;
  to: number;
}

/** The fields of a message by their numbers. */
class Message {
  readonly #file: { bytes: Buffer; fieldsLeft: number };
  readonly #fields = new Map<number, Field[]>();

  /** `checkFirst` sees the number and value of the first field before the others are read. */
  constructor(
    file: { bytes: Buffer; fieldsLeft: number },
    { wire, from, to }: Pick<Field, 'wire' | 'from' | 'to'>,
    checkFirst?: (number: number, value: number) => void,
  ) {
    if (wire !== 2) throw damaged();
    this.#file = file;
    for (let at = from; at < to; ) {
      if (file.fieldsLeft-- === 0) throw fault(`has more than ${fieldsMax} fields`);
      const start = at;
      const key = this.#varint(at, to);
      const wire = key.value % 8;
      const number = Math.floor(key.value / 8);
      if (number === 0 || ![0, 1, 2, 5].includes(wire)) throw damaged();
      const { value, to: content } = wire === 0 || wire === 2 ? this.#varint(key.to, to) : { value: 0, to: key.to };
      at = content + (wire === 0 ? 0 : wire === 1 ? 8 : wire === 5 ? 4 : value);
      if (at > to) throw damaged();
      if (start === from) checkFirst?.(number, value);
      const same = this.#fields.get(number);
      const field = { wire, value, start, from: content, to: at };
      if (same) same.push(field);
      else this.#fields.set(number, [field]);
    }
  }

  #varint(from: number, end: number): { value: number; to: number } {
    let value = 0;
    for (let at = from, scale = 1; at < end && at < from + 10; at++, scale *= 128) {
      const byte = this.#file.bytes[at]!;
      value += (byte & 127) * scale;
      if (byte < 128) return { value, to: at + 1 };
    }
    throw damaged();
  }

  open(field: Field): Message {
    return new Message(this.#file, field);
  }

  all(number: number): readonly Field[] {
    return this.#fields.get(number) ?? [];
  }

  /** The value of the last field; 0 if there is none. */
  value(number: number): number {
    return this.all(number).at(-1)?.value ?? 0;
  }

  /** The fields as bytes, with their tags. */
  copies(number: number): Buffer[] {
    return this.all(number).map((field) => this.copy(field));
  }

  copy({ start, to }: Field): Buffer {
    return this.#file.bytes.subarray(start, to);
  }

  content({ wire, from, to }: Field): Buffer {
    if (wire !== 2) throw damaged();
    return this.#file.bytes.subarray(from, to);
  }

  texts(number: number): string[] {
    return this.all(number).map((field) => {
      const bytes = this.content(field);
      if (bytes.length > nameBytesMax) throw fault(`has a name of more than ${nameBytesMax} bytes`);
      return bytes.toString();
    });
  }

  text(number: number): string {
    return this.texts(number).at(-1) ?? '';
  }

  /** How many numbers the fields have, which may be packed: as floats, as doubles, or with 7 bits in a byte. */
  count(number: number): number {
    let count = 0;
    for (const field of this.all(number)) {
      if (field.wire !== 2) count++;
      else if (number === 4 || number === 10) count += (field.to - field.from) / (number === 4 ? 4 : 8);
      else for (const byte of this.content(field)) if (byte < 128) count++;
    }
    return count;
  }

  numbers(number: number): number[] {
    const values: number[] = [];
    for (const { wire, value, from, to: end } of this.all(number)) {
      if (wire === 0) values.push(value);
      else if (wire !== 2) throw damaged();
      else
        for (let at = from; at < end; ) {
          const { value, to } = this.#varint(at, end);
          values.push(value);
          at = to;
        }
    }
    return values;
  }
}

/** A constant. `raw` has its numbers, unless they are in fields of the message. */
interface Tensor {
  name: string;
  field: Field;
  message: Message;
  elementType: number;
  sizes: readonly number[];
  raw: Buffer | undefined;
}

interface Node extends OnnxNode {
  field: Field;
}

interface Named {
  name: string;
  field: Field;
}

interface Graph {
  message: Message;
  nodes: readonly Node[];
  constants: readonly Tensor[];
  inputs: readonly Named[];
  outputs: readonly Named[];
}

/** Names that are defined at a place of a graph, and the constants that may be shapes. */
interface Scope {
  names: Set<string>;
  shapes: Map<string, readonly number[]>;
  outer: Scope | undefined;
  depth: number;
}

function readTensor(message: Message, field: Field): Tensor {
  if (message.count(1) > dimensionsMax) throw fault(`has a constant of more than ${dimensionsMax} dimensions`);
  if (message.all(13).length > 0 || message.value(14) !== 0)
    throw fault('keeps its weights in another file; use a model in one file');
  const elementType = message.value(2);
  const bytes = elementBytes[elementType];
  if (!bytes) throw fault(`has a constant of the type ${elementType}, which is not supported`);
  const sizes = message.numbers(1);
  const elements = sizes.reduce((product, size) => product * size, 1);
  const [stated] = message.all(9).slice(-1);
  const raw = stated && message.content(stated);
  const numbers = [4, 5, 7, 10, 11].reduce((sum, number) => sum + message.count(number), 0);
  if (raw ? raw.length !== elements * bytes : numbers !== elements)
    throw fault('has a constant whose size differs from its data');
  return { name: message.text(8), field, message, elementType, sizes, raw };
}

/** The numbers of a constant that may be a shape. */
function shapeOf({ elementType, raw, message }: Tensor): readonly number[] | undefined {
  const count = raw ? raw.length / 8 : message.count(7);
  if (elementType !== elementTypes.int64 || count > dimensionsMax) return undefined;
  return raw ? Array.from({ length: count }, (_, n) => Number(raw.readBigInt64LE(8 * n))) : message.numbers(7);
}

function contentOf({ elementType, sizes, raw, message }: Tensor): OnnxConstant | undefined {
  // Few numbers of one byte may be written as 32 bits; floats never are.
  if (!raw && elementType === elementTypes.float && message.all(5).length > 0) throw damaged();
  const bytes = raw ?? (message.all(5).length > 0 ? Uint8Array.from(message.numbers(5)) : undefined);
  const numbers = {
    [elementTypes.float]: Float32Array,
    [elementTypes.uint8]: Uint8Array,
    [elementTypes.int8]: Int8Array,
  };
  const Numbers = numbers[elementType as keyof typeof numbers];
  return Numbers && bytes && { sizes, toFloats: () => Float32Array.from(new Numbers(Uint8Array.from(bytes).buffer)) };
}

function readGraph(message: Message, outer?: Scope): Graph {
  const scope: Scope = { names: new Set(['']), shapes: new Map(), outer, depth: (outer?.depth ?? 0) + 1 };
  if (scope.depth > graphDepthMax) throw fault(`has graphs nested more than ${graphDepthMax} deep`);
  if (message.all(15).length > 0) throw sparse();
  const nodes = message.all(1);
  if (nodes.length > nodesMax) throw fault(`has more than ${nodesMax} operations`);
  const named = (number: number): Named[] =>
    message.all(number).map((field) => {
      const [name] = message.open(field).texts(1);
      if (name === undefined) throw damaged();
      return { name, field };
    });
  const [inputs, outputs] = [named(11), named(12)];
  if (outputs.length > valuesMax) throw fault(`has ${outputs.length} outputs; at most ${valuesMax} are possible`);
  const constants = message.all(5).map((field) => readTensor(message.open(field), field));
  for (const { name } of inputs) define(scope, name);
  const own = new Set(inputs.map(({ name }) => name));
  for (const constant of constants) {
    // Old models list their constants among the inputs.
    if (!own.delete(constant.name)) define(scope, constant.name);
    const shape = shapeOf(constant);
    if (shape) scope.shapes.set(constant.name, shape);
  }
  if (own.size > valuesMax) throw fault(`has ${own.size} inputs; at most ${valuesMax} are possible`);
  const read = nodes.map((field) => readNode(message.open(field), field, scope));
  for (const { name } of outputs) checkDefined(scope, name);
  return { message, nodes: read, constants, inputs, outputs };
}

function readNode(message: Message, field: Field, scope: Scope): Node {
  const [inputs, outputs, operation] = [message.texts(1), message.texts(2), message.text(4)];
  const sizes: Record<string, readonly number[]> = {};
  for (const part of message.all(5)) {
    const attribute = message.open(part);
    if (attribute.all(22).length > 0 || attribute.all(23).length > 0) throw sparse();
    if (attribute.all(8).length > 0 && attribute.count(8) <= dimensionsMax)
      sizes[attribute.text(1)] = attribute.numbers(8);
    for (const each of [...attribute.all(5), ...attribute.all(10)]) {
      const shape = shapeOf(readTensor(attribute.open(each), each));
      if (operation === 'Constant' && shape) scope.shapes.set(outputs[0] ?? '', shape);
    }
    for (const each of [...attribute.all(6), ...attribute.all(11)])
      inputs.push(...captured(readGraph(attribute.open(each), scope)));
  }
  for (const input of inputs) checkDefined(scope, input);
  const filled = fillers.includes(operation) ? scope.shapes.get(inputs.at(-1) ?? '') : undefined;
  const elements = filled?.reduce((product, size) => product * (size < 0 ? 1 : size), 1) ?? 0;
  if (elements > filledElementsMax) throw fault(`asks for ${elements} elements at once`);
  for (const output of outputs) define(scope, output);
  return { name: message.text(3), operation, inputs, outputs, sizes, field };
}

/** Names outside of a nested graph that it uses. */
function captured({ nodes, constants, inputs, outputs }: Graph): string[] {
  const own = new Set([...[...inputs, ...constants].map(({ name }) => name), ...nodes.flatMap((node) => node.outputs)]);
  const used = [...nodes.flatMap((node) => node.inputs), ...outputs.map(({ name }) => name)];
  return [...new Set(used)].filter((name) => !own.has(name));
}

function define({ names }: Scope, name: string): void {
  if (name !== '' && names.has(name)) throw fault(`defines ${JSON.stringify(name)} twice`);
  names.add(name);
}

function checkDefined({ names, outer }: Scope, name: string): void {
  if (names.has(name)) return;
  if (outer) checkDefined(outer, name);
  else throw fault(`uses ${JSON.stringify(name)} before it is computed; its graph has a cycle or is incomplete`);
}

/** Reads and checks a model. Throws `invalid_request` with the reason if the model cannot be used. */
export function readOnnxModel(bytes: Uint8Array): OnnxModel {
  if (bytes.length > fileBytesMax) throw fault(`has more than ${fileBytesMax} bytes`);
  const file = { bytes: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length), fieldsLeft: fieldsMax };
  const message = new Message(file, { wire: 2, from: 0, to: bytes.length }, (number, version) => {
    if (number !== 1 || version < 1 || version > versionMax) throw fault('does not contain an ONNX model');
  });
  const [graphField, ...otherGraphs] = message.all(7);
  const head = [...message.copies(1), ...message.copies(8)];
  if (!graphField || head.length > valuesMax) throw damaged();
  if (message.all(25).length > 0) throw fault('defines functions, which are not supported');
  if (otherGraphs.length > 0) throw fault('has two graphs');
  const graph = readGraph(message.open(graphField));
  const { nodes, inputs, outputs } = graph;
  const makers = new Map(nodes.flatMap((node) => node.outputs.map((output) => [output, node])));
  // Stands for optional results and inputs that are left out.
  makers.delete('');
  return {
    inputs: inputs.map(({ name }) => name),
    outputs: outputs.map(({ name }) => name),
    nodes,
    makers,
    cut: (wanted, given = [], change = noChange) => cutGraph(head, graph, makers, { wanted, given, change }),
    constant(name) {
      const found = graph.constants.find((each) => each.name === name);
      return found && contentOf(found);
    },
  };
}

const noChange: GraphChange = { nodes: new Map(), constants: new Map() };

interface Cut {
  wanted: readonly string[];
  given: readonly OnnxValue[];
  change: GraphChange;
}

/** The operations that results need, without those that only `given` results need. */
function operationsFor(
  wanted: readonly string[],
  makers: OnnxModel['makers'],
  given: ReadonlySet<string>,
  inputsOf = ({ inputs }: OnnxNode) => inputs,
): Set<OnnxNode> {
  const kept = new Set<OnnxNode>();
  for (const waiting = [...wanted]; waiting.length > 0; ) {
    const name = waiting.pop()!;
    const maker = given.has(name) ? undefined : makers.get(name);
    if (!maker || kept.has(maker)) continue;
    kept.add(maker);
    waiting.push(...inputsOf(maker));
  }
  return kept;
}

function cutGraph(head: readonly Buffer[], graph: Graph, makers: OnnxModel['makers'], cut: Cut): Buffer {
  const { wanted, given, change } = cut;
  const { message } = graph;
  const isGiven = new Set(given.map(({ name }) => name));
  const inputsOf = (node: OnnxNode) => change.nodes.get(node)?.inputs ?? node.inputs;
  const kept = operationsFor(wanted, makers, isGiven, inputsOf);
  const used = new Set([...wanted, ...[...kept].flatMap(inputsOf)]);
  const own = [...graph.inputs, ...graph.constants];
  const known = new Set(own.map(({ name }) => name));
  for (const name of wanted) if (!makers.has(name) && !known.has(name)) throw fault(`has no ${JSON.stringify(name)}`);
  const toNode = (node: Node) => {
    const changed = change.nodes.get(node);
    return changed ? writeChanged(message, node, changed) : message.copy(node.field);
  };
  const parts = [
    ...graph.nodes.filter((node) => kept.has(node)).map(toNode),
    ...message.copies(2),
    ...own.filter(({ name }) => used.has(name) && !isGiven.has(name)).map(({ field }) => message.copy(field)),
    ...[...change.constants].filter(([name]) => used.has(name)).map(([name, constant]) => writeFloats(name, constant)),
    ...given.filter(({ name }) => used.has(name)).map((each) => writeValue(11, each)),
    ...wanted.map((name) => {
      const stated = graph.outputs.find((output) => output.name === name);
      return stated ? message.copy(stated.field) : writeValue(12, floatValue(name));
    }),
  ];
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  return Buffer.concat([...head, varint(7 * 8 + 2), varint(length), ...parts]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return Buffer.from([...bytes, rest]);
    bytes.push((rest % 128) + 128);
  }
}

/** Writes a field that is a number, a text or a message of these parts. */
function write(number: number, ...parts: readonly (Buffer | string | number)[]): Buffer {
  const [first] = parts;
  if (typeof first === 'number') return Buffer.concat([varint(number * 8), varint(first)]);
  const body = Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : (part as Buffer))));
  return Buffer.concat([varint(number * 8 + 2), varint(body.length), body]);
}

/** Writes the operation that takes the place of a node. */
function writeChanged(graph: Message, { name, outputs }: Node, { operation, inputs, like }: ChangedNode): Buffer {
  const attributes = graph.open((like as Node).field);
  return write(
    1,
    ...inputs.map((input) => write(1, input)),
    ...outputs.map((output) => write(2, output)),
    write(3, name),
    write(4, operation),
    ...attributes.copies(5),
  );
}

function writeFloats(name: string, { sizes, toFloats }: OnnxConstant): Buffer {
  const { buffer, byteOffset, byteLength } = toFloats();
  const data = Buffer.from(buffer, byteOffset, byteLength);
  return write(5, ...sizes.map((size) => write(1, size)), write(2, elementTypes.float), write(8, name), write(9, data));
}

/** Writes a name with its type; without sizes, any shape is possible. */
function writeValue(number: number, { name, sizes }: OnnxValue): Buffer {
  const dimensions = sizes.map((size) => write(1, write(typeof size === 'number' ? 1 : 2, size)));
  const shape = sizes.length > 0 ? [write(2, ...dimensions)] : [];
  return write(number, write(1, name), write(2, write(1, write(1, elementTypes.float), ...shape)));
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
export function findDurations({ nodes, makers }: OnnxModel, outputs: readonly string[]): Durations {
  const isRounded = (name: string) => roundings.includes(makers.get(name)?.operation ?? '');
  const inputOf = (name: string) => makers.get(name)?.inputs[0] ?? '';
  const found = new Set<string>();
  for (const { operation, inputs } of nodes) {
    if (operation !== 'CumSum') continue;
    let name = inputs[0] ?? '';
    for (let step = 1; step < stepsMax && !isRounded(name); step++) name = inputOf(name);
    if (isRounded(name)) found.add(name);
  }
  const [rounded, ...others] = found;
  if (rounded === undefined || others.length > 0) throw fault('has no durations of sounds that Sonant can find');
  let exact = rounded;
  while (isRounded(exact)) exact = inputOf(exact);
  const before = operationsFor([rounded], makers, new Set());
  const after = [...operationsFor(outputs, makers, new Set([rounded]))].filter((node) => !before.has(node));
  const isShared = (name: string) => {
    const maker = makers.get(name);
    return name !== rounded && maker !== undefined && maker.operation !== 'Constant' && before.has(maker);
  };
  return { rounded, exact, shared: [...new Set(after.flatMap(({ inputs }) => inputs))].filter(isShared) };
}
