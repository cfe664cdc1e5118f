// Tests the default voice: chosen without a restart, overridden by the setting, limited to the voices of a key. Also
// tests the voice for OpenAI's clients that name one of OpenAI's voices or none.
import { afterAll, describe, expect, test } from 'vitest';
import { VoiceService } from '../../../gen/sonant/v1/voice_pb.ts';
import { failureOf } from '../rpc/grpc-client.ts';
import { openCore } from '../rpc/open-core.ts';
import { openTestGateway } from './open-gateway.ts';
import { readReply } from './read-reply.ts';

type Gateway = Awaited<ReturnType<typeof openTestGateway>>;

const url = '/api/default-voice';
const scopes = ['voices:read', 'voices:write', 'speech:stream', 'admin'];

async function callerOf(gateway: Gateway) {
  const admin = await gateway.makeKey(scopes);
  return async (method: string, path: string, body?: object, as = admin) =>
    readReply(await gateway.send(path, { method, headers: { 'X-API-Key': as }, ...(body && { body }) }));
}

const gateway = await openTestGateway({}, afterAll);
const send = await callerOf(gateway);
const firstOf = async (path: string, as?: string) => {
  const { body } = await send('GET', path, undefined, as);
  const [first] = body.voices;
  return first.voice_id ?? first.id;
};
const speak = async (body: object, as?: string) => {
  const { status, headers } = await send('POST', '/v1/audio/speech', { input: 'Hello.', ...body }, as);
  return [status, headers.get('X-Voice-Id'), headers.get('X-Ignored-Fields')];
};

