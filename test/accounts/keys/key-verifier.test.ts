// Tests the key verifier on a real database: which keys it accepts and rejects, how soon a revocation takes effect, and
// what it caches.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { createAdmit } from '../../../src/accounts/keys/admit.ts';
import { createApiKey, createPepper, parseApiKey } from '../../../src/accounts/keys/api-key.ts';
import { type ApiKeyRows, type ApiKeyUse, createApiKeyRows } from '../../../src/accounts/keys/api-key-rows.ts';
import { keyDefaults } from '../../../src/accounts/keys/caller.ts';
import { createLastUse, ExpiringCache } from '../../../src/accounts/keys/key-verifier.ts';
import { createFailedAttempts } from '../../../src/accounts/limits/failed-attempts.ts';
import { Failure } from '../../../src/platform/errors.ts';
import type { RowStore } from '../../../src/platform/store/row-store.ts';
import { openSqlite } from '../../../src/platform/store/sqlite.ts';
import { type Keys, openKeys } from './open-keys.ts';

const folder = mkdtempSync(join(tmpdir(), 'sonant-keys-'));
const file = join(folder, 'sonant.db');
const store: RowStore = await openSqlite(file);
afterAll(async () => {
  await store.close();
  rmSync(folder, { recursive: true });
});

/** Number of lookups in the real rows. */
let lookUps = 0;
const rows: ApiKeyRows = createApiKeyRows(store);
const counted: ApiKeyRows = {
  ...rows,
  find: (idPart) => {
    lookUps++;
    return rows.find(idPart);
  },
};
let nowMs = Date.now();
const now = () => nowMs;
let keyVerifier: Keys;

beforeEach(() => {
  lookUps = 0;
  keyVerifier = openKeys({ rows: counted, now });
});

const refusalOf = async (presented: string | undefined, ring: Pick<Keys, 'verify'> = keyVerifier) => {
  const error = await ring.verify(presented).then(
    () => undefined,
    (thrown: Failure) => thrown,
  );
  return error && { reason: error.reason, message: error.message, facts: error.facts };
};
/** A well-formed key with the id part of another key. */
function forge(idPart: string): string {
  const body = `snt_${idPart}_${'A'.repeat(43)}`;
  const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
  let check = '';
  for (let rest = crc32(body), i = 0; i < 6; i++, rest = Math.floor(rest / 62)) check = digits[rest % 62] + check;
  expect(parseApiKey(body + check)?.idPart).toBe(idPart);
  return body + check;
}

const refused = { reason: 'invalid_api_key', message: new Failure('invalid_api_key').message, facts: {} };

test('a new key admits its caller, with the scopes of a new key', async () => {
  const { key, apiKey } = await keyVerifier.create({ name: 'laptop' });
  expect(apiKey).toMatchObject({
    name: 'laptop',
    status: 'active',
    scopes: keyDefaults.scopes,
    expiresAtMs: undefined,
  });
  expect(await keyVerifier.verify(key)).toMatchObject({
    callerId: apiKey.keyId,
    keyId: apiKey.keyId,
    scopes: keyDefaults.scopes,
  });
  expect(JSON.stringify(await keyVerifier.list())).not.toContain(key.slice(15));
});

test('missing, malformed, unknown, forged, revoked and expired keys get the same response', async () => {
  const { key: revoked, apiKey } = await keyVerifier.create({});
  await keyVerifier.revoke(apiKey.keyId);
  const { key: expired } = await keyVerifier.create({ expiresInDays: 1 });
  const { key: other } = await keyVerifier.create({});
  const idPart = other.slice(4, 14);
  const forged = forge(idPart);
  expect(await refusalOf(expired)).toBeUndefined();
  nowMs += 24 * 60 * 60 * 1000;
  for (const presented of [undefined, '', 'snt_x', createApiKey().key, forged, revoked, expired]) {
    expect(await refusalOf(presented)).toEqual(refused);
    expect(await refusalOf(presented)).toEqual(refused);
  }
});

