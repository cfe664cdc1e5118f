// Tests /api/auth/api-keys: the keys that a key with keys:write may create and see, none of which exceeds its
// permissions; the permissions of a key during its life; how it is changed, replaced and revoked; and the audit records.
import { createClient } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import { afterAll, describe, expect, test } from 'vitest';
import { ApiKeyService } from '../../../gen/sonant/v1/api_key_pb.ts';
import { SpeechService } from '../../../gen/sonant/v1/speech_pb.ts';
import { listAudit } from '../../../src/accounts/keys/api-key-rows.ts';
import { operator } from '../../../src/accounts/keys/caller.ts';
import { explain, failureOf } from '../rpc/grpc-client.ts';
import { openCore } from '../rpc/open-core.ts';
import { fromConnectError } from '../rpc/received-failure.ts';
import { readEvents } from './event-reader.ts';
import { openTestGateway } from './open-gateway.ts';
import { type Json, managing, openKeyManagement, keysUrl as url } from './open-key-management.ts';

const { gateway, boss, bossKey, admin, send, make, speaks } = await openKeyManagement(afterAll);

describe('a key that is made', () => {
  test('is shown once, with all of it, and works', async () => {
    const { status, headers, json } = await send('', {
      name: 'läptop 👋',
      expires_in_days: 90,
      limits: { concurrency: 2 },
    });
    expect([status, headers.get('Cache-Control')]).toEqual([201, 'no-store']);
    expect(headers.get('Location')).toBe(`http://sonant.test${url}/${json.id}`);
    const { key, ...shown } = json;
    expect(shown).toEqual({
      id: expect.stringMatching(/^key_/),
      hint: `${key.slice(0, 15)}...`,
      name: 'läptop 👋',
      scopes: ['speech:synthesize', 'speech:stream', 'voices:read'],
      status: 'active',
      created_at: expect.stringMatching(/^20.*Z$/),
      expires_at: expect.stringMatching(/^20.*Z$/),
      last_used_at: null,
      revoked_at: null,
      voice_ids: null,
      allowed_ips: null,
      limits: { requests_per_minute: 600, concurrency: 2, characters_per_month: null },
      replaced_by: null,
      made_by: bossKey.keyId,
    });
    expect(await speaks(key)).toBe(200);
    const got = await send(`/${json.id}`);
    expect([got.status, got.headers.get('Cache-Control'), got.json]).toEqual([200, 'no-store', shown]);
    expect(JSON.stringify((await send('')).json)).not.toContain(key.slice(15));
  });

  test('without a body is as usual', async () => {
    const { status, json } = await send('', undefined, { method: 'POST' });
    expect([status, json.name]).toEqual([201, 'unnamed']);
  });

  test('is listed with the others of its maker, the newest first, a page at a time', async () => {
    const { key } = await gateway.keyVerifier.create({ scopes: managing });
    const made = [await make({}, key), await make({}, key), await make({}, key)].map(({ id }) => id);
    const first = (await send('?limit=2', undefined, { key })).json as unknown as Listed;
    const rest = (await send(`?limit=2&cursor=${first.next_cursor}`, undefined, { key })).json as unknown as Listed;
    const ids = [...first.api_keys, ...rest.api_keys].map(({ id }) => id);
    expect(ids.slice(0, 3)).toEqual(made.toReversed());
    expect([ids.length, rest.next_cursor]).toEqual([4, null]);
    const wrong = await send('?limit=0&cursor=x', undefined, { key });
    expect([wrong.status, wrong.json.details]).toMatchObject([400, [{ field: 'limit' }, { field: 'cursor' }]]);
  });
});

interface Listed {
  api_keys: Json[];
  next_cursor: string | null;
}

