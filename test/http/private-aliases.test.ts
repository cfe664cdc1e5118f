// Tests who owns names: an alias of a private voice belongs to its account, and each account may have the same alias; a
// name never leads to another account's voice; and a key limited to an alias is limited to its voice.
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { openWays, wholeText } from '../contract/open-ways.ts';
import { openTone } from '../engines/tone-engine.ts';
import { readEvents, soundIn } from './event-reader.ts';
import { openTestGateway } from './open-gateway.ts';

const scopes = ['voices:read', 'voices:write', 'speech:synthesize', 'speech:stream', 'keys:write'];
const gateway = await openTestGateway({}, afterAll);
const admin = await gateway.makeKey([...scopes, 'admin']);
const owner = await gateway.makeKey(scopes);
const other = await gateway.makeKey(scopes);

const send = async (method: string, path: string, body?: object, as = owner) => {
  const headers = { 'X-API-Key': as, 'xi-api-key': as };
  const answer = await gateway.send(path, { method, headers, ...(body && { body }) });
  const bytes = Buffer.from(await answer.arrayBuffer());
  const isJson = answer.headers.get('content-type')?.startsWith('application/json') && bytes.length > 0;
  return { status: answer.status, headers: answer.headers, bytes, body: isJson ? JSON.parse(String(bytes)) : {} };
};
const name = (voiceId: string, aliases: readonly string[], as = admin) =>
  send('PATCH', `/api/voices/${voiceId}`, { aliases }, as);
const bindings = [{ engine: 'tone', voice_id: 'tone-low' }];
const make = (voice_id: string, more: object = {}, as = owner) =>
  send('POST', '/api/voices', { voice_id, name: 'Made', bindings, ...more }, as);
const faultsOf = ({ body }: Awaited<ReturnType<typeof send>>) =>
  (body.details as { field: string; reason: string; message: string }[]).map(
    ({ field, reason, message }) => `${field} ${reason}: ${message}`,
  );

test('an alias of a private voice is unknown to others, who may have the same', async () => {
  await make('secret', { access: 'private', aliases: ['verse'] });
  expect((await send('GET', '/api/voices/verse')).body.voice_id).toBe('secret');
  const ways: readonly (readonly [method: string, path: string, body?: object])[] = [
    ['GET', '/api/voices/verse'],
    ['PATCH', '/api/voices/verse', { aliases: [] }],
    ['DELETE', '/api/voices/verse'],
    ['POST', '/api/audio/speech', { voice_id: 'verse', text: 'Hello.' }],
    ['POST', '/v1/text-to-speech/verse', { text: 'Hello.' }],
  ];
  for (const [method, path, body] of ways) {
    const refused = await send(method, path, body, other);
    expect(refused.status, path).toBe(404);
    const asked = body && 'voice_id' in body ? { ...body, voice_id: 'none' } : body;
    const unknown = await send(method, path.replace('verse', 'none'), asked, other);
    const { request_id: _, ...told } = refused.body;
    const { request_id: __, ...toldOfUnknown } = unknown.body;
    if (!path.startsWith('/v1')) expect(told).toEqual(toldOfUnknown);
  }
  const replaced = await send('POST', '/v1/audio/speech', { voice: 'verse', input: 'Hello.' }, other);
  expect([replaced.headers.get('X-Voice-Id'), replaced.headers.get('X-Ignored-Fields')]).toEqual(['tone-low', 'voice']);
  await make('others', {}, other);
  expect(JSON.stringify((await send('GET', '/v1/voices', undefined, other)).body)).not.toContain('verse');
  expect((await name('others', ['verse'], other)).body.aliases).toEqual(['verse']);
  for (const [as, voiceId] of [
    [owner, 'secret'],
    [other, 'others'],
  ] as const)
    expect((await send('GET', '/api/voices/verse', undefined, as)).body.voice_id).toBe(voiceId);
  for (const voiceId of ['secret', 'others']) await send('DELETE', `/api/voices/${voiceId}`, undefined, admin);
});

