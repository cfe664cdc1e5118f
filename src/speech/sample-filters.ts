// What changes the samples of a segment before they are encoded: a filter that removes their DC offset, the levels of
// emphasized words, and the trimming of quiet around the segment. The output does not depend on how the input is split.
import type { WordTime } from '../engines.ts';
import { fromDb, join } from '../platform/pcm.ts';
import type { PlannedCut } from './cast.ts';

/** The offset of some voices varies. The filter attenuates by 0.2 dB at 85 Hz, the lowest pitch of most men. */
const cutoffHz = 20;

/** A first-order high-pass filter. */
export class DcFilter {
  readonly #feedback: number;
  #lastIn: number | undefined;
  #lastOut = 0;

  constructor(sampleRateHz: number) {
    this.#feedback = Math.exp((-2 * Math.PI * cutoffHz) / sampleRateHz);
  }

  process(samples: Int16Array): Int16Array<ArrayBuffer> {
    const feedback = this.#feedback;
    const filtered = new Int16Array(samples.length);
    // The filter starts from the value of the first sample, so an initial offset does not act as a step.
    let lastIn = this.#lastIn ?? samples[0] ?? 0;
    let out = this.#lastOut;
    for (let i = 0; i < samples.length; i++) {
      const sample = samples[i]!;
      out = sample - lastIn + feedback * out;
      lastIn = sample;
      // V8 takes four times as long for the whole filter with Math.round.
      filtered[i] = Math.max(-32768, Math.min(32767, Math.floor(out + 0.5)));
    }
    this.#lastIn = lastIn;
    this.#lastOut = out;
    return filtered;
  }
}

const gainsDb = { strong: 5, moderate: 3, reduced: -4 };
/** Duration of a change of level. An abrupt change would be audible as a click. */
const rampSeconds = 0.015;

/** A range of samples with a gain. */
interface Window {
  from: number;
  to: number;
  factor: number;
}

export class EmphasisEnvelope {
  readonly #stretches: PlannedCut['emphasized'];
  readonly #rateHz: number;
  readonly #windows: Window[] = [];

  constructor(stretches: PlannedCut['emphasized'], sampleRateHz: number) {
    this.#stretches = stretches;
    this.#rateHz = sampleRateHz;
  }