test('a misspelt member is refused in a new and in a changed key, with what it may have been', async () => {
  const { id } = await make();
  const given = { expires_in_day: 1, color: 'red', limits: { character_per_month: 3 } };
  const details = [
    { field: 'expires_in_day', reason: 'unknown', message: 'is not a known field; did you mean expires_in_days?' },
    { field: 'color', reason: 'unknown', message: 'is not a known field; remove it' },
    {
      field: 'limits.character_per_month',
      reason: 'unknown',
      message: 'is not a known field; did you mean limits.characters_per_month?',
    },
  ];
  const requests = [
    await send('', given),
    await send(`/${id}`, given, { method: 'PATCH' }),
    await send(`/${id}/rotate`, { grace_second: 0 }),
  ];
  expect(requests.map(({ status }) => status)).toEqual([400, 400, 400]);
  expect(requests.slice(0, 2).map(({ json }) => json.details)).toEqual([details, details]);
  expect(requests[2]!.json.details).toMatchObject([{ field: 'grace_second', reason: 'unknown' }]);
});

test('faults of types, of values and of what the caller may give are reported together', async () => {
  const account = { scopes: ['keys:write'], voice_ids: ['far'], limits: { requests_per_minute: 60 } };
  const { key } = await make(account, admin);
  const given = {
    name: 1,
    scopes: ['nothing', 'voices:read'],
    expires_in_days: 0,
    voice_ids: ['tone-low'],
    allowed_ips: ['1.2.3'],
    limits: { requests_per_minute: 61, concurrency: '2', characters_per_month: 0 },
    colour: 'red',
  };
  const { status, json } = await send('', given, { key });
  const told = (json.details as { field: string; reason: string }[]).map(({ field, reason }) => `${field} ${reason}`);
  expect([status, json.error, told.sort()]).toEqual([
    400,
    'invalid_request',
    [
      'allowed_ips[0] format',
      'colour unknown',
      'expires_in_days range',
      'limits.characters_per_month range',
      'limits.concurrency type',
      'limits.requests_per_minute range',
      'name type',
      'scopes[0] enum',
      'scopes[1] scope',
      'voice_ids range',
    ],
  ]);
});