test('a name near that of a voice is told the voice, if the key may use it', async () => {
  await make('heron', { name: 'Grey wader', access: 'private', aliases: ['egret'] });
  const { body } = await send('POST', '/api/auth/api-keys', { scopes: ['voices:read'], voice_ids: ['tone-low'] });
  const told = async (voiceId: string, as?: string) =>
    /did you mean (\S+)\?/.exec(
      (await send('GET', `/api/voices/${encodeURIComponent(voiceId)}`, undefined, as)).body.message,
    )?.[1];
  for (const near of ['Heron', 'hron', 'grey wader']) {
    expect([await told(near), await told(near, other), await told(near, body.key)], near).toEqual([
      'heron',
      undefined,
      undefined,
    ]);
  }
  expect([await told('egrett'), await told('egrett', other), await told('egrett', body.key)]).toEqual([
    'egret',
    undefined,
    undefined,
  ]);
  expect([await told('TONE-HIGH', other), await told('TONE-HIGH', body.key)]).toEqual(['tone-high', undefined]);
  expect(await told('xylophone')).toBeUndefined();
  const text = '<speak><voice name="hron">Hello.</voice></speak>';
  const spoken = { voice_id: 'tone-low', ssml: text };
  expect(faultsOf(await send('POST', '/api/audio/speech', spoken)).join()).toContain('did you mean heron?');
  expect(faultsOf(await send('POST', '/api/audio/speech', spoken, other)).join()).not.toContain('heron');
  await send('DELETE', '/api/voices/heron', undefined, admin);
});

test('a key that is limited to an alias is limited to its voice, whatever the alias is of later', async () => {
  await name('tone-high', ['ballad']);
  const { body } = await send('POST', '/api/auth/api-keys', {
    scopes: ['speech:synthesize'],
    voice_ids: ['ballad', 'tone-high'],
  });
  expect(body.voice_ids).toEqual(['tone-high']);
  const say = async (voice_id: string) =>
    (await send('POST', '/api/audio/speech', { voice_id, text: 'Hello.' }, body.key)).status;
  expect([await say('ballad'), await say('tone-high'), await say('tone-low')]).toEqual([200, 200, 404]);
  const narrowed = await send('PATCH', `/api/auth/api-keys/${body.id}`, { voice_ids: ['ballad'] });
  expect(narrowed.body.voice_ids).toEqual(['tone-high']);
  await name('tone-high', []);
  await name('tone-low', ['ballad']);
  expect([await say('ballad'), await say('tone-high')]).toEqual([404, 200]);
  await name('tone-low', []);
});

test('a default voice is chosen by an alias, and stays the voice', async () => {
  await name('tone-high', ['fable']);
  const chosen = await send('PUT', '/api/default-voice', { voice_id: 'fable' }, admin);
  expect(chosen.body.chosen_voice_id).toBe('tone-high');
  await name('tone-high', []);
  expect((await send('GET', '/api/default-voice')).body.voice_id).toBe('tone-high');
  await send('PUT', '/api/default-voice', { voice_id: null }, admin);
});

const speakAs = async (voice: string, as: string) => {
  const { status, headers } = await send('POST', '/v1/audio/speech', { voice, input: 'Hello.' }, as);
  return [status, headers.get('X-Voice-Id')];
};

test('names that one account takes answer no request of another, nor of everyone', async () => {
  await make('taker', { aliases: ['default', 'nova'] }, other);
  await make('alloy', {}, other);
  for (const [as, id] of [
    [owner, 'tone-low'],
    [admin, 'tone-low'],
  ] as const) {
    for (const published of ['alloy', 'nova']) expect(await speakAs(published, as)).toEqual([200, id]);
    expect(await speakAs('default', as)).toEqual([404, null]);
    expect((await send('POST', '/api/audio/speech', { voice_id: 'default', text: 'Hello.' }, as)).status).toBe(404);
  }
  expect(await speakAs('default', other)).toEqual([200, 'taker']);
  for (const voiceId of ['taker', 'alloy']) await send('DELETE', `/api/voices/${voiceId}`, undefined, other);
});

