// Writes the usage ledger in batches: entries of the same moment are summed per key, voice and day and written in one
// transaction. `add` settles after the write, so what a caller knows to be spoken is in the ledger.
import type { UsageRow, UsageRows } from '../store/usage-rows.ts';

interface Batch {
  sums: Map<string, UsageRow>;
  written: Promise<void>;
}

export type UsageLedger = ReturnType<typeof createUsageLedger>;

export function createUsageLedger(rows: Pick<UsageRows, 'addAll'>) {
  let batch: Batch | undefined;

  const openBatch = (): Batch => {
    const sums = new Map<string, UsageRow>();
    const written = new Promise<void>((resolve, reject) => {
      setImmediate(() => {
        batch = undefined;
        rows.addAll([...sums.values()]).then(resolve, reject);
      });
    });
    return { sums, written };
  };

  return {
    /** Settles when it is written. */
    add(spoken: UsageRow): Promise<void> {
      batch ??= openBatch();
      const { keyId, voiceId, day } = spoken;
      const name = JSON.stringify([keyId, voiceId, day]);
      const before = batch.sums.get(name);
      batch.sums.set(name, before ? plus(before, spoken) : spoken);
      return batch.written;
    },
  };
}

const plus = (one: UsageRow, other: UsageRow): UsageRow => ({
  ...one,
  requests: one.requests + other.requests,
  characters: one.characters + other.characters,
  audioMs: one.audioMs + other.audioMs,
});
