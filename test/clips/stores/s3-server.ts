// Provides a real S3 service for tests: that of TEST_S3_ENDPOINT (with TEST_S3_ACCESS_KEY and TEST_S3_SECRET_KEY), or
// else Ceph, if it is installed. vitest calls `setup` once before a run. The first test that needs Ceph starts it for
// all tests, and Ceph exits with vitest.
import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, watch, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CreateBucketCommand, ListMultipartUploadsCommand, S3Client } from '@aws-sdk/client-s3';
import { openS3Bucket } from '../../../src/clips/stores/s3-bucket.ts';
import type { Timeouts } from '../../../src/clips/stores/s3-client.ts';
import { isInstalled } from '../../programs.ts';
import { type Ceph, limitObjects, startCeph } from './ceph.ts';

export const s3Programs = ['ceph', 'ceph-mon', 'ceph-osd', 'radosgw'] as const;
/** Whether an S3 service is available. */
export const hasS3 = process.env.TEST_S3_ENDPOINT !== undefined || s3Programs.every(isInstalled);

const waitMs = 50;

/** Called by vitest once, before all tests. */
export function setup(): (() => Promise<void>) | undefined {
  if (!hasS3 || process.env.TEST_S3_ENDPOINT !== undefined) return undefined;
  const folder = mkdtempSync(join(tmpdir(), 'sonant-s3-'));
  process.env.TEST_S3_FOLDER = folder;
  let started: ReturnType<typeof startCeph> | undefined;
  const watcher = watch(folder, (_, file) => {
    if (file === 'wanted') started ??= start(folder);
  });
  return async () => {
    watcher.close();
    await (await started?.catch(() => undefined))?.stop();
    rmSync(folder, { recursive: true });
  };
}

async function start(folder: string) {
  const say = (what: object) => {
    writeFileSync(join(folder, 'said'), JSON.stringify(what));
    renameSync(join(folder, 'said'), join(folder, 'ready'));
  };
  try {
    const ceph = await startCeph(join(folder, 'ceph'));
    say(ceph);
    return ceph;
  } catch (error) {
    say({ fault: String(error) });
    throw error;
  }
}

async function find(): Promise<Omit<Ceph, 'conf'> & { conf?: string }> {
  const { TEST_S3_ENDPOINT: endpoint, TEST_S3_ACCESS_KEY, TEST_S3_SECRET_KEY, TEST_S3_FOLDER } = process.env;
  if (endpoint !== undefined)
    return { endpoint, accessKeyId: TEST_S3_ACCESS_KEY ?? '', secretAccessKey: TEST_S3_SECRET_KEY ?? '' };
  if (TEST_S3_FOLDER === undefined) return startCeph(mkdtempSync(join(tmpdir(), 'sonant-s3-')));
  const ready = join(TEST_S3_FOLDER, 'ready');
  writeFileSync(join(TEST_S3_FOLDER, 'wanted'), '');
  while (!existsSync(ready)) await sleep(waitMs);
  const said = JSON.parse(readFileSync(ready, 'utf8')) as Ceph & { fault?: string };
  if (said.fault !== undefined) throw new Error(`no Ceph: ${said.fault}`);
  return said;
}

/** Opens a new bucket for the test. */
export async function openS3Server() {
  const { endpoint, accessKeyId, secretAccessKey, conf } = await find();
  const credentials = { accessKeyId, secretAccessKey };
  const bucketName = `sonant-${randomBytes(8).toString('hex')}`;
  const client = new S3Client({ endpoint, region: 'us-east-1', forcePathStyle: true, credentials });
  await client.send(new CreateBucketCommand({ Bucket: bucketName }));
  return {
    endpoint,
    credentials,
    bucketName,
    /** Client for direct access to the bucket. */
    client,
    /** Keys of unfinished uploads. */
    listUploads: async () => {
      const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket: bucketName }));
      return Uploads.map(({ Key }) => Key!);
    },
    /** Credentials for the SDK. */
    env: { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey },
    openBucket: (through = endpoint, timeouts: Partial<Timeouts> = {}, publicEndpoint = '') =>
      openS3Bucket(bucketName, { endpoint: through, publicEndpoint, credentials }, timeouts),
    /** Limits the number of objects in the bucket; undefined if the S3 service is not Sonant's own Ceph. */
    limitObjects: conf === undefined ? undefined : (max: number) => limitObjects({ conf }, bucketName, max),
  };
}

export type S3Server = Awaited<ReturnType<typeof openS3Server>>;