describe('the default voice', () => {
  test('is chosen at once, leads every list, speaks for OpenAI’s clients, and is taken back', async () => {
    const before = { voice_id: 'tone-low', source: 'order', chosen_voice_id: null };
    expect(await send('GET', url)).toMatchObject({ status: 200, body: before });
    const chosen = { voice_id: 'tone-high', source: 'choice', chosen_voice_id: 'tone-high' };
    expect(await send('PUT', url, { voice_id: 'tone-high' })).toMatchObject({ status: 200, body: chosen });
    expect((await send('GET', url)).body).toEqual(chosen);
    for (const path of ['/api/voices', '/v1/audio/voices']) expect(await firstOf(path)).toBe('tone-high');
    expect(await speak({})).toEqual([200, 'tone-high', null]);
    expect(await send('PUT', url, { voice_id: null })).toMatchObject({ status: 200, body: before });
    expect(await firstOf('/api/voices')).toBe('tone-low');
  });

  test('is chosen by admins, of voices that are there and everyone’s', async () => {
    const writer = await gateway.makeKey(['voices:write', 'voices:read']);
    expect((await send('PUT', url, { voice_id: 'tone-high' }, writer)).status).toBe(403);
    expect(await send('PUT', url, { voice_id: 'nobody' })).toMatchObject({
      status: 404,
      body: { error: 'voice_not_found' },
    });
    const bindings = [{ engine: 'tone', voice_id: 'tone-low' }];
    await send('POST', '/api/voices', { voice_id: 'mine', name: 'Mine', access: 'private', bindings });
    const refused = await send('PUT', url, { voice_id: 'mine' });
    expect(refused.body).toMatchObject({ error: 'invalid_request', details: [{ field: 'voice_id', reason: 'state' }] });
    for (const body of [{}, { voice_id: '' }, { voice_id: 3 }])
      expect((await send('PUT', url, body)).body.details).toMatchObject([{ field: 'voice_id' }]);
    expect((await send('GET', url)).body.source).toBe('order');
  });

  test('is not chosen by an admin that is limited to some voices', async () => {
    const { key: limited } = await gateway.keyVerifier.create({ scopes, voiceIds: ['tone-low'] });
    for (const voice_id of ['tone-low', null])
      expect(await send('PUT', url, { voice_id }, limited)).toMatchObject({
        status: 403,
        body: { error: 'access_denied' },
      });
    expect((await send('GET', url)).body.source).toBe('order');
  });

  test('of a key that may not use it, or while it is disabled, is the next one', async () => {
    await send('PUT', url, { voice_id: 'tone-high' });
    const { key: limited } = await gateway.keyVerifier.create({ scopes, voiceIds: ['tone-low', 'far'] });
    const next = { source: 'order', chosen_voice_id: null };
    expect((await send('GET', url, undefined, limited)).body).toMatchObject({ ...next, voice_id: 'tone-low' });
    expect(await speak({ voice: 'alloy' }, limited)).toEqual([200, 'tone-low', 'voice']);
    expect((await speak({ voice: 'tone-high' }, limited))[0]).toBe(404);
    await send('PATCH', '/api/voices/tone-high', { enabled: false });
    expect((await send('GET', url)).body).toEqual({
      voice_id: 'tone-low',
      source: 'order',
      chosen_voice_id: 'tone-high',
    });
    await send('DELETE', '/api/voices/tone-high');
    expect((await send('GET', url)).body.source).toBe('order');
  });

  test('is read and chosen over gRPC', async () => {
    const client = (await openCore(gateway)).clientOf(VoiceService);
    const admin = { metadata: { 'x-api-key': await gateway.makeKey(scopes) } };
    const { defaultVoice } = await client.unary('setDefaultVoice', { voiceId: 'far' }, admin);
    expect(defaultVoice).toMatchObject({ voiceId: 'far', source: 2, chosenVoiceId: 'far' });
    expect((await client.unary('getDefaultVoice', {}, admin)).defaultVoice).toMatchObject({ voiceId: 'far' });
    const reader = { metadata: { 'x-api-key': await gateway.makeKey(['voices:read']) } };
    await failureOf(client.unary('setDefaultVoice', { voiceId: 'far' }, reader));
    const { defaultVoice: after } = await client.unary('setDefaultVoice', {}, admin);
    expect(after).toMatchObject({ voiceId: 'tone-low', source: 3, chosenVoiceId: '' });
  });

  test('of the setting goes before the choice, which is told, and comes into force without it', async () => {
    const set = await openTestGateway({ defaultVoice: 'far' });
    const sendThere = await callerOf(set);
    const chosen = await sendThere('PUT', url, { voice_id: 'tone-high' });
    expect(chosen.body).toEqual({ voice_id: 'far', source: 'setting', chosen_voice_id: 'tone-high' });
    await sendThere('PATCH', '/api/voices/far', { enabled: false });
    expect((await sendThere('GET', url)).body).toMatchObject({ voice_id: 'tone-high', source: 'choice' });
  });

  test('of a setting that names no voice here is the one that was chosen', async () => {
    const set = await openTestGateway({ defaultVoice: 'away' });
    const sendThere = await callerOf(set);
    const chosen = await sendThere('PUT', url, { voice_id: 'tone-high' });
    expect(chosen.body).toEqual({ voice_id: 'tone-high', source: 'choice', chosen_voice_id: 'tone-high' });
  });
});

