// Where rows are kept: a contract small enough that SQLite and PostgreSQL both keep it with the same SQL.
// The SQL of this room holds to what the two have in common: parameters $1, $2, ...; columns of text, bigint, double
// precision and bytea; `returning`, `on conflict`, partial indexes. Times are epoch milliseconds, flags are times too.
// What has been answered is kept, even if the process is killed the next moment. A store that is busy, broken or
// closed fails with `storage_unavailable`, a full one with `storage_full`; wrong SQL is a bug and stays what it is.

// A statement by itself is done whole or not at all; whatever order several need among them, a transaction gives.

export type RowValue = string | number | Uint8Array | null;

/** What statements are run on: the store itself, or a transaction of it. */
export interface Rows {
  /** The rows that a statement answers; for a change without `returning`, none. */
  query<Row extends object>(sql: string, ...values: readonly RowValue[]): Promise<Row[]>;
}

/** What other processes on the same database want to hear of soon. */
export const topics = ['keys', 'voices'] as const;
export type Topic = (typeof topics)[number];

export interface Transaction extends Rows {
  /** Tells whoever listens, in every process, when the transaction is done. */
  announce(topic: Topic): Promise<void>;
}

export interface TransactionOptions {
  /** Waits for the disk itself, so that what was done outlives a power cut as well as a crash. Default false. */
  durable?: boolean;
  /** Tables from which what was removed is not to stay behind as free space, as far as the store can see to that. */
  erasing?: readonly string[];
  /** What it changes does not hang on what it reads, so it needs no order among others: all or nothing is enough. */
  blind?: boolean;
}

export interface RowStore extends Rows {
  /**
   * Does all of `work` or nothing of it, as if transactions ran one after the other; for that, a store may run `work`
   * again. Statements inside go to the rows that it is given, one after the other, never to the store, and it waits for
   * nothing but them. One that fails undoes the transaction, whatever `work` makes of it.
   */
  transaction<Result>(work: (rows: Transaction) => Promise<Result>, options?: TransactionOptions): Promise<Result>;
  /**
   * Calls `onChange` soon after a topic was announced, and whenever an announcement may have been missed; what it
   * answers ends that. A store may hear of nothing, so whoever listens looks by itself now and then.
   */
  listen(topic: Topic, onChange: () => void): () => void;
  /** Waits for what is open. */
  close(): Promise<void>;
}
