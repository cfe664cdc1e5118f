// What became of the calls of a load: how many, how fast, how much sound, and what was refused with which words.
import { soundBytesPerSecond } from './service-caller.ts';

/** Times of calls that ended well, in milliseconds. */
interface Times {
  p50: number;
  p95: number;
  p99: number;
  max: number;
}

export interface Told {
  seconds: number;
  done: number;
  failed: number;
  /** Refused with a wait, which was kept. */
  throttled: number;
  refusals: Readonly<Record<string, number>>;
  done_per_second: number;
  audio_seconds_per_second: number;
  first_sound_ms: Times | null;
  whole_ms: Times | null;
}

export interface LoadTally {
  countDone(firstSoundMs: number, wholeMs: number): void;
  countSound(byteCount: number): void;
  countRefusal(told: string, isThrottled: boolean): void;
  /** What happened since it was last asked. */
  tellSince(): Told;
  tellAll(): Told;
}

export function createLoadTally(): LoadTally {
  const all = createSpan();
  let span = createSpan();
  return {
    countDone: (...times) => {
      for (const each of [all, span]) each.times.push(times);
    },
    countSound: (byteCount) => {
      for (const each of [all, span]) each.byteCount += byteCount;
    },
    countRefusal: (told, isThrottled) => {
      for (const each of [all, span]) {
        each.refusals[told] = (each.refusals[told] ?? 0) + 1;
        each[isThrottled ? 'throttled' : 'failed']++;
      }
    },
    tellSince() {
      const told = tell(span);
      span = createSpan();
      return told;
    },
    tellAll: () => tell(all),
  };
}

const createSpan = () => ({
  begunMs: performance.now(),
  times: [] as [firstSoundMs: number, wholeMs: number][],
  byteCount: 0,
  failed: 0,
  throttled: 0,
  refusals: {} as Record<string, number>,
});

function tell({ begunMs, times, byteCount, ...counted }: ReturnType<typeof createSpan>): Told {
  const seconds = (performance.now() - begunMs) / 1000;
  return {
    seconds: round(seconds),
    done: times.length,
    ...counted,
    done_per_second: round(times.length / seconds),
    audio_seconds_per_second: round(byteCount / soundBytesPerSecond / seconds),
    first_sound_ms: toTimes(times.map(([firstSoundMs]) => firstSoundMs)),
    whole_ms: toTimes(times.map(([, wholeMs]) => wholeMs)),
  };
}

const round = (value: number) => Math.round(value * 100) / 100;

function toTimes(values: number[]): Times | null {
  if (values.length === 0) return null;
  const sorted = values.sort((one, other) => one - other);
  const at = (share: number) => round(sorted[Math.ceil(share * sorted.length) - 1]!);
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1) };
}
