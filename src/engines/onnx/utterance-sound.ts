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
  const sound = new TrimmedSound(frame * frameSamples, sampleRateHz, how.level);
  const times = how.timings ? new WordTimes(words, utterance, model, sound, startSeconds) : undefined;
  for (let n = 0; !sound.isComplete; n++) {
    const end = frame < expected ? expected : frames;
    const window = toFrames(windowSeconds[n] ?? windowSeconds.at(-1)!);
    const from = frame;
    frame = end - frame < (1 + restShareMax) * window ? end : frame + window;
    const floats = sound.add(await utterance.render(from, frame), frame >= expected, frame === frames);
    const samples = toSamples(floats);
    if (!samples) throw new Error('the model gave samples that are not numbers');
    const timed = times?.until(sound.isComplete) ?? [];
    if (samples.length > 0 || timed.length > 0)
      yield {
        samples,
        sampleRateHz,
        secondsLeft: ((expected - frame) * frameSamples) / sampleRateHz,
        ...(timed.length > 0 && { words: timed }),
      };
  }
}

/** Cuts the silence around the sound, and knows where the sound is. Positions count from the first frame. */
class TrimmedSound {
  readonly #rateHz: number;
  readonly #level: number;
  readonly #origin: number;
  /** All samples so far. */
  #samples = new Float32Array(0);
  #length = 0;
  /** Position of the first sample that was returned; undefined until there is sound. */
  #begin: number | undefined;
  #returned = 0;
  #loudEnd = 0;
  #energy = 0;
  /** Whether the last sample was returned. */
  isComplete = false;

  constructor(origin: number, rateHz: number, level: number) {
    this.#origin = origin;
    this.#rateHz = rateHz;
    this.#level = level;
  }

  /**
   * Adds samples, and returns those that are certain to be in the result. If the sound may end, it is complete as soon as
   * the silence after it is as long as the tail.
   */
  add(added: Float32Array, mayEnd: boolean, isLast: boolean): Float32Array {
    const from = this.#length;
    this.#append(added);
    for (let i = from; i < this.#length; i++) {
      const value = Math.abs(this.#samples[i]!);
      this.#energy += value * value;
      if (value < this.#level) continue;
      this.#begin ??= Math.max(0, i - Math.round(leadSeconds * this.#rateHz));
      this.#loudEnd = i + 1;
    }
    const end = this.#loudEnd + Math.round(tailSeconds * this.#rateHz);
    this.isComplete = isLast || (mayEnd && this.#begin !== undefined && end <= this.#length);
    if (this.#begin === undefined) return new Float32Array(0);
    const start = this.#begin + this.#returned;
    if (!this.isComplete) {
      this.#returned = this.#loudEnd - this.#begin;
      return this.#samples.slice(start, this.#loudEnd);
    }
    const rest = new Float32Array(end - start);
    rest.set(this.#samples.subarray(start, Math.min(end, this.#length)));
    const fade = Math.round(fadeSeconds * this.#rateHz);
    for (let i = 1; i <= fade; i++) rest[rest.length - i]! *= (i - 1) / fade;
    this.#returned = end - this.#begin;
    return rest;
  }

  #append(added: Float32Array): void {
    if (this.#length + added.length > this.#samples.length) {
      const longer = new Float32Array(2 * (this.#length + added.length));
      longer.set(this.#samples.subarray(0, this.#length));
      this.#samples = longer;
    }
    this.#samples.set(added, this.#length);
    this.#length += added.length;
  }

  /** Number of samples up to which the sound is known. */
  get end(): number {
    return this.#origin + this.#length;
  }

  /** Seconds in the result; `at` counts samples from the start of the utterance. */
  toSeconds(at: number): number {
    const position = at - this.#origin - (this.#begin ?? 0);
    return Math.max(0, Math.min(position, this.#returned)) / this.#rateHz;
  }

  /** Moves the end of a word back over silence. */
  quietFrom(from: number, to: number): number {
    const step = Math.round(stepSeconds * this.#rateHz);
    const quiet = (quietShare ** 2 * this.#energy * step) / Math.max(1, this.#length);
    let end = Math.min(to, this.end);
    while (end - step > from + step && this.#energyOf(end - step, end) < quiet) end -= step;
    return end;
  }

  #energyOf(from: number, to: number): number {
    let energy = 0;
    for (let i = from - this.#origin; i < to - this.#origin; i++) energy += (this.#samples[i] ?? 0) ** 2;
    return energy;
  }
}

/** The times of words, in order, as soon as their sound is known. */
class WordTimes {
  readonly #words: readonly SpokenWord[];
  readonly #sound: TrimmedSound;
  readonly #startSeconds: number;
  readonly #toSample: (phoneme: number) => number;
  #next = 0;

  constructor(
    words: readonly SpokenWord[],
    { starts, frameSamples }: Utterance,
    { earlySeconds, sampleRateHz }: FamilyModel,
    sound: TrimmedSound,
    startSeconds: number,
  ) {
    this.#words = words;
    this.#sound = sound;
    this.#startSeconds = startSeconds;
    const early = earlySeconds * sampleRateHz;
    this.#toSample = (phoneme) =>
      Math.max(0, Math.round(starts[Math.min(phoneme, starts.length - 1)]! * frameSamples - early));
  }

  /** The words whose sound is known; at the end, all other words. */
  until(isEnd: boolean): WordTime[] {
    const times: WordTime[] = [];
    for (let word = this.#words[this.#next]; word; word = this.#words[++this.#next]) {
      const { from, to, first, end, isBeforeSpace, isBeforePause } = word;
      const isAfterSpace = this.#words[this.#next - 1]?.isBeforeSpace ?? false;
      // A space is shared by its neighbours.
      const start = isAfterSpace ? this.#middle(first - 1, first) : this.#toSample(first);
      const stated = isBeforeSpace ? this.#middle(end, end + 1) : this.#toSample(end);
      if (!isEnd && stated > this.#sound.end) break;
      const stop = isBeforePause ? this.#sound.quietFrom(start, stated) : stated;
      times.push({
        from,
        to,
        startSeconds: this.#startSeconds + this.#sound.toSeconds(start),
        endSeconds: this.#startSeconds + this.#sound.toSeconds(stop),
      });
    }
    return times;
  }

  #middle(one: number, other: number): number {
    return Math.round((this.#toSample(one) + this.#toSample(other)) / 2);
  }
}
