// Tests the two levels of keys: an account and its keys. Restricting, extending and ending the account affects its keys,
// which together may not use more than the account alone, and make no keys.
import { afterAll, describe, expect, test } from 'vitest';
import { ApiKeyService } from '../../../gen/sonant/v1/api_key_pb.ts';
import { createApiKeyRows, listAudit } from '../../../src/accounts/keys/api-key-rows.ts';
import { operator } from '../../../src/accounts/keys/caller.ts';
import { toKeyHolder } from '../../../src/accounts/sign-in/sign-in.ts';
import { failureOf } from '../rpc/grpc-client.ts';
import { openCore } from '../rpc/open-core.ts';
import { openTestGateway, type TestGateway } from './open-gateway.ts';
import { managing, openKeyManagement, keysUrl as url } from './open-key-management.ts';

const { gateway, admin, send, make, speaks } = await openKeyManagement(afterAll);
/** Minutes of audio, one piece at a time. */
const long = { text_chunks: Array(50).fill('one two three four five six seven eight'), voice_id: 'tone-low' };
const childrenCount = 20;

/** A key created by the operator, and a key that it created. */
async function makeFamily(scopes = ['voices:read', 'speech:stream']) {
  const made = await gateway.keyVerifier.create({ scopes: managing });
  const parent = { key: made.key, id: made.apiKey.keyId };
  const child = await make({ scopes }, parent.key);
  const patch = async (body: object) => (await send(`/${parent.id}`, body, { key: admin, method: 'PATCH' })).status;
  return { parent, child, patch };
}
const selfOf = async (key: string) => (await send('/self', undefined, { key })).json;
/** Revokes a key. Returns the number of keys that were revoked with it. */
const revoke = async (id: string) =>
  (await send(`/${id}`, undefined, { key: admin, method: 'DELETE' })).headers.get('X-Descendants-Revoked');
const personOf = (subject: string) => {
  const { grant, accountId } = toKeyHolder('user', `https://id.example|${subject}`, managing);
  return { ...operator, grant, accountId };
};
const childrenOf = async ({ keyVerifier }: TestGateway, parent: string, fields = {}) => {
  const actor = { ...operator, ...(await keyVerifier.verify(parent)), address: '', requestId: '' };
  const made = Array.from({ length: childrenCount }, () => keyVerifier.management.create(fields, actor));
  return (await Promise.all(made)).map(({ key }) => key);
};

describe('a key that a key or a person made', () => {
  test.each(['a key', 'its successor', 'a person'])(
    'makes no keys, and manages only itself: made by %s',
    async (maker) => {
      const { parent, child } = await makeFamily(managing);
      const makers: Record<string, () => Promise<string>> = {
        'a key': async () => child.key,
        'its successor': async () => (await send(`/${child.id}/rotate`, {}, { key: child.key })).json.key,
        'a person': async () =>
          (await gateway.keyVerifier.management.create({ scopes: managing }, personOf(maker))).key,
      };
      const key = await makers[maker]!();
      const { id } = await selfOf(key);
      const { status, json } = await send('', { scopes: ['voices:read'] }, { key });
      expect([status, json]).toMatchObject([403, { error: 'access_denied' }]);
      expect(json.message).toContain('so it cannot create keys. Use the key that created it, or sign in.');
      const listed = (await send('', undefined, { key })).json as unknown as { api_keys: { id: string }[] };
      expect(listed.api_keys.map((each) => each.id)).toEqual([id]);
      expect((await send(`/${parent.id}`, undefined, { key })).status).toBe(404);
      expect((await send(`/${id}`, { name: 'renamed' }, { key, method: 'PATCH' })).status).toBe(200);
    },
  );

  test('of an earlier version, below another key, still counts for that key, and ends with it', async () => {
    const { parent, child } = await makeFamily(managing);
    const [deeper, beside] = [await make({}, parent.key), await make({}, parent.key)];
    const sql = 'update api_keys set limited_by = $1, made_by = $2 where key_id = $3';
    await gateway.store.query(sql, `${child.id}/`, child.id, deeper.id);
    const narrowed = { scopes: ['keys:read', 'voices:read'], limits: { requests_per_minute: 5 } };
    await send(`/${child.id}`, narrowed, { key: admin, method: 'PATCH' });
    const above = async () => (await gateway.keyVerifier.verify(deeper.key)).above!.map(({ callerId }) => callerId);
    expect(await above()).toEqual([child.id, parent.id]);
    expect(await selfOf(deeper.key)).toMatchObject({ scopes: ['voices:read'], limits: { requests_per_minute: 5 } });
    const spoken = { voiceId: 'far', day: '2026-11-29', requests: 1, audioMs: 1 };
    await gateway.usage.addAll([
      { ...spoken, keyId: deeper.id, characters: 7 },
      { ...spoken, keyId: beside.id, characters: 30 },
    ]);
    const spent = [parent, child, deeper].map(({ id }) => gateway.usage.charactersSince(id, '2020-01-01'));
    expect(await Promise.all(spent)).toEqual([37, 7, 7]);
    expect((await send(`/${deeper.id}`, undefined, { key: child.key })).status).toBe(404);
    expect((await send(`/${deeper.id}`, undefined, { key: parent.key })).json.made_by).toBe(child.id);
    expect(await revoke(child.id)).toBe('1');
    expect([await speaks(deeper.key), await speaks(beside.key)]).toEqual([401, 200]);
  });
});

