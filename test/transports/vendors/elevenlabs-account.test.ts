// Tests what ElevenLabs's clients ask about an account and its voices: the subscription, filters, previews, tokens for one
// WebSocket, and the headers of speech.
import { afterAll, expect, test } from 'vitest';
import { bytesOf, openTestGateway } from '../http/open-gateway.ts';
import { failed, openSocket, textOf } from './elevenlabs-socket.ts';

const shared = await openTestGateway({ isLimited: true }, afterAll);
const ask = (path: string, key = shared.key, init: RequestInit = {}) =>
  fetch(shared.url + path, { ...init, headers: { 'xi-api-key': key } });
const read = async (path: string, key?: string) => (await ask(path, key)).json();

test('the quota of a key is a subscription', async () => {
  const { key } = await shared.keyVerifier.create({ limits: { charactersPerMonth: 100 } });
  await (
    await shared.send('/v1/text-to-speech/tone-low', { headers: { 'X-API-Key': key }, body: { text: 'Hello.' } })
  ).arrayBuffer();
  const subscription = { character_count: 6, character_limit: 100, status: 'active', tier: 'sonant' };
  expect(await read('/v1/user/subscription', key)).toMatchObject(subscription);
  const user = (await read('/v1/user', key)) as { subscription: { next_character_count_reset_unix: number } };
  expect(user).toMatchObject({ subscription, xi_api_key: null });
  expect(user.subscription.next_character_count_reset_unix * 1000).toBeGreaterThan(Date.now());
  expect(await read('/v1/user/subscription')).toMatchObject({ character_count: 0, character_limit: 2 ** 31 - 1 });
  expect(await read('/v1/user', 'snt_wrong')).toMatchObject({ detail: { status: 'invalid_api_key' } });
});

test('voices are filtered and ordered', async () => {
  const key = await shared.makeKey(['voices:read', 'voices:write']);
  const made = await shared.send('/api/voices', {
    headers: { 'X-API-Key': key },
    body: { voice_id: 'own', name: 'A voice of my own', bindings: [{ engine: 'tone', voice_id: 'tone-low' }] },
  });
  expect([made.status, await made.text()]).toEqual([201, expect.any(String)]);
  const list = async (query: string) => {
    const { voices, total_count } = (await read(`/v2/voices?page_size=100&${query}`, key)) as {
      voices: { voice_id: string; name: string; is_owner: boolean }[];
      total_count: number;
    };
    expect(voices).toHaveLength(total_count);
    return voices.map((voice) => ({ ...voice, preview_url: undefined }));
  };
  const all = await list('');
  const others = all.filter(({ voice_id }) => voice_id !== 'own');
  expect(await list('voice_type=personal')).toEqual([
    expect.objectContaining({ voice_id: 'own', is_owner: true, created_at_unix: expect.any(Number) }),
  ]);
  expect(await list('voice_type=default')).toEqual(others);
  for (const query of ['non-community', 'non-default', 'workspace', 'saved'].map((type) => `voice_type=${type}`))
    expect(
      (await list(query)).map(({ voice_id }) => voice_id),
      query,
    ).toEqual(['own']);
  for (const query of ['voice_type=community', 'category=professional', 'category=cloned', 'collection_id=x'])
    expect(await list(query), query).toEqual([]);
  for (const query of ['high_quality=true', 'min_notice_period_days=1', 'gender=male', 'language=de', 'use_cases=news'])
    expect(await list(query), query).toEqual([]);
  for (const query of ['high_quality=false', 'language=de&language=en', 'include_total_count=true'])
    expect(await list(query), query).toEqual(all);
  expect(await list('category=premade')).toEqual(all);
  const named = await list('voice_ids=own&voice_ids=tone-high');
  expect(named.map(({ voice_id }) => voice_id).sort()).toEqual(['own', 'tone-high']);
  const names = (await list('sort=name&sort_direction=desc')).map(({ name }) => name);
  expect(names).toEqual(names.toSorted((one, other) => other.localeCompare(one)));
  expect((await list('sort=created_at_unix&sort_direction=desc'))[0]).toMatchObject({ voice_id: 'own' });
  for (const field of ['voice_type', 'category', 'sort', 'sort_direction']) {
    const answer = await ask(`/v2/voices?${field}=nonsense`);
    expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining(`${field} must be one of`)]);
  }
});

test('a preview plays without a key, until the key is revoked', async () => {
  const { key, apiKey } = await shared.keyVerifier.create({});
  const { preview_url: url } = (await read('/v1/voices/tone-low', key)) as { preview_url: string };
  expect(url).not.toContain(key);
  const played = await fetch(shared.here(url));
  expect([played.status, played.headers.get('content-type')]).toEqual([200, 'audio/mpeg']);
  expect((await bytesOf(played)).length).toBeGreaterThan(1_000);
  const { voices } = (await read('/v1/voices', key)) as { voices: { preview_url: string }[] };
  expect((await fetch(shared.here(voices.at(-1)!.preview_url))).status).toBe(200);
  for (const wrong of [`${url}x`, url.replace(/token=.*/, 'token='), url.replace(/token=.*/, 'token=a&token=b')]) {
    const refused = await fetch(shared.here(wrong));
    expect([refused.status, await refused.text()]).toEqual([401, expect.stringContaining('invalid_api_key')]);
  }
  await shared.send(`/api/auth/api-keys/${apiKey.keyId}`, {
    method: 'DELETE',
    headers: { 'X-API-Key': await shared.makeKey(['admin', 'keys:write']) },
  });
  await expect.poll(async () => (await fetch(shared.here(url))).status).toBe(401);
});

test('a token opens one WebSocket, and no other call', async () => {
  const made = await ask('/v1/single-use-token/tts_websocket', shared.key, { method: 'POST' });
  expect([made.status, made.headers.get('cache-control')]).toEqual([200, 'no-store']);
  const { token } = (await made.json()) as { token: string };
  expect(token).not.toContain(shared.key);
  const path = `/v1/text-to-speech/tone-low/stream-input?output_format=pcm_16000&single_use_token=${token}`;
  const first = openSocket(path, { url: shared.url });
  await first.opened;
  first.send({ text: 'Hello there. ' }, { text: '' });
  expect(await first.closed).toBe(1000);
  expect(textOf(first.seen)).toBe('Hello there. ');
  const second = openSocket(path, { url: shared.url });
  expect(await second.end()).toMatchObject({ code: 1008, last: failed('invalid_api_key') });
  expect((await ask('/v1/single-use-token/other', shared.key, { method: 'POST' })).status).toBe(404);
  expect((await ask('/v1/single-use-token/tts_websocket', 'snt_wrong', { method: 'POST' })).status).toBe(401);
});

test('speech has the id of its request and its cost', async () => {
  for (const path of ['', '/stream', '/with-timestamps', '/stream/with-timestamps']) {
    const answer = await shared.send(`/v1/text-to-speech/tone-low${path}`, {
      // Tags cost nothing.
      body: { text: 'Hello <break time="1s"/>😀.' },
    });
    await answer.arrayBuffer();
    expect(answer.headers.get('request-id')).toBe(answer.headers.get('x-request-id'));
    expect(answer.headers.get('character-cost')).toBe('8');
  }
});
