// Migrates the schema of a PostgreSQL database, one process at a time: the steps run in one transaction that holds an
// advisory lock. If the schema is current, nothing is locked and no privilege is needed.
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { checkNewer, migrate, readSteps, schemaSteps } from './migrations.ts';
import { type PostgresOptions, toClientConfig } from './postgres-connection.ts';
import type { Rows } from './row-store.ts';
import { checkTables } from './sqlite.ts';

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
