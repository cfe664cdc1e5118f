// Tests the permissions of a key during its life, and how it is changed, replaced and revoked.
import { afterAll, describe, expect, test } from 'vitest';
import { SpeechService } from '../../../gen/sonant/v1/speech_pb.ts';
import { operator } from '../../../src/accounts/keys/caller.ts';
import { explain, failureOf } from '../rpc/grpc-client.ts';
import { openCore } from '../rpc/open-core.ts';
import { readEvents } from './event-reader.ts';
import { openTestGateway } from './open-gateway.ts';
import { managing, openKeyManagement, keysUrl as url } from './open-key-management.ts';

const { gateway, send, make, speaks } = await openKeyManagement(afterAll);

describe('what a key may', () => {
  test('is checked before anything else of a request', async () => {
    const { key: reader } = await gateway.keyVerifier.create({ scopes: ['keys:read'] });
    const refused = await send('', { name: 1 }, { key: reader });
    expect([refused.status, refused.json]).toMatchObject([403, { required_scopes: ['keys:write'] }]);
    expect((await send('', undefined, { key: reader })).status).toBe(200);
    const token = await gateway.send(url, { headers: { 'X-API-Key': '', Authorization: 'Bearer abc' } });
    expect(token.status).toBe(401);
  });

  test('a key is limited to its voices, wherever a request names a voice', async () => {
    const { key } = await make({ voice_ids: ['tone-low'] });
    const headers = { 'X-API-Key': key };
    const { voices } = (await (await gateway.send('/api/voices', { headers })).json()) as {
      voices: { voice_id: string }[];
    };
    expect(voices.map(({ voice_id }) => voice_id)).toEqual(['tone-low']);
    expect((await gateway.send('/api/voices/tone-high', { headers })).status).toBe(404);
    const request = { voice_id: 'tone-high', text: 'Hello.' };
    for (const [path, body] of [
      ['/api/audio/speech', request],
      ['/api/audio/speech', { voice_id: 'tone-high', text_chunks: ['Hello.'], method: 'streaming' }],
      ['/api/audio/speech/sse', request],
      ['/api/audio/estimate', request],
    ] as const) {
      const answer = await gateway.send(path, { headers, body });
      expect([answer.status, await answer.json()]).toMatchObject([404, { error: 'voice_not_found' }]);
    }
    const low = await gateway.send('/api/audio/speech', { headers, body: { ...request, voice_id: 'tone-low' } });
    expect(low.status).toBe(200);
    await low.arrayBuffer();
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
