// Tests the access tokens of Cartesia's API and its calls for voices.
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { bytesOf, openTestGateway } from '../http/open-gateway.ts';
import { openSocket, patient } from './elevenlabs-socket.ts';

const shared = await openTestGateway({}, afterAll);
const speech = {
  transcript: 'Hello.',
  voice: { mode: 'id', id: 'tone-low' },
  output_format: { container: 'raw', encoding: 'pcm_s16le', sample_rate: 16_000 },
};

const ask = (path: string, body: object | undefined, headers: Record<string, string>, method = body ? 'POST' : 'GET') =>
  fetch(shared.url + path, {
    method,
    headers: { 'cartesia-version': '2026-03-01', ...(body && { 'content-type': 'application/json' }), ...headers },
    ...(body && { body: JSON.stringify(body) }),
  });
const bearer = (key: string) => ({ Authorization: `Bearer ${key}` });

async function makeToken(body: object = { grants: { tts: true }, expires_in: 60 }, key = shared.key): Promise<string> {
  const answer = await ask('/access-token', body, bearer(key));
  expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'no-store']);
  return ((await answer.json()) as { token: string }).token;
}
const refusalOf = async (answer: Response) => {
  const { error_code, message } = (await answer.json()) as { error_code: string; message: string };
  return [answer.status, error_code, message];
};
const expired = [401, 'invalid_api_key', 'The access token is invalid or has expired. Request a new one.'];

test('a token speaks again and again, in the query or as a bearer, over HTTP and WebSocket', async () => {
  const token = await makeToken();
  for (const answer of [
    await ask(`/tts/bytes?access_token=${token}`, speech, {}),
    await ask('/tts/bytes', speech, bearer(token)),
    await ask(`/tts/sse?access_token=${token}`, speech, {}),
  ]) {
    expect(answer.status).toBe(200);
    expect((await bytesOf(answer)).length).toBeGreaterThan(5_000);
  }
  const path = `/tts/websocket?access_token=${token}&cartesia_version=2026-03-01`;
  const { opened, send, seen } = openSocket(path, { url: shared.url });
  await opened;
  send({ ...speech, context_id: 'c' });
  await expect.poll(() => (seen as { type?: string }[]).at(-1)?.type, patient).toBe('done');
});

test('a token is only for speech, and ends with its time or its key', async () => {
  const token = await makeToken();
  for (const [path, body] of [
    ['/access-token', {}],
    ['/voices', undefined],
    [`/voices?access_token=${token}`, undefined],
    ['/v1/text-to-speech/tone-low', { text: 'Hello.' }],
    ['/api/audio/speech', { text: 'Hello.', voice_id: 'tone-low' }],
  ] as const)
    expect((await ask(path, body, bearer(token))).status, path).toBe(401);

  const short = await makeToken({ expires_in: 1 });
  await delay(2_100);
  expect(await refusalOf(await ask('/tts/bytes', speech, bearer(short)))).toEqual(expired);

  const { key, apiKey } = await shared.keyVerifier.create({ scopes: ['speech:stream'] });
  const revoked = await makeToken({}, key);
  expect((await ask('/tts/bytes', speech, bearer(revoked))).status).toBe(200);
  await shared.keyVerifier.revoke(apiKey.keyId);
  expect((await ask('/tts/bytes', speech, bearer(revoked))).status).toBe(401);
});

test.each([
  ['expires_in must be a whole number of seconds', { expires_in: 3601 }],
  ['expires_in must be a whole number of seconds', { expires_in: 'long' }],
  ['grants.tts must be true', { grants: { stt: true } }],
])('%s: a token is refused', async (sentence, body) => {
  const refused = await refusalOf(await ask('/access-token', body, bearer(shared.key)));
  expect(refused).toEqual([400, 'invalid_request', expect.stringContaining(sentence)]);
});

