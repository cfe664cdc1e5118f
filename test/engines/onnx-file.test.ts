// Tests the reader of ONNX files with the graph of a real model, hibari, and with damaged and hostile files made of it.
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  elementTypes,
  findDurations,
  floatValue,
  type OnnxModel,
  readOnnxModel,
} from '../../src/engines/onnx/onnx-file.ts';
import { Failure } from '../../src/platform/errors.ts';
import { fetchVoice } from './fetched-voice.ts';

let weights: Buffer;
let why: string | undefined;
beforeAll(async () => {
  const voice = await fetchVoice();
  why = voice.why;
  if (voice.model !== undefined) weights = readFileSync(voice.model);
}, 240_000);
beforeEach((context) => context.skip(why !== undefined, why));

function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return Buffer.from([...bytes, rest]);
    bytes.push((rest % 128) + 128);
  }
}
const number = (field: number, value: number) => Buffer.concat([varint(field * 8), varint(value)]);
const part = (field: number, ...parts: readonly (Buffer | string)[]) => {
  const body = Buffer.concat(parts.map((each) => Buffer.from(each)));
  return Buffer.concat([varint(field * 8 + 2), varint(body.length), body]);
};
const node = (
  operation: string,
  inputs: readonly string[],
  outputs: readonly string[],
  ...attributes: readonly Buffer[]
) =>
  part(
    1,
    ...inputs.map((name) => part(1, name)),
    ...outputs.map((name) => part(2, name)),
    part(4, operation),
    ...attributes,
  );
const attribute = (name: string, field: number, value: Buffer) => part(5, part(1, name), part(field, value));
const constant = (name: string, sizes: readonly number[], data: Buffer, type = 1) =>
  part(5, ...sizes.map((size) => number(1, size)), number(2, type), part(8, name), data);
const output = (name: string) => part(12, part(1, name));

/** The start and end of the graph's content in the model. */
function graphOf(bytes: Buffer): { start: number; from: number; to: number } {
  for (let at = 0; at < bytes.length; ) {
    const start = at;
    const read = () => {
      let value = 0;
      for (let scale = 1; ; scale *= 128) {
        const byte = bytes[at++]!;
        value += (byte & 127) * scale;
        if (byte < 128) return value;
      }
    };
    const key = read();
    const length = read();
    if (key === 7 * 8 + 2) return { start, from: at, to: at + length };
    if (key % 8 === 2) at += length;
  }
  throw new Error('no graph');
}

/** The model with further fields at the start and the end of its graph. */
function withGraphFields(end: Buffer, begin: Buffer = Buffer.alloc(0)): Buffer {
  const { start, from, to } = graphOf(weights);
  const graph = part(7, begin, weights.subarray(from, to), end);
  return Buffer.concat([weights.subarray(0, start), graph, weights.subarray(to)]);
}

const withModelFields = (...fields: readonly Buffer[]) => Buffer.concat([weights, ...fields]);
const floats = (count: number) => part(9, Buffer.alloc(4 * count));
const many = (count: number, make: (n: number) => Buffer) =>
  Buffer.concat(Array.from({ length: count }, (_, n) => make(n)));

function nested(depth: number): Buffer {
  const inner = depth === 0 ? Buffer.alloc(0) : nested(depth - 1);
  return node('If', ['speed'], [`nested${depth}`], attribute('then_branch', 6, inner));
}

