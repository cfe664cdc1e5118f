// Learns what is usual for each voice from its own segments: how long it needs for a text (seconds per letter and per
// pause), how long its last sound fades, and how much it seems to repeat. Processes share what they learn in the table
// `voice_durations`, which has sums of figures and no texts.
import { openPolling } from '../platform/runtime/polling.ts';
import type { RowStore, Transaction } from '../platform/store/row-store.ts';

/** What a voice has taught so far. Older segments count less. */
interface Learned {
  count: number;
  /** Sums of products of the features and the duration: the upper left part is the normal matrix. */
  sums: readonly (readonly number[])[];
  /** Sums of the times at the end, of their squares, of the scores of repeats, and of their squares. */
  others: readonly number[];
}

interface Known {
  voiceId: string;
  all: Learned;
  /** The part of `all` that is not stored. */
  own: Learned;
}

/** What is measured of a segment. */
interface Measured<T> {
  /** Seconds of speech. */
  speech: T;
  /** Seconds after the last loud sound. */
  end: T;
  /** Score of the best repeat. */
  repeat: T;
}

/** How far a figure is from what is usual for the voice: as a share of it, and in standard deviations. */
interface Surprise {
  share: number;
  deviations: number;
}

const voicesMax = 1_000;
const countMin = 30;
const countMax = 2_000;
const shareMs = 60_000;
/** A voice that nobody uses is forgotten. */
const unusedMsMax = 30 * 24 * 3_600_000;
const none: Learned = { count: 0, sums: Array(4).fill([0, 0, 0, 0]), others: [0, 0, 0, 0] };
/** Characters that are read as words, in letters. */
const lettersOf = { digit: 4, capital: 3, sign: 5 };
const lettersMin = 8;

export type VoiceDurations = Pick<ReturnType<typeof createVoiceDurations>, 'learn'>;

export function createVoiceDurations() {
  const voices = new Map<string, Known>();
  return {
    voices,
    /** Returns how surprising the figures are, undefined while too little is known of the voice, and learns from them. */
    learn(name: string, voiceId: string, text: string, measured: Measured<number>): Measured<Surprise> | undefined {
      const known = voices.get(name) ?? { voiceId, all: none, own: none };
      voices.delete(name);
      voices.set(name, known);
      if (voices.size > voicesMax) voices.delete(voices.keys().next().value!);
      const { speech, end, repeat } = measured;
      const row = featuresOf(text, speech);
      const { all } = known;
      const others = [end, end ** 2, repeat, repeat ** 2];
      const taught: Learned = { count: 1, sums: row.map((a) => row.map((b) => a * b)), others };
      known.all = sumOf(all, taught);
      known.own = sumOf(known.own, taught);
      if (all.count < countMin) return undefined;
      const [ends, endSquares, repeats, repeatSquares] = all.others.map((sum) => sum / all.count);
      return {
        speech: surpriseOfSpeech(all, row),
        end: surpriseOf(end, ends!, endSquares! - ends! ** 2),
        repeat: surpriseOf(repeat, repeats!, repeatSquares! - repeats! ** 2),
      };
    },
  };
}

/** Opens durations that processes share in a store. What cannot be stored is not shared. */
export async function openVoiceDurations(store: RowStore, onFault: (fault: unknown) => void) {
  const { voices, learn } = createVoiceDurations();
  type Row = { name: string; voiceId: string; learned: string };
  const add = async (rows: Transaction, name: string, voiceId: string, own: Learned) => {
    const [before] = await rows.query<Row>('select learned from voice_durations where name = $1', name);
    const all = before ? sumOf(readLearned(before.learned), own) : own;
    const sql = `insert into voice_durations (name, voice_id, learned, used_at_ms) values ($1, $2, $3, $4)
      on conflict (name) do update set learned = excluded.learned, used_at_ms = excluded.used_at_ms`;
    await rows.query(sql, name, voiceId, JSON.stringify(all), Date.now());
    return all;
  };
  const share = async () => {
    // The map is copied, because a voice that learns meanwhile is moved to its end, where the loop would meet it again.
    for (const [name, known] of [...voices]) {
      const { voiceId, own } = known;
      if (own.count === 0 || voices.get(name) !== known) continue;
      known.own = none;
      const all = await store.transaction((rows) => add(rows, name, voiceId, own));
      known.all = sumOf(all, known.own);
    }
    const unused = `delete from voice_durations where used_at_ms < $1
      or name not in (select name from voice_durations order by used_at_ms desc limit ${voicesMax})`;
    await store.query(unused, Date.now() - unusedMsMax);
  };
  const sharing = await openPolling(share, { everyMs: shareMs, onFault });
  // The first sharing has deleted the rows that are too many. The map begins with the voice that is forgotten first.
  const stored = 'select name, voice_id as "voiceId", learned from voice_durations order by used_at_ms';
  for (const { name, voiceId, learned } of await store.query<Row>(stored))
    voices.set(name, { voiceId, all: readLearned(learned), own: none });
  return {
    learn,
    /** Forgets a voice that was changed or deleted. */
    async forget(voiceId: string): Promise<void> {
      for (const [name, known] of voices) if (known.voiceId === voiceId) voices.delete(name);
      await store.query('delete from voice_durations where voice_id = $1', voiceId);
    },
    async close(): Promise<void> {
      await sharing.close();
      await share().catch(onFault);
    },
  };
}

/** What earlier versions stored has no `others`, and is not used. */
function readLearned(stored: string): Learned {
  const learned = JSON.parse(stored);
  return learned.others ? learned : none;
}

/** Adds what was learned later. Of many segments, the older ones count half. */
function sumOf(before: Learned, later: Learned): Learned {
  const share = before.count > countMax ? 0.5 : 1;
  return {
    count: share * before.count + later.count,
    sums: before.sums.map((row, i) => row.map((value, j) => share * value + later.sums[i]![j]!)),
    others: before.others.map((value, i) => share * value + later.others[i]!),
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

function surpriseOfSpeech({ count, sums }: Learned, row: readonly number[]): Surprise {
  const weights = solve(sums);
  const sum = (values: readonly number[]) => weights.reduce((total, weight, i) => total + weight * values[i]!, 0);
  const [expected, seconds] = [sum(row), row.at(-1)!];
  const last = sums.at(-1)!;
  return surpriseOf(seconds, expected, (last.at(-1)! - sum(last)) / count);
}

const surpriseOf = (figure: number, expected: number, variance: number): Surprise => ({
  share: figure / Math.max(expected, 1e-3),
  deviations: (figure - expected) / Math.sqrt(Math.max(0, variance) + 1e-6),
});

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