describe('a key never exceeds the one that made it', () => {
  const limits = { requests_per_minute: 60, characters_per_month: 1_000 };
  const account = {
    scopes: ['keys:write', 'keys:read', 'voices:read'],
    expires_in_days: 10,
    voice_ids: ['tone-low', 'far'],
    allowed_ips: ['127.0.0.0/8', '2001:db8::/32'],
    limits,
  };
  const parent = make(account, admin);

  test('fields that are left out are inherited from the parent', async () => {
    const { key, expires_at } = await parent;
    const child = await make({}, key);
    expect(child).toMatchObject({
      scopes: ['voices:read'],
      expires_at,
      voice_ids: ['tone-low', 'far'],
      allowed_ips: ['127.0.0.0/8', '2001:db8::/32'],
      limits: { ...limits, concurrency: 20 },
    });
  });

  test.each([
    [{ scopes: ['voices:read', 'speech:stream'] }, 403, 'insufficient_scope'],
    [{ expires_in_days: 11 }, 400, 'expires_in_days'],
    [{ voice_ids: ['tone-low', 'tone-high'] }, 400, 'voice_ids'],
    [{ allowed_ips: ['127.0.0.0/7'] }, 400, 'allowed_ips'],
    [{ allowed_ips: ['0.0.0.0/0'] }, 400, 'allowed_ips'],
    [{ limits: { requests_per_minute: 61 } }, 400, 'limits.requests_per_minute'],
    [{ limits: { characters_per_month: 1_001 } }, 400, 'limits.characters_per_month'],
  ])('a key that would exceed its creator is refused: %j', async (body, status, told) => {
    const answer = await send('', body, { key: (await parent).key });
    expect(answer.status).toBe(status);
    expect(JSON.stringify(answer.json)).toContain(told);
  });

  test('less is granted', async () => {
    const body = { voice_ids: ['far'], allowed_ips: ['127.1.0.0/16', '2001:db8:1::1'], expires_in_days: 9 };
    expect((await send('', body, { key: (await parent).key })).status).toBe(201);
  });

  test('and cannot make itself larger, only smaller', async () => {
    const { key, id } = await parent;
    const larger = await send(`/${id}`, { expires_in_days: null }, { key, method: 'PATCH' });
    expect([larger.status, larger.json.details]).toMatchObject([400, [{ field: 'expires_in_days' }]]);
    const smaller = await send(`/${id}`, { limits: { requests_per_minute: 50 } }, { key, method: 'PATCH' });
    expect([smaller.status, smaller.json.limits]).toMatchObject([200, { requests_per_minute: 50 }]);
  });

  test('nor by replacing a key that may do more than it still may itself', async () => {
    const made = await make({ scopes: managing }, admin);
    const children = { scopes: ['voices:read'], voice_ids: ['far'] };
    const [more, anyVoice, same] = [
      await make({ scopes: ['voices:read', 'speech:stream'], voice_ids: ['far'] }, made.key),
      await make({ scopes: ['voices:read'] }, made.key),
      await make(children, made.key),
    ];
    const cut = { ...children, scopes: ['keys:write', 'voices:read'], limits: { characters_per_month: 9 } };
    expect((await send(`/${made.id}`, cut, { key: admin, method: 'PATCH' })).status).toBe(200);
    const rotate = (id: string, key = made.key) => send(`/${id}/rotate`, { grace_seconds: 0 }, { key });
    expect((await rotate(more.id)).json).toMatchObject({
      error: 'invalid_request',
      details: [{ field: 'limits.characters_per_month' }, { field: 'scopes', reason: 'scope' }],
    });
    const { json } = await rotate(anyVoice.id);
    const fields = [{ field: 'voice_ids' }, { field: 'limits.characters_per_month' }];
    expect(json).toMatchObject({ error: 'invalid_request', details: fields });
    expect((await rotate(same.id)).json.details).toMatchObject(fields.slice(1));
    expect([await speaks(more.key), await speaks(anyVoice.key), await speaks(same.key)]).toEqual([200, 200, 200]);
    const { key: other } = await gateway.keyVerifier.create({ scopes: ['admin', 'keys:write'] });
    expect((await rotate(more.id, other)).status).toBe(403);
    expect((await rotate(made.id)).status).toBe(201);
  });

  test('keys of other accounts are not found', async () => {
    const { key } = await parent;
    const stranger = await make();
    for (const id of [stranger.id, bossKey.keyId, 'key_none']) {
      expect((await send(`/${id}`, undefined, { key })).status).toBe(404);
      expect((await send(`/${id}`, { name: 'mine' }, { key, method: 'PATCH' })).status).toBe(404);
      expect((await send(`/${id}/rotate`, {}, { key })).status).toBe(404);
      expect((await send(`/${id}`, undefined, { key, method: 'DELETE' })).status).toBe(404);
    }
  });
});

test('every change writes an audit row with actor, address and request id, and no secret', async () => {
  const answer = await gateway.send(url, {
    headers: { 'X-API-Key': boss, 'X-Request-Id': 'mine' },
    body: { name: 'seen' },
  });
  const { id, key } = (await answer.json()) as Json;
  await send(`/${id}`, { name: 'again' }, { method: 'PATCH' });
  await send(`/${id}/rotate`, {});
  await send(`/${id}`, undefined, { method: 'DELETE' });
  const records = await listAudit(gateway.store, id);
  expect(records.map(({ action }) => action)).toEqual(['create', 'update', 'rotate', 'revoke']);
  expect(records[0]).toMatchObject({ actor: `key:${bossKey.keyId}`, address: '127.0.0.1', requestId: 'mine' });
  expect(JSON.stringify(records)).not.toContain(key.slice(15, 58));
});