const refused: Readonly<Record<string, [() => Buffer, RegExp]>> = {
  'an empty file': [() => Buffer.alloc(0), /is damaged or incomplete/],
  'one byte': [() => weights.subarray(0, 1), /is damaged or incomplete/],
  'a tenth of the file': [() => weights.subarray(0, weights.length / 10), /is damaged or incomplete/],
  'half of the file': [() => weights.subarray(0, weights.length / 2), /is damaged or incomplete/],
  'all but the last byte': [() => weights.subarray(0, weights.length - 1), /is damaged or incomplete/],
  'a graph that is cut off': [() => weights.subarray(0, graphOf(weights).from + 1_000), /is damaged or incomplete/],
  'a page of HTML': [() => Buffer.from('<!doctype html><title>404</title>'), /is damaged/],
  'a ZIP': [() => Buffer.from('PK\x03\x04\x14\0\0\0\b\0'), /does not contain an ONNX model/],
  zeros: [() => Buffer.alloc(4_096), /is damaged/],
  'random bytes': [() => Buffer.concat([Buffer.of(0xff), randomBytes(4_096)]), /./],
  'a version that cannot be': [() => Buffer.concat([number(1, 5_000), weights]), /does not contain an ONNX model/],
  'such a version without a graph': [() => number(1, 5_000), /does not contain an ONNX model/],
  'no graph': [() => weights.subarray(0, graphOf(weights).start), /is damaged or incomplete/],
  'two graphs': [() => withModelFields(part(7)), /has two graphs/],
  'a number without an end': [() => withModelFields(Buffer.alloc(11, 0xff)), /is damaged/],
  'a length beyond the file': [() => withModelFields(varint(99 * 8 + 2), varint(1_000)), /is damaged/],
  'the field number 0': [() => withModelFields(Buffer.of(2, 0)), /is damaged/],
  'the wire type 3': [() => withModelFields(Buffer.of(0x33, 0)), /is damaged/],
  'the wire type 6': [() => withModelFields(Buffer.of(0x36, 0)), /is damaged/],
  'the wire type 7': [() => withGraphFields(Buffer.of(0x37, 0)), /is damaged/],
  'a name that is a number': [() => withGraphFields(part(1, number(1, 5))), /is damaged/],
  'data outside of the folder': [
    () => withGraphFields(constant('outside', [4], part(13, part(1, 'location'), part(2, '../../etc/passwd')))),
    /keeps its weights in another file/,
  ],
  'data in another file': [
    () => withGraphFields(constant('beside', [4], number(14, 1))),
    /keeps its weights in another file/,
  ],
  '10,000 outputs': [() => withGraphFields(many(10_000, () => output('f0'))), /has 10006 outputs; at most 64/],
  '10,000 inputs': [
    () => withGraphFields(many(10_000, (n) => part(11, part(1, `in${n}`)))),
    /has 10002 inputs; at most 64/,
  ],
  'a constant of a billion elements without data': [
    () => withGraphFields(constant('huge', [1_000_000_000], floats(0))),
    /constant whose size differs/,
  ],
  'a constant whose size overflows': [
    () => withGraphFields(constant('huge', [2 ** 40, 2 ** 40, 0x1000], floats(4))),
    /constant whose size differs/,
  ],
  'a result of a billion elements': [
    () =>
      withGraphFields(
        node('ConstantOfShape', ['shape'], ['huge']),
        constant('shape', [1], part(9, Buffer.from(BigInt64Array.of(1_000_000_000n).buffer)), elementTypes.int64),
      ),
    /asks for 1000000000 elements/,
  ],
  'a cycle': [
    () => withGraphFields(Buffer.concat([node('Neg', ['b'], ['a']), node('Neg', ['a'], ['b'])])),
    /"b" before it is computed/,
  ],
  'an operation that needs itself': [() => withGraphFields(node('Neg', ['a'], ['a'])), /"a" before it is computed/],
  'operations in the wrong order': [
    () => withGraphFields(Buffer.alloc(0), node('Neg', ['f0'], ['a'])),
    /before it is computed/,
  ],
  'a result that is defined twice': [() => withGraphFields(node('Neg', ['speed'], ['f0'])), /defines "f0" twice/],
  'an output that nothing computes': [() => withGraphFields(output('nothing')), /"nothing" before it is computed/],
  'graphs nested 100 deep': [() => withGraphFields(nested(100)), /nested more than 4 deep/],
  'a name of a megabyte': [
    () => withGraphFields(node('x'.repeat(2 ** 20), [], ['a'])),
    /a name of more than 1024 bytes/,
  ],
  '100,000 operations': [
    () => withGraphFields(many(100_000, () => node('Neg', ['speed'], ['']))),
    /more than 50000 operations/,
  ],
  'millions of fields': [() => withModelFields(Buffer.alloc(6_000_000, Buffer.of(16, 1))), /more than 2000000 fields/],
  functions: [() => withModelFields(part(25, part(1, 'call'))), /defines functions/],
  'sparse constants': [() => withGraphFields(part(15)), /sparse constants/],
  'a constant of strings': [() => withGraphFields(constant('words', [1], part(6, 'word'), 8)), /the type 8/],
  'a size that is not a whole number': [
    () => withGraphFields(part(5, varint(1 * 8 + 5), Buffer.alloc(4), number(2, 1), part(8, 'odd'), floats(0))),
    /is damaged/,
  ],
  'a constant of 100 dimensions': [
    () => withGraphFields(constant('deep', Array(100).fill(1), floats(1))),
    /16 dimensions/,
  ],
  'a constant in an attribute with too little data': [
    () =>
      withGraphFields(
        node('Constant', [], ['a'], attribute('value', 5, Buffer.concat([number(1, 3), number(2, 1), floats(2)]))),
      ),
    /constant whose size differs/,
  ],
};

