// Rows in a PostgreSQL database, for as many processes at once as there are. Transactions are serializable: one that
// another overtakes is done again, and after a few times stands in line with others of its fate, up to a limit. Every
// wait has an end: for a connection, for a statement, and for a server that does not answer at all.
// What `erasing` transactions removed is vacuumed away; its bytes may stay in files, backups and the write-ahead log
// until they are written over, which is why clones are encrypted with a key that is not in the database.
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { Failure } from '../errors.ts';
import { nameOf, type PostgresOptions, toClientConfig, toTransactionLimits } from './postgres-connection.ts';
import { isConflict, isSound, toConnectionFailure, toStorageFailure } from './postgres-faults.ts';
import { announcement, PostgresListener } from './postgres-listener.ts';
import { bringUpSchema, inspectSchema, type Schema } from './postgres-schema.ts';
import type { RowStore, RowValue, Topic, Transaction, TransactionOptions } from './row-store.ts';

const connectionsUsual = 10;
const idleMsMax = 30_000;
/** Connections are made anew now and then, so that after a failover all find the way. */
const connectionSecondsMax = 30 * 60;
/** Statements beyond that many are not prepared. */
const statementsMax = 500;
/** How long a transaction is done again before its caller is told. */
const conflictMsMax = 5_000;
const retryMsMax = 50;
/** Tries that are left to luck. */
const luckyTries = 3;

/** Opens the database and brings it to the present schema. */
export const openPostgres = (options: PostgresOptions): Promise<RowStore> =>
  atPlace(options, async () => {
    await bringUpSchema(options);
    return new PostgresRows(options);
  });

/** What there is, and where, told without changing anything. */
export const inspectPostgres = (options: PostgresOptions): Promise<Schema & { place: string }> =>
  atPlace(options, async (place) => ({ place, ...(await inspectSchema(options)) }));

async function atPlace<Result>(options: PostgresOptions, work: (place: string) => Promise<Result>): Promise<Result> {
  let place = 'PostgreSQL';
  try {
    place = nameOf(options);
    return await work(place);
  } catch (error) {
    const why = new Error(`${place}: ${explain(error)}`, { cause: error });
    throw new Failure('storage_unavailable', { message: 'The database cannot be opened.' }, why);
  }
}

/** Where a host has several addresses, there are several errors. */
const explain = (error: unknown): string =>
  error instanceof AggregateError ? error.errors.map(explain).join('; ') : (error as Error).message;

class PostgresRows implements RowStore {
  readonly #options: PostgresOptions;
  readonly #pool: pg.Pool;
  readonly #listener: PostgresListener;
  readonly #names = new Map<string, string>();
  /** Connections that are of no more use. */
  readonly #lost = new WeakSet<pg.PoolClient>();
  #closed: Promise<unknown> | undefined;

  constructor(options: PostgresOptions) {
    const config = toClientConfig(options);
    this.#options = options;
    this.#listener = new PostgresListener(config);
    this.#pool = new pg.Pool({
      ...config,
      max: options.connectionsMax ?? connectionsUsual,
      idleTimeoutMillis: idleMsMax,
      maxLifetimeSeconds: connectionSecondsMax,
    });
    // Of connections that are lost, those who use them hear by their statements, and the pool drops the others.
    this.#pool.on('error', () => {});
    this.#pool.on('connect', (client) => client.on('error', () => {}));
  }

  async query<Row extends object>(sql: string, ...values: readonly RowValue[]): Promise<Row[]> {
    return this.#untilDone(() => this.#onClient((client) => this.#run<Row>(client, sql, values)));
  }

  async transaction<Result>(
    work: (rows: Transaction) => Promise<Result>,
    options: TransactionOptions = {},
  ): Promise<Result> {
    const result = await this.#untilDone((tries) =>
      this.#onClient((client) => this.#transact(client, this.#beginning(options, tries), work)),
    );
    const { erasing = [] } = options;
    if (erasing.length > 0) {
      // It is done whether this succeeds or not.
      const vacuum = { text: `vacuum (skip_locked) ${erasing.join(', ')}` };
      await this.#onClient((client) => this.#ask(client, vacuum)).catch(() => {});
    }
    return result;
  }

  listen(topic: Topic, onChange: () => void): () => void {
    return this.#options.isPooled ? () => {} : this.#listener.listen(topic, onChange);
  }

  async close(): Promise<void> {
    this.#closed ??= Promise.all([this.#listener.close(), this.#pool.end()]);
    await this.#closed;
  }

  async #untilDone<Result>(work: (tries: number) => Promise<Result>): Promise<Result> {
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
    beginning: string,
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
    const announce = async (topic: Topic) => void (await query(announcement, topic));
    try {
      await this.#ask(client, { text: beginning });
      const result = await work({ query, announce });
      if (failed) throw failed.error;
      isOver = true;
      await this.#ask(client, { text: 'commit' });
      return result;
    } catch (error) {
      if (!this.#lost.has(client)) await this.#ask(client, { text: 'rollback' }).catch(() => {});
      throw failed && isConflict(failed.error) ? failed.error : error;
    } finally {
      isOver = true;
    }
  }

  /** All that is to be said before the first statement, in one message. */
  #beginning({ durable = false, blind = false }: TransactionOptions, tries: number): string {
    const said = [`begin isolation level ${blind ? 'read committed' : 'serializable'}`];
    if (this.#options.isPooled) said.push(toTransactionLimits(this.#options));
    // Whoever was overtaken several times lets those in the same case go one after the other. The table is as good as
    // any to stand in line at; the lock comes before the snapshot, so that the next one sees what the last one did.
    if (tries > luckyTries) said.push('lock table migrations in exclusive mode');
    if (durable) said.push(flushing);
    return said.join('; ');
  }

  async #run<Row extends object>(client: pg.PoolClient, text: string, values: readonly RowValue[]): Promise<Row[]> {
    const checked = values.map((value, i) => {
      if (value === undefined) throw new TypeError(`$${i + 1} is undefined`);
      // PostgreSQL keeps no NUL in a text. None is kept by us; whoever looks for one finds nothing.
      return typeof value === 'string' ? value.replaceAll('\0', '\ufffd') : value;
    });
    const name = this.#options.isPooled ? undefined : this.#nameStatement(text);
    return this.#ask<Row>(client, { text, values: checked, ...(name !== undefined && { name }) });
  }

  async #ask<Row extends object>(client: pg.PoolClient, query: pg.QueryConfig): Promise<Row[]> {
    try {
      return (await client.query<Row>(query)).rows;
    } catch (error) {
      if (!isSound(error)) this.#lost.add(client);
      throw toConnectionFailure(error);
    }
  }

  /** The same name for the same text, on whichever connection. */
  #nameStatement(text: string): string | undefined {
    const known = this.#names.get(text);
    if (known !== undefined || this.#names.size >= statementsMax) return known;
    const name = `s${createHash('sha256').update(text).digest('base64url').slice(0, 20)}`;
    this.#names.set(text, name);
    return name;
  }
}

/** Where the database is set up not to wait for the disk, this transaction does all the same. */
const flushing = `select set_config('synchronous_commit', 'on', true) where current_setting('synchronous_commit') = 'off'`;
