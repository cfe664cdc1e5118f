// Tests who owns voices: an account's private voice does not exist for others, wherever a voice is named; its account
// and admins can use, change and delete it.
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { openTestGateway } from './open-gateway.ts';
import { readReply } from './read-reply.ts';

const scopes = ['voices:read', 'voices:write', 'speech:synthesize', 'speech:stream'];
const gateway = await openTestGateway({}, afterAll);
const owner = await gateway.makeKey([...scopes, 'keys:write']);
const other = await gateway.makeKey(scopes);
const admin = await gateway.makeKey([...scopes, 'admin']);

const send = async (method: string, path: string, body?: object, as = owner) =>
  readReply(await gateway.send(path, { method, headers: { 'X-API-Key': as }, ...(body && { body }) }));
const bindings = [{ engine: 'tone', voice_id: 'tone-low' }];
const make = (voice_id: string, more: object = {}, as = owner) =>
  send('POST', '/api/voices', { voice_id, name: 'Mine', bindings, access: 'private', ...more }, as);
const idsFor = async (as: string, path = '/api/voices?limit=1000') =>
  (await send('GET', path, undefined, as)).body.voices.map(
    ({ voice_id, id }: { voice_id?: string; id?: string }) => voice_id ?? id,
  );
const child = async (more: object = {}) =>
  String((await send('POST', '/api/auth/api-keys', { scopes, ...more })).body.key);

/** All requests that name a voice, over REST, Connect and OpenAI's API. */
const waysToName = (voice_id: string): readonly (readonly [method: string, path: string, body?: object])[] => {
  const path = `/api/voices/${voice_id}`;
  const speech = '/api/audio/speech';
  const connect = (name: string) => `/sonant.v1.${name}`;
  return [
    ['GET', path],
    ['GET', `${path}/preview`],
    ['PATCH', path, { name: 'Yours' }],
    ['PATCH', path, { access: 'everyone' }],
    ['DELETE', path],
    ['POST', `${path}/consent/revoke`],
    ['POST', speech, { voice_id, text: 'Hello.' }],
    ['POST', speech, { voice_id, text: 'Hello.', return_format: 'buffer' }],
    ['POST', speech, { voice_id, method: 'streaming', text_chunks: ['Hello.'] }],
    ['POST', speech, { voice_id, method: 'streaming', text_chunks: ['Hello.'], return_format: 'url' }],
    ['POST', `${speech}/sse`, { voice_id, text_chunks: ['Hello.'] }],
    ['GET', `${speech}/sse?voice_id=${voice_id}&text=Hello.`],
    ['POST', '/api/audio/estimate', { voice_id, text: 'Hello.' }],
    ['POST', '/v1/audio/speech', { voice: voice_id, input: 'Hello.' }],
    ['POST', connect('VoiceService/GetVoice'), { voiceId: voice_id }],
    ['POST', connect('VoiceService/PreviewVoice'), { voiceId: voice_id }],
    ['POST', connect('VoiceService/UpdateVoice'), { voiceId: voice_id, spec: { name: 'x' }, updateMask: 'name' }],
    ['POST', connect('VoiceService/DeleteVoice'), { voiceId: voice_id }],
    ['POST', connect('VoiceService/RevokeVoiceConsent'), { voiceId: voice_id }],
    ['POST', connect('SpeechService/SynthesizeSpeech'), { voiceId: voice_id, text: 'Hello.' }],
    ['POST', connect('SpeechService/EstimateSpeech'), { voiceId: voice_id, textChunks: ['Hello.'] }],
  ];
};

