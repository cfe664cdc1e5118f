// The rate of a transfer over the last five seconds.

const windowMs = 5_000;
/** Interval between samples of the rate. Chunks arrive much more often. */
const sampleMs = 100;

interface RecentRate {
  /** Notes that `done` bytes have arrived so far. */
  note(done: number): void;
  /** Bytes per second; 0 if the rate is unknown. */
  perSecond(): number;
}

export function createRecentRate(): RecentRate {
  let samples: { atMs: number; done: number }[] = [];
  let latest = 0;
  return {
    note(done) {
      latest = done;
      const nowMs = performance.now();
      if (nowMs - (samples.at(-1)?.atMs ?? -sampleMs) < sampleMs) return;
      samples = samples.filter(({ atMs }) => nowMs - atMs < windowMs);
      samples.push({ atMs: nowMs, done });
    },
    // The rate falls while a transfer stalls.
    perSecond() {
      const [first] = samples;
      return first ? (1000 * (latest - first.done)) / Math.max(1, performance.now() - first.atMs) : 0;
    },
  };
}
