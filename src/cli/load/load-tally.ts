// Counts the calls of a load test: results, latencies, audio, and errors by message.
import { soundBytesPerSecond } from './service-caller.ts';

/** Percentiles are computed from the latencies of at most this many calls; of more, from a random sample. */
export const timesMax = 100_000;

/** Latency percentiles of successful calls, in milliseconds. */
interface Times {
  p50: number;
  p95: number;
  p99: number;
  max: number;
}

export interface LoadReport {
  seconds: number;
  done: number;
  failed: number;
  /** Rejected with a wait, which the client observed. */
  throttled: number;
  refusals: Readonly<Record<string, number>>;
  done_per_second: number;
  audio_seconds_per_second: number;
  first_sound_ms: Times | null;
  whole_ms: Times | null;
}

export type LoadTally = ReturnType<typeof createLoadTally>;

export function createLoadTally() {
  const all = createSpan();
  let span = createSpan();
  return {
    countDone: (...times: CallTimes): void => {
      for (const each of [all, span]) noteTimes(each, times);
    },
    countSound: (byteCount: number): void => {
      for (const each of [all, span]) each.byteCount += byteCount;
    },
    countRefusal: (words: string, isThrottled: boolean): void => {
      for (const each of [all, span]) {
        each.refusals[words] = (each.refusals[words] ?? 0) + 1;
        each[isThrottled ? 'throttled' : 'failed']++;
      }
    },
    /** The calls since the last report. */
    reportInterval(): LoadReport {
      const report = toReport(span);
      span = createSpan();
      return report;
    },
    reportTotal: (): LoadReport => toReport(all),
  };
}

type CallTimes = readonly [firstSoundMs: number, wholeMs: number];

const createSpan = () => ({
  begunMs: performance.now(),
  done: 0,
  times: [] as CallTimes[],
  longest: [0, 0] as CallTimes,
  byteCount: 0,
  failed: 0,
  throttled: 0,
  refusals: {} as Record<string, number>,
});
type Span = ReturnType<typeof createSpan>;

/** Reservoir sampling (Vitter's algorithm R): every call is equally likely to be in the sample, however long the run. */
function noteTimes(span: Span, times: CallTimes): void {
  span.done++;
  span.longest = [Math.max(span.longest[0], times[0]), Math.max(span.longest[1], times[1])];
  const at = span.times.length < timesMax ? span.times.length : Math.floor(Math.random() * span.done);
  if (at < timesMax) span.times[at] = times;
}

function toReport({ begunMs, done, times, longest, byteCount, ...counted }: Span): LoadReport {
  const seconds = (performance.now() - begunMs) / 1000;
  const timesOf = (which: 0 | 1) =>
    toTimes(
      times.map((each) => each[which]),
      longest[which],
    );
  return {
    seconds: round(seconds),
    done,
    ...counted,
    done_per_second: round(done / seconds),
    audio_seconds_per_second: round(byteCount / soundBytesPerSecond / seconds),
    first_sound_ms: timesOf(0),
    whole_ms: timesOf(1),
  };
}

const round = (value: number) => Math.round(value * 100) / 100;

function toTimes(values: number[], longest: number): Times | null {
  if (values.length === 0) return null;
  const sorted = values.sort((one, other) => one - other);
  const at = (share: number) => round(sorted[Math.ceil(share * sorted.length) - 1]!);
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99), max: round(longest) };
}
