// Tests that startup fails unless all replicas on one database have the same secrets.
import { tmpdir } from 'node:os';
import { expect, test } from 'vitest';
import { loadConfig } from '../../src/app/config.ts';
import { checkSharedSecrets, missingSecrets } from '../../src/app/secrets.ts';
import { createFingerprintRows } from '../../src/platform/store/open-store.ts';
import { openSqliteInFolder } from '../platform/store/open-test-store.ts';

const secret = 'a secret of thirty-two characters';
const masterKey = 'a master key of thirty-two chars.';

async function open() {
  const { folder, store } = await openSqliteInFolder();
  const rows = createFingerprintRows(store);
  const start = async (env: Record<string, string>, seen = rows) => {
    const config = loadConfig({ env, folder, engines: [] });
    return checkSharedSecrets(config, seen).then(
      () => [],
      ({ mistakes }) => mistakes.map(({ name }: { name: string }) => name),
    );
  };
  return { store, rows, start };
}

test('must match the stored ones, and may differ where the operator accepts it', async () => {
  const { store, start } = await open();
  const env = { SONANT_SECRET: secret, SONANT_MASTER_KEY: masterKey };
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

test('are missing only where the database is shared', () => {
  const missing = (env: Record<string, string>) =>
    missingSecrets(loadConfig({ env, folder: tmpdir(), engines: [] })).map(({ name }) => name);
  const databaseUrl = { SONANT_DATABASE_URL: 'postgres://127.0.0.1/sonant' };
  expect(missing({})).toEqual([]);
  expect(missing(databaseUrl)).toEqual(['SONANT_SECRET', 'SONANT_MASTER_KEY']);
  expect(missing({ ...databaseUrl, SONANT_MASTER_KEY: masterKey })).toEqual(['SONANT_SECRET']);
});

test('that are refused leave no fingerprint of the others', async () => {
  const { store, start } = await open();
  const env = { SONANT_SECRET: secret, SONANT_MASTER_KEY: masterKey };
  await start(env);
  await store.query("delete from fingerprints where name = 'SONANT_KEY_PEPPER'");
  expect(await start({ ...env, SONANT_MASTER_KEY: `${masterKey}!`, SONANT_KEY_PEPPER: 'x' })).toEqual([
    'SONANT_MASTER_KEY',
  ]);
  expect(await start({ ...env, SONANT_KEY_PEPPER: 'y' })).toEqual([]);
});

test('that another replica records at the same time leave no mixture', async () => {
  const { store, rows, start } = await open();
  const other = { SONANT_SECRET: `${secret}!`, SONANT_MASTER_KEY: `${masterKey}!` };
  const record: typeof rows.record = async (name, ...rest) => {
    if (name === 'SONANT_SECRET') await rows.record(name, 'of the other replica', false);
    return rows.record(name, ...rest);
  };
  expect(await start(other, { ...rows, record })).toEqual(['SONANT_SECRET']);
  const names = await store.query('select name from fingerprints');
  expect(names).toEqual([{ name: 'SONANT_SECRET' }]);
});