  /** Adds the times of the next words, in order. */
  note(words: readonly WordTime[]): void {
    for (const { from, to, startSeconds, endSeconds } of words) {
      const stretch = this.#stretches.find((each) => from < each.to && to > each.from);
      if (!stretch) continue;
      const factor = fromDb(gainsDb[stretch.level]);
      const window = { from: startSeconds * this.#rateHz, to: endSeconds * this.#rateHz, factor };
      const last = this.#windows.at(-1);
      // The level stays constant between two words of one range.
      if (last && last.factor === factor && window.from - last.to < this.#rateHz * 0.1) last.to = window.to;
      else this.#windows.push(window);
    }
  }

  /** Returns the gain of each of `length` samples from sample `at` on; undefined if all gains are 1. */
  factorsFor(at: number, length: number): Float32Array | undefined {
    const ramp = rampSeconds * this.#rateHz;
    const heard = this.#windows.filter(({ from, to }) => from - ramp < at + length && to + ramp > at);
    if (heard.length === 0) return undefined;
    const factors = new Float32Array(length).fill(1);
    for (const { from, to, factor } of heard) {
      for (let i = Math.max(0, Math.floor(from - ramp - at)); i < Math.min(length, to + ramp - at); i++) {
        const depth = Math.min(1, (at + i - from + ramp) / ramp, (to + ramp - at - i) / ramp);
        if (depth > 0) factors[i] = 1 + (factor - 1) * depth;
      }
    }
    return factors;
  }
}

// Trims most of the quiet that an engine puts around a segment, so that only the pauses of the text separate segments.
// Keeps samples of -48 dBFS or more, a margin of 20 ms around them, and quiet within the sound. The output does not
// depend on how the input is split. Quiet after the sound is buffered until more input decides how much of it is kept.
//   in   ......quiet|sound quiet sound|quiet......
//   out         lead|sound quiet sound|margin, and trail on request

// Peak level of quiet, in the output. The hiss between the words of the built-in voices is below this level. The
// softest consonants, such as a final th, exceed this level every few milliseconds. The margin preserves their onset
// and decay.
const quietDbfs = -48;
const usualMarginSeconds = 0.02;

const nothing = new Int16Array(0);

interface SeamLimits {
  sampleRateHz: number;
  /** Gain in decibels that is applied after trimming. */
  gainDb: number;
  leadSecondsMax: number;
  trailSecondsMax: number;
  /** Limits the margins around the sound to less than their default. */
  marginSecondsMax?: number;
}

export class SeamTrimmer {
  /** The smallest absolute value of a sample that is not quiet. */
  readonly loudFrom: number;
  readonly #rateHz: number;
  readonly #margin: number;
  readonly #leadMax: number;
  readonly #trailSecondsMax: number;
  #hasSound = false;
  /** Buffered quiet: the end of the lead before the sound, or the quiet beyond the margin after the sound. */
  #held: Int16Array[] = [];
  /** Number of samples of the current quiet that have been returned. */
  #trail = 0;
  #lead = 0;
  #droppedLead = 0;

  constructor(limits: SeamLimits) {
    this.#rateHz = limits.sampleRateHz;
    this.loudFrom = loudFrom(limits.gainDb);
    const marginSeconds = Math.min(limits.marginSecondsMax ?? usualMarginSeconds, usualMarginSeconds);
    this.#margin = this.#toSamples(marginSeconds);
    this.#leadMax = Math.max(this.#toSamples(limits.leadSecondsMax), this.#margin);
    this.#trailSecondsMax = limits.trailSecondsMax;
  }

  /** Number of samples dropped from the start. Subtract this number from times within the segment. */
  get droppedLeadSamples(): number {
    return this.#droppedLead;
  }

  /** Number of silent samples kept before the first sound. Known when the first samples are returned. */
  get leadSamples(): number {
    return this.#lead;
  }

  /** Number of silent samples returned after the last sound. */
  get trailSamples(): number {
    return this.#trail;
  }

  /** Returns the samples that are certainly not trimmed, possibly as a view of `samples`. */
  push(samples: Int16Array): Int16Array {
    return this.#hasSound ? this.#pushSound(samples) : this.#pushLead(samples);
  }

  /** Returns buffered quiet at the end of the segment, up to a total of `seconds` of quiet after the sound. */
  takeTrail(seconds = this.#trailSecondsMax): Int16Array {
    const trail = join(Int16Array, this.#held).subarray(0, Math.max(0, this.#toSamples(seconds) - this.#trail));
    this.#held = [];
    this.#trail += trail.length;
    return trail;
  }

  #toSamples(seconds: number): number {
    return Math.floor(seconds * this.#rateHz);
  }

  #pushLead(samples: Int16Array): Int16Array {
    const onset = onsetOf(samples, this.loudFrom);
    const lead = join(Int16Array, [...this.#held, onset < 0 ? samples : samples.subarray(0, onset)]);
    const dropped = Math.max(0, lead.length - this.#leadMax);
    this.#droppedLead += dropped;
    this.#held = [lead.subarray(dropped)];
    if (onset < 0) return nothing;
    this.#hasSound = true;
    this.#lead = this.#held[0]!.length;
    return this.#pushSound(samples.subarray(onset));
  }

  #pushSound(samples: Int16Array): Int16Array {
    const soundEnd = soundEndOf(samples, this.loudFrom);
    const released = soundEnd > 0 ? this.#held : [];
    if (soundEnd > 0) {
      this.#held = [];
      this.#trail = 0;
    }
    const sure = samples.subarray(0, soundEnd + this.#margin - this.#trail);
    this.#trail += sure.length - soundEnd;
    if (sure.length < samples.length) this.#held.push(samples.slice(sure.length));
    return released.length > 0 ? join(Int16Array, [...released, sure]) : sure;
  }
}

/** Returns the smallest absolute value of a sample that is not quiet once `gainDb` is applied. */
export const loudFrom = (gainDb = 0): number => 32768 * fromDb(quietDbfs - gainDb);

// The following functions are loops, because a callback for each sample would take ten times as long.

/** Index of the first loud sample, or -1. */
function onsetOf(samples: Int16Array, loud: number): number {
  for (let at = 0; at < samples.length; at++) if (Math.abs(samples[at]!) >= loud) return at;
  return -1;
}

/** Index after the last loud sample, or 0. */
function soundEndOf(samples: Int16Array, loud: number): number {
  let end = samples.length;
  while (end > 0 && Math.abs(samples[end - 1]!) < loud) end--;
  return end;
}
