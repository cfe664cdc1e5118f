// Takes off most of the quiet that an engine puts around a segment, so that where segments are joined there is the
// pause that the text has and none besides. Promises: no sample of -48 dBFS or more is ever dropped, nor what is within
// 20 ms of one; quiet within the sound passes intact; the same samples come out however they are cut.
//   in   ......quiet|sound quiet sound|quiet......
//   out         lead|sound quiet sound|trail
import { join } from './join.ts';
import { fromDb } from './level.ts';

// By peak. The hiss between the words of the embedded voices stays below this; the softest consonants, such as the th
// that ends a word, come above it every few milliseconds, and the margin keeps how they swell and fade.
const quietBelow = 32768 * fromDb(-48);
const marginSeconds = 0.02;

const nothing = new Int16Array(0);

export class SeamTrimmer {
  /** What is left of a segment without any sound. */
  readonly #quietMax: number;
  readonly #leadMax: number;
  readonly #trailMax: number;
  #heard: boolean;
  /** Quiet whose fate is open: before the sound the last of the lead, after it what is over `#trailMax`. */
  #held: Int16Array[] = [];
  /** How much of the present quiet has passed. */
  #trail = 0;
  #droppedLead = 0;

  constructor(limits: { sampleRateHz: number; leadSecondsMax: number; trailSecondsMax: number }) {
    const toSamples = (seconds: number) => Math.floor(seconds * limits.sampleRateHz);
    this.#quietMax = toSamples(limits.leadSecondsMax);
    this.#leadMax = toSamples(Math.max(limits.leadSecondsMax, marginSeconds));
    this.#trailMax = toSamples(Math.max(limits.trailSecondsMax, marginSeconds));
    // A lead without a limit is quiet like any other.
    this.#heard = limits.leadSecondsMax === Infinity;
  }

  /** How many samples are gone from the front: times within the segment are earlier by so much. */
  get droppedLeadSamples(): number {
    return this.#droppedLead;
  }

  /** What is sure to be kept so far; it may be a view of `samples`. */
  push(samples: Int16Array): Int16Array {
    return this.#heard ? this.#pushHeard(samples) : this.#pushLead(samples);
  }

  /** The rest of the segment: nothing, unless no sound was heard at all. */
  end(): Int16Array {
    const rest = this.#heard ? nothing : this.#lastOfLead(join(Int16Array, this.#held), this.#quietMax);
    this.#held = [];
    return rest;
  }

  #pushLead(samples: Int16Array): Int16Array {
    const onset = samples.findIndex(isLoud);
    const lead = join(Int16Array, [...this.#held, onset < 0 ? samples : samples.subarray(0, onset)]);
    const kept = this.#lastOfLead(lead, this.#leadMax);
    this.#held = [kept];
    if (onset < 0) return nothing;
    this.#heard = true;
    return this.#pushHeard(samples.subarray(onset));
  }

  #pushHeard(samples: Int16Array): Int16Array {
    const soundEnd = samples.findLastIndex(isLoud) + 1;
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

export const isLoud = (sample: number): boolean => Math.abs(sample) >= quietBelow;
