// Tests the first key of a service, which the operator provides or the service generates.
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { createApiKey, createPepper } from '../../../src/accounts/keys/api-key.ts';
import { createApiKeyRows, listAudit } from '../../../src/accounts/keys/api-key-rows.ts';
import { firstKeyScopes, operator } from '../../../src/accounts/keys/caller.ts';
import { acceptBootstrapKey, makeFirstKey } from '../../../src/accounts/keys/first-key.ts';
import { openSqlite } from '../../../src/platform/store/sqlite.ts';
import { newFolder } from '../../new-folder.ts';
import { openKeys } from './open-keys.ts';

const folder = newFolder(afterAll);
let folders = 0;

async function newService() {
  const dataDir = join(folder, String(folders++));
  const store = await openSqlite(join(dataDir, 'sonant.db'));
  const rows = createApiKeyRows(store);
  return { dataDir, store, rows, keyVerifier: openKeys({ rows }) };
}

test('if no key exists, one key is created, only once, in a file that only its owner can read', async () => {
  const { dataDir, rows, keyVerifier, store } = await newService();
  const first = (await makeFirstKey({ rows, dataDir }))!;
  expect(first.file).toBe(join(dataDir, 'first-key'));
  expect(readFileSync(first.file, 'utf8')).toBe(`${first.key}\n`);
  expect(statSync(first.file).mode & 0o777).toBe(0o600);
  expect(readdirSync(dataDir).filter((name) => name.startsWith('first-key'))).toEqual(['first-key']);
  expect((await keyVerifier.verify(first.key)).scopes).toEqual(firstKeyScopes);
  expect(firstKeyScopes).toEqual(
    expect.arrayContaining(['speech:synthesize', 'speech:stream', 'voices:read', 'keys:write', 'admin']),
  );
  expect(await makeFirstKey({ rows, dataDir })).toBeUndefined();
  await keyVerifier.revoke((await keyVerifier.list())[0]!.keyId);
  expect(await makeFirstKey({ rows, dataDir })).toBeUndefined();
  await store.close();
});

test('of several that start at once, one makes the key, and it is the key in the file', async () => {
  const { dataDir, keyVerifier, store } = await newService();
  const stores = await Promise.all(Array.from({ length: 5 }, () => openSqlite(join(dataDir, 'sonant.db'))));
  const made = await Promise.all(stores.map((each) => makeFirstKey({ rows: createApiKeyRows(each), dataDir })));
  const keys = made.flatMap((first) => first?.key ?? []);
  expect(keys).toEqual([readFileSync(join(dataDir, 'first-key'), 'utf8').trim()]);
  await keyVerifier.verify(keys[0]);
  expect(await keyVerifier.list()).toHaveLength(1);
  await Promise.all([store, ...stores].map((each) => each.close()));
});

test('of replicas with folders of their own, only the one that made the key has a file of it', async () => {
  const { dataDir, store } = await newService();
  const folders = Array.from({ length: 5 }, (_, i) => join(dataDir, `replica-${i}`));
  const rows = createApiKeyRows(store);
  const made = await Promise.all(folders.map((each) => makeFirstKey({ rows, dataDir: each })));
  expect(made.filter(Boolean)).toHaveLength(1);
  expect(folders.map((each) => existsSync(join(each, 'first-key')))).toEqual(made.map(Boolean));
  await store.close();
});

test('a key that a crash left in the file is taken up; a file of something else is not overwritten', async () => {
  const { dataDir, rows, keyVerifier, store } = await newService();
  const file = join(dataDir, 'first-key');
  writeFileSync(file, 'notes\n');
  await expect(makeFirstKey({ rows, dataDir })).rejects.toMatchObject({ reason: 'storage_unavailable' });
  expect(readFileSync(file, 'utf8')).toBe('notes\n');
  const { key } = createApiKey();
  writeFileSync(file, key);
  expect(await makeFirstKey({ rows, dataDir })).toEqual({ key, file });
  await keyVerifier.verify(key);
  await store.close();
});

