// A row store in one SQLite file in WAL mode. Readers never wait, and one process writes at a time; the command line
// may write while the service runs. If the file is busy, SQLite blocks for a few milliseconds at most, and the
// statement is retried up to a time limit. A stored row survives a crash of the process; a durable transaction also
// survives a power cut. The file must be on a local disk, because WAL does not work over a network.

import { closeSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { Failure } from '../errors.ts';
import { makeFolder } from '../runtime/files.ts';
import { reasonOf } from '../runtime/system-errors.ts';
import { tables } from './copy-database.ts';
import { checkNewer, migrate, readSteps, schemaSteps } from './migrations.ts';
import type { RowStore, Rows, RowValue, Transaction, TransactionOptions } from './row-store.ts';

/** How long SQLite may block the event loop while another process writes. */
const blockingMsMax = 5;
/** Longest time for retries of a statement, and longest wait for another process that migrates the file. */
const busyMsMax = 5_000;
const retryMs = { first: 2, max: 30 };
const statementsMax = 200;
const checkpointAgainMs = 200;

/** "SNNT" in the header of the file marks a Sonant database. */
const applicationId = 0x534e4e54;

/**
 * Opens the database in `file`, creates it if it is missing, and migrates its schema. With `isExclusive`, opening fails
 * if another process has the file open.
 */
export async function openSqlite(file: string, { isExclusive = false } = {}): Promise<RowStore> {
  let database: Database.Database | undefined;
  try {
    createPrivateFile(file);
    const opened = new Database(file, { timeout: blockingMsMax });
    database = opened;
    if (isExclusive) {
      opened.pragma('locking_mode = EXCLUSIVE');
      claim(opened);
    } else await retryWhileBusy(() => claim(opened));
    const store = new SqliteRows(opened);
    await store.transaction(migrate, { durable: true });
    return store;
  } catch (error) {
    database?.close();
    const cause = error instanceof Failure ? (error.cause ?? error) : error;
    const isTaken = isExclusive && codeOf(cause).startsWith('SQLITE_BUSY');
    const reason = isTaken ? 'another process has it open' : reasonOf(cause);
    const named = new Error(`${file}: ${reason}`, { cause });
    throw new Failure('storage_unavailable', { message: 'The database cannot be opened.' }, named);
  }
}

/** The file contains hashes of keys, so only its owner may read it. SQLite gives its companion files the same mode. */
function createPrivateFile(file: string): void {
  makeFolder(dirname(file));
  try {
    // Opens only a new file: opening and closing a file that SQLite has open would release SQLite's locks on it.
    closeSync(openSync(file, 'wx', 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/** Checks that the file is a Sonant database, or marks an empty file as one, and configures the connection. */
function claim(database: Database.Database): void {
  const own = database.transaction(() => {
    if (database.pragma('application_id', { simple: true }) === applicationId) return;
    const isEmpty = database.prepare('select 1 from sqlite_master limit 1').get() === undefined;
    if (!isEmpty) throw new Error('it is the database of another program');
    database.pragma(`application_id = ${applicationId}`);
  });
  own.immediate();
  if (database.pragma('journal_mode = WAL', { simple: true }) !== 'wal') {
    throw new Error('SQLite cannot use WAL mode; move SONANT_DATA_DIR to a local disk');
  }
  // Overwrites deleted rows, so that no data of a person's voice stays in the file.
  database.pragma('secure_delete = ON');
}

class SqliteRows implements RowStore {
  readonly #database: Database.Database;
  /** Prepared statements, the least recently used first. */
  readonly #statements = new Map<string, Database.Statement>();
  /** Resolves when the open transaction ends. All other calls wait for this, because they share one connection. */
  #transaction: Promise<void> | undefined;
  #checkpointTimer: NodeJS.Timeout | undefined;

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
      const result = await work({ query, notify: async () => {} });
      if (failed) throw failed.error;
      this.#database.exec('commit');
      isCommitted = true;
      return result;
    } catch (error) {
      // After some errors, SQLite has already rolled back.
      if (this.#database.inTransaction) this.#database.exec('rollback');
      throw toStorageFailure(error);
    } finally {
      isOver = true;
      this.#transaction = undefined;
      over.resolve();
      if (durable) this.#database.pragma('synchronous = NORMAL');
      if (erasing.length > 0 && isCommitted) this.#emptyWal();
    }
  }

  /** All processes on the database share the clock of this machine. */
  async now(): Promise<number> {
    return Date.now();
  }

  /** SQLite does not notify other processes. */
  listen(): () => void {
    return () => {};
  }

  async close(): Promise<void> {
    while (this.#transaction) await this.#transaction;
    clearTimeout(this.#checkpointTimer);
    this.#statements.clear();
    this.#database.close();
  }

  /** Checkpoints and truncates the write-ahead log, now or when current readers are done. */
  #emptyWal(): void {
    clearTimeout(this.#checkpointTimer);
    let isDone = false;
    try {
      const [{ busy }] = this.#database.pragma('wal_checkpoint(TRUNCATE)') as [{ busy: number }];
      isDone = busy === 0;
    } catch (error) {
      if (!codeOf(error)) throw error;
    }
    if (isDone) return;
    this.#checkpointTimer = setTimeout(() => this.#transaction ?? this.#emptyWal(), checkpointAgainMs).unref();
  }

  #whenFree<Result>(work: () => Result): Promise<Result> {
    const checked = () => {
      if (!this.#database.open) throw new Failure('storage_unavailable', {}, new Error('the database is closed'));
      return work();
    };
    return retryWhileBusy(checked, () => this.#transaction);
  }

  #run<Row>(sql: string, values: readonly RowValue[]): Row[] {
    const statement = this.#prepare(sql);
    const named: Record<number, RowValue> = {};
    for (const [i, value] of values.entries()) {
      // SQLite would store undefined as null.
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
 * Runs `work` as soon as `pending` returns undefined, and retries while another process writes. Errors from `work`
 * become Failures. `pending` and `work` run in one step of the event loop.
 */
async function retryWhileBusy<Result>(
  work: () => Result,
  pending: () => Promise<void> | undefined = () => undefined,
): Promise<Result> {
  const until = performance.now() + busyMsMax;
  for (let waitMs = retryMs.first; ; waitMs = Math.min(waitMs * 2, retryMs.max)) {
    for (let other = pending(); other; other = pending()) await other;
    try {
      return work();
    } catch (error) {
      if (!codeOf(error).startsWith('SQLITE_BUSY') || performance.now() > until) throw toStorageFailure(error);
    }
    await sleep(waitMs * (0.5 + Math.random() / 2));
  }
}

const codeOf = (error: unknown): string => (error instanceof Database.SqliteError ? error.code : '');

/** Database errors, as opposed to errors in a statement. */
const storageFaults = /^SQLITE_(BUSY|CANTOPEN|CORRUPT|IOERR|LOCKED|NOMEM|NOTADB|PERM|PROTOCOL|READONLY)/;

function toStorageFailure(error: unknown): unknown {
  const code = codeOf(error);
  if (code === 'SQLITE_FULL') return new Failure('storage_full', {}, error);
  return storageFaults.test(code) ? new Failure('storage_unavailable', { retryAfterSeconds: 1 }, error) : error;
}

/** Returns the number of applied migration steps. Throws if the file is damaged or not a Sonant database. */
export async function inspectSqlite(file: string): Promise<number> {
  const database = new Database(file, { readonly: true, fileMustExist: true, timeout: busyMsMax });
  try {
    const fault = database.pragma('quick_check(1)', { simple: true });
    if (fault !== 'ok') throw new Error(`it is damaged: ${String(fault).trim()}`);
    const rows: Rows = { query: async <Row extends object>(sql: string) => database.prepare(sql).all() as Row[] };
    const names = await rows.query<{ name: string }>("select name from sqlite_master where type = 'table'");
    // A process that was killed during startup may leave an empty file.
    if (names.length === 0) return 0;
    if (!names.some(({ name }) => name === 'migrations')) throw new Error('it is the database of another program');
    const steps = await readSteps(rows);
    if (steps > schemaSteps) await checkNewer(rows);
    if (steps >= schemaSteps) await checkTables(rows);
    return steps;
  } finally {
    database.close();
  }
}

export async function checkTables(rows: Rows): Promise<void> {
  for (const { name } of tables) await rows.query(`select * from ${name} limit 1`);
}
