// Tests that a service stops when requested, even if its dependencies are unreachable.
import { rmSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { drainListeners } from '../../src/app/service.ts';
import type { Log } from '../../src/platform/telemetry/log.ts';
import { startOwnPostgres } from '../platform/store/postgres-server.ts';
import { isInstalled } from '../programs.ts';
import { openConfigured } from './open-configured.ts';

test.skipIf(!isInstalled('postgres'))('a database that is away is no reason not to stop well', async () => {
  const postgres = (await startOwnPostgres())!;
  onTestFinished(() => rmSync(postgres.folder, { recursive: true }));
  const logged: string[] = [];
  const keep = (level: string) => (message: string) => void logged.push(`${level}: ${message}`);
  const log: Log = { debug() {}, info() {}, warn: keep('warn'), error: keep('error') };
  const settings = {
    ...{ SONANT_DATABASE_URL: await postgres.createDatabase() },
    ...{ SONANT_SECRET: 's'.repeat(32), SONANT_MASTER_KEY: 'm'.repeat(32) },
  };
  const service = await openConfigured(settings, { log });
  const headers = { 'X-API-Key': service.key };
  expect((await fetch(`${service.url}/api/voices`, { headers })).status).toBe(200);
  await postgres.kill();
  // The failure to store the last-used time is logged, as is each failed read of the voices.
  await service.drain();
  // An unreachable database is not a bug of Sonant, so it is a warning.
  expect(new Set(logged)).toEqual(new Set(['warn: background fault']));
});

test('a listener that fails is reported, and the other is still waited for', async () => {
  const { promise: slow, resolve: end } = Promise.withResolvers<void>();
  const seen: unknown[] = [];
  const listeners = [
    { drain: async (timeoutMs: number) => Promise.reject(`failed within ${timeoutMs}`) },
    { drain: () => slow },
  ];
  const drained = drainListeners(listeners, 20, (fault) => seen.push(fault)).then(() => seen.push('over'));
  await new Promise(setImmediate);
  expect(seen).toEqual([]);
  end();
  await drained;
  expect(seen).toEqual(['failed within 20', 'over']);
});
