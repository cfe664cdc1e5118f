// Speaks an utterance in windows of growing length, on a fixed schedule, so that the samples are the same whoever asks.
// Silence is cut to a short lead and a fixed tail, so that sentences follow each other at an even pace. Word times come
// from the durations of the phonemes; before a pause, a word ends where its sound does.
import type { SpokenPcm, WordTime } from '../engine.ts';
import { toSamples } from '../float-samples.ts';
import { leadSeconds, soundingRange, tailSeconds } from './durations.ts';
import type { FamilyModel, SpeakerShare, Utterance } from './family.ts';

export interface SpokenWord {
  from: number;
  to: number;
  /** Range in the utterance's phonemes. */
  first: number;
  end: number;
  /** Whether a space or a pause follows. */
  isBeforeSpace: boolean;
  isBeforePause: boolean;
}

/** Phonemes that are computed together, and their words. */
export interface SpokenPart {
  phonemes: readonly string[];
  words: readonly SpokenWord[];
}

export interface SpokenHow {
  speakers: readonly SpeakerShare[];
  speed: number;
  seed: number;
  /** Samples above this level are sound, not silence. */
  level: number;
  timings: boolean;
}

const windowSecondsUsual = [0.3, 0.85, 1.7, 3];
/** A rest that is a shorter share of the last window is computed with it, because windows overlap. */
const restShareMax = 0.35;
/** Sound is expected from this long before the first phoneme until this long after the last, besides the model's shift. */
const marginSeconds = 0.06;
const fadeSeconds = 0.01;
/** The end of a word before a pause: the loudness of a step, as a share of that of all sound so far. */
const quietShare = 0.06;
const stepSeconds = 0.01;

/** Yields the pieces of a part. Word times count from `startSeconds`, at which the part begins in its segment. */
export async function* speakPart(
  model: FamilyModel,
  { phonemes, words }: SpokenPart,
  how: SpokenHow,
  startSeconds: number,
): AsyncGenerator<SpokenPcm & { samples: Int16Array<ArrayBuffer> }> {
  const { sampleRateHz, windowSeconds = windowSecondsUsual } = model;
  const utterance = await model.begin({ phonemes, speakers: how.speakers, speed: how.speed, seed: how.seed });
  const { frames, frameSamples, starts } = utterance;
  const toFrames = (seconds: number) => Math.round((seconds * sampleRateHz) / frameSamples);
  let frame = Math.max(0, Math.floor(starts[0]!) - toFrames(model.earlySeconds + marginSeconds));
  // Most of the silence at the end is never computed.
  const soundEnd = Math.ceil(starts[soundingRange(phonemes).end]!) - toFrames(model.earlySeconds - marginSeconds);
  const expected = frames - soundEnd > toFrames(tailSeconds) ? soundEnd : frames;
  const sound = trimSound(frame * frameSamples, sampleRateHz, how.level);
  const timesUntil = timeWords(how.timings ? words : [], utterance, model, sound, startSeconds);
  for (let n = 0; !sound.isComplete; n++) {
    const end = frame < expected ? expected : frames;
    const window = toFrames(windowSeconds[n] ?? windowSeconds.at(-1)!);
    const from = frame;
    frame = end - frame < (1 + restShareMax) * window ? end : frame + window;
    const floats = sound.add(await utterance.render(from, frame), frame >= expected, frame === frames);
    const samples = toSamples(floats);
    if (!samples) throw new Error('the model gave samples that are not numbers');
    const timed = timesUntil(sound.isComplete);
    if (samples.length > 0 || timed.length > 0)
      yield {
        samples,
        sampleRateHz,
        secondsLeft: ((expected - frame) * frameSamples) / sampleRateHz,
        ...(timed.length > 0 && { words: timed }),
      };
  }
}

type TrimmedSound = ReturnType<typeof trimSound>;

