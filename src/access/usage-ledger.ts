// Writes the usage ledger in batches: entries of the same few moments are summed per key, voice and day and written in one
// transaction. `add` settles after the write, so what a caller knows to be spoken is in the ledger. What the store cannot
// take, because it is full or away, is owed: it waits in memory, summed in the same way, and is written when the store
// takes it again. The number of owed rows is limited; beyond it `checkRoom` refuses further work before it begins.
import { Failure } from '../errors.ts';
import { isOutcomeUnknown } from '../store/row-store.ts';
import type { UsageRow, UsageRows } from '../store/usage-rows.ts';

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
  /** Such as "2026-11". */
  name: string;
  beginsMs: number;
  endsMs: number;
}

export function monthAt(nowMs: number): Month {
  const date = new Date(nowMs);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  return { name: date.toISOString().slice(0, 7), beginsMs: Date.UTC(year, month), endsMs: Date.UTC(year, month + 1) };
}

/** Rows that may be owed before further work is refused; each running synthesis may add one. */
const owedRowsMaxDefault = 10_000;
const retryMsDefault = 1_000;
/** A batch waits while every turn of the event loop adds to it, but no longer than so many. */
const turnsMax = 4;
/** Rows in one transaction, so that other statements can run in between. */
const rowsAtOnceMax = 500;

type Sums = Map<string, UsageRow>;

interface Batch {
  sums: Sums;
  /** How many were added. */
  count: number;
  written: Promise<void>;
}

export interface UsageLedger {
  /** Settles when it is written, or owed. */
  add(spoken: UsageRow): Promise<void>;
  /** Throws the Failure of the store where no further rows can be owed. */
  checkRoom(): void;
  /** The number of rows that wait in memory. */
  readonly owedRows: number;
  /** Whether further rows can be owed. */
  readonly hasRoom: boolean;
  /** Writes what is owed; a Failure that names the rows which cannot be written. */
  close(): Promise<void>;
}

export interface UsageLedgerOptions {
  owedRowsMax?: number;
  retryMs?: number;
  /** Takes errors that no caller gets. */
  onFault(fault: unknown): void;
}

export function createUsageLedger(rows: Pick<UsageRows, 'addAll'>, options: UsageLedgerOptions): UsageLedger {
  const { owedRowsMax = owedRowsMaxDefault, onFault } = options;
  const owed = createOwedRows(rows, options);
  const hasRoom = () => owed.count < owedRowsMax;
  let batch: Batch | undefined;

  const write = async (sums: Sums) => {
    if (owed.failure) return owed.add(sums, owed.failure);
    try {
      await rows.addAll([...sums.values()]);
    } catch (error) {
      if (!isOwable(error)) throw error;
      if (!owed.failure) onFault(error);
      owed.add(sums, error);
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
    add(spoken) {
      batch ??= openBatch();
      batch.count++;
      addTo(batch.sums, spoken);
      return batch.written;
    },
    checkRoom() {
      const { failure } = owed;
      if (!failure || hasRoom()) return;
      const message = 'Usage cannot be recorded: the database is unavailable and the buffer is full. Try again later.';
      throw new Failure(failure.reason, { message, retryAfterSeconds: 1 }, failure);
    },
    get owedRows() {
      return owed.count;
    },
    get hasRoom() {
      return hasRoom();
    },
    async close() {
      await batch?.written.catch(() => {});
      await owed.close();
    },
  };
}

/** Writes owed rows again and again until the store has taken all of them. */
function createOwedRows(rows: Pick<UsageRows, 'addAll'>, { retryMs = retryMsDefault, onFault }: UsageLedgerOptions) {
  const sums: Sums = new Map();
  let failure: Failure | undefined;
  let writingCount = 0;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();

  /** Ends with the first failure, or when nothing is owed. */
  const flush = async () => {
    while (sums.size > 0) {
      const some = [...sums].slice(0, rowsAtOnceMax);
      for (const [name] of some) sums.delete(name);
      writingCount = some.length;
      try {
        await rows.addAll(some.map(([, row]) => row));
      } catch (error) {
        const unwritten = JSON.stringify(some.map(([, row]) => row));
        if (!isOwable(error)) throw new Error(`usage possibly not recorded: ${unwritten}`, { cause: error });
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
    /** Why rows are owed; undefined where none are. */
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

/** Whether the store has not taken the rows, and may take them later. */
const isOwable = (error: unknown): error is Failure =>
  error instanceof Failure &&
  ['storage_full', 'storage_unavailable'].includes(error.reason) &&
  !isOutcomeUnknown(error);

function addTo(sums: Sums, spoken: UsageRow): void {
  // Ids of keys and days have no spaces.
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
