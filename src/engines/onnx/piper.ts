// The voices of Piper, of the family `vits`: NAME.onnx and NAME.onnx.json. The graph is cut into three parts. The
// text side reads all phonemes of an utterance, and gives their durations and the mean and spread of their frames; the
// flow and the decoder are local, so that they compute a range of frames from a few more. The noise that the frames are
// drawn from is made here, from the seed.
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Failure } from '../../platform/errors.ts';
import { timeSounds } from './durations.ts';
import type { DescribedModel, Family, FamilyModel, FoundModel, SpeakerShare } from './family.ts';
import { keepFrames } from './kept-frames.ts';
import { findDurations, floatValue, type OnnxModel, type OnnxNode } from './onnx-file.ts';
import type { Inputs, OpenGraph } from './onnx-runtime.ts';
import { configName, type PiperConfig, readPiperConfig } from './piper-config.ts';
import { mix, normalNumbers } from './seeded-noise.ts';
import { openStages } from './staged-graph.ts';

// Finds the results at which the graph of a VITS model is cut, by the operations between them, because their names
// differ between exports; and how many frames the local parts read around each frame.

/** The results at which the graph is cut. */
interface Cuts {
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

function findCuts(model: OnnxModel): Cuts {
  const { nodes, outputs, makers } = model;
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
function reachOf({ nodes }: OnnxModel, from: string, to: string): { frames: number; samples: number } {
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

/** A sound begins in the blank before it. Measured with 97 sentences of the voice "joe" and a forced alignment. */
const earlySeconds = 0.03;
/** The parts see few frames around a window, so that a short window costs little more. */
const windowSeconds = [0.2, 0.5, 1.2, 3];
/** The place of the noise in the durations; those of frames are their numbers. */
const durationPlace = -1;

export const piper: Family = {
  name: 'vits',
  isAlone: true,
  isOwn: ({ inputs }) => ['input', 'input_lengths', 'scales'].every((name) => inputs.includes(name)),
  describe,
  async open(model, openGraph, folder) {
    const config = readPiperConfig(await readFile(join(folder, configName), 'utf8'));
    const { sampleRateHz } = config;
    return { sampleRateHz, earlySeconds, windowSeconds, begin: await openParts(model, openGraph, config) };
  },
};

async function describe({ weights }: FoundModel): Promise<DescribedModel> {
  const path = `${weights}.json`;
  if (!existsSync(path))
    throw new Failure('invalid_request', {
      message: `${basename(path)} is missing; Piper publishes it with ${basename(weights)}, and both belong into one folder`,
    });
  const { name, speakers, languageCode, reading } = readPiperConfig(await readFile(path, 'utf8'));
  const names = speakers.size > 0 ? [...speakers.keys()] : [''];
  return {
    files: { [configName]: path },
    speakers: names.map((id) => ({ id, ...(id === '' ? name && { name } : { name: id }), languageCode, reading })),
  };
}

async function openParts(model: OnnxModel, openGraph: OpenGraph, config: PiperConfig) {
  const cuts = findCuts(model);
  const [output] = model.outputs;
  const flowReach = reachOf(model, cuts.frames, cuts.decoded).frames;
  const { frames: decoderReach, samples: frameSamples } = reachOf(model, cuts.decoded, output!);
  const frames = (name: string, channels: number | string) => floatValue(name, 1, channels, 'frames');
  const noise = cuts.durationNoise === undefined ? [] : [floatValue(cuts.durationNoise, 1, 2, 'sounds')];
  // A model of one speaker has none to choose.
  const speaker = cuts.speaker === undefined ? [] : [floatValue(cuts.speaker, 1, 'channels')];
  const text = await openGraph(model.cut([cuts.exact, cuts.mean, cuts.spread], [...noise, ...speaker]));
  const flow = await openGraph(
    model.cut([cuts.decoded], [frames(cuts.frames, 'width'), frames(cuts.mask, 1), ...speaker]),
  );
  const decoder = await openStages(
    model,
    { outputs: [output!], given: [frames(cuts.decoded, 'width'), ...speaker], ends: cuts.upsampled },
    openGraph,
  );
  const speakers = cuts.speaker === undefined ? undefined : await openGraph(model.cut([cuts.speaker]));

  async function speakerOf(shares: readonly SpeakerShare[]): Promise<Record<string, Inputs>> {
    if (!speakers) return {};
    const blend = { data: new Float32Array(0), dims: [1, 0] };
    for (const { id, weight } of shares) {
      const sid = { data: BigInt64Array.of(BigInt(config.speakers.get(id)!)), dims: [1] };
      const { data } = (await speakers.run({ sid }))[cuts.speaker!]!;
      if (blend.data.length === 0)
        Object.assign(blend, { data: new Float32Array(data.length), dims: [1, data.length] });
      for (const [n, value] of data.entries()) blend.data[n]! += weight * value;
    }
    return { [cuts.speaker!]: blend };
  }

  const begin: FamilyModel['begin'] = async ({ phonemes, speakers: shares, speed, seed }) => {
    const sounds = config.toIds(phonemes);
    const { ids } = sounds;
    const voice = await speakerOf(shares);
    const random = normalNumbers(mix(seed, durationPlace));
    const timed = await text.run({
      input: { data: BigInt64Array.from(ids, BigInt), dims: [1, ids.length] },
      input_lengths: { data: BigInt64Array.of(BigInt(ids.length)), dims: [1] },
      scales: { data: Float32Array.of(1, config.lengthScale, config.durationNoiseScale), dims: [3] },
      ...(cuts.durationNoise !== undefined && {
        [cuts.durationNoise]: { data: Float32Array.from({ length: 2 * ids.length }, random), dims: [1, 2, ids.length] },
      }),
      ...voice,
    });
    const exact = timed[cuts.exact]!.data;
    const { durations, starts, frames } = timeSounds({ phonemes, speed }, sounds, {
      rounded: exact.map(Math.ceil),
      exact,
      secondsOfOne: frameSamples / config.sampleRateHz,
      framesOfOne: 1,
    });
    const soundOf = Int32Array.from(Array.from(durations).flatMap((duration, n) => Array(duration).fill(n)));
    const mean = timed[cuts.mean]!.data;
    const spread = timed[cuts.spread]!.data.map((each) => Math.exp(each) * config.noiseScale);
    const channels = mean.length / ids.length;

    /** Frames from the mean of their sounds, with noise. */
    function draw(from: number, to: number): Inputs {
      const width = to - from;
      const data = new Float32Array(channels * width);
      for (let frame = from; frame < to; frame++) {
        const noise = normalNumbers(mix(seed, frame));
        for (let at = soundOf[frame]!, n = frame - from; n < data.length; at += ids.length, n += width)
          data[n] = mean[at]! + spread[at]! * noise();
      }
      return { data, dims: [1, channels, width] };
    }

    const flowed = keepFrames({
      frames,
      context: flowReach,
      async compute(first, end) {
        const mask = { data: new Float32Array(end - first).fill(1), dims: [1, 1, end - first] };
        return (await flow.run({ [cuts.frames]: draw(first, end), [cuts.mask]: mask, ...voice }))[cuts.decoded]!;
      },
    });
    const sound = keepFrames({
      frames,
      context: decoderReach,
      columns: frameSamples,
      compute: async (first, end) =>
        (await decoder.run({ [cuts.decoded]: await flowed(first, end), ...voice }))[output!]!,
    });
    return { frames, frameSamples, starts, render: async (from, to) => (await sound(from, to)).data };
  };
  return begin;
}
