// How many requests may be about to be heard at an engine: TCP Vegas, on the time from admission to the first sound. As long
// as that is what it is without a queue, the limit grows where it is used; where it is longer, the part of the limit that
// must be waiting in the engine is estimated, and kept at about one request. Time is compared by the work of the first
// segment and for each voice by itself, so that neither long texts nor slow voices look like a queue. Now and then the limit
// is halved for a moment, to measure again how long a first sound takes without a queue.
export interface AdaptiveLimit {
  /** A whole number, from `min` to `max`. */
  readonly value: number;
  note(start: MeasuredStart): void;
}

/** A request that has been heard. */
export interface MeasuredStart {
  voiceId: string;
  /** Of the first segment. */
  chars: number;
  /** From its admission to its first sound. */
  ms: number;
  /** How many were about to be heard when it was admitted, with it. */
  startingAtOnce: number;
  /** How many starts were noted before it was admitted. */
  notedBefore: number;
}

export interface AdaptiveLimitOptions {
  min: number;
  max: number;
  initial: number;
}

/** At least so many starts are looked at together, and as many as the limit is. */
const windowStartsMin = 12;
/** A part of a window is slow for reasons of its own; what is compared is what so many are faster than. */
const quantile = 0.25;
/** What is slower by less than this is not a queue. */
const tolerance = 1.2;
/** How far a faster window pulls down what is taken to be the time without a queue. */
const fasterWeight = 0.1;
const windowsBetweenProbes = 30;
/** The first is soon, for what was learned first may have been learned in a queue. */
const windowsBeforeFirstProbe = 6;
const voicesMax = 1000;
/** What of the work of a segment of `usualChars` does not depend on its length. */
const fixedShare = 0.5;
const usualChars = 60;

/** The work until the first sound; 1 for a usual first segment. */
export const workOf = (chars: number): number => fixedShare + (1 - fixedShare) * (Math.max(1, chars) / usualChars);

export function createAdaptiveLimit({ min, max, initial }: AdaptiveLimitOptions): AdaptiveLimit {
  const baselines = createBaselines();
  let limit = clamp(initial, min, max);
  let samples: Sample[] = [];
  let isUsed = false;
  let noted = 0;
  let windowsSinceProbe = windowsBetweenProbes - windowsBeforeFirstProbe;
  /** Set while the limit is halved: what it was, and since which start. */
  let probe: { limit: number; since: number } | undefined;

  const endProbe = () => {
    baselines.learn(samples);
    limit = probe!.limit;
    probe = undefined;
  };

  const endWindow = () => {
    const slowdown = baselines.slowdownOf(samples);
    if (isUsed) {
      const queued = Math.max(0, limit * (1 - tolerance / slowdown));
      const few = 0.5 + Math.log10(limit);
      if (queued < few / 2) limit += few;
      else if (queued > few) limit -= Math.max(1, (queued - few) / 2);
      limit = clamp(limit, min, max);
    }
    if (++windowsSinceProbe < windowsBetweenProbes) return;
    windowsSinceProbe = 0;
    probe = { limit, since: noted };
    limit = Math.max(min, limit / 2);
  };

  return {
    get value() {
      return Math.floor(limit);
    },
    note({ voiceId, chars, ms, startingAtOnce, notedBefore }) {
      noted++;
      // What was admitted before the limit was halved may have waited behind more.
      if (probe && notedBefore < probe.since) return;
      samples.push({ voiceId, ms: ms / workOf(chars) });
      isUsed ||= 2 * startingAtOnce > limit;
      if (samples.length < Math.max(windowStartsMin, limit)) return;
      if (probe) endProbe();
      else endWindow();
      samples = [];
      isUsed = false;
    },
  };
}

interface Sample {
  voiceId: string;
  ms: number;
}

/** How long the first sound of each voice takes without a queue; the least recently used voices are forgotten. */
function createBaselines() {
  const msOf = new Map<string, number>();
  const set = (voiceId: string, ms: number) => {
    msOf.delete(voiceId);
    msOf.set(voiceId, ms);
    if (msOf.size > voicesMax) msOf.delete(msOf.keys().next().value!);
  };
  const eachVoice = (samples: readonly Sample[]) =>
    [...Map.groupBy(samples, ({ voiceId }) => voiceId)].map(
      ([voiceId, own]) => [voiceId, quantileOf(own.map(({ ms }) => ms))] as const,
    );
  return {
    /** From samples behind which there was hardly a queue. */
    learn(samples: readonly Sample[]): void {
      for (const [voiceId, ms] of eachVoice(samples)) set(voiceId, ms);
    },
    /** How many times as long as without a queue the starts have taken. */
    slowdownOf(samples: readonly Sample[]): number {
      for (const [voiceId, ms] of eachVoice(samples)) {
        const baseMs = msOf.get(voiceId) ?? ms;
        set(voiceId, ms < baseMs ? baseMs + fasterWeight * (ms - baseMs) : baseMs);
      }
      return Math.max(
        1,
        quantileOf(samples.map(({ voiceId, ms }) => ms / Math.max(Number.EPSILON, msOf.get(voiceId)!))),
      );
    },
  };
}

const quantileOf = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(quantile * values.length)]!;

const clamp = (value: number, min: number, max: number): number => Math.min(max, Math.max(Math.min(min, max), value));
