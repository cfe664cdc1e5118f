// Secrets of replicas on one database: the same, or no start.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { checkSharedSecrets } from '../../src/app/shared-secrets.ts';
import { loadConfig } from '../../src/config.ts';
import { createFingerprintRows } from '../../src/store/fingerprint-rows.ts';
import { openSqlite } from '../../src/store/sqlite.ts';

const secret = 'a secret of thirty-two characters';
const masterKey = 'a master key of thirty-two chars.';

test('are required, must match the stored ones, and may differ where the operator accepts it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sonant-secrets-'));
  const store = await openSqlite(join(folder, 'sonant.db'));
  onTestFinished(async () => {
    await store.close();
    rmSync(folder, { recursive: true });
  });
  const start = async (env: Record<string, string>) => {
    const config = loadConfig({ env, folder, engines: [] });
    return checkSharedSecrets(config, createFingerprintRows(store)).then(
      () => [],
      ({ mistakes }) => mistakes.map(({ name }: { name: string }) => name),
    );
  };
  const env = { SONANT_SECRET: secret, SONANT_MASTER_KEY: masterKey };
  expect(await start({})).toEqual(['SONANT_SECRET', 'SONANT_MASTER_KEY']);
  expect([await start(env), await start(env)]).toEqual([[], []]);
  expect(await start({ ...env, SONANT_SECRET: `${secret}!`, SONANT_KEY_PEPPER: 'x' })).toEqual([
    'SONANT_SECRET',
    'SONANT_KEY_PEPPER',
  ]);
  expect(await start({ ...env, SONANT_SECRET: `${secret}!`, SONANT_NEW_SECRETS: '1' })).toEqual([]);
  expect(await start(env)).toEqual(['SONANT_SECRET']);
  const kept = JSON.stringify(await store.query('select * from fingerprints'));
  expect(kept).not.toContain(secret);
});