test('over Connect the same keys are managed, by the same rules', async () => {
  const transportOptions = { baseUrl: gateway.url, httpVersion: '1.1' } as const;
  const transport = createConnectTransport(transportOptions);
  const client = createClient(ApiKeyService, transport);
  const options = { headers: { 'x-api-key': boss } };
  const { key, apiKey } = await client.createApiKey({ spec: { name: 'far', limits: { concurrency: 1 } } }, options);
  expect(await speaks(key)).toBe(200);
  const { id: keyId } = apiKey!;
  const updated = await client.updateApiKey(
    { keyId, spec: { name: 'near' }, updateMask: { paths: ['name', 'limits'] } },
    options,
  );
  expect(updated.apiKey).toMatchObject({ name: 'near', limits: { concurrency: 20 } });
  const wrong = client.updateApiKey({ keyId, updateMask: { paths: ['key_id'] } }, options);
  expect(await wrong.catch((error) => fromConnectError(error).reason)).toBe('invalid_request');
  const raw = (method: string, body: object) =>
    gateway.send(`/sonant.v1.ApiKeyService/${method}`, { headers: { 'X-API-Key': boss }, body });
  for (const answer of [
    await raw('CreateApiKey', { spec: { expiresInDay: 1 } }),
    await raw('UpdateApiKey', { keyId, spec: { limits: { concurency: 1 } }, updateMask: 'limits' }),
  ])
    expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining('is not a known field')]);
  await client.revokeApiKey({ keyId }, options);
  expect((await gateway.keyVerifier.management.get(keyId, operator)).status).toBe('revoked');
});

describe('what a key may', () => {
  test('is checked before anything else of a request', async () => {
    const { key: reader } = await gateway.keyVerifier.create({ scopes: ['keys:read'] });
    const refused = await send('', { name: 1 }, { key: reader });
    expect([refused.status, refused.json]).toMatchObject([403, { required_scopes: ['keys:write'] }]);
    expect((await send('', undefined, { key: reader })).status).toBe(200);
    const token = await gateway.send(url, { headers: { 'X-API-Key': '', Authorization: 'Bearer abc' } });
    expect(token.status).toBe(401);
  });

  test('a key with allowed addresses is refused from all other addresses', async () => {
    const { key: near } = await make({ allowed_ips: ['127.0.0.1'] });
    const { key: far } = await make({ allowed_ips: ['10.0.0.0/8', '::1'] });
    expect([await speaks(near), await speaks(far)]).toEqual([200, 403]);
    const forwarded = { 'X-Forwarded-For': '10.1.2.3' };
    expect(await speaks(far, forwarded)).toBe(403);
    const proxied = await openTestGateway({ settings: { isBehindProxy: true } });
    const { key } = await proxied.keyVerifier.create({ allowedIps: ['10.0.0.0/8'] });
    const from = async (addresses: string) =>
      (await proxied.send('/api/voices', { headers: { 'X-API-Key': key, 'X-Forwarded-For': addresses } })).status;
    expect([await from('10.1.2.3'), await from('8.8.8.8, 10.1.2.3'), await from('10.1.2.3, 8.8.8.8')]).toEqual([
      200, 200, 403,
    ]);
  });
});

describe('a key that changes', () => {
  test('is what it was but for what is named; null brings back the default', async () => {
    const { id } = await make({ name: 'one', scopes: ['voices:read'], voice_ids: ['far'], limits: { concurrency: 3 } });
    const patch = async (body: object) => (await send(`/${id}`, body, { method: 'PATCH' })).json;
    expect(await patch({ name: 'two' })).toMatchObject({ name: 'two', scopes: ['voices:read'], voice_ids: ['far'] });
    expect(await patch({ voice_ids: null, limits: { requests_per_minute: 5 } })).toMatchObject({
      voice_ids: null,
      limits: { requests_per_minute: 5, concurrency: 3 },
    });
    expect(await patch({ limits: null, name: null, scopes: null })).toMatchObject({
      name: 'unnamed',
      scopes: ['speech:synthesize', 'speech:stream', 'voices:read'],
      limits: { requests_per_minute: 600, concurrency: 20 },
    });
    expect((await send(`/${id}`, {}, { method: 'PATCH' })).status).toBe(400);
    expect((await send(`/${id}`, undefined, { method: 'PATCH' })).status).toBe(400);
  });

  test.each([
    ['requests_per_minute', 600],
    ['concurrency', 20],
    ['characters_per_month', null],
  ])('%s: null brings back %s, and no other limit, in a new key too', async (name, usual) => {
    const limits = { requests_per_minute: 5, concurrency: 3, characters_per_month: 9 };
    const { id } = await make({ limits });
    const change = { limits: { [name]: null } };
    const { status, json } = await send(`/${id}`, change, { method: 'PATCH' });
    expect([status, json.limits]).toEqual([200, { ...limits, [name]: usual }]);
    expect((await send(`/${id}`)).json.limits).toEqual({ ...limits, [name]: usual });
    expect((await make({ limits: { ...limits, [name]: null } })).limits).toEqual({ ...limits, [name]: usual });
  });
});

