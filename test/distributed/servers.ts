// Provides the servers of a distributed run, once for all tests: PostgreSQL and Redis or Valkey of TEST_DATABASE_URL
// and TEST_REDIS_URL, or else started here. s3-server.ts provides S3. If a server is missing, no test runs.

import { hasS3 } from '../delivery/stores/s3-server.ts';
import { findProgram } from '../programs.ts';
import { startOwnPostgres } from '../store/postgres-server.ts';
import { hasRedis, openRedisServer } from '../store/redis-server.ts';

/** Called by vitest once, before all tests. */
export async function setup(): Promise<() => Promise<void>> {
  const { TEST_DATABASE_URL } = process.env;
  if (!hasRedis || !hasS3 || !(TEST_DATABASE_URL ?? findProgram('postgres')))
    throw new Error('a distributed run needs PostgreSQL, Redis or Valkey, and Ceph or another S3 service');
  const postgres = TEST_DATABASE_URL ? undefined : await startOwnPostgres();
  const redis = await openRedisServer();
  process.env.TEST_DATABASE_URL ??= postgres!.url;
  process.env.TEST_REDIS_URL ??= redis.url;
  return async () => {
    await redis.close();
    await postgres?.stop();
  };
}