describe('a client of OpenAI', () => {
  test.each([
    ['a voice of OpenAI', { voice: 'alloy' }, 'voice'],
    ['one in an object', { voice: { id: 'alloy' } }, 'voice'],
    ['one, with instructions', { voice: 'alloy', instructions: 'Whisper.' }, 'voice'],
    ['no voice', {}, null],
    ['an empty voice', { voice: '' }, null],
    ['null', { voice: null }, null],
    ['null, with instructions that are null', { voice: null, instructions: null }, null],
  ])('that names %s hears the default voice, and is told', async (_, body, ignored) => {
    expect(await speak(body)).toEqual([200, 'tone-low', ignored]);
    expect(await speak({ ...body, stream_format: 'sse' })).toEqual([200, 'tone-low', ignored]);
  });

  test('that names a voice of here hears that', async () => {
    expect(await speak({ voice: 'tone-high' })).toEqual([200, 'tone-high', null]);
  });

  test('that names a voice of OpenAI hears the one beside it in the table, if there is one', async () => {
    const voiceNames = ['alloy=tone-high', 'house = far', 'echo=nobody'];
    const gateway = await openTestGateway({ settings: { voiceNames } });
    const sendThere = await callerOf(gateway);
    const heard = async (voice: string) => {
      const { status, headers } = await sendThere('POST', '/v1/audio/speech', { input: 'Hello.', voice });
      return [status, headers.get('x-voice-id'), headers.get('x-ignored-fields')];
    };
    expect(await heard('alloy')).toEqual([200, 'tone-high', null]);
    expect(await heard('house')).toEqual([200, 'far', null]);
    expect(await heard('echo')).toEqual([200, 'tone-low', 'voice']);
    expect(await heard('nova')).toEqual([200, 'tone-low', 'voice']);
    expect((await heard('barn'))[0]).toBe(404);
    const bindings = [{ engine: 'tone', voice_id: 'tone-high' }];
    for (const voice_id of ['kokoro-af_nova', 'alloy'])
      expect((await sendThere('POST', '/api/voices', { voice_id, name: 'New', bindings })).status).toBe(201);
    expect(await heard('nova')).toEqual([200, 'kokoro-af_nova', null]);
    expect(await heard('alloy'), 'a voice of this name comes first').toEqual([200, 'alloy', null]);
  });

  test('lists voices and models, without a key only where the operator allows it, and then no private voices', async () => {
    const read = async (url: string, path: string, headers = {}) => {
      const answer = await fetch(url + path, { headers });
      return [answer.status, await answer.text()] as const;
    };
    const open = await openTestGateway({ settings: { publicVoices: true } });
    const own = await open.makeKey(['voices:read', 'voices:write']);
    const body = { voice_id: 'mine', name: 'Mine', bindings: [{ engine: 'tone', voice_id: 'tone-low' }] };
    expect((await open.send('/api/voices', { headers: { 'X-API-Key': own }, body })).status).toBe(201);
    for (const [path, text] of [
      ['/v1/audio/voices', '"id":"tone-low"'],
      ['/v1/audio/models', '"id":"tts-1"'],
    ] as const) {
      expect(await read(open.url, path)).toEqual([200, expect.stringContaining(text)]);
      expect((await read(open.url, path, { Authorization: 'Bearer snt_wrong' }))[0]).toBe(401);
      expect((await read(gateway.url, path))[0]).toBe(401);
      expect(await read(gateway.url, path, { 'X-API-Key': gateway.key })).toEqual([200, expect.stringContaining(text)]);
    }
    expect((await read(open.url, '/v1/audio/voices'))[1]).not.toContain('"mine"');
    expect((await read(open.url, '/v1/audio/voices', { 'X-API-Key': own }))[1]).toContain('"mine"');
    expect((await read(open.url, '/v1/models'))[0]).toBe(401);
  });

  test('is refused what is no name, and all of it where the service is strict', async () => {
    expect((await send('POST', '/v1/audio/speech', { input: 'Hello.', voice: 3 })).status).toBe(400);
    const strict = await openTestGateway({ settings: { isStrict: true } });
    const sendThere = await callerOf(strict);
    expect((await sendThere('POST', '/v1/audio/speech', { input: 'Hello.' })).status).toBe(400);
    expect((await sendThere('POST', '/v1/audio/speech', { input: 'Hello.', voice: 'alloy' })).status).toBe(404);
  });
});

test('where a voice is not found, each API names its own list of voices', async () => {
  const strict = await openTestGateway({ settings: { isStrict: true } });
  const voice = { mode: 'id', id: 'nobody' };
  for (const [path, body, listUrl] of [
    ['/api/audio/speech', { text: 'Hi.', voice_id: 'nobody' }, '/api/voices'],
    ['/v1/audio/speech', { input: 'Hi.', voice: 'nobody' }, '/v1/audio/voices'],
    ['/v1/audio/speech', { input: 'Hi.', voice: 'tone-lo' }, '/v1/audio/voices'],
    ['/v1/text-to-speech/nobody', { text: 'Hi.' }, '/v1/voices'],
    ['/tts/bytes', { transcript: 'Hi.', model_id: 'sonic-2', voice, output_format: { container: 'wav' } }, '/voices'],
  ] as const) {
    const answer = await strict.send(path, { body });
    const told = await answer.text();
    expect([answer.status, told]).toEqual([
      404,
      expect.stringContaining(`GET ${listUrl} lists the voices of this key`),
    ]);
    expect(told.match(/GET \S+ lists/g)).toHaveLength(path === '/tts/bytes' ? 2 : 1);
  }
});