test('a key without speech gets no token, and other tokens of the service are no tokens for speech', async () => {
  const listing = await shared.makeKey(['voices:read']);
  expect((await ask('/access-token', {}, bearer(listing))).status).toBe(403);
  const { voices } = (await (await ask('/v1/voices', undefined, { 'xi-api-key': shared.key })).json()) as {
    voices: { preview_url: string }[];
  };
  const preview = new URL(voices[0]!.preview_url).searchParams.get('token')!;
  const forged = `${(await makeToken()).slice(0, -4)}AAAA`;
  for (const token of [preview, forged, 'eyJ', 'snt_wrong'])
    expect((await ask(`/tts/bytes?access_token=${token}`, speech, {})).status).toBe(401);
  expect(await refusalOf(await ask('/tts/bytes?access_token=a&access_token=b', speech, {}))).toEqual(expired);
});

test('voices of the caller are listed, changed and deleted; those of others are not', async () => {
  const key = await shared.makeKey(['voices:read', 'voices:write']);
  const { key: others } = await shared.keyVerifier.create({ scopes: ['voices:read', 'voices:write'] });
  const bindings = [{ engine: 'tone', voice_id: 'tone-low' }];
  const made = { voice_id: 'mine', name: 'Mine', labels: { accent: 'us', gender: 'male' }, bindings };
  expect((await shared.send('/api/voices', { headers: { 'X-API-Key': key }, body: made })).status).toBe(201);
  const list = async (query: string, of = key) => {
    const answer = await ask(`/voices?${query}`, undefined, bearer(of));
    return ((await answer.json()) as { data: { id: string }[] }).data.map(({ id }) => id);
  };
  expect(await list('is_owner=true')).toEqual(['mine']);
  expect(await list('is_owner=false')).not.toContain('mine');
  expect(await list('gender=masculine&limit=100')).toContain('mine');
  expect(await list('', others)).not.toContain('mine');

  const patch = await ask(
    '/voices/mine',
    { name: 'Ours', gender: 'feminine', accent: 'british' },
    bearer(key),
    'PATCH',
  );
  expect(patch.headers.get('x-ignored-fields')).toBe('accent');
  const changed = {
    id: 'mine',
    name: 'Ours',
    gender: 'feminine',
    is_owner: true,
    access: 'private',
    visibility: 'owner',
  };
  expect(await patch.json()).toMatchObject(changed);
  const found = (await (await ask('/voices/mine', undefined, bearer(key))).json()) as { preview_file_url: string };
  expect(found).toMatchObject(changed);
  expect(found.preview_file_url).toContain('/api/voices/mine/preview?token=');
  const kept = await shared.send('/api/voices/mine', { headers: { 'X-API-Key': key } });
  expect(await kept.json()).toMatchObject({ labels: { accent: 'us', gender: 'female' } });
  for (const [body, sentence] of [
    [{ gender: 'robot' }, 'gender must be one of'],
    [{ name: '' }, 'name must'],
    [{}, 'at least one'],
  ] as const)
    expect(await refusalOf(await ask('/voices/mine', body, bearer(key), 'PATCH'))).toEqual([
      400,
      'invalid_request',
      expect.stringContaining(sentence),
    ]);
  for (const [method, body] of [
    ['PATCH', { name: 'Theirs' }],
    ['DELETE', undefined],
  ] as const) {
    expect((await ask('/voices/mine', body, bearer(others), method)).status).toBe(404);
    expect((await ask('/voices/tone-low', body, bearer(others), method)).status).toBe(403);
  }
  expect((await ask('/voices/mine', undefined, bearer(key), 'DELETE')).status).toBe(204);
  expect(await list('is_owner=true')).toEqual([]);
});

test('what the service cannot do is refused with a sentence, and not tried again', async () => {
  const form = new FormData();
  form.append('clip', new Blob([new Uint8Array(100)]));
  const clone = await fetch(`${shared.url}/voices/clone`, { method: 'POST', headers: bearer(shared.key), body: form });
  expect(clone.headers.get('x-should-retry')).toBe('false');
  expect(await refusalOf(clone)).toEqual([501, 'not_supported', expect.stringContaining('consent')]);
  const localize = await ask(
    '/voices/localize',
    { voice_id: 'tone-low', name: 'x', accent: 'polish' },
    bearer(shared.key),
  );
  expect(await refusalOf(localize)).toEqual([501, 'not_supported', expect.stringContaining('GET /voices?language=')]);
});