describe('narrowing an account narrows its keys at once, and widening it widens them again:', () => {
  test('scopes', async () => {
    const { child, patch } = await makeFamily();
    expect(await speaks(child.key)).toBe(200);
    expect(await patch({ scopes: managing.filter((scope) => scope !== 'voices:read') })).toBe(200);
    expect(await speaks(child.key)).toBe(403);
    expect((await selfOf(child.key)).scopes).toEqual(['speech:stream']);
    await patch({ scopes: managing });
    expect(await speaks(child.key)).toBe(200);
  });

  test('voices', async () => {
    const { child, patch } = await makeFamily();
    const voices = async () => {
      const answer = await gateway.send('/api/voices', { headers: { 'X-API-Key': child.key } });
      return ((await answer.json()) as { voices: { voice_id: string }[] }).voices.map(({ voice_id }) => voice_id);
    };
    await patch({ voice_ids: ['far', 'tone-low'] });
    expect(await voices()).toEqual(['tone-low', 'far']);
    await send(`/${child.id}`, { voice_ids: ['far', 'tone-low'] }, { key: admin, method: 'PATCH' });
    await patch({ voice_ids: ['far', 'tone-high'] });
    expect(await voices()).toEqual(['far']);
    await patch({ voice_ids: null });
    expect(await voices()).toEqual(['tone-low', 'far']);
  });

  test('addresses', async () => {
    const { child, patch } = await makeFamily();
    await send(`/${child.id}`, { allowed_ips: ['127.0.0.0/8'] }, { key: admin, method: 'PATCH' });
    await patch({ allowed_ips: ['127.0.0.1', '10.0.0.0/8'] });
    expect(await speaks(child.key)).toBe(200);
    expect((await selfOf(child.key)).allowed_ips).toEqual(['127.0.0.1']);
    await patch({ allowed_ips: ['10.0.0.0/8'] });
    expect(await speaks(child.key)).toBe(403);
    await patch({ allowed_ips: null });
    expect(await speaks(child.key)).toBe(200);
  });

  test('limits and expiry', async () => {
    const { child, patch } = await makeFamily();
    await patch({ limits: { requests_per_minute: 7, characters_per_month: 9 }, expires_in_days: 1 });
    const { limits, expires_at } = await selfOf(child.key);
    expect(limits).toEqual({ requests_per_minute: 7, concurrency: 20, characters_per_month: 9 });
    expect(Date.parse(String(expires_at)) - Date.now()).toBeLessThanOrEqual(86_400_000);
    await patch({ limits: null, expires_in_days: null });
    expect(await selfOf(child.key)).toMatchObject({ limits: { requests_per_minute: 600 }, expires_at: null });
  });

  const allLimits = { requests_per_minute: 99, concurrency: 3, characters_per_month: 9 };
  test.each([
    ['voice_ids', { voice_ids: ['far'] }],
    ['allowed_ips', { allowed_ips: ['127.0.0.0/8'] }],
    ['expires_in_days', { expires_in_days: 9 }],
    ['limits.requests_per_minute', { limits: { requests_per_minute: 99 } }],
    ['limits.concurrency', { limits: { concurrency: 3 } }],
    ['limits.characters_per_month', { limits: { characters_per_month: 9 } }],
    ['limits', { limits: allLimits }],
    ['scopes', { scopes: ['keys:write', 'keys:read'] }],
  ])('null does not lift a restriction of %s, in a new key or in its own', async (field, restriction) => {
    const [name, member] = field.split('.') as [string, string?];
    const lifted = { [name]: member === undefined ? null : { [member]: null } };
    const fields = field === 'limits' ? Object.keys(allLimits).map((each) => `limits.${each}`) : [field];
    const details = fields.map((each) => ({ field: each, reason: 'range' }));
    const refusal =
      field === 'scopes' ? { status: 403, json: { error: 'insufficient_scope' } } : { status: 400, json: { details } };
    for (const restricted of ['parent', 'child'] as const) {
      const family = await makeFamily(managing);
      const { parent, child } = family;
      const restricting = await send(`/${family[restricted].id}`, restriction, { key: admin, method: 'PATCH' });
      expect(restricting.status).toBe(200);
      const before = await selfOf(child.key);
      if (restricted === 'parent') expect(await send('', lifted, { key: parent.key })).toMatchObject(refusal);
      const changing = await send(`/${child.id}`, lifted, { key: child.key, method: 'PATCH' });
      expect(changing, restricted).toMatchObject(refusal);
      expect(await selfOf(child.key)).toEqual(before);
    }
  });

  test('and a field of a key can be changed while others exceed what they may', async () => {
    const { parent, child, patch } = await makeFamily();
    await patch({ scopes: ['keys:write', 'keys:read', 'voices:read'], limits: { concurrency: 1 } });
    const renamed = await send(`/${child.id}`, { name: 'renamed' }, { key: parent.key, method: 'PATCH' });
    expect([renamed.status, renamed.json.name, renamed.json.limits]).toMatchObject([
      200,
      'renamed',
      { concurrency: 20 },
    ]);
  });
});

