// Learns how long each voice needs for a text: seconds per letter and per pause, from the voice's own segments.

/** What a voice has taught so far. Older segments count less. */
interface Learned {
  count: number;
  /** Sums of products of the features and the duration: the upper left part is the normal matrix. */
  sums: number[][];
}

/** How far a duration is from what the voice needs: as a share of it, and in standard deviations. */
export interface Surprise {
  share: number;
  deviations: number;
}

const voicesMax = 1_000;
const countMin = 30;
const countMax = 2_000;
/** Characters that are read as words, in letters. */
const lettersOf = { digit: 4, capital: 3, sign: 5 };
const lettersMin = 8;

export function createVoiceDurations() {
  const voices = new Map<string, Learned>();
  return {
    /** Returns how surprising the duration is, undefined while too little is known of the voice, and learns from it. */
    learn(voice: string, text: string, seconds: number): Surprise | undefined {
      const learned = voices.get(voice) ?? { count: 0, sums: featuresOf(text, 0).map(() => [0, 0, 0, 0]) };
      voices.delete(voice);
      voices.set(voice, learned);
      if (voices.size > voicesMax) voices.delete(voices.keys().next().value!);
      const row = featuresOf(text, seconds);
      const surprise = learned.count < countMin ? undefined : surpriseOf(learned, row);
      if (learned.count > countMax) decay(learned);
      learned.count++;
      for (const [i, a] of row.entries()) for (const [j, b] of row.entries()) learned.sums[i]![j]! += a * b;
      return surprise;
    },
  };
}

/**
 * A constant, letters, pauses and the duration. The variance of a duration grows with its text, so all are divided by
 * the root of the number of letters.
 */
function featuresOf(text: string, seconds: number): number[] {
  const count = (pattern: RegExp) => text.match(pattern)?.length ?? 0;
  const letters =
    count(/\p{L}/gu) +
    lettersOf.digit * count(/\p{N}/gu) +
    lettersOf.capital * count(/(?<![\p{L}\p{N}])\p{Lu}(?![\p{L}\p{N}])/gu) +
    lettersOf.sign * count(/[^\p{L}\p{M}\p{N}\s.,;:!?'"’“”()—–-]/gu);
  const scale = 1 / Math.sqrt(Math.max(letters, lettersMin));
  return [1, letters, count(/[,;:—–()]|\.\s/gu), seconds].map((each) => each * scale);
}

function surpriseOf({ count, sums }: Learned, row: readonly number[]): Surprise {
  const weights = solve(sums);
  const sum = (values: readonly number[]) => weights.reduce((total, weight, i) => total + weight * values[i]!, 0);
  const [expected, seconds] = [sum(row), row.at(-1)!];
  const last = sums.at(-1)!;
  const variance = Math.max(0, last.at(-1)! - sum(last)) / count;
  return { share: seconds / Math.max(expected, 1e-3), deviations: (seconds - expected) / Math.sqrt(variance + 1e-6) };
}

/** Solves the normal equations by elimination. A feature that never occurred gets no weight. */
function solve(sums: readonly (readonly number[])[]): number[] {
  const size = sums.length - 1;
  const rows = sums.slice(0, size).map((row, i) => row.map((value, j) => value + (i === j ? 1e-6 : 0)));
  for (let i = 0; i < size; i++) {
    for (let k = 0; k < size; k++) {
      if (k === i) continue;
      const factor = rows[k]![i]! / rows[i]![i]!;
      for (let j = i; j <= size; j++) rows[k]![j]! -= factor * rows[i]![j]!;
    }
  }
  return rows.map((row, i) => row[size]! / row[i]!);
}

function decay(learned: Learned): void {
  learned.count /= 2;
  learned.sums = learned.sums.map((row) => row.map((value) => value / 2));
}