describe('a key that is replaced', () => {
  test('stays valid for the grace period, once', async () => {
    const { id, key } = await make({ name: 'old', voice_ids: ['far'] });
    const { status, json } = await send(`/${id}/rotate`, { grace_seconds: 60 });
    expect([status, json.name, json.voice_ids]).toEqual([201, 'old', ['far']]);
    expect([await speaks(key), await speaks(json.key)]).toEqual([200, 200]);
    const old = (await send(`/${id}`)).json;
    expect(old.replaced_by).toBe(json.id);
    expect(Date.parse(String(old.expires_at)) - Date.now()).toBeLessThanOrEqual(60_000);
    expect((await send(`/${id}/rotate`, {})).status).toBe(400);
    expect((await send(`/${id}`, { expires_in_days: null }, { method: 'PATCH' })).status).toBe(400);
    const audio = await gateway.send('/api/audio/speech', {
      headers: { 'X-API-Key': key },
      body: { voice_id: 'far', text: 'Mine.' },
    });
    const { audio_url } = (await audio.json()) as { audio_url: string };
    const path = `/api${new URL(audio_url).pathname.replace(/\.wav$/, '')}`;
    expect((await gateway.send(path, { method: 'DELETE', headers: { 'X-API-Key': json.key } })).status).toBe(204);
  });

  test('without a grace ends now; a wrong grace is refused', async () => {
    const { id, key } = await make();
    for (const grace_seconds of [-1, 1.5, 2_592_001, '60'])
      expect((await send(`/${id}/rotate`, { grace_seconds })).status).toBe(400);
    await send(`/${id}/rotate`, { grace_seconds: 0 });
    expect(await speaks(key)).toBe(401);
    expect((await send(`/${id}`)).json.status).toBe('expired');
  });

  test('can be the calling key itself, and the keys that it created stay valid', async () => {
    const { key, id } = await make({ scopes: managing });
    const child = await make({}, key);
    const { json } = await send(`/${id}/rotate`, { grace_seconds: 0 }, { key });
    expect((await send(`/${child.id}`, undefined, { key: json.key })).json.id).toBe(child.id);
  });
});