describe('a private voice', () => {
  let number = 0;
  let id: string;
  beforeEach(async () => {
    id = `mine-${++number}`;
    expect(await make(id)).toMatchObject({ status: 201, body: { owner: 'self', access: 'private' } });
  });

  test('a private voice does not exist for another account, even if the voice was spoken and cached before', async () => {
    for (const [method, path, body] of waysToName(id).filter(([, path]) => path.startsWith('/api/audio')))
      expect((await send(method, path, body)).status, path).toBe(200);
    const begun = gateway.tone.counts.begun;
    for (const [i, [method, path, body]] of waysToName(id).entries()) {
      // Errors of OpenAI's API have a different format.
      if (path.startsWith('/v1/')) continue;
      const [, unknownPath, unknownBody] = waysToName('nobody')[i]!;
      const refused = await send(method, path, body, other);
      const unknown = await send(method, unknownPath, unknownBody, other);
      const { request_id: _, ...told } = refused.body;
      const { request_id: __, ...toldOfUnknown } = unknown.body;
      expect([refused.status, [...refused.headers.keys()]], path).toEqual([404, [...unknown.headers.keys()]]);
      if (path.startsWith('/sonant')) expect(told).toMatchObject({ code: 'not_found', message: toldOfUnknown.message });
      else expect(told, path).toEqual(toldOfUnknown);
    }
    expect(gateway.tone.counts.begun).toBe(begun);
    const refused = await send('POST', '/v1/audio/speech', { voice: id, input: 'Hello.' }, other);
    expect(refused).toMatchObject({ status: 404, body: { error: { code: 'voice_not_found' } } });
    expect((await send('GET', `/api/voices/${id}`)).body).toMatchObject({ name: 'Mine', access: 'private' });
  });

  test('is in no list of another account, and in those of its own and of admins', async () => {
    for (const path of ['/api/voices?limit=1000', `/api/voices?text=${id}`, '/v1/audio/voices']) {
      expect(await idsFor(owner, path), path).toContain(id);
      expect(await idsFor(await child(), path), path).toContain(id);
      expect(await idsFor(admin, path), path).toContain(id);
      expect(await idsFor(other, path), path).not.toContain(id);
    }
    const listed = await send('GET', `/api/voices/${id}`, undefined, admin);
    expect(listed.body).toMatchObject({ owner: 'other', access: 'private' });
  });

  test('is used, changed and ended by every key of its account, and by admins', async () => {
    for (const as of [await child(), admin]) {
      const spoken = await send('POST', '/api/audio/speech', { voice_id: id, text: 'Hello.' }, as);
      expect(spoken.status).toBe(200);
      expect((await send('PATCH', `/api/voices/${id}`, { description: 'Better.' }, as)).status).toBe(200);
    }
    const limited = await child({ voice_ids: ['tone-low'] });
    expect((await send('GET', `/api/voices/${id}`, undefined, limited)).status).toBe(404);
    expect((await send('DELETE', `/api/voices/${id}`, undefined, admin)).status).toBe(204);
  });

  test('of an account stays its own when its key is rotated', async () => {
    const { key, apiKey } = await gateway.keyVerifier.create({ scopes: [...scopes, 'keys:write'] });
    await make(`${id}-rotated`, {}, key);
    const rotated = await send('POST', `/api/auth/api-keys/${apiKey.keyId}/rotate`, { grace_seconds: 0 }, key);
    const got = await send('GET', `/api/voices/${id}-rotated`, undefined, rotated.body.key);
    expect([got.status, got.body.owner]).toEqual([200, 'self']);
  });

  test('others can use but not change a voice that an admin shares, and its owner can withdraw it', async () => {
    expect((await send('PATCH', `/api/voices/${id}`, { access: 'everyone' })).status).toBe(403);
    expect((await send('PATCH', `/api/voices/${id}`, { access: 'everyone' }, admin)).body.access).toBe('everyone');
    const shared = await send('GET', `/api/voices/${id}`, undefined, other);
    expect(shared).toMatchObject({ status: 200, body: { owner: 'other', access: 'everyone' } });
    const say = () => send('POST', '/api/audio/speech', { voice_id: id, text: 'Shared.' }, other);
    expect((await say()).status).toBe(200);
    for (const [method, path, body] of waysToName(id).filter(([method, path]) =>
      /^(PATCH|DELETE)$|consent|Update|Delete|Revoke/.test(`${method === 'POST' ? path : method}`),
    ))
      expect((await send(method, path, body, other)).status, `${method} ${path}`).toBe(403);
    await send('PATCH', `/api/voices/${id}`, { access: 'private' });
    expect((await say()).status, 'also what is in the cache').toBe(404);
  });

  test('goes on in a stream that began before it was withdrawn', async () => {
    await send('PATCH', `/api/voices/${id}`, { access: 'everyone' }, admin);
    gateway.tone.trouble = { pieceDelayMs: 200 };
    const body = { voice_id: id, method: 'streaming', text_chunks: ['One two three four.'] };
    const spoken = send('POST', '/api/audio/speech', body, other);
    await expect.poll(() => gateway.tone.counts.running).toBeGreaterThan(0);
    await send('PATCH', `/api/voices/${id}`, { access: 'private' });
    gateway.tone.trouble = {};
    expect((await spoken).status).toBe(200);
  });
});

test('a voice of engines is private, or everyone’s if an admin makes it, and an unknown access is refused', async () => {
  expect((await make('own', { access: undefined })).body).toMatchObject({ owner: 'self', access: 'private' });
  expect((await make('shared', { access: undefined }, admin)).body).toMatchObject({
    owner: 'self',
    access: 'everyone',
  });
  for (const [method, path] of [
    ['POST', '/api/voices'],
    ['PATCH', '/api/voices/own'],
  ] as const) {
    const refused = await send(method, path, { name: 'X', bindings, access: 'friends' });
    expect(refused).toMatchObject({ status: 400, body: { details: [{ field: 'access', reason: 'enum' }] } });
  }
});

test('an engine’s voice that an admin makes private is nobody else’s, and no voice can be bound to it', async () => {
  expect((await send('PATCH', '/api/voices/far', { access: 'private' }, admin)).body).toMatchObject({
    ...{ owner: 'operator', access: 'private' },
  });
  expect((await send('GET', '/api/voices/far')).status).toBe(404);
  const bound = await make('through', { bindings: [{ engine: 'tone', voice_id: 'far' }] });
  expect(bound).toMatchObject({ status: 400, body: { details: [{ field: 'bindings[0].voice_id' }] } });
  expect((await send('DELETE', '/api/voices/far', undefined, admin)).status).toBe(204);
  expect((await send('GET', '/api/voices/far')).status).toBe(200);
});

test('an id that was deleted is given to no other account, and to its own again', async () => {
  await make('dropped');
  await send('DELETE', '/api/voices/dropped');
  for (const as of [other, admin]) {
    const refused = await make('dropped', {}, as);
    expect(refused).toMatchObject({ status: 400, body: { details: [{ field: 'voice_id', reason: 'taken' }] } });
  }
  expect((await send('PATCH', '/api/voices/dropped', { name: 'Still mine' })).status).toBe(404);
  expect((await make('dropped')).status).toBe(201);
});
