// A row store in PostgreSQL, shared by any number of processes. Transactions are serializable. After a conflict, a
// transaction is retried; after several conflicts, such transactions run one at a time, up to a time limit. The bytes
// of rows deleted in `erasing` transactions may remain in files, backups and the write-ahead log until they are
// overwritten. Clones are therefore encrypted with a key outside the database.

import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { Failure } from '../errors.ts';
import { onAbort } from '../runtime/abort.ts';
import { reasonOf } from '../runtime/system-errors.ts';
import {
  inspectSchema,
  migrateSchema,
  nameOf,
  type PostgresOptions,
  type Schema,
  toClientConfig,
  toTransactionLimits,
} from './postgres-schema.ts';
import {
  markOutcomeUnknown,
  type RowStore,
  type RowValue,
  type Topic,
  type Transaction,
  type TransactionOptions,
  topics,
} from './row-store.ts';

// Receives notifications from a PostgreSQL database (LISTEN and NOTIFY, channel `sonant`, payload = topic) on a
// dedicated connection. A lost connection is reopened with exponential backoff. Notifications may be lost in the
// meantime, so all listeners are called whenever a connection opens.

const notifySql = `select pg_notify('sonant', $1)`;

const reopenMs = { first: 50, max: 1_000 };
/** Interval of the keep-alive query, which detects a connection that was cut silently. */
const pingEveryMs = 10_000;

export class PostgresListener {
  readonly #config: pg.ClientConfig;
  readonly #listeners = new Map<Topic, Set<() => void>>(topics.map((topic) => [topic, new Set()]));
  readonly #closing = new AbortController();
  #loop: Promise<void> | undefined;

  constructor(config: pg.ClientConfig) {
    this.#config = config;
  }

  listen(topic: Topic, onChange: () => void): () => void {
    const listeners = this.#listeners.get(topic)!;
    const listener = () => onChange();
    listeners.add(listener);
    this.#loop ??= this.#run();
    return () => void listeners.delete(listener);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#loop;
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing;
    let waitMs = reopenMs.first;
    const onOpen = () => {
      waitMs = reopenMs.first;
    };
    while (!signal.aborted) {
      await this.#receive(signal, onOpen).catch(() => {});
      await sleep(waitMs * (0.5 + Math.random() / 2), undefined, { signal }).catch(() => {});
      waitMs = Math.min(waitMs * 2, reopenMs.max);
    }
  }

  /** Runs until the connection is lost. */
  async #receive(signal: AbortSignal, onOpen: () => void): Promise<void> {
    const client = new pg.Client(this.#config);
    const lost = Promise.withResolvers<void>();
    for (const event of ['error', 'end'] as const) client.on(event, () => lost.resolve());
    // The abort listener is removed at the end; otherwise the signal would keep the connection in memory.
    using _ = onAbort(signal, lost.resolve);
    client.on('notification', ({ payload }) => this.#call((topic) => topic === payload));
    let timer: NodeJS.Timeout | undefined;
    try {
      await client.connect();
      await client.query('listen sonant');
      onOpen();
      this.#call(() => true);
      timer = setInterval(() => client.query('select 1').catch(() => lost.resolve()), pingEveryMs);
      await lost.promise;
    } finally {
      clearInterval(timer);
      void client.end().catch(() => {});
    }
  }

  #call(matches: (topic: Topic) => boolean): void {
    for (const [topic, listeners] of this.#listeners) {
      if (matches(topic)) for (const listener of listeners) listener();
    }
  }
}

const connectionsDefault = 10;
const idleMsMax = 30_000;
/** Maximum age of a connection, so that all connections reach the new server after a failover. */
const connectionSecondsMax = 30 * 60;
/** Maximum number of prepared statements. Further statements are not prepared. */
const statementsMax = 500;
/** How long a transaction is retried after conflicts before it fails. */
const conflictMsMax = 5_000;
const retryMsMax = 50;
/** Number of tries before a transaction takes the lock that serializes retries. */
const unlockedTries = 3;

/** Opens the database and migrates its schema. */
export const openPostgres = (options: PostgresOptions): Promise<RowStore> =>
  withDatabaseName(options, async () => {
    await migrateSchema(options);
    return new PostgresRows(options);
  });

/** Opens further connections to a database that is open already. */
export const connectPostgres = (options: PostgresOptions): RowStore => new PostgresRows(options);

/** Describes the database without changing it. */
export const inspectPostgres = (options: PostgresOptions): Promise<Schema & { name: string }> =>
  withDatabaseName(options, async (name) => ({ name, ...(await inspectSchema(options)) }));