test('an alias that everyone and an account have is the account’s for its keys, in every list once', async () => {
  await name('tone-high', ['onyx']);
  await make('mine', { aliases: ['onyx'] });
  expect([await speakAs('onyx', owner), await speakAs('onyx', other)]).toEqual([
    [200, 'mine'],
    [200, 'tone-high'],
  ]);
  // An admin may use all voices, but an alias leads an admin only to public voices and the admin's own.
  expect(await speakAs('onyx', admin)).toEqual([200, 'tone-high']);
  for (const as of [owner, other, admin]) {
    const listed = (await send('GET', '/v1/audio/voices', undefined, as)).body.voices as { id: string; name: string }[];
    const names = listed.flatMap((voice) => (voice.id === 'onyx' ? voice.name : []));
    expect(names).toEqual([as === owner ? 'Made' : 'Tone, high']);
  }
  expect(faultsOf(await make('onyx'))).toEqual(['voice_id taken: is the id or an alias of another voice']);
  await send('DELETE', '/api/voices/mine');
  await name('tone-high', []);
});

test('only admins share a voice or name one for everyone, and its aliases go with it', async () => {
  const refusal = { status: 403, body: { error: 'insufficient_scope', required_scopes: ['admin'] } };
  expect(await make('mine', { access: 'everyone' })).toMatchObject(refusal);
  await make('mine', { aliases: ['sage'] });
  expect(await send('PATCH', '/api/voices/mine', { access: 'everyone' })).toMatchObject(refusal);
  await name('tone-high', ['sage']);
  const shared = () => send('PATCH', '/api/voices/mine', { access: 'everyone' }, admin);
  expect(faultsOf(await shared())).toEqual(['aliases[0] taken: is an alias of the voice tone-high']);
  await name('tone-high', []);
  expect((await shared()).body).toMatchObject({ access: 'everyone', aliases: ['sage'] });
  expect(await speakAs('sage', other)).toEqual([200, 'mine']);
  expect(await name('mine', ['sage', 'ash'], owner)).toMatchObject(refusal);
  expect((await send('PATCH', '/api/voices/mine', { access: 'private' })).body.aliases).toEqual(['sage']);
  expect([await speakAs('sage', owner), await speakAs('sage', other)]).toEqual([
    [200, 'mine'],
    [200, 'tone-low'],
  ]);
  await send('DELETE', '/api/voices/mine');
});

test('a key cannot be limited to voices that it could not use', async () => {
  await make('mine', { aliases: ['ash'] });
  const limit = (voice_ids: unknown, as: string, scope = 'voices:read') =>
    send('POST', '/api/auth/api-keys', { scopes: [scope], voice_ids }, as);
  const made = await limit(['ash', 'tone-low'], owner);
  expect(made.body.voice_ids).toEqual(['mine', 'tone-low']);
  const notUsable = (...names: string[]) =>
    names.map((voice, i) => `voice_ids[${i}] voice_not_found: ${voice} is not a voice that this key can use`);
  expect(faultsOf(await limit(['nobody', 'gone', 'tone-low'], owner))).toEqual(notUsable('nobody', 'gone'));
  expect(faultsOf(await limit(['mine', 'ash'], other))).toEqual(notUsable('mine', 'ash'));
  const spec = { scopes: ['voices:read'], voiceIds: ['tone-low', 'nobody'] };
  const overConnect = await send('POST', '/sonant.v1.ApiKeyService/CreateApiKey', { spec }, owner);
  expect([overConnect.status, overConnect.body.code]).toEqual([400, 'invalid_argument']);
  expect(JSON.stringify(overConnect.body)).toContain('voice_ids[1]');
  // An admin's new key belongs to a new account, which has no private voices.
  expect(faultsOf(await limit(['mine'], admin))).toEqual(notUsable('mine'));
  expect((await limit(['mine'], admin, 'admin')).body.voice_ids).toEqual(['mine']);
  const path = `/api/auth/api-keys/${made.body.id}`;
  for (const as of [owner, admin]) {
    expect(faultsOf(await send('PATCH', path, { voice_ids: ['nobody'] }, as))).toEqual(notUsable('nobody'));
    expect((await send('PATCH', path, { voice_ids: ['mine'] }, as)).body.voice_ids).toEqual(['mine']);
  }
  expect((await limit([], owner)).body.details).toMatchObject([{ field: 'voice_ids', reason: 'length' }]);
  expect((await send('PATCH', path, { voice_ids: null })).body.voice_ids).toBeNull();
  expect((await limit(null, owner)).body.voice_ids).toBeNull();
  await send('DELETE', '/api/voices/mine');
});

