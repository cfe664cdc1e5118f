// The rate of a transfer, that of its last seconds.

const windowMs = 5_000;
/** Chunks come much more often than this. */
const sampleMs = 100;

export interface RecentRate {
  /** So much has arrived so far. */
  note(done: number): void;
  /** 0 where it is not known. */
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
    // Of a transfer that stands still, it goes down.
    perSecond() {
      const [first] = samples;
      return first ? (1000 * (latest - first.done)) / Math.max(1, performance.now() - first.atMs) : 0;
    },
  };
}