/** Runs `work`. Errors from `work` name the database. */
async function withDatabaseName<Result>(
  options: PostgresOptions,
  work: (name: string) => Promise<Result>,
): Promise<Result> {
  let name = 'PostgreSQL';
  try {
    name = nameOf(options);
    return await work(name);
  } catch (error) {
    const cause = new Error(`${name}: ${explain(error)}`, { cause: error });
    throw new Failure('storage_unavailable', { message: 'The database cannot be opened.' }, cause);
  }
}

/** Describes an error. A host with several addresses can cause several errors. */
const explain = (error: unknown): string =>
  error instanceof AggregateError ? [...new Set(error.errors.map(explain))].join('; ') : reasonOf(error);

class PostgresRows implements RowStore {
  readonly #options: PostgresOptions;
  readonly #pool: pg.Pool;
  readonly #listener: PostgresListener;
  readonly #names = new Map<string, string>();
  /** Lost connections, which the pool must drop. */
  readonly #lost = new WeakSet<pg.PoolClient>();
  #closed: Promise<unknown> | undefined;

  constructor(options: PostgresOptions) {
    const config = toClientConfig(options);
    this.#options = options;
    this.#listener = new PostgresListener(config);
    this.#pool = new pg.Pool({
      ...config,
      max: options.connectionsMax ?? connectionsDefault,
      idleTimeoutMillis: idleMsMax,
      maxLifetimeSeconds: connectionSecondsMax,
    });
    // These errors need no handling: statements on a lost connection fail, and the pool drops idle connections.
    this.#pool.on('error', () => {});
    this.#pool.on('connect', (client) => client.on('error', () => {}));
  }

  async query<Row extends object>(sql: string, ...values: readonly RowValue[]): Promise<Row[]> {
    return this.#retryConflicts(() =>
      this.#onClient((client) => this.#whereCommits(() => this.#run<Row>(client, sql, values))),
    );
  }

  async transaction<Result>(
    work: (rows: Transaction) => Promise<Result>,
    options: TransactionOptions = {},
  ): Promise<Result> {
    const result = await this.#retryConflicts((tries) =>
      this.#onClient((client) => this.#transact(client, this.#beginSql(options, tries), work)),
    );
    const { erasing = [] } = options;
    if (erasing.length > 0) {
      // A failure of the vacuum is ignored, because the transaction is committed already.
      const vacuum = { text: `vacuum (skip_locked) ${erasing.join(', ')}` };
      await this.#onClient((client) => this.#send(client, vacuum)).catch(() => {});
    }
    return result;
  }

  async now(): Promise<number> {
    const sql = 'select floor(extract(epoch from clock_timestamp()) * 1000)::bigint as ms';
    return Number((await this.query<{ ms: number }>(sql))[0]!.ms);
  }

  listen(topic: Topic, onChange: () => void): () => void {
    return this.#options.isPooled ? () => {} : this.#listener.listen(topic, onChange);
  }

  async close(): Promise<void> {
    this.#closed ??= Promise.all([this.#listener.close(), this.#pool.end()]);
    await this.#closed;
  }

  async #retryConflicts<Result>(work: (tries: number) => Promise<Result>): Promise<Result> {
    const until = performance.now() + conflictMsMax;
    for (let tries = 1; ; tries++) {
      try {
        return await work(tries);
      } catch (error) {
        if (!isConflict(error) || performance.now() > until) throw toStorageFailure(error);
      }
      await sleep(Math.random() * Math.min(2 ** tries, retryMsMax));
    }
  }

  async #onClient<Result>(work: (client: pg.PoolClient) => Promise<Result>): Promise<Result> {
    const client = await this.#pool.connect().catch((error) => {
      throw toConnectionFailure(error);
    });
    try {
      return await work(client);
    } finally {
      client.release(this.#lost.has(client) || client.getTransactionStatus() !== 'I');
    }
  }

  async #transact<Result>(
    client: pg.PoolClient,
    beginSql: string,
    work: (rows: Transaction) => Promise<Result>,
  ): Promise<Result> {
    let isOver = false;
    let failed: { error: unknown } | undefined;
    const query = async <Row extends object>(sql: string, ...values: readonly RowValue[]) => {
      if (isOver) throw new Error('the transaction is over');
      try {
        return await this.#run<Row>(client, sql, values);
      } catch (error) {
        failed ??= { error };
        throw error;
      }
    };
    const notify = async (topic: Topic) => void (await query(notifySql, topic));
    try {
      await this.#send(client, { text: beginSql });
      const result = await work({ query, notify });
      if (failed) throw failed.error;
      isOver = true;
      await this.#whereCommits(() => this.#send(client, { text: 'commit' }));
      return result;
    } catch (error) {
      if (!this.#lost.has(client)) await this.#send(client, { text: 'rollback' }).catch(() => {});
      throw failed && isConflict(failed.error) ? failed.error : error;
    } finally {
      isOver = true;
    }
  }

  /** SQL that begins a transaction, sent as one message. */
  #beginSql({ durable = false, blind = false }: TransactionOptions, tries: number): string {
    const statements = [`begin isolation level ${blind ? 'read committed' : 'serializable'}`];
    if (this.#options.isPooled) statements.push(toTransactionLimits(this.#options));
    // After several conflicts, transactions run one after the other under a table lock (any table would do). The lock
    // precedes the snapshot, so that each transaction sees the changes of the previous one.
    if (tries > unlockedTries) statements.push('lock table migrations in exclusive mode');
    if (durable) statements.push(synchronousCommit);
    return statements.join('; ');
  }

  /** Marks failures after which it is unknown whether the server has committed. */
  async #whereCommits<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof Failure) markOutcomeUnknown(error);
      throw error;
    }
  }

  async #run<Row extends object>(client: pg.PoolClient, text: string, values: readonly RowValue[]): Promise<Row[]> {
    const checked = values.map((value, i) => {
      if (value === undefined) throw new TypeError(`$${i + 1} is undefined`);
      // PostgreSQL cannot store NUL in text. Sonant never stores NUL, so a search for NUL must find nothing.
      return typeof value === 'string' ? value.replaceAll('\0', '\ufffd') : value;
    });
    const name = this.#options.isPooled ? undefined : this.#nameStatement(text);
    return this.#send<Row>(client, { text, values: checked, ...(name !== undefined && { name }) });
  }

  async #send<Row extends object>(client: pg.PoolClient, query: pg.QueryConfig): Promise<Row[]> {
    try {
      return (await client.query<Row>(query)).rows;
    } catch (error) {
      if (!isConnectionUsable(error)) this.#lost.add(client);
      throw toConnectionFailure(error);
    }
  }

  /** Returns the name of a prepared statement. Identical statements have the same name on all connections. */
  #nameStatement(text: string): string | undefined {
    const known = this.#names.get(text);
    if (known !== undefined || this.#names.size >= statementsMax) return known;
    const name = `s${createHash('sha256').update(text).digest('base64url').slice(0, 20)}`;
    this.#names.set(text, name);
    return name;
  }
}