describe('revoking a key', () => {
  test('revokes the keys of its account, ends their streams, keeps their rows and tells how many', async () => {
    const slow = await openTestGateway({ trouble: { pieceDelayMs: 20 } });
    const { key: parent, apiKey } = await slow.keyVerifier.create({ scopes: managing });
    const [child = ''] = await childrenOf(slow, parent, { scopes: managing });
    const headers = { 'X-API-Key': child };
    const stream = await slow.speak({ ...long, method: 'streaming' }, { headers });
    const others = await slow.speak({ ...long, method: 'streaming' });
    const revoking = { method: 'POST', headers: { 'X-API-Key': parent } };
    const revoked = await slow.send(`${url}/self/revoke`, revoking);
    expect([revoked.status, revoked.headers.get('X-Descendants-Revoked')]).toEqual([204, '20']);
    await expect(stream.arrayBuffer()).rejects.toThrow();
    for (const key of [parent, child])
      expect((await slow.send('/api/voices', { headers: { 'X-API-Key': key } })).status).toBe(401);
    const listed = await slow.keyVerifier.list();
    expect(listed.filter(({ status }) => status === 'revoked')).toHaveLength(21);
    expect(listed.find(({ keyId }) => keyId === apiKey.keyId)!.status).toBe('revoked');
    expect(slow.schedule.state.speaking).toBe(1);
    await others.body!.cancel();
  });

  test('tells it over gRPC and Connect too, and another store sees it within a second', async () => {
    const { parent, child } = await makeFamily();
    const elsewhere = createApiKeyRows(gateway.store);
    const client = (await openCore(gateway)).clientOf(ApiKeyService);
    const answer = await client.unary('revokeOwnApiKey', {}, { metadata: { 'x-api-key': parent.key } });
    expect(answer.descendantsRevoked).toBe(1);
    expect((await elsewhere.find(child.key.slice(4, 14)))!.revokedAtMs).not.toBeNull();
    const refused = client.unary('getOwnApiKey', {}, { metadata: { 'x-api-key': child.key } });
    expect(await failureOf(refused)).toMatchObject({ code: 16 });
  });

  test('revokes the successors that it made of itself and all that they made, however long ago it ended', async () => {
    const { parent, child } = await makeFamily();
    const second = (await send(`/${parent.id}/rotate`, { grace_seconds: 0 }, { key: parent.key })).json;
    const third = (await send(`/${second.id}/rotate`, { grace_seconds: 60 }, { key: second.key })).json;
    const last = await make({}, third.key);
    const keys = [parent, second, third, last, child].map(({ key }) => key);
    expect(await Promise.all(keys.map((key) => speaks(key)))).toEqual([401, 200, 200, 200, 200]);
    expect((await send(`/${third.id}`, undefined, { key: admin })).json.made_by).toBe(second.id);
    expect(await revoke(parent.id)).toBe('4');
    expect(await Promise.all(keys.map((key) => speaks(key)))).toEqual([401, 401, 401, 401, 401]);
  });

  test.each(['an admin key', 'the operator'])(
    'that %s has replaced spares its successor, with the grace period, and ends what it made itself',
    async (maker) => {
      const { management } = gateway.keyVerifier;
      const { key, apiKey } = await management.create({ scopes: managing }, operator);
      const { keyId } = apiKey;
      const own = await make({}, key);
      const next =
        maker === 'an admin key'
          ? (await send(`/${keyId}/rotate`, { grace_seconds: 60 }, { key: admin })).json
          : await management.rotate(keyId, 60, operator);
      const later = (await send('/self', undefined, { key: next.key })).json;
      const ofNext = await make({}, next.key);
      const family = [key, own.key, next.key, ofNext.key];
      expect(await Promise.all(family.map((each) => speaks(each)))).toEqual([200, 200, 200, 200]);
      expect(await revoke(keyId)).toBe('1');
      expect(await Promise.all(family.map((each) => speaks(each)))).toEqual([401, 401, 200, 200]);
      expect(await revoke(later.id)).toBe('1');
      expect(await speaks(ofNext.key)).toBe(401);
    },
  );

  test('that the person of the account has replaced spares its successor', async () => {
    const { management } = gateway.keyVerifier;
    const { apiKey } = await management.create({}, personOf('ada'));
    const next = await management.rotate(apiKey.keyId, 60, personOf('ada'));
    expect([await revoke(apiKey.keyId), await speaks(next.key)]).toEqual(['0', 200]);
  });

  test('ends the keys that it made as an admin, and those of their accounts', async () => {
    const { key: stolen, apiKey } = await gateway.keyVerifier.create({ scopes: [...managing, 'admin'] });
    const made = await make({ scopes: managing }, stolen);
    const below = await make({}, made.key);
    const { parent } = await makeFamily();
    const rotated = (await send(`/${parent.id}/rotate`, { grace_seconds: 60 }, { key: stolen })).json;
    expect((await send(`/${made.id}`, undefined, { key: admin })).json.made_by).toBe(apiKey.keyId);
    expect(Number(await revoke(apiKey.keyId))).toBeGreaterThanOrEqual(3);
    const keys = [stolen, made.key, below.key, rotated.key];
    expect(await Promise.all(keys.map((key) => speaks(key)))).toEqual([401, 401, 401, 401]);
    expect((await listAudit(gateway.store, below.id)).map(({ action }) => action)).toEqual(['create', 'revoke']);
  });

  test('refuses the keys that a request of it is about to make', async () => {
    const { key, apiKey } = await gateway.keyVerifier.create({ scopes: [...managing, 'admin'] });
    const { management, verify, revoke: end } = gateway.keyVerifier;
    const actor = { ...operator, ...(await verify(key)), address: '', requestId: '' };
    const { apiKey: other } = await gateway.keyVerifier.create({});
    await end(apiKey.keyId);
    const refused = { reason: 'invalid_api_key' };
    await expect(management.create({}, actor)).rejects.toMatchObject(refused);
    await expect(management.rotate(other.keyId, 0, actor)).rejects.toMatchObject(refused);
  });

  test('that has expired ends the keys of its account until it is extended', async () => {
    const { parent, child } = await makeFamily();
    const setExpiry = (time: number | null) =>
      gateway.store.query('update api_keys set expires_at_ms = $1 where key_id = $2', time, parent.id);
    await setExpiry(Date.now() - 1);
    gateway.keyVerifier.forget();
    expect(await speaks(child.key)).toBe(401);
    await setExpiry(null);
    gateway.keyVerifier.forget();
    expect(await speaks(child.key)).toBe(200);
  });
});

