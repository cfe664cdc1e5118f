// Computes how fast the memory of a process grows under steady load, with the standard error. The first minutes are
// excluded: caches fill, code is compiled, and V8 and the C library take memory for the largest load so far.

export interface MemorySlope {
  mibPerHour: number;
  /** Standard error of the slope, from the means of blocks, because neighbouring samples are correlated. */
  standardError: number;
  /** Mean after the first minutes. */
  meanMib: number;
}

/** A time in ms, and a number of bytes. */
export type MemorySample = readonly [ms: number, bytes: number];

export const warmUpMinutes = 3;
const blocks = 20;

/** Least squares over the means of blocks; undefined if too little remains after the first minutes. */
export function memorySlopeOf(samples: readonly MemorySample[]): MemorySlope | undefined {
  const warmMs = (samples[0]?.[0] ?? 0) + warmUpMinutes * 60_000;
  const late = samples.filter(([ms]) => ms >= warmMs);
  const size = Math.floor(late.length / blocks);
  if (size === 0) return undefined;
  const means = Array.from({ length: blocks }, (_, n) => {
    const block = late.slice(n * size, (n + 1) * size);
    return { x: mean(block.map(([ms]) => ms / 3_600_000)), y: mean(block.map(([, bytes]) => bytes / 2 ** 20)) };
  });
  const [x, y] = [mean(means.map((each) => each.x)), mean(means.map((each) => each.y))];
  const squares = sum(means.map((each) => (each.x - x) ** 2));
  const slope = sum(means.map((each) => (each.x - x) * (each.y - y))) / squares;
  const residuals = sum(means.map((each) => (each.y - y - slope * (each.x - x)) ** 2));
  return { mibPerHour: slope, standardError: Math.sqrt(residuals / (blocks - 2) / squares), meanMib: y };
}

const quartersOf = (samples: readonly MemorySample[]): number[][] =>
  [0, 1, 2, 3].map((quarter) => {
    const own = samples.slice((quarter * samples.length) / 4, ((quarter + 1) * samples.length) / 4);
    return own.map(([, bytes]) => bytes);
  });

/** The minimum in each quarter of the samples, which is closest to the retained memory without garbage. */
export const leastInQuarters = (samples: readonly MemorySample[]): number[] =>
  quartersOf(samples).map((own) => Math.min(...own));

export const meansInQuarters = (samples: readonly MemorySample[]): number[] => quartersOf(samples).map(mean);

/** A sentence for a report. */
export function describeSlope(slope: MemorySlope | undefined): string {
  if (!slope) return `no slope: less than it takes is left after the first ${warmUpMinutes} minutes`;
  const { mibPerHour, standardError, meanMib } = slope;
  return (
    `after the first ${warmUpMinutes} minutes ${meanMib.toFixed(1)} MiB on average and ${mibPerHour.toFixed(1)} MiB/h, ` +
    `standard error ${standardError.toFixed(1)}`
  );
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
const mean = (values: readonly number[]): number => sum(values) / values.length;
