// Tests that stages give what the whole graph gives, and that no stage begins after a task is cancelled.
import { expect, test } from 'vitest';
import { readOnnxModel } from '../../src/engines/onnx/onnx-file.ts';
import { compileRuntime, findRuntime, openRuntime } from '../../src/engines/onnx/onnx-runtime.ts';
import { openStages } from '../../src/engines/onnx/staged-graph.ts';
import { float, floats, node, writeOnnx } from './onnx-writer.ts';

/** y = (3x + x) * x, z = 3x */
const model = readOnnxModel(
  writeOnnx({
    inputs: [['x', float, [1, 1, 'length']]],
    outputs: [
      ['y', float, [1, 1, 'length']],
      ['z', float, [1, 1, 'length']],
    ],
    constants: { three: floats([], [3]) },
    nodes: [node('Mul', ['x', 'three'], ['z']), node('Add', ['z', 'x'], ['sum']), node('Mul', ['sum', 'x'], ['y'])],
    metadata: {},
  }),
);
const x = { data: Float32Array.of(1, -2, 0.5), dims: [1, 1, 3] };

test.each([[[]], [['sum']], [['z', 'sum']]])('stages that end at %j give what the whole graph gives', async (ends) => {
  let runs = 0;
  let isCancelled = false;
  const { is, entry } = findRuntime()!;
  const start = is === 'native' ? { is, entry } : { is, entry, module: await compileRuntime(entry) };
  const open = await openRuntime(start, async () => {
    if (isCancelled) throw new Error('cancelled');
    runs++;
  });
  const staged = await openStages(model, { outputs: ['y'], given: [], ends }, open);
  expect((await staged.run({ x })).y!.data).toEqual(Float32Array.of(4, 16, 1));
  expect(runs).toBe(ends.length + 1);
  isCancelled = true;
  await expect(staged.run({ x })).rejects.toThrow('cancelled');
});
