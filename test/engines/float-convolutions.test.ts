// Tests that a convolution of 8 bits gives nearly the same as the convolution of floats that takes its place.
import { expect, test } from 'vitest';
import { toFloatConvolutions } from '../../src/engines/onnx/float-convolutions.ts';
import { readOnnxModel } from '../../src/engines/onnx/onnx-file.ts';
import { compileRuntime, findRuntime, openRuntime } from '../../src/engines/onnx/onnx-runtime.ts';
import { bytes, float, floats, node, writeOnnx } from './onnx-writer.ts';

const model = readOnnxModel(
  writeOnnx({
    inputs: [['x', float, [1, 1, 'length']]],
    outputs: [['y', float, [1, 1, 'rest']]],
    constants: { w: bytes([1, 1, 3], [138, 118, 255]), zero: bytes([], [128]), wScale: floats([], [0.05]) },
    nodes: [
      node('DynamicQuantizeLinear', ['x'], ['q', 'scale', 'offset']),
      node('ConvInteger', ['q', 'w', 'offset', 'zero'], ['sum']),
      node('Cast', ['sum'], ['sumOfFloats'], { to: float }),
      node('Mul', ['scale', 'wScale'], ['scales']),
      node('Mul', ['sumOfFloats', 'scales'], ['y']),
    ],
    metadata: {},
  }),
);
const operations = (graph: Uint8Array) => readOnnxModel(graph).nodes.map(({ operation }) => operation);

test('a convolution of 8 bits becomes one of floats', async () => {
  const { is, entry } = findRuntime()!;
  const start = is === 'native' ? { is, entry } : { is, entry, module: await compileRuntime(entry) };
  const open = await openRuntime(start);
  const change = toFloatConvolutions(model);
  expect(change.nodes.size).toBe(1);
  const [before, after] = [model.cut(['y']), model.cut(['y'], [], change)];
  expect(operations(before)).toContain('ConvInteger');
  expect(operations(after)).toEqual(['Conv']);
  const x = Float32Array.from({ length: 50 }, (_, n) => Math.sin(n) * 3);
  const inputs = { x: { data: x, dims: [1, 1, x.length] } };
  const [rounded, exact] = [await (await open(before)).run(inputs), await (await open(after)).run(inputs)];
  const weights = [0.5, -0.5, 6.35];
  for (const [n, value] of exact.y!.data.entries()) {
    const sum = weights.reduce((all, weight, k) => all + weight * x[n + k]!, 0);
    expect(value).toBeCloseTo(sum, 4);
    expect(Math.abs(rounded.y!.data[n]! - sum)).toBeLessThan(0.1);
  }
  expect(exact.y!.data).toHaveLength(48);
});

test('a model without such convolutions stays as it is', () => {
  const other = readOnnxModel(model.cut(['scales']));
  expect(toFloatConvolutions(other).nodes.size).toBe(0);
});
