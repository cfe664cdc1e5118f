// Opens the storage of a test's service: SQLite, memory and a folder; or, with TEST_STORES=distributed (`npm run
// test:distributed`), PostgreSQL and S3, with a separate database and bucket folder for each test.
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { GetObjectCommand, ListObjectsV2Command, NoSuchKey } from '@aws-sdk/client-s3';
import pg from 'pg';
import { onTestFinished } from 'vitest';
import { loadConfig } from '../../src/app/config.ts';
import { openStore } from '../../src/platform/store/open-store.ts';
import { openS3Server } from '../clips/stores/s3-server.ts';
import { newFolder } from '../new-folder.ts';
import { startPostgres } from '../platform/store/postgres-server.ts';

export interface Storage {
  /** Settings of the service. */
  settings: Readonly<Record<string, string>>;
  /** All stored data so far: files, objects, and rows. */
  read(): Promise<Kept[]>;
}

export interface Kept {
  place: string;
  bytes: Buffer;
}

export const isDistributed = process.env.TEST_STORES === 'distributed';

let bucket: ReturnType<typeof openS3Server> | undefined;

export async function createStorage(folder: string): Promise<Storage> {
  const read = async () => readFolder(folder);
  if (!isDistributed) return { settings: { SONANT_DATA_DIR: folder }, read };
  const postgres = (await startPostgres())!;
  const databaseUrl = await postgres.createDatabase();
  bucket ??= openS3Server();
  const { endpoint, bucketName, env } = await bucket;
  Object.assign(process.env, env);
  const name = `test-${randomBytes(8).toString('hex')}`;
  return {
    settings: {
      ...{ SONANT_DATA_DIR: folder, SONANT_DATABASE_URL: databaseUrl },
      ...{ SONANT_S3_BUCKET: bucketName, SONANT_S3_ENDPOINT: endpoint, SONANT_S3_PREFIX: `${name}/` },
      ...{ SONANT_SECRET: 'a secret of thirty-two characters', SONANT_MASTER_KEY: 'a master key of thirty-two chars.' },
    },
    read: async () => [...(await read()), ...(await readBucket(`${name}/`)), ...(await readRows(databaseUrl))],
  };
}

/** The stores of two replicas on one database. The end of the test closes them. */
export async function openReplicaStores() {
  const folder = newFolder();
  const { settings } = await createStorage(folder);
  const config = loadConfig({ env: settings, folder, engines: [] });
  const stores = await Promise.all([openStore(config), openStore(config)]);
  onTestFinished(async () => {
    for (const store of stores) await store.close();
  });
  return stores;
}

/** The service may delete a file, such as a journal, after it was listed. */
function readFolder(folder: string): Kept[] {
  return readdirSync(folder, { recursive: true }).flatMap((name) => {
    const place = join(folder, String(name));
    if (!statSync(place, { throwIfNoEntry: false })?.isFile()) return [];
    try {
      return [{ place, bytes: readFileSync(place) }];
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
      throw error;
    }
  });
}

/** The service may delete an object after it was listed. */
async function readBucket(Prefix: string): Promise<Kept[]> {
  const { client, bucketName: Bucket } = await bucket!;
  const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket, Prefix }));
  const kept = Contents.map(async ({ Key }) => {
    try {
      const { Body } = await client.send(new GetObjectCommand({ Bucket, Key }));
      return [{ place: Key!, bytes: await buffer(Body as NodeJS.ReadableStream) }];
    } catch (error) {
      if (error instanceof NoSuchKey) return [];
      throw error;
    }
  });
  return (await Promise.all(kept)).flat();
}

async function readRows(databaseUrl: string): Promise<Kept[]> {
  const client = new pg.Client(databaseUrl);
  await client.connect();
  const { rows: tables } = await client.query("select tablename from pg_tables where schemaname = 'public'");
  const kept: Kept[] = [];
  for (const { tablename } of tables) {
    const { rows } = await client.query(`select * from ${tablename}`);
    for (const [column, value] of rows.flatMap((row) => Object.entries(row)))
      kept.push({
        place: `${tablename}.${column}`,
        bytes: Buffer.isBuffer(value) ? value : Buffer.from(String(value)),
      });
  }
  await client.end();
  return kept;
}
