// Opens a whole installation as in deploy/: replicas in separate processes and data folders behind the real balancer,
// on a real PostgreSQL and Ceph, with a proxy between the replicas and each store that can cut the connection.

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { firstKeyScopes, type KeyLimits, operator } from '../../src/accounts/keys/caller.ts';
import { openKeys } from '../../src/app/command-line.ts';
import { loadConfig } from '../../src/app/config.ts';
import { registry } from '../../src/engines/registry.ts';
import { main } from '../app/cli/sonant-program.ts';
import { type Balancer, openBalancer } from '../balancer.ts';
import { limitObjects, startCeph } from '../clips/stores/ceph.ts';
import { openFaultProxy } from '../clips/stores/fault-proxy.ts';
import { type OwnPostgresServer, startOwnPostgres } from '../platform/store/postgres-server.ts';
import { createReplica, type ReplicaProcess } from '../replica-process.ts';

interface Wire {
  port: number;
  /** Resets all connections, old and new. */
  reset(): Promise<void>;
  /** Stops all bytes, in both directions, on old and new connections. */
  silence(): Promise<void>;
  /** Restores everything; bytes that were held back arrive. */
  heal(): Promise<void>;
  close(): Promise<void>;
}

async function openWire(target: { path: string } | { host: string; port: number }): Promise<Wire> {
  const child = fork(join(import.meta.dirname, 'cut-wire.ts'), [JSON.stringify(target)]);
  const [{ port }] = (await once(child, 'message')) as [{ port: number }];
  const tell = async (order: 'heal' | 'reset' | 'silence') => {
    const done = once(child, 'message');
    child.send(order);
    await done;
  };
  return {
    port,
    reset: () => tell('reset'),
    silence: () => tell('silence'),
    heal: () => tell('heal'),
    async close() {
      const ended = once(child, 'exit');
      child.disconnect();
      await ended;
    },
  };
}

export interface Installation {
  /** URL of the balancer, for HTTP and gRPC. */
  url: string;
  target: string;
  replicas: readonly ReplicaProcess[];
  postgres: OwnPostgresServer;
  /** Faults for each request to S3. */
  s3: Awaited<ReturnType<typeof openFaultProxy>> & { limitObjects(max: number): Promise<void> };
  wires: Readonly<Record<'postgres' | 's3', Wire>>;
  /** URL of the database, without the proxy. */
  databaseUrl: string;
  balancer: Pick<Balancer, 'close'>;
  /** A key with all scopes, and by default without effective limits. */
  makeKey(limits?: Partial<KeyLimits>): Promise<{ key: string; keyId: string }>;
  close(): Promise<void>;
}

const bucketName = 'sonant-soak';
const plenty: KeyLimits = { requestsPerMinute: 1_000_000, concurrency: 10_000, charactersPerMonth: undefined };

export interface InstallationOptions {
  /** Whether to open proxies that can cut connections; the proxies cost a little time. */
  isWired?: boolean;
  settings?: Readonly<Record<string, string>>;
  settingsOf?(replica: number): Readonly<Record<string, string>>;
  /** Returns the main program of a replica; called at each start. Default: the program of this version. */
  mainOf?(replica: number): string;
}

export async function openInstallation(
  count: number,
  { isWired = true, settings = {}, settingsOf = () => ({}), mainOf = () => main }: InstallationOptions = {},
): Promise<Installation> {
  await using opened = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), 'sonant-soak-'));
  opened.defer(() => rmSync(folder, { recursive: true }));
  const [postgres, ceph] = await Promise.all([startOwnPostgres(), startCeph(join(folder, 'ceph'))]);
  if (!postgres) throw new Error('there is no PostgreSQL here');
  opened.defer(ceph.stop);
  opened.defer(() => postgres.stop());
  const s3 = await openFaultProxy(ceph.endpoint, (close) => opened.defer(close));
  const wires = {
    postgres: await openWire({ path: join(postgres.folder, '.s.PGSQL.5432') }),
    s3: await openWire({ host: '127.0.0.1', port: Number(new URL(s3.endpoint).port) }),
  };
  for (const wire of Object.values(wires)) opened.defer(wire.close);
  const { accessKeyId, secretAccessKey } = ceph;
  const client = new S3Client({
    ...{ endpoint: ceph.endpoint, region: 'us-east-1', forcePathStyle: true },
    credentials: { accessKeyId, secretAccessKey },
  });
  await client.send(new CreateBucketCommand({ Bucket: bucketName }));
  client.destroy();

  const direct = await postgres.createDatabase();
  const { pathname: database } = new URL(direct.replace('@/', '@x/'));
  const stores = isWired
    ? {
        SONANT_DATABASE_URL: `postgres://postgres@127.0.0.1:${wires.postgres.port}${database}`,
        SONANT_S3_ENDPOINT: `http://127.0.0.1:${wires.s3.port}`,
      }
    : { SONANT_DATABASE_URL: direct, SONANT_S3_ENDPOINT: ceph.endpoint };
  const shared = {
    ...stores,
    SONANT_SECRET: 's'.repeat(32),
    SONANT_MASTER_KEY: 'm'.repeat(32),
    SONANT_S3_BUCKET: bucketName,
    ...{ AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey, AWS_REGION: 'us-east-1' },
    ...{ SONANT_ESPEAK_LIBRARY: '', SONANT_LEAVE_SECONDS: '4' },
    SONANT_BASE_URL: 'http://sonant.test',
    ...settings,
  };
  const replicas: ReplicaProcess[] = [];
  for (let n = 0; n < count; n++)
    replicas.push(await createReplica(join(folder, `replica-${n}`), { ...shared, ...settingsOf(n) }, () => mainOf(n)));
  opened.defer(async () => void (await Promise.all(replicas.map((replica) => replica.end('SIGKILL')))));
  await Promise.all(replicas.map((replica) => replica.start()));
  const balancer = await openBalancer(replicas, folder);
  opened.defer(balancer.close);
  const kept = opened.move();
  return {
    url: balancer.url,
    target: `127.0.0.1:${balancer.port}`,
    ...{ replicas, postgres, wires, balancer, databaseUrl: direct },
    s3: Object.assign(s3, { limitObjects: (max: number) => limitObjects(ceph, bucketName, max) }),
    async makeKey(limits = {}) {
      const keys = await openKeys(
        loadConfig({ env: { ...shared, SONANT_DATA_DIR: folder }, folder, engines: registry }),
      );
      const made = await keys.management.create({ scopes: firstKeyScopes, limits: { ...plenty, ...limits } }, operator);
      await keys.close();
      return { key: made.key, keyId: made.apiKey.keyId };
    },
    close: () => kept.disposeAsync(),
  };
}

/** Restarts PostgreSQL. Its old processes release their resources within a moment. */
export async function startAgain({ start }: OwnPostgresServer): Promise<void> {
  for (let tries = 0; ; tries++) {
    try {
      return await start();
    } catch (error) {
      if (tries === 50) throw error;
      await sleep(100);
    }
  }
}
