// Sums usage per key, voice and day, and writes it to the ledger in batches, each in one transaction. `add` resolves
// after the write, so usage is in the ledger before the caller receives the end of the speech. If the store is full or
// unreachable, rows stay in memory as pending rows. If too many rows are pending, `checkRoom` refuses further work.
import { Failure } from '../../platform/errors.ts';
import { isOutcomeUnknown } from '../../platform/store/row-store.ts';
import { createMetrics, type Metrics } from '../../platform/telemetry/prometheus.ts';
import type { UsageRow, UsageRows } from './usage-rows.ts';

const dayMs = 24 * 3600 * 1000;
let latest = { index: Number.NaN, name: '' };

export function dayOf(ms: number): string {
  const index = Math.floor(ms / dayMs);
  if (latest.index !== index) latest = { index, name: new Date(ms).toISOString().slice(0, 10) };
  return latest.name;
}

/** Whether the text is a valid calendar date. */
export const isDay = (text: string): boolean =>
  /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text)) && dayOf(Date.parse(text)) === text;

export interface Month {
  /** The name of the month, such as "2026-11". */
  name: string;
  beginsMs: number;
  endsMs: number;
}

export function monthAt(nowMs: number): Month {
  const date = new Date(nowMs);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  return { name: date.toISOString().slice(0, 7), beginsMs: Date.UTC(year, month), endsMs: Date.UTC(year, month + 1) };
}

/** Number of pending rows above which further work is refused. Each running synthesis may still add one row. */
const pendingRowsMaxDefault = 10_000;
const retryMsDefault = 1_000;
/** Maximum number of event loop turns for which a batch stays open. A turn without new entries closes the batch. */
const turnsMax = 4;
/** Number of rows per transaction. Other statements can run between two transactions. */
const rowsAtOnceMax = 500;

type Sums = Map<string, UsageRow>;

interface Batch {
  sums: Sums;
  /** Number of added entries. */
  count: number;
  written: Promise<void>;
}

export type UsageLedger = ReturnType<typeof createUsageLedger>;

export interface UsageLedgerOptions {
  pendingRowsMax?: number;
  retryMs?: number;
  metrics?: Metrics;
  /** Called with errors that no caller receives. */
  onFault(fault: unknown): void;
}

export function createUsageLedger(rows: Pick<UsageRows, 'addAll'>, options: UsageLedgerOptions) {
  const { pendingRowsMax = pendingRowsMaxDefault, metrics = createMetrics(), onFault } = options;
  const pending = createPendingRows(rows, options);
  const hasRoom = () => pending.count < pendingRowsMax;
  const pendingHelp = 'Usage records in memory that are not yet in the database.';
  metrics.gauge('sonant_usage_pending_rows', pendingHelp, () => [[{}, pending.count]]);
  let batch: Batch | undefined;

  const write = async (sums: Sums) => {
    if (pending.failure) return pending.add(sums, pending.failure);
    try {
      await rows.addAll([...sums.values()]);
    } catch (error) {
      if (!canRetry(error)) throw error;
      if (!pending.failure) onFault(error);
      pending.add(sums, error);
    }
  };

  const openBatch = (): Batch => {
    const { promise: written, resolve, reject } = Promise.withResolvers<void>();
    const opened: Batch = { sums: new Map(), count: 0, written };
    const close = (before: number, turnsLeft: number) => {
      if (opened.count > before && turnsLeft > 0) return void setImmediate(close, opened.count, turnsLeft - 1);
      batch = undefined;
      write(opened.sums).then(resolve, reject);
    };
    setImmediate(close, 0, turnsMax);
    return opened;
  };

  return {
    /** Resolves when the entry is written, or pending in memory. */
    add(spoken: UsageRow): Promise<void> {
      batch ??= openBatch();
      batch.count++;
      addTo(batch.sums, spoken);
      return batch.written;
    },
    /** Throws the store's Failure if no more rows may be pending. */
    checkRoom(): void {
      const { failure } = pending;
      if (!failure || hasRoom()) return;
      const message = 'Usage cannot be recorded: the database is unavailable and the buffer is full. Try again later.';
      throw new Failure(failure.reason, { message, retryAfterSeconds: 1 }, failure);
    },
    /** Number of rows that wait in memory. */
    get pendingRows(): number {
      return pending.count;
    },
    /** Whether more rows may be pending. */
    get hasRoom(): boolean {
      return hasRoom();
    },
    /** Writes the pending rows. Throws a Failure with the rows that cannot be written. */
    async close(): Promise<void> {
      await batch?.written.catch(() => {});
      await pending.close();
    },
  };
}

/** Retries the pending rows until the store has accepted all rows. */
function createPendingRows(rows: Pick<UsageRows, 'addAll'>, { retryMs = retryMsDefault, onFault }: UsageLedgerOptions) {
  const sums: Sums = new Map();
  let failure: Failure | undefined;
  let writingCount = 0;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();

  /** Stops at the first failure, or when no rows are pending. */
  const flush = async () => {
    while (sums.size > 0) {
      const some = [...sums].slice(0, rowsAtOnceMax);
      for (const [name] of some) sums.delete(name);
      writingCount = some.length;
      try {
        await rows.addAll(some.map(([, row]) => row));
      } catch (error) {
        const unwritten = JSON.stringify(some.map(([, row]) => row));
        if (!canRetry(error)) throw new Error(`usage possibly not recorded: ${unwritten}`, { cause: error });
        for (const [, row] of some) addTo(sums, row);
        failure = error;
        return;
      } finally {
        writingCount = 0;
      }
    }
    failure = undefined;
  };
  const retry = () => {
    running = flush()
      .catch(onFault)
      .finally(() => {
        timer = undefined;
        if (sums.size > 0) schedule();
        else failure = undefined;
      });
  };
  const schedule = () => {
    timer ??= setTimeout(retry, retryMs).unref();
  };

  return {
    /** The failure that made rows wait; undefined if no rows are pending. */
    get failure() {
      return failure;
    },
    get count() {
      return sums.size + writingCount;
    },
    add(more: Sums, cause: Failure): void {
      failure ??= cause;
      for (const row of more.values()) addTo(sums, row);
      schedule();
    },
    async close(): Promise<void> {
      await running;
      await flush();
      clearTimeout(timer);
      if (sums.size === 0) return;
      const unwritten = new Error(`usage not recorded: ${JSON.stringify([...sums.values()])}`);
      throw new Failure('storage_full', {}, unwritten);
    },
  };
}

/** Whether the store rejected the rows, but may accept them later. */
const canRetry = (error: unknown): error is Failure =>
  error instanceof Failure &&
  ['storage_full', 'storage_unavailable'].includes(error.reason) &&
  !isOutcomeUnknown(error);

function addTo(sums: Sums, spoken: UsageRow): void {
  // Ids of keys and days contain no spaces, so the name is unambiguous.
  const name = `${spoken.keyId} ${spoken.day} ${spoken.voiceId}`;
  const before = sums.get(name);
  sums.set(name, before ? plus(before, spoken) : spoken);
}

const plus = (one: UsageRow, other: UsageRow): UsageRow => ({
  ...one,
  requests: one.requests + other.requests,
  characters: one.characters + other.characters,
  audioMs: one.audioMs + other.audioMs,
});
