// Tests that a service stops when requested, even if its dependencies are unreachable.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createApiKey } from '../../src/accounts/keys/api-key.ts';
import { loadConfig } from '../../src/app/config.ts';
import { openService } from '../../src/app/service.ts';
import type { Log } from '../../src/platform/telemetry/log.ts';
import { defineTone } from '../engines/tone-engine.ts';
import { startOwnPostgres } from '../platform/store/postgres-server.ts';
import { isInstalled } from '../programs.ts';

test.skipIf(!isInstalled('postgres'))('a database that is away is no reason not to stop well', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sonant-stopping-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const postgres = (await startOwnPostgres())!;
  onTestFinished(() => rmSync(postgres.folder, { recursive: true }));
  const { key } = createApiKey();
  const env = {
    ...{ SONANT_DATABASE_URL: await postgres.createDatabase(), SONANT_BOOTSTRAP_KEY: key },
    ...{ SONANT_SECRET: 's'.repeat(32), SONANT_MASTER_KEY: 'm'.repeat(32), SONANT_DATA_DIR: folder },
    ...{ SONANT_HTTP_ADDR: '127.0.0.1:0', SONANT_GRPC_ADDR: '127.0.0.1:0' },
  };
  const logged: string[] = [];
  const keep = (level: string) => (message: string) => void logged.push(`${level}: ${message}`);
  const log: Log = { debug() {}, info() {}, warn: keep('warn'), error: keep('error') };
  const definitions = [defineTone()];
  const config = loadConfig({ env, folder, engines: definitions });
  const service = await openService({ config, definitions, log, isSinglePort: false });
  const headers = { 'X-API-Key': key };
  expect((await fetch(`http://127.0.0.1:${service.httpPort}/api/voices`, { headers })).status).toBe(200);
  await postgres.kill();
  // The failure to store the last-used time is logged, as is each failed read of the voices.
  await service.drain();
  // An unreachable database is not a bug of Sonant, so it is a warning.
  expect(new Set(logged)).toEqual(new Set(['warn: background fault']));
});
