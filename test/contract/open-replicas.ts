// Opens replicas of the service in this process, on one PostgreSQL and one folder of audio (or a bucket, if storage is
// distributed). They share state only through these, like replicas on many machines. Returns undefined if PostgreSQL is
// not installed.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { firstKeyScopes, operator } from '../../src/accounts/keys/caller.ts';
import { openKeys } from '../../src/app/command-line.ts';
import { loadConfig } from '../../src/app/config.ts';
import { openService, type Service } from '../../src/app/service.ts';
import type { EngineDefinition } from '../../src/engines/engine.ts';
import { flite } from '../../src/engines/flite/flite.ts';
import { createLog } from '../../src/platform/telemetry/log.ts';
import { createStorage, isDistributed } from '../distributed/storage.ts';
import { defineTone, type ToneEngine } from '../engines/tone-engine.ts';
import { startPostgres } from '../platform/store/postgres-server.ts';

export interface Replica {
  url: string;
  target: string;
  service: Service;
  tone: ToneEngine;
}

export interface ReplicaOptions {
  settings?: Readonly<Record<string, string>>;
  /** Engines to use instead of the tone engine and flite. */
  engines?: readonly EngineDefinition[];
  /** Whether the database sends no notifications between replicas. Each replica still polls twice a second. */
  isSilent?: boolean;
}

export async function openReplicas(
  count: number,
  onClose: (close: () => Promise<void>) => void,
  { settings = {}, engines, isSilent = false }: ReplicaOptions = {},
) {
  const postgres = await startPostgres();
  if (!postgres) return undefined;
  const folder = mkdtempSync(join(tmpdir(), 'sonant-replicas-'));
  const database = await postgres.createDatabase();
  if (isSilent) await silence(database);
  const env = {
    ...{ SONANT_DATABASE_URL: database, SONANT_DATA_DIR: folder, SONANT_BASE_URL: 'http://sonant.test' },
    ...{ SONANT_SECRET: 'a secret of thirty-two characters', SONANT_MASTER_KEY: 'a master key of thirty-two chars.' },
    ...{ SONANT_HTTP_ADDR: '127.0.0.1:0', SONANT_GRPC_ADDR: '127.0.0.1:0', SONANT_DRAIN_SECONDS: '1' },
    ...(isDistributed && (await createStorage(folder)).settings),
    ...settings,
  };
  const open = async (): Promise<Replica> => {
    let tone: ToneEngine | undefined;
    const cloner = defineTone({ clones: true, blends: true, languageCodes: ['en'] });
    const watched = {
      ...cloner,
      open: async (...asked: Parameters<typeof cloner.open>) => (tone = (await cloner.open(...asked)) as ToneEngine),
    };
    const definitions = engines ?? [watched, flite];
    const config = loadConfig({ env, folder, engines: definitions });
    const service = await openService({ config, definitions, log: createLog('silent'), isSinglePort: false });
    const url = `http://127.0.0.1:${service.httpPort}`;
    return { url, target: `127.0.0.1:${service.grpcPort}`, service, tone: tone! };
  };
  // The replicas start at the same time, as in production.
  const replicas = await Promise.all(Array.from({ length: count }, open));
  onClose(async () => {
    for (const { service } of replicas) await service.drain();
    await postgres.stop();
    rmSync(folder, { recursive: true });
  });
  // Keys without limits that would disturb the test.
  const keys = await openKeys(loadConfig({ env, folder, engines: engines ?? [] }));
  const limits = { requestsPerMinute: 1_000_000, concurrency: 1_000 };
  const { key } = await keys.management.create({ scopes: firstKeyScopes, limits }, operator);
  await keys.close();
  const makeKey = async (scopes: readonly string[]) => {
    const opened = await openKeys(loadConfig({ env, folder, engines: engines ?? [] }));
    const made = await opened.management.create({ scopes }, operator);
    await opened.close();
    return made.key;
  };
  return { replicas, key, makeKey };
}

/** Makes `pg_notify` do nothing in this database from now on. */
async function silence(database: string): Promise<void> {
  const client = new pg.Client(database);
  await client.connect();
  await client.query('create function public.pg_notify(text, text) returns void language sql as $$ select $$');
  const [{ name }] = (await client.query('select current_database() as name')).rows;
  await client.query(`alter database ${name} set search_path = public, pg_catalog`);
  await client.end();
}
