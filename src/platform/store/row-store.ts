// The contract of a row store, which SQLite and PostgreSQL implement with the same SQL: parameters $1, $2, ...; columns
// of text, bigint, double precision and bytea; `returning`, `on conflict`, partial indexes. Times are epoch
// milliseconds. A resolved change survives a crash of the process. Errors are `storage_unavailable` and `storage_full`;
// errors in SQL are bugs, and are thrown unchanged. Several statements are atomic only in a transaction.
import type { Failure } from '../errors.ts';

export type RowValue = string | number | Uint8Array | null;

/** Failures of connections that broke before the store answered, so that it is unknown whether a change was made. */
const unknownOutcomes = new WeakSet<Failure>();
export const isOutcomeUnknown = (failure: Failure): boolean => unknownOutcomes.has(failure);
export const markOutcomeUnknown = (failure: Failure): void => void unknownOutcomes.add(failure);

/** Runs statements. The store and its transactions implement this interface. */
export interface Rows {
  /** Returns the rows of a statement; no rows for a change without `returning`. */
  query<Row extends object>(sql: string, ...values: readonly RowValue[]): Promise<Row[]>;
}

/**
 * Topics of changes that are announced to other processes on the same database. Nobody announces `limits`: its
 * listeners are called only after a lost connection.
 */
export const topics = ['keys', 'voices', 'clips', 'lexicons', 'flights', 'limits'] as const;
export type Topic = (typeof topics)[number];

export interface Transaction extends Rows {
  /** Notifies the listeners in every process when the transaction is committed. */
  notify(topic: Topic): Promise<void>;
}

export interface TransactionOptions {
  /** Whether the commit waits for the disk, so that the change also survives a power cut. Default: false. */
  durable?: boolean;
  /** Tables whose deleted rows are erased from the files, as far as the store can. */
  erasing?: readonly string[];
  /** Set if writes do not depend on reads, so that the transaction need not be serializable. */
  blind?: boolean;
}

export interface RowStore extends Rows {
  /**
   * Runs `work` in a serializable transaction; after a conflict, `work` may run again. `work` must send its statements
   * to the `rows` argument, one after the other, never to the store, and must await nothing else. A failed statement
   * rolls the transaction back, even if `work` catches the error.
   */
  transaction<Result>(work: (rows: Transaction) => Promise<Result>, options?: TransactionOptions): Promise<Result>;
  /**
   * The time on the clock of the database. Leases and other times that replicas compare use this clock, because the
   * clocks of replicas may differ.
   */
  now(): Promise<number>;
  /**
   * Calls `onChange` soon after a notification of the topic, and whenever a notification may have been missed. Returns
   * a function that stops listening. A store may receive no notifications, so listeners must also poll.
   */
  listen(topic: Topic, onChange: () => void): () => void;
  /** Closes the store when open transactions have ended. */
  close(): Promise<void>;
}

interface Columns<Row> {
  names: readonly string[];
  /** Columns for `returning ...`, each under its property name. */
  returned: string;
  /** `select ... from table`. */
  select: string;
  /** `insert into table (...) values (...)`, with the parameters $1 and so on. */
  insert: string;
  /** The parameters of `insert`. */
  valuesOf(row: Row): RowValue[];
}

export const toSnakeCase = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

type Words<Text extends string> = Text extends `${infer First} ${infer Rest}` ? First | Words<Rest> : Text;

export const toNames = <Text extends string>(text: Text): Words<Text>[] => text.split(' ') as Words<Text>[];

export function createColumns<Row extends { [Key in keyof Row]: RowValue }>(
  table: string,
  properties: readonly (keyof Row & string)[],
): Columns<Row> {
  const names = properties.map(toSnakeCase);
  const returned = names.map((name, i) => `${name} as "${properties[i]}"`).join(', ');
  return {
    names,
    returned,
    select: `select ${returned} from ${table}`,
    insert: `insert into ${table} (${names.join(', ')}) values (${names.map((_, i) => `$${i + 1}`).join(', ')})`,
    valuesOf: (row) => properties.map((property) => row[property]),
  };
}