test('a voice of another account is heard on no way to ask, by its id or an alias; an own alias is heard on all', async () => {
  const ways = await openWays(openTone(), onTestFinished, { isAdmin: false });
  const { post, bytesOf, gateway } = ways;
  const { say: _, ...whole } = ways.whole;
  const pcm = { output_format: 'pcm', sample_rate: 24_000 };
  const text = 'Hello.';
  const asks: Record<string, (voiceId: string) => Promise<Buffer>> = {
    async 'SSE, ticket'(voice_id) {
      const ticket = await post('/api/audio/speech/sse/tickets', { voice_id, ...pcm, text_chunks: [text] });
      const { sse_url } = (await ticket.json()) as { sse_url: string };
      return soundIn(await readEvents(await fetch(gateway.here(sse_url))));
    },
    async SSML(name) {
      const ssml = `<speak><voice name="${name}">${text}</voice></speak>`;
      return bytesOf(await post('/api/audio/speech', { voice_id: 'tone-low', ...pcm, ssml, return_format: 'buffer' }));
    },
    async MCP(voice_id) {
      const params = { name: 'speak', arguments: { voice_id, text, inline: true } };
      const answer = await post('/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params });
      const { result } = (await answer.json()) as { result: { isError?: boolean; content: Record<string, string>[] } };
      if (result.isError) throw new Error(result.content[0]!.text);
      return Buffer.from(result.content[2]!.data!, 'base64');
    },
    job: async (voiceId) => (await ways.speakChapters([{ voiceId, languageCode: 'en', text }]))[0]!,
  };
  for (const [way, ask] of Object.entries({ ...whole, ...ways.live }))
    asks[way] = (voiceId) => ask({ voiceId, languageCode: 'en', text }, wholeText);

  // ElevenLabs's sockets refuse the upgrade, of which Node's client tells no more.
  const refusal = /voice_not_found|voice (\w+ )?not found|stream-input\S+ failed$/i;
  /** The built-in voice that is heard on each way. */
  const heard = async (name: string) => {
    const voiceOf = async (ask: (voiceId: string) => Promise<Buffer>) => {
      const sound = await ask(name).catch(String);
      if (typeof sound === 'string') return refusal.test(sound) ? 'none' : sound;
      return (await ask('tone-high')).equals(sound) ? 'tone-high' : (await ask('tone-low')).equals(sound) && 'tone-low';
    };
    const told = Object.entries(asks).map(async ([way, ask]) => [way, await voiceOf(ask)]);
    return Object.fromEntries(await Promise.all(told));
  };
  const onAllWays = (voice: string) => Object.fromEntries(Object.keys(asks).map((way) => [way, voice]));
  const voice = { name: 'Made', bindings: [{ engine: 'tone', voice_id: 'tone-high' }] };
  const headers = { 'X-API-Key': await gateway.makeKey(scopes) };
  const aliases = ['alloy', 'robin'];
  const body = { ...voice, voice_id: 'secret', aliases };
  expect((await gateway.send('/api/voices', { headers, body })).status).toBe(201);
  for (const name of ['secret', ...aliases]) {
    // OpenAI's own names are spoken by the default voice.
    const OpenAI = name === 'alloy' ? 'tone-low' : 'none';
    expect({ name, ...(await heard(name)) }).toEqual({ name, ...onAllWays('none'), OpenAI });
  }
  await post('/api/voices', { ...voice, aliases: ['alloy'] });
  expect(await heard('alloy')).toEqual(onAllWays('tone-high'));
});