test('a bootstrap key is accepted from the first start on, and again, and then no first key is made', async () => {
  const { dataDir, rows, keyVerifier, store } = await newService();
  const { key } = createApiKey();
  await Promise.all([1, 2, 3].map(() => acceptBootstrapKey({ rows, key })));
  expect((await keyVerifier.verify(key)).scopes).toEqual(firstKeyScopes);
  expect(await keyVerifier.list()).toHaveLength(1);
  expect(await makeFirstKey({ rows, dataDir })).toBeUndefined();

  await keyVerifier.revoke((await keyVerifier.list())[0]!.keyId);
  await acceptBootstrapKey({ rows, key });
  await expect(keyVerifier.verify(key)).rejects.toMatchObject({ reason: 'invalid_api_key' });
  await store.close();
});

test('a bootstrap key that takes the place of another revokes that, and no other key; the keys made from it stay', async () => {
  const { rows, keyVerifier, store } = await newService();
  const [first, second, third] = [createApiKey().key, createApiKey().key, createApiKey().key];
  const none = { revoked: [], isInForce: true };
  expect(await acceptBootstrapKey({ rows, key: first })).toEqual(none);
  const boss = await keyVerifier.verify(first);
  const actor = { ...operator, ...boss, address: '', requestId: '' };
  const child = (await keyVerifier.management.create({}, actor)).key;
  const namesake = (await keyVerifier.create({ name: 'bootstrap key' })).key;
  const ofOperator = (await keyVerifier.create({})).key;

  const taken = await Promise.all([1, 2].map(() => acceptBootstrapKey({ rows, key: second })));
  keyVerifier.forget();
  expect(taken.flatMap(({ revoked }) => revoked)).toEqual([boss.keyId]);
  await expect(keyVerifier.verify(first)).rejects.toMatchObject({ reason: 'invalid_api_key' });
  for (const key of [child, namesake, ofOperator]) await keyVerifier.verify(key);
  const successor = await keyVerifier.verify(second);
  const own = await keyVerifier.management.list({ ...actor, grant: successor.grant }, { size: 10 });
  expect(successor.callerId).toBe(boss.callerId);
  expect(own.map(({ keyId }) => keyId)).toContain((await keyVerifier.verify(child)).keyId);
  expect((await listAudit(store, boss.keyId)).map(({ action }) => action)).toEqual(['create', 'revoke']);

  // Setting the former key again changes nothing; an existing key can also replace the current one.
  expect(await acceptBootstrapKey({ rows, key: first })).toEqual({ revoked: [], isInForce: false });
  expect(await acceptBootstrapKey({ rows, key: second })).toEqual(none);
  const { key: known } = await keyVerifier.create({ scopes: ['voices:read'] });
  expect((await acceptBootstrapKey({ rows, key: known })).revoked).toEqual([successor.keyId]);
  keyVerifier.forget();
  // This key was created for the operator, so it has no parent key.
  expect((await keyVerifier.verify(child)).scopes).toEqual(['speech:synthesize', 'speech:stream', 'voices:read']);
  expect(await acceptBootstrapKey({ rows, key: third })).toEqual(none);
  await store.close();
});

test('a bootstrap key that takes the place of another revokes the successors that the other made of itself', async () => {
  const { rows, keyVerifier, store } = await newService();
  const [first, second] = [createApiKey().key, createApiKey().key];
  await acceptBootstrapKey({ rows, key: first });
  const stolen = await keyVerifier.verify(first);
  const actor = { ...operator, ...stolen, address: '', requestId: '' };
  const { apiKey, key: successor } = await keyVerifier.management.rotate(stolen.keyId, 0, actor);
  const { revoked } = await acceptBootstrapKey({ rows, key: second });
  expect(revoked.toSorted()).toEqual([stolen.keyId, apiKey.keyId].toSorted());
  keyVerifier.forget();
  await expect(keyVerifier.verify(successor)).rejects.toMatchObject({ reason: 'invalid_api_key' });
  expect((await keyVerifier.verify(second)).callerId).toBe(stolen.callerId);
  await store.close();
});

test('a bootstrap key that is malformed, or is not the one of its row, is refused', async () => {
  const { rows, store } = await newService();
  const { key } = createApiKey();
  await expect(acceptBootstrapKey({ rows, key: 'secret' })).rejects.toMatchObject({ reason: 'invalid_api_key' });
  expect(await rows.isEmpty()).toBe(true);
  await acceptBootstrapKey({ rows, key, pepper: createPepper('old') });
  await expect(acceptBootstrapKey({ rows, key, pepper: createPepper('new') })).rejects.toThrow('PEPPER');
  await store.close();
});