test('a malformed key costs no look-up; known and unknown ones cost one in half a second', async () => {
  const { key } = await keyVerifier.create({});
  const unknown = createApiKey().key;
  for (let i = 0; i < 5; i++) {
    await refusalOf(undefined);
    await refusalOf(`${key.slice(0, -1)}-`);
    await refusalOf(key.slice(0, -1) + (key.endsWith('0') ? '1' : '0'));
    await refusalOf(key);
    await refusalOf(unknown);
  }
  expect(lookUps).toBe(2);
  nowMs += 500;
  await refusalOf(key);
  await refusalOf(unknown);
  expect(lookUps).toBe(4);
});

test('a key that expires is refused at that moment, remembered or not', async () => {
  const { key, apiKey } = await keyVerifier.create({ expiresInDays: 1 });
  nowMs = apiKey.expiresAtMs! - 1;
  expect(await refusalOf(key)).toBeUndefined();
  nowMs += 1;
  expect(await refusalOf(key)).toEqual(refused);
  expect((await keyVerifier.list()).find(({ keyId }) => keyId === apiKey.keyId)).toMatchObject({ status: 'expired' });
});

test('a revocation holds at once here, and within a second in another process; the row stays', async () => {
  const { key, apiKey } = await keyVerifier.create({});
  const elsewhere = await openSqlite(file);
  const other = openKeys({ rows: createApiKeyRows(elsewhere), now });
  expect([await refusalOf(key), await refusalOf(key, other)]).toEqual([undefined, undefined]);
  await keyVerifier.revoke(apiKey.keyId);
  expect(await refusalOf(key)).toEqual(refused);
  nowMs += 1_000;
  expect(await refusalOf(key, other)).toEqual(refused);
  expect((await other.list()).find(({ keyId }) => keyId === apiKey.keyId)).toMatchObject({ status: 'revoked' });
  await expect(keyVerifier.revoke('key_unknown')).rejects.toMatchObject({ reason: 'not_found' });
  await other.close();
  await elsewhere.close();
});

test('a look-up that a revocation overtakes is not remembered', async () => {
  const { key, apiKey } = await keyVerifier.create({});
  const late = Promise.withResolvers<void>();
  const slow = openKeys({
    now,
    rows: {
      ...rows,
      async find(idPart) {
        const row = await rows.find(idPart);
        await late.promise;
        return row;
      },
    },
  });
  const overtaken = slow.verify(key);
  await slow.revoke(apiKey.keyId);
  late.resolve();
  await overtaken;
  expect(await refusalOf(key, slow)).toEqual(refused);
});

test('a new key from another process is let in at once', async () => {
  const other = openKeys({ rows });
  expect(await refusalOf((await other.create({})).key)).toBeUndefined();
});

test('under a pepper, older keys still count; without it or under another, its keys do not', async () => {
  const plain = (await keyVerifier.create({})).key;
  const salty = openKeys({ rows, pepper: createPepper('salt') });
  const { key } = await salty.create({});
  expect([await refusalOf(plain, salty), await refusalOf(key, salty)]).toEqual([undefined, undefined]);
  expect(await refusalOf(key)).toEqual(refused);
  expect(await refusalOf(key, openKeys({ rows, pepper: createPepper('sugar') }))).toEqual(refused);
});

test.each(['speech:sing', '', 'voices:read admin'])('the scope "%s" is given to no key', async (scope) => {
  const refused = keyVerifier.create({ scopes: ['voices:read', scope] });
  await expect(refused).rejects.toMatchObject({ reason: 'insufficient_scope', facts: { requiredScopes: [scope] } });
});

test('a scope that is given twice is one', async () => {
  expect((await keyVerifier.create({ scopes: ['admin', 'admin'] })).apiKey.scopes).toEqual(['admin']);
});

test('the last use is written at the close, and may be written late', async () => {
  const { key, apiKey } = await keyVerifier.create({});
  const lastUsed = async () => (await rows.find(key.slice(4, 14)))!.lastUsedAtMs;
  await keyVerifier.verify(key);
  nowMs += 1_000;
  await keyVerifier.verify(key);
  expect(await lastUsed()).toBeNull();
  await keyVerifier.close();
  expect(await lastUsed()).toBe(nowMs);
  expect((await keyVerifier.list()).find(({ keyId }) => keyId === apiKey.keyId)!.lastUsedAtMs).toBe(nowMs);
});