describe('a key that is revoked', () => {
  test('ends at once and stays listed', async () => {
    const { id, key } = await make();
    expect(await speaks(key)).toBe(200);
    const gone = await send(`/${id}`, undefined, { method: 'DELETE' });
    expect([gone.status, await speaks(key)]).toEqual([204, 401]);
    expect((await send(`/${id}`)).json).toMatchObject({ status: 'revoked', revoked_at: expect.any(String) });
    expect((await send(`/${id}`, { name: 'x' }, { method: 'PATCH' })).status).toBe(400);
    expect((await send(`/${id}/rotate`, {})).status).toBe(400);
  });

  test('with the current key those it has replaced end, and their streams; one whose grace is over stays expired', async () => {
    const slow = await openTestGateway({ trouble: { pieceDelayMs: 20 } });
    const admin = await slow.makeKey([...managing, 'admin']);
    const keys = [await slow.keyVerifier.create({ scopes: managing })];
    for (const graceSeconds of [0, 3600, 3600])
      keys.push(await slow.keyVerifier.management.rotate(keys.at(-1)!.apiKey.keyId, graceSeconds, operator));
    const [over, older, old, current] = keys.map(({ key, apiKey }) => ({ key, id: apiKey.keyId }));
    const ask = async (key: string) => (await slow.send('/api/voices', { headers: { 'X-API-Key': key } })).status;
    const texts = Array(50).fill('one two three four five six seven eight');
    const body = { text_chunks: texts, voice_id: 'tone-low', method: 'streaming' };
    const stream = await slow.speak(body, { headers: { 'X-API-Key': older!.key } });
    expect([await ask(over!.key), await ask(older!.key), await ask(old!.key)]).toEqual([401, 200, 200]);
    const asAdmin = { headers: { 'X-API-Key': admin } };
    const revoked = await slow.send(`${url}/${current!.id}`, { method: 'DELETE', ...asAdmin });
    expect([revoked.status, revoked.headers.get('X-Descendants-Revoked')]).toEqual([204, '2']);
    for (const { key } of [over!, older!, old!, current!]) expect(await ask(key)).toBe(401);
    await expect(stream.arrayBuffer()).rejects.toThrow();
    const statuses = keys.map(
      async ({ apiKey }) => (await slow.keyVerifier.management.get(apiKey.keyId, operator)).status,
    );
    expect(await Promise.all(statuses)).toEqual(['expired', 'revoked', 'revoked', 'revoked']);
  });

  test('can be the very key that asks', async () => {
    const { key, id } = await make();
    expect((await send('/self', undefined, { key })).json.id).toBe(id);
    expect((await send('/self/revoke', undefined, { key, method: 'POST' })).status).toBe(204);
    expect((await send('/self', undefined, { key })).status).toBe(401);
  });
});

const sse = '/api/audio/speech/sse';
/** Minutes of audio, one piece at a time. */
const chunks = { text_chunks: Array(50).fill('one two three four five six seven eight'), voice_id: 'tone-low' };

test('revoking a key ends every stream of that key, over REST, SSE and gRPC, and no other stream', async () => {
  const gateway = await openTestGateway({ trouble: { pieceDelayMs: 20 } });
  const { key, apiKey } = await gateway.keyVerifier.create({});
  const headers = { 'X-API-Key': key };
  const client = (await openCore(gateway)).clientOf(SpeechService);

  const rest = await gateway.speak({ ...chunks, method: 'streaming' }, { headers });
  const events = await gateway.send(sse, { body: chunks, headers });
  const ticket = (await (await gateway.send(`${sse}/tickets`, { body: chunks, headers })).json()) as {
    sse_url: string;
  };
  const ticketed = await fetch(gateway.here(ticket.sse_url));
  const others = await gateway.speak({ ...chunks, method: 'streaming' });
  const request = { voiceId: 'tone-low', textChunks: chunks.text_chunks };
  const stream = client.stream('streamSpeech', request, { metadata: { 'x-api-key': key } });
  const grpcEnd = failureOf(new Promise((_, reject) => stream.on('data', () => {}).on('error', reject)));

  await gateway.keyVerifier.revoke(apiKey.keyId);
  await expect(rest.arrayBuffer()).rejects.toThrow();
  for (const answer of [events, ticketed]) {
    expect((await readEvents(answer)).at(-1)).toMatchObject({
      event: 'error',
      data: { error: 'invalid_api_key', status: 401, retryable: false },
    });
  }
  expect(explain(await grpcEnd)).toMatchObject({ code: 'UNAUTHENTICATED', info: { reason: 'INVALID_API_KEY' } });
  expect(gateway.schedule.state.speaking).toBe(1);
  const resumed = await fetch(gateway.here(ticket.sse_url), {
    headers: { 'Last-Event-ID': `${ticketed.headers.get('X-Audio-Id')}:0` },
  });
  expect([resumed.status, await resumed.json()]).toMatchObject([401, { error: 'invalid_api_key' }]);
  await others.body!.cancel();
});
