// Finds the results at which the graph of a VITS model is cut, by the operations between them, because their names
// differ between exports; and how many frames the local parts read around each frame.
import { Failure } from '../../platform/errors.ts';
import { findDurations, type OnnxModel, type OnnxNode } from './onnx-file.ts';

/** The results at which the graph is cut. */
export interface Cuts {
  /** Durations of sounds in frames, before they are rounded up, and the noise in them. */
  exact: string;
  durationNoise: string | undefined;
  /** The speaker as numbers; undefined if the model has one speaker. */
  speaker: string | undefined;
  /** Mean and logarithm of the spread of the frames of each sound. */
  mean: string;
  spread: string;
  /** What the flow reads: frames, and a mask for them, which is 1 here. */
  frames: string;
  mask: string;
  /** What the decoder reads, and what its upsampling reads after the first one. */
  decoded: string;
  upsampled: readonly string[];
}

const unknown = () => new Failure('invalid_request', { message: 'the ONNX file is no VITS model that Sonant knows' });

function need<T>(found: T | undefined): T {
  if (found === undefined) throw unknown();
  return found;
}

export function findCuts(model: OnnxModel): Cuts {
  const { nodes, outputs } = model;
  const makers = new Map(nodes.flatMap((node) => node.outputs.map((name) => [name, node])));
  const { exact } = findDurations(model, outputs);
  const ofDurations = resultsOf(nodes, exact);
  const noises = nodes.filter(({ operation }) => operation.startsWith('RandomNormal'));
  const [durationNoise, ...others] = noises.filter((node) => !ofDurations.has(node.outputs[0]!));
  const frameNoise = need(noises.find((node) => node !== durationNoise));
  if (others.length > 0 || noises.length > 2) throw unknown();

  // frames = mean + noise * exp(spread) * scale
  const ofNoise = resultsOf(nodes, frameNoise.outputs[0]!);
  const isNoisy = (node: OnnxNode | undefined) => node !== undefined && ofNoise.has(node.outputs[0]!);
  const sum = need(nodes.find((node) => node.operation === 'Add' && isNoisy(node)));
  const factors = nodes
    .slice(0, nodes.indexOf(sum))
    .filter(isNoisy)
    .flatMap(({ inputs }) => inputs);
  const power = need(factors.map((name) => makers.get(name)).find((node) => node?.operation === 'Exp'));
  const frames = sum.outputs[0]!;
  const ofFrames = resultsOf(nodes, frames);
  const isConvolution = ({ operation, inputs: [name] }: OnnxNode) => operation === 'Conv' && ofFrames.has(name!);
  const isUpsampling = ({ operation, inputs: [name] }: OnnxNode) =>
    operation === 'ConvTranspose' && ofFrames.has(name!);
  const [upsampling, ...upsamplings] = nodes.filter(isUpsampling);
  const decoder = need(nodes.slice(0, nodes.indexOf(need(upsampling))).findLast(isConvolution));
  // Besides the frames, only their mask comes from the text.
  const ofText = resultsOf(nodes, model.inputs[0]!);
  const flow = nodes.filter((node) => ofFrames.has(node.outputs[0]!) && node !== sum).flatMap(({ inputs }) => inputs);
  const [mask, ...more] = new Set(flow.filter((name) => ofText.has(name) && !ofFrames.has(name)));
  if (mask === undefined || more.length > 0) throw unknown();

  /** What was repeated for each frame of a sound. */
  const perSound = (name: string): string => {
    const maker = makers.get(name);
    const input = { Transpose: 0, MatMul: 1 }[maker?.operation ?? ''];
    return input === undefined ? name : perSound(need(maker!.inputs[input]));
  };
  return {
    exact,
    durationNoise: durationNoise?.outputs[0],
    speaker: nodes.find(({ operation, inputs }) => operation === 'Gather' && inputs[1] === 'sid')?.outputs[0],
    mean: perSound(need(sum.inputs.find((name) => !ofNoise.has(name)))),
    spread: perSound(power.inputs[0]!),
    frames,
    mask,
    decoded: decoder.inputs[0]!,
    upsampled: upsamplings.map(({ inputs }) => inputs[0]!),
  };
}

/** The result, and all that are computed from it. */
function resultsOf(nodes: readonly OnnxNode[], name: string): ReadonlySet<string> {
  const found = new Set([name]);
  for (const { inputs, outputs } of nodes)
    if (inputs.some((each) => found.has(each))) for (const output of outputs) found.add(output);
  return found;
}

/** How many frames around a frame have an influence on what is computed from it. Also counts samples per frame. */
export function reachOf({ nodes }: OnnxModel, from: string, to: string): { frames: number; samples: number } {
  const found = new Map([[from, { frames: 0, samples: 1 }]]);
  for (const { operation, inputs, outputs, sizes } of nodes) {
    const given = inputs.flatMap((name) => found.get(name) ?? []);
    if (given.length === 0 || outputs.includes(from)) continue;
    let frames = Math.max(...given.map((each) => each.frames));
    let samples = Math.max(...given.map((each) => each.samples));
    const { kernel_shape: [kernel = 1] = [], dilations: [dilation = 1] = [], strides: [stride = 1] = [] } = sizes;
    if (operation === 'Conv') frames += ((kernel - 1) * dilation) / 2 / samples;
    if (operation === 'ConvTranspose') {
      frames += kernel / stride / 2 / samples;
      samples *= stride;
    }
    for (const output of outputs) found.set(output, { frames, samples });
  }
  const { frames, samples } = need(found.get(to));
  return { frames: Math.ceil(frames), samples };
}