/** Makes the commit wait for the disk even if the database is configured not to. */
const synchronousCommit = `select set_config('synchronous_commit', 'on', true) where current_setting('synchronous_commit') = 'off'`;

/** Whether the error is a serialization failure or a deadlock, so that a retry may succeed. */
const isConflict = (error: unknown): boolean => /^40(001|P01)$/.test(stateOf(error) ?? '');

/** Whether the connection can be used after this error. */
function isConnectionUsable(error: unknown): boolean {
  const state = stateOf(error);
  return state !== undefined && !breaking.test(state);
}

/** Errors after which a connection must be replaced: the server is stopping, is broken, or has become a standby. */
const breaking = /^(08|25006|25P03|26|42P05|57P|58|XX)/;
/**
 * Database errors: no connection (08, 57P), no resources (53), no privilege (28, 42501), no such database or schema
 * (3D, 3F), a standby (25006), a timeout (25P03, 55P03, 57014), repeated conflicts (40), an internal error (58, F0,
 * XX), prepared statements lost in a pooler (26, 42P05).
 */
const storageFaults = /^(08|25006|25P03|26|28|3D|3F|40001|40P01|42501|42P05|53|55P03|57|58|F0|XX)/;

/** Translates an error that the server reported. */
function toStorageFailure(error: unknown): unknown {
  const state = stateOf(error);
  if (state === '53100') return new Failure('storage_full', {}, error);
  return state !== undefined && storageFaults.test(state) ? unavailable(error) : error;
}

const toConnectionFailure = (error: unknown): unknown => (stateOf(error) === undefined ? unavailable(error) : error);

const unavailable = (cause: unknown) => new Failure('storage_unavailable', { retryAfterSeconds: 1 }, cause);
const stateOf = (error: unknown): string | undefined => (error instanceof pg.DatabaseError ? error.code : undefined);
