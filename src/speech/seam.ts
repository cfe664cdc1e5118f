// Trims most of the quiet that an engine puts around a segment, so that only the pauses of the text separate segments.
// Keeps samples of -48 dBFS or more, a margin of 20 ms around them, and quiet within the sound. The output does not
// depend on how the input is split. Quiet after the sound is buffered until more input decides how much of it is kept.
//   in   ......quiet|sound quiet sound|quiet......
//   out         lead|sound quiet sound|margin, and trail on request

import { fromDb } from '../audio.ts';
import { join } from '../platform/pcm.ts';

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
