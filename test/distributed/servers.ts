// Provides the servers of a distributed run, once for all tests: PostgreSQL of TEST_DATABASE_URL, or else started here.
// s3-server.ts provides S3. If a server is missing, no test runs.

import { hasS3 } from '../clips/stores/s3-server.ts';
import { startOwnPostgres } from '../platform/store/postgres-server.ts';
import { findProgram } from '../programs.ts';

/** Called by vitest once, before all tests. */
export async function setup(): Promise<() => Promise<void>> {
  const { TEST_DATABASE_URL } = process.env;
  if (!hasS3 || !(TEST_DATABASE_URL ?? findProgram('postgres')))
    throw new Error('a distributed run needs PostgreSQL, and Ceph or another S3 service');
  const postgres = TEST_DATABASE_URL ? undefined : await startOwnPostgres();
  process.env.TEST_DATABASE_URL ??= postgres!.url;
  return async () => {
    await postgres?.stop();
  };
}
