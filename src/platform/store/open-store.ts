// Opens the row store that the settings choose: PostgreSQL if a URL is set, else SQLite in the data folder.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Failure } from '../errors.ts';
import type { SettingValues } from '../runtime/setting-types.ts';
import { reasonOf } from '../runtime/system-errors.ts';
import { schemaSteps } from './migrations.ts';
import type { RowStore } from './row-store.ts';
import type { storeSettings } from './settings.ts';
import { openSqlite } from './sqlite.ts';

type DatabaseChoice = SettingValues<typeof storeSettings>;

export async function openStore(choice: DatabaseChoice): Promise<RowStore> {
  if (choice.databaseUrl === '') return openSqlite(sqliteFileOf(choice)).catch((error) => nameFolder(error, choice));
  const { openPostgres } = await import('./postgres.ts');
  return openPostgres(toPostgresOptions(choice));
}

/** Opens connections for the state that replicas share, which wait for no other statements; undefined with SQLite. */
export async function openSharedRows(choice: DatabaseChoice): Promise<RowStore | undefined> {
  if (choice.databaseUrl === '') return undefined;
  const { connectPostgres } = await import('./postgres.ts');
  return connectPostgres({ ...toPostgresOptions(choice), connectionsMax: sharedConnections });
}

const sharedConnections = 4;

/** Adds the setting that chose the folder to the error's cause, which only the operator sees. */
function nameFolder(error: unknown, { dataDir }: DatabaseChoice): never {
  if (!(error instanceof Failure) || !(error.cause instanceof Error)) throw error;
  const { reason, facts, cause } = error;
  throw new Failure(reason, facts, new Error(`${reasonOf(cause)}; SONANT_DATA_DIR is ${dataDir}`, { cause }));
}

export const isStoreThere = (choice: DatabaseChoice): boolean =>
  choice.databaseUrl !== '' || existsSync(sqliteFileOf(choice));

/** Describes the database without changing it. Throws if the database is damaged or cannot be read. */
export async function inspectStore(choice: DatabaseChoice): Promise<{ isReady: boolean; message: string }> {
  const file = sqliteFileOf(choice);
  if (choice.databaseUrl === '') {
    if (!existsSync(file))
      return { isReady: false, message: `SQLite, ${file}; it will be created when it is first needed` };
    const { inspectSqlite } = await import('./sqlite.ts');
    const steps = await inspectSqlite(file).catch((error: Error) => {
      throw new Failure('storage_unavailable', {}, new Error(`${file}: ${reasonOf(error)}`, { cause: error }));
    });
    if (steps >= schemaSteps) return { isReady: true, message: `SQLite, ${file}` };
    return { isReady: false, message: `SQLite, ${file}; its schema is ${steps} of ${schemaSteps}: ${migrates}` };
  }
  const { inspectPostgres } = await import('./postgres.ts');
  const { serverVersion, steps, stepsKnown, name } = await inspectPostgres(toPostgresOptions(choice));
  const server = `${name}, version ${serverVersion}`;
  if (steps === stepsKnown) return { isReady: true, message: `${server}; its schema (${steps}) is current` };
  if (steps > stepsKnown)
    return { isReady: true, message: `${server}; its schema (${steps}) is newer, and compatible with this version` };
  return { isReady: false, message: `${server}; its schema is ${steps} of ${stepsKnown}: ${migrates}` };
}

const migrates = 'the next start, or sonant db migrate, migrates it';

export const sqliteFileOf = ({ dataDir }: { dataDir: string }): string => join(dataDir, 'sonant.db');

const toPostgresOptions = (choice: DatabaseChoice) => ({
  url: choice.databaseUrl,
  connectionsMax: choice.databasePool,
  statementMs: choice.databaseStatementMs,
  isPooled: choice.isDatabasePooled,
});

export type FingerprintRows = ReturnType<typeof createFingerprintRows>;

export const createFingerprintRows = (store: RowStore) => ({
  async find(name: string): Promise<string | undefined> {
    const select = 'select fingerprint from fingerprints where name = $1';
    const [row] = await store.query<{ fingerprint: string }>(select, name);
    return row?.fingerprint;
  },
  /** Stores the fingerprint if none is stored or `replaces` is set. Returns the fingerprint that is then stored. */
  async record(name: string, fingerprint: string, replaces: boolean): Promise<string> {
    const onConflict = replaces ? 'do update set fingerprint = excluded.fingerprint' : 'do nothing';
    const insert = `insert into fingerprints (name, fingerprint) values ($1, $2) on conflict (name) ${onConflict}`;
    await store.query(insert, name, fingerprint);
    return (await this.find(name))!;
  },
});
