// Where rows are kept: a contract small enough that SQLite and PostgreSQL both keep it with the same SQL.
// The SQL of this room holds to what the two have in common: parameters $1, $2, ...; columns of text, bigint, double
// precision and bytea; `returning`, `on conflict`, partial indexes. Times are epoch milliseconds, flags are times too.
// What has been answered is kept, even if the process is killed the next moment. A store that is busy, broken or
// closed fails with `storage_unavailable`, a full one with `storage_full`; wrong SQL is a bug and stays what it is.

export type RowValue = string | number | Uint8Array | null;

/** What statements are run on: the store itself, or a transaction of it. */
export interface Rows {
  /** The rows that a statement answers; for a change without `returning`, none. */
  query<Row extends object>(sql: string, ...values: readonly RowValue[]): Promise<Row[]>;
}

export interface TransactionOptions {
  /** Waits for the disk itself, so that what was done outlives a power cut as well as a crash. Default false. */
  durable?: boolean;
  /** What was removed is not left on the disk as free space, nor in what is written ahead. Default false. */
  erasing?: boolean;
}

export interface RowStore extends Rows {
  /**
   * Does all of `work` or nothing of it, as if transactions ran one after the other; for that, a store may run `work`
   * again. Statements inside go to the rows that it is given, never to the store, and it waits for nothing but them.
   */
  transaction<Result>(work: (rows: Rows) => Promise<Result>, options?: TransactionOptions): Promise<Result>;
  /** Waits for the transaction that is open. */
  close(): Promise<void>;
}