test('an account has at most 1000 valid keys; revoking one makes room', async () => {
  const { parent, child } = await makeFamily();
  const rows = createApiKeyRows(gateway.store);
  const row = (await rows.findById(child.id, { path: '' }))!;
  await gateway.store.transaction(async ({ query }) => {
    for (let i = 0; i < 999; i++) {
      const sql = `insert into api_keys (key_id, id_part, hash, hash_kind, owner_id, path, name, scopes, created_at_ms)
        values ($1, $2, $3, 'sha256', $1, $4, 'one of many', 'voices:read', 1)`;
      await query(sql, `${child.id}${i}`, `${child.id.slice(-10)}${i}`, row.hash, row.path);
    }
  });
  const { status, json } = await send('', {}, { key: parent.key });
  expect([status, json]).toMatchObject([403, { error: 'access_denied', limit: 1_000, actual: 1_000 }]);
  expect(json.message).toContain('Revoke some');
  await revoke(child.id);
  expect((await send('', {}, { key: parent.key })).status).toBe(201);
  expect((await send('', {}, { key: parent.key })).status).toBe(403);
  expect(await revoke(parent.id)).toBe('1000');
});

describe('20 keys of an account', () => {
  const limits = { requestsPerMinute: 60, concurrency: 3 };
  const newFamily = async (fields = {}) => {
    const limited = await openTestGateway({ isLimited: true, trouble: { pieceDelayMs: 5 } });
    const { key: parent } = await limited.keyVerifier.create({ limits, scopes: managing, ...fields });
    return { limited, parent, children: await childrenOf(limited, parent) };
  };

  test('share one limit on requests per minute with it, and other keys are not affected', async () => {
    const { limited, parent, children } = await newFamily();
    const startMs = performance.now();
    const requests = [parent, ...children].flatMap((key) =>
      Array.from({ length: 20 }, () => limited.send('/api/voices/far', { headers: { 'X-API-Key': key } })),
    );
    const answers = await Promise.all(requests);
    const admitted = answers.filter(({ status }) => status === 200).length;
    const dueSince = Math.ceil((performance.now() - startMs) / 1000);
    expect(admitted).toBeGreaterThanOrEqual(60);
    expect(admitted).toBeLessThanOrEqual(60 + dueSince);
    const refused = answers.findLast(({ status }) => status === 429)!;
    expect(await refused.json()).toMatchObject({ reason: 'requests', limit: 60, message: /account/ });
    expect((await limited.send('/api/voices/far')).status).toBe(200);
  });

  test('have no more streams at once than the one key', async () => {
    const { limited, children } = await newFamily();
    const streams = await Promise.all(
      children.map((key) => limited.speak({ ...long, method: 'streaming' }, { headers: { 'X-API-Key': key } })),
    );
    expect(streams.filter(({ status }) => status === 200)).toHaveLength(3);
    const honest = await limited.speak({ ...long, method: 'streaming' });
    expect([honest.status, limited.schedule.state.speaking]).toEqual([200, 4]);
    for (const { body } of [honest, ...streams]) await body!.cancel();
  });

  test('have no more characters a month than the one key, whoever of them has spent them', async () => {
    const { limited, parent, children } = await newFamily({ limits: { charactersPerMonth: 60 } });
    const speak = async (key: string) =>
      (await limited.speak({ text: 'Twelve chars' }, { headers: { 'X-API-Key': key } })).status;
    const statuses = [];
    for (const key of children.slice(0, 6)) statuses.push(await speak(key));
    expect([...statuses, await speak(parent)]).toEqual([200, 200, 200, 200, 200, 429, 429]);
    const [{ keyId } = { keyId: '' }] = (await limited.keyVerifier.list()).filter(({ madeBy }) => !madeBy).slice(-2);
    expect(await limited.usage.charactersSince(keyId, '2020-01-01')).toBe(60);
  });

  test('have one share of the service beside an honest key, not twenty', async () => {
    const one = await openTestGateway({ speakingMax: 1, trouble: { pieceDelayMs: 20 } });
    const { key: parent } = await one.keyVerifier.create({ scopes: managing });
    const children = await childrenOf(one, parent);
    const done: string[] = [];
    const speak = async (name: string, key: string) => {
      const body = { text: 'one two', return_format: 'buffer' };
      await (await one.speak(body, { headers: { 'X-API-Key': key, 'Cache-Control': 'no-cache' } })).arrayBuffer();
      done.push(name);
    };
    const crowd = [0, 1].flatMap(() => children.map((key) => speak('child', key)));
    await expect.poll(() => one.schedule.state.waiting.interactive).toBeGreaterThan(20);
    await Promise.all(Array.from({ length: 5 }, () => speak('honest', one.key)));
    // Turns alternate; some calls of the other keys were served before the honest key's requests arrived.
    const since = done.length - done.lastIndexOf('honest') - 1;
    const between = done.slice(done.indexOf('honest'), done.lastIndexOf('honest') + 1);
    expect(since).toBe(0);
    expect(between.filter((name) => name === 'child').length).toBeLessThanOrEqual(8);
    await Promise.all(crowd);
  });

  test('of a person who signed in have the usual limits of one key together', async () => {
    const limited = await openTestGateway({ isLimited: true });
    const keys = await Promise.all([1, 2, 3].map(() => limited.keyVerifier.management.create({}, personOf('ada'))));
    const requests = keys.flatMap(({ key }) =>
      Array.from({ length: 60 }, () => limited.send('/api/voices/far', { headers: { 'X-API-Key': key } })),
    );
    const startMs = performance.now();
    const admitted = (await Promise.all(requests)).filter(({ status }) => status === 200).length;
    expect(admitted).toBeGreaterThanOrEqual(100);
    expect(admitted).toBeLessThanOrEqual(100 + Math.ceil((performance.now() - startMs) / 100) + 20);
  });
});
