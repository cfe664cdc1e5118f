// Durations of sounds at a speed, where the sounds begin, and the front of Kokoro and hibari, which gives durations first
// and then what the decoder reads.
import { Failure } from '../../platform/errors.ts';
import type { AskedUtterance, Vocabulary } from './family.ts';
import { findDurations, floatValue, type GraphChange, type OnnxModel } from './onnx-file.ts';
import type { Inputs, OpenGraph } from './onnx-runtime.ts';

/** Kokoro and hibari count 25 ms, which are two frames of 12.5 ms. */
const durationSeconds = 0.025;
export const framesPerDuration = 2;
/** No utterance takes longer. */
const secondsMax = 140;

/** Silence before and after the sound, which does not depend on the speed. */
export const leadSeconds = 0.035;
export const tailSeconds = 0.135;
const silenceSeconds = leadSeconds + tailSeconds;

/** Stands for a sound, not for a pause. */
const sounding = /[\p{L}ˈˌ]/u;

/** Bisections of the range in which the factor of the durations lies. */
const bisections = 24;

/** The range of phonemes that sound; the others are pauses at both ends. */
export const soundingRange = (phonemes: readonly string[]) => ({
  first: phonemes.findIndex((phoneme) => sounding.test(phoneme)),
  end: 1 + phonemes.findLastIndex((phoneme) => sounding.test(phoneme)),
});

export const faulty = (what: string) => new Failure('engine_error', {}, new Error(`the model gave ${what}`));

/** The numbers of an utterance's sounds. `places` has those at which each phoneme begins, and the last one ends. */
export interface SoundIds {
  ids: readonly number[];
  places: readonly number[];
}

type TimedUtterance = Pick<AskedUtterance, 'phonemes' | 'speed'>;

/** What a model says of the durations of sounds. */
interface Timed {
  rounded: Float32Array;
  exact: Float32Array;
  secondsOfOne: number;
  framesOfOne: number;
}

/** The durations at the asked speed, the number of frames, and the frames at which phonemes begin. */
export function timeSounds({ phonemes, speed }: TimedUtterance, { ids, places }: SoundIds, timed: Timed) {
  const { rounded, exact, secondsOfOne, framesOfOne } = timed;
  const { first, end } = soundingRange(phonemes);
  const inner = { first: places[Math.max(0, first)]!, end: places[end]! };
  const durations = atSpeed(rounded, exact, speed, inner, secondsOfOne);
  const ends = [0];
  for (const duration of durations) ends.push(ends.at(-1)! + framesOfOne * duration);
  const frames = ends.at(-1)!;
  if (!((frames / framesOfOne) * secondsOfOne <= secondsMax))
    throw faulty(`${frames} frames for ${ids.length} phonemes`);
  return { durations, frames, starts: places.map((place) => ends[place]!) };
}

/**
 * Durations at a speed. Rounding each by itself would miss the speed by up to 10 %, so that each ends where the sum of
 * all exact ones up to it does. None is shorter than 1. Those outside of the range stay, because their silence is cut.
 */
function atSpeed(
  rounded: Float32Array,
  exact: Float32Array,
  speed: number,
  { first, end }: { first: number; end: number },
  durationSeconds: number,
): Float32Array {
  if (speed === 1) return rounded;
  const inner = exact.subarray(first, end);
  const silence = silenceSeconds / durationSeconds;
  const usual = rounded.subarray(first, end).reduce((sum, each) => sum + each, 0);
  const wanted = (usual + silence) / speed - silence;
  let factor = 0;
  for (let step = 4; step > 4 / 2 ** bisections; step /= 2) {
    const longer = factor + step;
    if (inner.reduce((sum, each) => sum + Math.max(1, each * longer), 0) <= wanted) factor = longer;
  }
  const scaled = rounded.slice();
  let left = 0;
  for (let n = first; n < end; n++) {
    left += Math.max(1, exact[n]! * factor);
    scaled[n] = Math.max(1, Math.round(left));
    left -= scaled[n]!;
  }
  return scaled;
}

/** An unknown phoneme has no number. A pause is before the first phoneme, and after the last. */
function toIds(phonemes: readonly string[], vocabulary: Vocabulary): SoundIds {
  const ids = [0];
  const places: number[] = [];
  for (const phoneme of phonemes) {
    places.push(ids.length);
    const id = vocabulary[phoneme];
    if (id !== undefined) ids.push(id);
  }
  return { places: [...places, ids.length], ids: [...ids, 0] };
}

interface FrontGraph {
  /** Name of the input with the numbers of the sounds. */
  input: string;
  /** What the decoder reads. */
  ends: readonly string[];
  durationSizes: readonly string[];
  /** What the second half needs beside the durations. Default: all that both halves read. */
  carried?: readonly string[];
  change?: GraphChange | undefined;
}

export async function openFront(model: OnnxModel, openGraph: OpenGraph, vocabulary: Vocabulary, graph: FrontGraph) {
  const { input, ends, durationSizes, change } = graph;
  const { rounded, exact, shared } = findDurations(model, ends);
  const carried = graph.carried ?? shared;
  const given = carried.map((name) => floatValue(name, 'batch', 'sounds', 'channels'));
  const timing = await openGraph(model.cut([rounded, exact, ...carried]));
  const rest = await openGraph(model.cut(ends, [floatValue(rounded, ...durationSizes), ...given], change));
  /** `inputsOf` gives the other inputs for a number of phonemes. */
  return async (utterance: TimedUtterance, inputsOf = (_: number): Record<string, Inputs> => ({})) => {
    const sounds = toIds(utterance.phonemes, vocabulary);
    const count = sounds.ids.length;
    const asked = {
      [input]: { data: BigInt64Array.from(sounds.ids, BigInt), dims: [1, count] },
      speed: { data: Float32Array.of(1), dims: [1] },
      ...inputsOf(count - 2),
    };
    const given = await timing.run(asked);
    const { data, dims } = given[rounded]!;
    const timed = { rounded: data, exact: given[exact]!.data, secondsOfOne: durationSeconds };
    const { durations, ...times } = timeSounds(utterance, sounds, { ...timed, framesOfOne: framesPerDuration });
    const begun = await rest.run({ ...asked, ...given, [rounded]: { data: durations, dims } });
    return { asked, begun, ...times };
  };
}
