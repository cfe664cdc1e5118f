// Migrates the schema of a PostgreSQL database, one process at a time: the steps run in one transaction that holds an
// advisory lock. If the schema is current, nothing is locked and no privilege is needed.
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { checkNewer, migrate, readSteps, schemaSteps } from './migrations.ts';
import type { Rows } from './row-store.ts';
import { checkTables } from './sqlite.ts';

// Creates the options for a PostgreSQL connection: timeouts and type parsers. A transaction pooler does not keep
// session settings, so each transaction behind a pooler sets its own timeouts.

export interface PostgresOptions {
  url: string;
  connectionsMax?: number;
  statementMs?: number;
  /** Whether connections go through a pooler such as PgBouncer. */
  isPooled?: boolean;
}

/** Timeout for a new connection, or for a free connection of the pool; never longer than the statement timeout. */
const connectMsMax = 3_000;
/** Extra time for the server to report a statement timeout itself, before the connection is dropped. */
const graceMs = 500;
/** How long a transaction may hold locks while its process is idle. */
const idleInTransactionMsMax = 10_000;
const keepAliveAfterMs = 10_000;

const { INT8, NUMERIC } = pg.types.builtins;
/** Counts, sums and epoch milliseconds are read as numbers, as in SQLite; all stay below 2^53. */
const getTypeParser: typeof pg.types.getTypeParser = (oid: number, format?: string) =>
  oid === INT8 || oid === NUMERIC ? Number : pg.types.getTypeParser(oid, format as 'text');

export function toClientConfig({ url, statementMs = 5_000, isPooled = false }: PostgresOptions): pg.ClientConfig {
  return {
    connectionString: url,
    fallback_application_name: 'sonant',
    types: { getTypeParser },
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveAfterMs,
    connectionTimeoutMillis: Math.min(connectMsMax, statementMs),
    // Ends a query if the server does not respond at all.
    query_timeout: statementMs + graceMs,
    ...(!isPooled && {
      statement_timeout: statementMs,
      idle_in_transaction_session_timeout: idleInTransactionMsMax,
    }),
  };
}

/** SQL with which a transaction behind a pooler sets its timeouts. */
export const toTransactionLimits = ({ statementMs = 5_000 }: PostgresOptions): string =>
  `set local statement_timeout = ${statementMs};
   set local idle_in_transaction_session_timeout = ${idleInTransactionMsMax}`;

/** Describes the database without credentials. */
export function nameOf({ url }: PostgresOptions): string {
  const { host, port, database } = new pg.Client({ connectionString: url });
  return `PostgreSQL, ${database} at ${host}:${port}`;
}

/** "SNNT": the key of the advisory lock. */
const lock = 0x534e4e54;
const versionMin = 13;
/** Timeout of the migration. A step may have to rewrite a large table. */
const migrationMsMax = 15 * 60_000;
/** Longest wait of a step for a table lock. All later queries on the table wait behind the step. */
const tableLockMsMax = 5_000;

export interface Schema {
  serverVersion: string;
  /** Number of steps applied to the database. */
  steps: number;
  /** Number of steps that this version knows. */
  stepsKnown: number;
}

export const inspectSchema = (options: PostgresOptions): Promise<Schema> =>
  onConnection(options, async (rows) => {
    const [server] = await rows.query<{ server_version: string }>('show server_version');
    const steps = await readSchemaSteps(rows);
    if (steps > schemaSteps) await checkNewer(rows);
    if (steps >= schemaSteps) await checkTables(rows);
    return { serverVersion: server!.server_version, steps, stepsKnown: schemaSteps };
  });

export const migrateSchema = (options: PostgresOptions): Promise<void> =>
  onConnection(options, async (rows, client) => {
    const taken = await readSchemaSteps(rows);
    if (taken === schemaSteps) return;
    if (taken > schemaSteps) return checkNewer(rows);
    await checkServer(rows);
    await client.query(`begin; set local statement_timeout = ${migrationMsMax};`);
    await rows.query('select pg_advisory_xact_lock($1)', lock);
    await client.query(`set local lock_timeout = ${tableLockMsMax}`);
    await migrate({ isPostgres: true, query: (sql, ...values) => rows.query(inByteOrder(sql), ...values) });
    await client.query('commit');
  });

async function onConnection<Result>(
  options: PostgresOptions,
  work: (rows: Rows, client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = new pg.Client({ ...toClientConfig(options), query_timeout: migrationMsMax });
  // The statements report connection errors.
  client.on('error', () => {});
  try {
    await client.connect();
    return await work({ query: async (sql, ...values) => (await client.query(sql, [...values])).rows }, client);
  } finally {
    // The disconnect is not awaited, because the server may not respond.
    void client.end();
    await sleep(0);
  }
}

async function readSchemaSteps(rows: Rows): Promise<number> {
  const isThere = `select to_regclass('migrations') is not null as "isThere"`;
  const [migrations] = await rows.query<{ isThere: boolean }>(isThere);
  return migrations!.isThere ? readSteps(rows) : 0;
}

async function checkServer(rows: Rows): Promise<void> {
  const [server] = await rows.query<{ version: string; encoding: string }>(
    `select current_setting('server_version_num') as version, current_setting('server_encoding') as encoding`,
  );
  const { version, encoding } = server!;
  if (Number(version) < versionMin * 10_000) throw new Error(`it must be PostgreSQL ${versionMin} or newer`);
  if (encoding !== 'UTF8') throw new Error(`its encoding must be UTF8, and is ${encoding}`);
}

/** Makes PostgreSQL sort text by bytes, as SQLite does, regardless of the locale of the database. */
const inByteOrder = (sql: string): string =>
  /^(create|alter) table/.test(sql) ? sql.replace(/\btext\b/g, 'text collate "C"') : sql;