describe('a damaged or hostile file is refused with one sentence', () => {
  test.each(Object.entries(refused))('%s', (_, [make, reason]) => {
    const fault = (() => {
      try {
        return readOnnxModel(make());
      } catch (error) {
        return error;
      }
    })();
    expect(fault).toBeInstanceOf(Failure);
    expect((fault as Failure).reason).toBe('invalid_request');
    const { message } = (fault as Failure).facts;
    expect(message).toMatch(/^the ONNX file [^\n]{3,200}$/);
    expect(message).toMatch(reason);
  });

  test('a file with any byte changed is read, or refused', () => {
    const changed = Buffer.from(weights);
    for (let n = 0; n < 100; n++) {
      // Half of them in the operations, which come first.
      const at = n % 2 === 0 ? n * 19 : Math.floor((n * weights.length) / 100);
      changed[at]! ^= 0x55;
      try {
        readOnnxModel(changed).cut(['f0']);
      } catch (error) {
        expect(error).toBeInstanceOf(Failure);
      }
      changed[at]! ^= 0x55;
    }
  });
});

describe('the graph of a real model', () => {
  let model: OnnxModel;
  beforeAll(() => {
    if (why === undefined) model = readOnnxModel(weights);
  });
  const decoderInput = () => model.nodes.find(({ name }) => name === '/dec_in/Conv')!.inputs[0]!;

  test('has its operations, inputs and outputs', () => {
    expect(model.inputs).toEqual(['ids', 'speed']);
    expect(model.outputs).toEqual(['lh', 'theta', 'ln', 'lr', 'phi', 'f0']);
    expect(model.nodes).toHaveLength(1_731);
  });

  test('has durations, and what they share with the rest', () => {
    const { rounded, exact, shared } = findDurations(model, [decoderInput(), 'f0']);
    expect([rounded, exact]).toEqual(['/Clip_output_0', '/Div_40_output_0']);
    expect(shared).toHaveLength(1);
  });

  test('is cut whole without loss, apart from what describes it', () => {
    const whole = readOnnxModel(model.cut(model.outputs));
    expect(whole.inputs).toEqual(model.inputs);
    expect(whole.nodes.map(({ outputs }) => outputs)).toEqual(model.nodes.map(({ outputs }) => outputs));
  });

  test('is cut in two at a result inside, and each half has only the constants that it needs', () => {
    const boundary = decoderInput();
    const front = model.cut([boundary, 'f0']);
    const given = floatValue(boundary, 1, 'channels', 'frames');
    const decoder = model.cut(['lh', 'theta', 'ln', 'lr', 'phi'], [given]);
    expect(readOnnxModel(front).outputs).toEqual([boundary, 'f0']);
    expect(readOnnxModel(front).inputs).toEqual(['ids', 'speed']);
    expect(readOnnxModel(decoder).inputs).toEqual([boundary]);
    expect(readOnnxModel(front).nodes.length + readOnnxModel(decoder).nodes.length).toBeLessThan(
      model.nodes.length + 20,
    );
    expect(front.length + decoder.length).toBeLessThan(weights.length * 1.01);
  });

  test('is not cut at a result that it does not have', () => {
    expect(() => model.cut(['nothing'])).toThrow(Failure);
  });

  test('has no constant of floats whose numbers are in the field of integers', () => {
    const odd = readOnnxModel(withGraphFields(constant('odd', [3], part(5, Buffer.of(1, 2, 3)))));
    expect(() => odd.constant('odd')).toThrow(Failure);
  });
});

test('an optional result that is left out is no input of another operation', () => {
  const inputs = ['x', 'y'].map((name) => part(11, part(1, name)));
  const graph = part(7, node('Sum', ['y'], ['b', '']), node('Abs', ['x', ''], ['a']), ...inputs, output('a'));
  const cut = readOnnxModel(readOnnxModel(Buffer.concat([number(1, 8), graph])).cut(['a']));
  expect(cut.nodes.map(({ operation }) => operation)).toEqual(['Abs']);
  expect(cut.inputs).toEqual(['x']);
});
