// Rows in one SQLite file, in WAL mode: readers never wait, and one process writes at a time, which may be another
// (the command line beside the service). Waiting for it happens outside the event loop: SQLite itself waits a few
// milliseconds at most, then the statement is tried again a little later, up to a limit.
// `synchronous = NORMAL` keeps every acknowledged row through the death of the process, FULL (a durable transaction)
// through a power cut too. The file must be on a local disk, for WAL does not work over a network.
import { closeSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { Failure } from '../errors.ts';
import { makeFolder } from '../folder.ts';
import { migrate } from './migrations.ts';
import type { RowStore, RowValue, Transaction, TransactionOptions } from './row-store.ts';

/** How long SQLite may hold up the event loop while another process writes. */
const blockingMsMax = 5;
/** How long a statement is tried again before its caller is told. */
const busyMsMax = 5_000;
const retryMs = { first: 2, max: 30 };
const statementsMax = 200;
const wipeAgainMs = 200;

/** "SNNT" in the file's header: whose database it is. */
const applicationId = 0x534e4e54;

export interface SqliteOptions {
  /** Refused where another process has the file open, and keeps all others out. */
  isAlone?: boolean;
}

/** Opens the database in `file`, makes it if it is not there, and brings it to the present schema. */
export async function openSqlite(file: string, { isAlone = false }: SqliteOptions = {}): Promise<RowStore> {
  let database: Database.Database | undefined;
  try {
    createPrivately(file);
    const opened = new Database(file, { timeout: blockingMsMax });
    database = opened;
    if (isAlone) {
      opened.pragma('locking_mode = EXCLUSIVE');
      claim(opened);
    } else await patiently(() => claim(opened));
    const store = new SqliteRows(opened);
    await store.transaction(migrate, { durable: true });
    return store;
  } catch (error) {
    database?.close();
    const cause = error instanceof Failure ? (error.cause ?? error) : error;
    const isTaken = isAlone && codeOf(cause).startsWith('SQLITE_BUSY');
    const told = isTaken ? 'another process has it open' : cause instanceof Error ? cause.message : cause;
    const why = new Error(`${file}: ${told}`, { cause });
    throw new Failure('storage_unavailable', { message: 'The database cannot be opened.' }, why);
  }
}

/** The file holds hashes of keys: it is its owner's to read, and SQLite gives the files beside it the same mode. */
function createPrivately(file: string): void {
  makeFolder(dirname(file));
  try {
    // Only ever a new file: to open and close one that SQLite has open would let go of SQLite's locks on it.
    closeSync(openSync(file, 'wx', 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/** Makes sure that the file is ours, and sets the connection up. May be done again. */
function claim(database: Database.Database): void {
  const own = database.transaction(() => {
    if (database.pragma('application_id', { simple: true }) === applicationId) return;
    const isEmpty = database.prepare('select 1 from sqlite_master limit 1').get() === undefined;
    if (!isEmpty) throw new Error('it is the database of another program');
    database.pragma(`application_id = ${applicationId}`);
  });
  own.immediate();
  if (database.pragma('journal_mode = WAL', { simple: true }) !== 'wal') {
    throw new Error('SQLite cannot use WAL mode here; is it on a network disk?');
  }
  // What is deleted is overwritten, so that nothing of a person's voice is left in the file.
  database.pragma('secure_delete = ON');
}

class SqliteRows implements RowStore {
  readonly #database: Database.Database;
  /** In the order of their last use, the oldest first. */
  readonly #statements = new Map<string, Database.Statement>();
  /** Resolves when the open transaction is over. There is one connection, so whoever comes meanwhile waits. */
  #transaction: Promise<void> | undefined;
  #wiping: NodeJS.Timeout | undefined;

  constructor(database: Database.Database) {
    this.#database = database;
  }

  async query<Row extends object>(sql: string, ...values: readonly RowValue[]): Promise<Row[]> {
    return this.#whenFree(() => this.#run<Row>(sql, values));
  }

  async transaction<Result>(
    work: (rows: Transaction) => Promise<Result>,
    { durable = false, erasing = [] }: TransactionOptions = {},
  ): Promise<Result> {
    const over = Promise.withResolvers<void>();
    await this.#whenFree(() => {
      this.#database.pragma(`synchronous = ${durable ? 'FULL' : 'NORMAL'}`);
      this.#database.exec('begin immediate');
      this.#transaction = over.promise;
    });
    let isOver = false;
    let isCommitted = false;
    let failed: { error: unknown } | undefined;
    const query = async <Row extends object>(sql: string, ...values: readonly RowValue[]) => {
      if (isOver) throw new Error('the transaction is over');
      try {
        return this.#run<Row>(sql, values);
      } catch (error) {
        failed ??= { error };
        throw error;
      }
    };
    try {
      const result = await work({ query, announce: async () => {} });
      if (failed) throw failed.error;
      this.#database.exec('commit');
      isCommitted = true;
      return result;
    } catch (error) {
      // Some errors have rolled back already.
      if (this.#database.inTransaction) this.#database.exec('rollback');
      throw toStorageFailure(error);
    } finally {
      isOver = true;
      this.#transaction = undefined;
      over.resolve();
      if (durable) this.#database.pragma('synchronous = NORMAL');
      if (erasing.length > 0 && isCommitted) this.#wipe();
    }
  }

  /** Other processes are not heard of. */
  listen(): () => void {
    return () => {};
  }

  async close(): Promise<void> {
    while (this.#transaction) await this.#transaction;
    clearTimeout(this.#wiping);
    this.#statements.clear();
    this.#database.close();
  }

  /** Takes what was written ahead into the file and empties it, now or when those who read just now have read. */
  #wipe(): void {
    clearTimeout(this.#wiping);
    let isDone = false;
    try {
      const [{ busy }] = this.#database.pragma('wal_checkpoint(TRUNCATE)') as [{ busy: number }];
      isDone = busy === 0;
    } catch (error) {
      if (!codeOf(error)) throw error;
    }
    if (!isDone) this.#wiping = setTimeout(() => this.#transaction ?? this.#wipe(), wipeAgainMs).unref();
  }

  #whenFree<Result>(work: () => Result): Promise<Result> {
    const checked = () => {
      if (!this.#database.open) throw new Failure('storage_unavailable', {}, new Error('the database is closed'));
      return work();
    };
    return patiently(checked, () => this.#transaction);
  }

  #run<Row>(sql: string, values: readonly RowValue[]): Row[] {
    const statement = this.#prepare(sql);
    const named: Record<number, RowValue> = {};
    for (const [i, value] of values.entries()) {
      // SQLite would take it for null.
      if (value === undefined) throw new TypeError(`$${i + 1} is undefined`);
      named[i + 1] = value;
    }
    if (statement.reader) return statement.all(named) as Row[];
    statement.run(named);
    return [];
  }

  #prepare(sql: string): Database.Statement {
    const statement = this.#statements.get(sql) ?? this.#database.prepare(sql);
    this.#statements.delete(sql);
    this.#statements.set(sql, statement);
    if (this.#statements.size > statementsMax) this.#statements.delete(this.#statements.keys().next().value!);
    return statement;
  }
}

/**
 * Does `work` when nothing is in its way, and again while another process is writing; its errors become Failures.
 * Between the look for what is in the way and the work nobody else gets a turn.
 */
async function patiently<Result>(
  work: () => Result,
  inTheWay: () => Promise<void> | undefined = () => undefined,
): Promise<Result> {
  const until = performance.now() + busyMsMax;
  for (let waitMs = retryMs.first; ; waitMs = Math.min(waitMs * 2, retryMs.max)) {
    for (let other = inTheWay(); other; other = inTheWay()) await other;
    try {
      return work();
    } catch (error) {
      if (!codeOf(error).startsWith('SQLITE_BUSY') || performance.now() > until) throw toStorageFailure(error);
    }
    await sleep(waitMs * (0.5 + Math.random() / 2));
  }
}

const codeOf = (error: unknown): string => (error instanceof Database.SqliteError ? error.code : '');

/** What is the store's fault, not the statement's. */
const storageFaults = /^SQLITE_(BUSY|CANTOPEN|CORRUPT|IOERR|LOCKED|NOMEM|NOTADB|PERM|PROTOCOL|READONLY)/;

function toStorageFailure(error: unknown): unknown {
  const code = codeOf(error);
  if (code === 'SQLITE_FULL') return new Failure('storage_full', {}, error);
  return storageFaults.test(code) ? new Failure('storage_unavailable', { retryAfterSeconds: 1 }, error) : error;
}
