// Trims most of the quiet that an engine puts around a segment, so that joined segments have only the pauses of the text
// between them. Promises: no sample of -48 dBFS or more is dropped, nor any within 20 ms of one; quiet within the sound
// is unchanged; the same samples come out however the input is split.
//   in   ......quiet|sound quiet sound|quiet......
//   out         lead|sound quiet sound|trail
import { join } from './join.ts';
import { fromDb } from './level.ts';

// By peak. The hiss between the words of the built-in voices stays below this; the softest consonants, such as a final
// th, exceed it every few milliseconds, and the margin preserves their onset and decay.
const quietBelow = 32768 * fromDb(-48);
const usualMarginSeconds = 0.02;

const nothing = new Int16Array(0);

export interface SeamLimits {
  sampleRateHz: number;
  leadSecondsMax: number;
  trailSecondsMax: number;
  /** For where less quiet is wanted than the usual margins. */
  marginSecondsMax?: number;
}

export class SeamTrimmer {
  /** The length of a segment without any sound. */
  readonly #quietMax: number;
  readonly #leadMax: number;
  readonly #trailMax: number;
  #hasSound: boolean;
  /** Undecided quiet: before the sound the end of the lead, after it the quiet beyond `#trailMax`. */
  #held: Int16Array[] = [];
  /** How much of the current quiet has been returned. */
  #trail = 0;
  #lead = 0;
  #droppedLead = 0;

  constructor(limits: SeamLimits) {
    const toSamples = (seconds: number) => Math.floor(seconds * limits.sampleRateHz);
    const marginSeconds = Math.min(limits.marginSecondsMax ?? usualMarginSeconds, usualMarginSeconds);
    this.#quietMax = toSamples(limits.leadSecondsMax);
    this.#leadMax = toSamples(Math.max(limits.leadSecondsMax, marginSeconds));
    this.#trailMax = toSamples(Math.max(limits.trailSecondsMax, marginSeconds));
    // Without a limit, the lead is treated like any other quiet.
    this.#hasSound = limits.leadSecondsMax === Infinity;
  }

  /** How many samples were dropped from the start: times within the segment are earlier by that. */
  get droppedLeadSamples(): number {
    return this.#droppedLead;
  }

  /** The quiet kept before the first sound, where the lead has a limit; known when the first samples are returned. */
  get leadSamples(): number {
    return this.#lead;
  }

  /** The quiet returned after the last sound. */
  get trailSamples(): number {
    return this.#trail;
  }

  /** The samples that are certainly not trimmed; it may be a view of `samples`. */
  push(samples: Int16Array): Int16Array {
    return this.#hasSound ? this.#pushSound(samples) : this.#pushLead(samples);
  }

  /** The rest of the segment: empty, unless the segment had no sound at all. */
  end(): Int16Array {
    const rest = this.#hasSound ? nothing : this.#lastOfLead(join(Int16Array, this.#held), this.#quietMax);
    this.#held = [];
    return rest;
  }

  #pushLead(samples: Int16Array): Int16Array {
    const onset = onsetOf(samples);
    const lead = join(Int16Array, [...this.#held, onset < 0 ? samples : samples.subarray(0, onset)]);
    this.#held = [this.#lastOfLead(lead, this.#leadMax)];
    if (onset < 0) return nothing;
    this.#hasSound = true;
    this.#lead = this.#held[0]!.length;
    return this.#pushSound(samples.subarray(onset));
  }

  #pushSound(samples: Int16Array): Int16Array {
    const soundEnd = soundEndOf(samples);
    const released = soundEnd > 0 ? this.#held : [];
    if (soundEnd > 0) {
      this.#held = [];
      this.#trail = 0;
    }
    const sure = samples.subarray(0, soundEnd + this.#trailMax - this.#trail);
    this.#trail += sure.length - soundEnd;
    if (sure.length < samples.length) this.#held.push(samples.slice(sure.length));
    return released.length > 0 ? join(Int16Array, [...released, sure]) : sure;
  }

  #lastOfLead(lead: Int16Array, max: number): Int16Array {
    const dropped = Math.max(0, lead.length - max);
    this.#droppedLead += dropped;
    return lead.subarray(dropped);
  }
}

// Loops, since a callback for each sample of a long quiet costs ten times as much.

/** Where the first loud sample is; -1 where none is. */
function onsetOf(samples: Int16Array): number {
  for (let at = 0; at < samples.length; at++) if (isLoud(samples[at]!)) return at;
  return -1;
}

/** Behind the last loud sample; 0 where none is. */
function soundEndOf(samples: Int16Array): number {
  let end = samples.length;
  while (end > 0 && !isLoud(samples[end - 1]!)) end--;
  return end;
}

export const isLoud = (sample: number): boolean => Math.abs(sample) >= quietBelow;