test('admission: first the key, then its scopes, all that are needed', async () => {
  const admit = createAdmit({ keyVerifier });
  const from = (key: string | undefined) => ({ key, address: '127.0.0.1' });
  const { key, apiKey } = await keyVerifier.create({ scopes: ['voices:read', 'speech:stream'] });
  const requiredScopes = ['speech:stream', 'speech:synthesize'];
  await expect(admit(from(undefined), requiredScopes)).rejects.toMatchObject(refused);
  await expect(admit(from(createApiKey().key), requiredScopes)).rejects.toMatchObject(refused);
  const lacking = { reason: 'insufficient_scope', facts: { requiredScopes } };
  await expect(admit(from(key), requiredScopes)).rejects.toMatchObject(lacking);
  for (const enough of [[], ['voices:read'], ['speech:stream', 'voices:read']]) {
    expect(await admit(from(key), enough)).toMatchObject({ keyId: apiKey.keyId });
  }
});

test('a status that cannot be read does not replace the refusal of a scope', async () => {
  const { key } = await keyVerifier.create({ scopes: ['voices:read'] });
  const away = async () => {
    throw new Failure('storage_unavailable');
  };
  const addresses = createFailedAttempts({ perMinute: 60 });
  const limits = { limiter: { takeRequest: away, reportStatus: away }, addresses };
  const admit = createAdmit({ keyVerifier, limits });
  await expect(admit({ key, address: '127.0.0.1' }, ['admin'])).rejects.toMatchObject({ reason: 'insufficient_scope' });
});

test('the id of a key stands in for it, by the same rules', async () => {
  const { key, apiKey } = await keyVerifier.create({ allowedIps: ['127.0.0.1'] });
  const verify = (address = '127.0.0.1') => keyVerifier.verifyId(apiKey.keyId, address);
  expect(await verify()).toEqual(await keyVerifier.verify(key));
  await expect(verify('10.0.0.1')).rejects.toMatchObject({ reason: 'access_denied' });
  await keyVerifier.revoke(apiKey.keyId);
  await expect(verify()).rejects.toMatchObject({ reason: 'invalid_api_key' });
  await expect(keyVerifier.verifyId('key_none', '127.0.0.1')).rejects.toMatchObject({ reason: 'invalid_api_key' });
});

test('what is remembered is forgotten when its time is over', () => {
  const cache = new ExpiringCache<string>({ entriesMax: 10, ttlMs: 500 });
  cache.set('a', 'x', 1_000);
  expect(cache.get('a', 1_499)).toBe('x');
  expect(cache.get('a', 1_500)).toBeUndefined();
  expect(cache.size).toBe(0);
});

test('it never holds more than it may; the oldest make room', () => {
  const cache = new ExpiringCache<number>({ entriesMax: 3, ttlMs: 500 });
  for (let i = 0; i < 100; i++) {
    cache.set(`key ${i}`, i, 0);
    expect(cache.size).toBeLessThanOrEqual(3);
  }
  expect([96, 97, 98, 99].map((i) => cache.get(`key ${i}`, 0))).toEqual([undefined, 97, 98, 99]);
  cache.set('key 97', 1, 0);
  cache.set('key 100', 2, 0);
  expect(cache.get('key 97', 0)).toBe(1);
  expect(cache.size).toBe(3);
});

test('many uses are one row a key, in batches, written after a while', async () => {
  const batches: (readonly ApiKeyUse[])[] = [];
  const lastUse = createLastUse(async (uses) => void batches.push(uses), 10);
  for (let i = 0; i < 3_000; i++) lastUse.note(`key ${i % 1_100}`, i);
  await expect.poll(() => batches.length).toBe(3);
  expect(batches.map(({ length }) => length)).toEqual([500, 500, 100]);
  expect(batches[0]![0]).toEqual({ keyId: 'key 0', usedAtMs: 2_200 });
  await lastUse.close();
  expect(batches).toHaveLength(3);
});

test('a store that fails in between is retried; at the close its failure is thrown', async () => {
  let tries = 0;
  const lastUse = createLastUse(async () => {
    tries++;
    throw new Failure('storage_unavailable');
  }, 1);
  lastUse.note('a', 1);
  await expect.poll(() => tries).toBe(1);
  lastUse.note('b', 2);
  await expect(lastUse.close()).rejects.toMatchObject({ reason: 'storage_unavailable' });
  expect(tries).toBe(2);
});