/** Cuts the silence around the sound, and knows where the sound is. Positions count from `origin`, the first frame. */
function trimSound(origin: number, rateHz: number, level: number) {
  const toCount = (seconds: number) => Math.round(seconds * rateHz);
  /** All samples so far. */
  let samples = new Float32Array(0);
  let length = 0;
  /** Position of the first sample that was returned; undefined until there is sound. */
  let begin: number | undefined;
  let returned = 0;
  let loudEnd = 0;
  let energy = 0;
  let isComplete = false;

  function append(added: Float32Array): void {
    if (length + added.length > samples.length) {
      const longer = new Float32Array(2 * (length + added.length));
      longer.set(samples.subarray(0, length));
      samples = longer;
    }
    samples.set(added, length);
    length += added.length;
  }

  function energyOf(from: number, to: number): number {
    let sum = 0;
    for (let i = from - origin; i < to - origin; i++) sum += (samples[i] ?? 0) ** 2;
    return sum;
  }

  return {
    /** Whether the last sample was returned. */
    get isComplete() {
      return isComplete;
    },

    /** Number of samples up to which the sound is known. */
    get end() {
      return origin + length;
    },

    /**
     * Adds samples, and returns those that are certain to be in the result. If the sound may end, it is complete as soon
     * as the silence after it is as long as the tail.
     */
    add(added: Float32Array, mayEnd: boolean, isLast: boolean): Float32Array {
      const from = length;
      append(added);
      for (let i = from; i < length; i++) {
        const value = Math.abs(samples[i]!);
        energy += value * value;
        if (value < level) continue;
        begin ??= Math.max(0, i - toCount(leadSeconds));
        loudEnd = i + 1;
      }
      const end = loudEnd + toCount(tailSeconds);
      isComplete = isLast || (mayEnd && begin !== undefined && end <= length);
      if (begin === undefined) return new Float32Array(0);
      const start = begin + returned;
      returned = (isComplete ? end : loudEnd) - begin;
      if (!isComplete) return samples.slice(start, loudEnd);
      const rest = new Float32Array(end - start);
      rest.set(samples.subarray(start, Math.min(end, length)));
      const fade = toCount(fadeSeconds);
      for (let i = 1; i <= fade; i++) rest[rest.length - i]! *= (i - 1) / fade;
      return rest;
    },

    /** Seconds in the result; `at` counts samples from the start of the utterance. */
    toSeconds: (at: number): number => Math.max(0, Math.min(at - origin - (begin ?? 0), returned)) / rateHz,

    /** Moves the end of a word back over silence. */
    quietFrom(from: number, to: number): number {
      const step = toCount(stepSeconds);
      const quiet = (quietShare ** 2 * energy * step) / Math.max(1, length);
      let end = Math.min(to, origin + length);
      while (end - step > from + step && energyOf(end - step, end) < quiet) end -= step;
      return end;
    },
  };
}

/** Returns the times of words, in order, as soon as their sound is known; at the end, those of all other words. */
function timeWords(
  words: readonly SpokenWord[],
  { starts, frameSamples }: Utterance,
  { earlySeconds, sampleRateHz }: FamilyModel,
  sound: TrimmedSound,
  startSeconds: number,
): (isEnd: boolean) => WordTime[] {
  const toSample = (phoneme: number) =>
    Math.max(0, Math.round(starts[Math.min(phoneme, starts.length - 1)]! * frameSamples - earlySeconds * sampleRateHz));
  /** A space is shared by its neighbours. */
  const toMiddle = (space: number) => Math.round((toSample(space) + toSample(space + 1)) / 2);
  let next = 0;
  return (isEnd) => {
    const times: WordTime[] = [];
    for (let word = words[next]; word; word = words[++next]) {
      const { from, to, first, end, isBeforeSpace, isBeforePause } = word;
      const start = words[next - 1]?.isBeforeSpace ? toMiddle(first - 1) : toSample(first);
      const stated = isBeforeSpace ? toMiddle(end) : toSample(end);
      if (!isEnd && stated > sound.end) break;
      const stop = isBeforePause ? sound.quietFrom(start, stated) : stated;
      const [startsAt, endsAt] = [start, stop].map((at) => startSeconds + sound.toSeconds(at));
      times.push({ from, to, startSeconds: startsAt!, endSeconds: endsAt! });
    }
    return times;
  };
}
