// Sums usage per key, voice and day (UTC), and writes it to the table `usage` in batches, each in one transaction. `add`
// resolves after the write, so before the caller receives the end of the speech. If the store is full or unreachable,
// rows stay in memory as pending rows. If too many rows are pending, `checkPending` refuses further work.
import { Failure } from '../../platform/errors.ts';
import { isOutcomeUnknown, type RowStore, type Rows } from '../../platform/store/row-store.ts';
import { createMetrics, type Metrics } from '../../platform/telemetry/prometheus.ts';
import type { KeyRange } from '../keys/api-key-rows.ts';

export interface UsageRow {
  keyId: string;
  voiceId: string;
  /** Day in UTC, such as "2026-11-21". */
  day: string;
  requests: number;
  characters: number;
  audioMs: number;
}

/** What was spoken on a day. Default for `day`: today. */
export type Usage = Omit<UsageRow, 'day'> & Partial<Pick<UsageRow, 'day'>>;

export const usageGroups = ['key', 'voice', 'day'] as const;
type UsageGroup = (typeof usageGroups)[number];

interface UsageQuery {
  /** Keys to count, with all earlier and later rotations of the key `ownKeyId`. */
  range: KeyRange;
  /** First and last day, both inclusive. */
  from: string;
  to: string;
  groupBy: UsageGroup;
  limit: number;
}

export interface UsageSum extends Pick<UsageRow, 'requests' | 'characters' | 'audioMs'> {
  /** Id of the key, id of the voice, or day, depending on `groupBy`. */
  group: string;
}

const columnOf: Readonly<Record<UsageGroup, string>> = { key: 'u.key_id', voice: 'u.voice_id', day: 'u.day' };
const sums = `cast(sum(u.requests) as bigint) as "requests", cast(sum(u.characters) as bigint) as "characters",
  cast(sum(u.audio_ms) as bigint) as "audioMs"`;

const orderOf = ({ keyId, day, voiceId }: UsageRow) => `${keyId} ${day} ${voiceId}`;

/** Adds the numbers to the existing row. */
export async function addUsage(rows: Rows, spoken: Usage): Promise<void> {
  const { keyId, voiceId, day = dayOf(Date.now()), requests, characters, audioMs } = spoken;
  const sql = `insert into usage (key_id, voice_id, day, requests, characters, audio_ms)
    values ($1, $2, $3, $4, $5, $6)
    on conflict (key_id, day, voice_id) do update set requests = usage.requests + excluded.requests,
      characters = usage.characters + excluded.characters, audio_ms = usage.audio_ms + excluded.audio_ms`;
  await rows.query(sql, keyId, voiceId, day, requests, characters, audioMs);
}

export type UsageRows = ReturnType<typeof createUsageRows>;

export function createUsageRows(store: RowStore) {
  return {
    /** Adds the numbers to the existing rows in one transaction. */
    async addAll(all: readonly UsageRow[]): Promise<void> {
      const [first] = all;
      if (!first) return;
      if (all.length === 1) return addUsage(store, first);
      // The order is fixed, so that two transactions cannot deadlock.
      const inOrder = all.toSorted((one, other) => (orderOf(one) < orderOf(other) ? -1 : 1));
      await store.transaction(
        async (rows) => {
          for (const one of inOrder) await addUsage(rows, one);
        },
        { blind: true },
      );
    },
    /** Sums the characters of all keys of the owner, including replaced keys, and of all keys that share its limits. */
    async charactersSince(ownerId: string, day: string): Promise<number> {
      const sqlAbove = 'select path || limited_by as above from api_keys where key_id = $1';
      const [owner] = await store.query<{ above: string }>(sqlAbove, ownerId);
      const above = `${owner?.above ?? ''}${ownerId}/`;
      const sql = `select coalesce(sum(u.characters), 0) as characters from usage u where u.day >= $2 and u.key_id in
        (select key_id from api_keys where owner_id = $1
          union select key_id from api_keys where path || limited_by >= $3 and path || limited_by < $4)`;
      const [row] = await store.query<{ characters: number }>(sql, ownerId, day, above, `${above}~`);
      return Number(row!.characters);
    },
    /** Returns sums by day in ascending order, or sums by key or voice with the most characters first. */
    sum({ range, from, to, groupBy, limit }: UsageQuery): Promise<UsageSum[]> {
      const column = columnOf[groupBy];
      const order = groupBy === 'day' ? '1' : '3 desc, 1';
      const sql = `select ${column} as "group", ${sums} from usage u join api_keys k on k.key_id = u.key_id
        where u.day >= $1 and u.day <= $2 and
          (k.path >= $3 and k.path < $4 or k.owner_id = (select owner_id from api_keys where key_id = $5))
        group by ${column} order by ${order} limit $6`;
      const { path, ownKeyId = '' } = range;
      return store.query(sql, from, to, path, `${path}~`, ownKeyId, limit);
    },
  };
}

export const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

/** Whether the text is a valid calendar date. */
const isDay = (text: string): boolean =>
  /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text)) && dayOf(Date.parse(text)) === text;

/**
 * The first and the last day of a report; by default, from the first day of the month to today. `wrong` names those that
 * are not days.
 */
export function usageDays({ from, to = dayOf(Date.now()) }: { from?: string | undefined; to?: string | undefined }) {
  const days = { from: from ?? `${(isDay(to) ? to : dayOf(Date.now())).slice(0, 8)}01`, to };
  return { ...days, wrong: (['from', 'to'] as const).filter((name) => !isDay(days[name])) };
}

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
    add(spoken: Usage): Promise<void> {
      batch ??= openBatch();
      batch.count++;
      addTo(batch.sums, { day: dayOf(Date.now()), ...spoken });
      return batch.written;
    },
    /** Throws the store's Failure if no more rows may be pending. */
    checkPending(): void {
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
