// Tests aliases of voices: accepted wherever an id is accepted, refused if the name is taken, deleted with their voice,
// and unknown to callers that may not use the voice.
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { VoiceService } from '../../../gen/sonant/v1/voice_pb.ts';
import { openWays, wholeText } from '../../contract/open-ways.ts';
import { openTone } from '../../engines/tone-engine.ts';
import { failureOf } from '../rpc/grpc-client.ts';
import { openCore } from '../rpc/open-core.ts';
import { readEvents, soundIn } from './event-reader.ts';
import { openTestGateway } from './open-gateway.ts';
import { readReply } from './read-reply.ts';

const scopes = ['voices:read', 'voices:write', 'speech:synthesize', 'speech:stream', 'usage:read', 'keys:write'];
const gateway = await openTestGateway({}, afterAll);
const admin = await gateway.makeKey([...scopes, 'admin']);
const owner = await gateway.makeKey(scopes);
const other = await gateway.makeKey(scopes);

const send = async (method: string, path: string, body?: object, as = owner) => {
  const headers = { 'X-API-Key': as, 'xi-api-key': as };
  return readReply(await gateway.send(path, { method, headers, ...(body && { body }) }));
};
const name = (voiceId: string, aliases: readonly string[], as = admin) =>
  send('PATCH', `/api/voices/${voiceId}`, { aliases }, as);
const aliasesOf = async (voiceId: string, as = admin) =>
  (await send('GET', `/api/voices/${voiceId}`, undefined, as)).body.aliases;
const bindings = [{ engine: 'tone', voice_id: 'tone-low' }];
const make = (voice_id: string, more: object = {}, as = owner) =>
  send('POST', '/api/voices', { voice_id, name: 'Made', bindings, ...more }, as);
const faultsOf = ({ body }: Awaited<ReturnType<typeof send>>) =>
  (body.details as { field: string; reason: string; message: string }[]).map(
    ({ field, reason, message }) => `${field} ${reason}: ${message}`,
  );

/** Ids of other vendors: OpenAI, Google, Cartesia, ElevenLabs, and Kokoro servers. */
const foreign = [
  'alloy',
  'en-US-Chirp3-HD-Achernar',
  'a0e99841-438c-4a64-b679-ae501e7d6091',
  '21m00Tcm4TlvDq8ikWAM',
  'af_bella(2)+af_sky(1)',
  'tts_models/en/ljspeech',
];
const sorted = foreign.toSorted();

describe('an alias', () => {
  test('is accepted wherever an id is in an address, and for an estimate', async () => {
    expect((await name('tone-high', foreign)).status).toBe(200);
    const speech = '/api/audio/speech';
    for (const alias of foreign) {
      const id = encodeURIComponent(alias);
      const ways: readonly (readonly [method: string, path: string, body?: object])[] = [
        ['GET', `/api/voices/${id}`],
        ['GET', `/api/voices/${id}/preview`],
        ['GET', `${speech}/sse?voice_id=${id}&text=Hello.`],
        ['POST', '/api/audio/estimate', { voice_id: alias, text: 'Hello.' }],
        ['POST', `/v1/text-to-speech/${id}`, { text: 'Hello.' }],
        ['POST', `/v1/text-to-speech/${id}/with-timestamps`, { text: 'Hello.' }],
        ['PATCH', `/api/voices/${id}`, { aliases: foreign }],
      ];
      for (const [method, path, body] of ways) {
        const { status, headers } = await send(method, path, body, admin);
        expect([status, headers.get('X-Ignored-Fields')], `${method} ${path}`).toEqual([200, null]);
        expect([null, 'tone-high'], path).toContain(headers.get('X-Voice-Id'));
      }
    }
  });

  test('is cached, metered and stored under the id of the voice', async () => {
    await name('tone-high', foreign);
    const own = await gateway.makeKey([...scopes, 'admin']);
    const say = async (voice_id: string) => {
      const { headers, bytes } = await send('POST', '/api/audio/speech', { ...spoken, voice_id }, own);
      return { cache: headers.get('X-Cache'), voice: headers.get('X-Voice-Id'), bytes };
    };
    const spoken = { text: 'The very same.', return_format: 'buffer' };
    const first = await say('alloy');
    const second = await say('tone-high');
    expect([first.cache, first.voice, second.cache]).toEqual(['MISS', 'tone-high', 'HIT']);
    expect(second.bytes.equals(first.bytes)).toBe(true);
    await send('POST', '/v1/audio/speech', { voice: 'alloy', input: 'Hello.' }, own);
    await send('POST', '/v1/text-to-speech/alloy', { text: 'Hello.' }, own);
    const usage = await send('GET', '/api/usage?group_by=voice', undefined, own);
    expect(usage.body.groups.map(({ group }: { group: string }) => group)).toEqual(['tone-high']);
  });

  test('is paged and searched as an id is where voices of ElevenLabs are listed', async () => {
    await name('tone-high', foreign);
    const list = async (query: string) => (await send('GET', `/v2/voices?${query}`)).body;
    const all = (await list('page_size=100')).voices.map((voice: { voice_id: string }) => voice.voice_id);
    const ids: string[] = [];
    for (let token: string | null = ''; token !== null; ) {
      const page = await list(`page_size=1${token && `&next_page_token=${encodeURIComponent(token)}`}`);
      expect([page.voices.length, page.total_count]).toEqual([1, all.length]);
      ids.push(page.voices[0].voice_id);
      token = page.next_page_token;
    }
    expect(ids).toEqual(all);
    expect(ids).toEqual(expect.arrayContaining(foreign));
    expect((await list('search=21m00t')).voices).toMatchObject([{ voice_id: '21m00Tcm4TlvDq8ikWAM' }]);
  });

  test('leaves a voice of an engine as it is, and is in the lists that clients look voices up in', async () => {
    const before = (await send('GET', '/api/voices/tone-high')).body;
    const named = await name('tone-high', foreign);
    expect(named.body).toEqual({ ...before, aliases: sorted, created_at: null, updated_at: null, owner: 'operator' });
    for (const [path, idName] of [
      ['/v1/audio/voices', 'id'],
      ['/v1/voices', 'voice_id'],
    ] as const) {
      const listed: Record<string, string>[] = (await send('GET', path)).body.voices;
      const ofVoice = listed.filter((each) => each.name === 'Tone, high').map((each) => each[idName]);
      expect(ofVoice).toEqual(['tone-high', ...sorted]);
    }
    const ids: string[] = [];
    for (let after = ''; ; ) {
      const { body } = await send('GET', `/voices?limit=2${after && `&starting_after=${encodeURIComponent(after)}`}`);
      ids.push(...body.data.map(({ id }: { id: string }) => id));
      if (!body.has_more) break;
      after = body.next_page;
    }
    expect(ids.filter((id) => foreign.includes(id))).toEqual(sorted);
    expect(new Set(ids).size).toBe(ids.length);
    const found = await send('GET', '/api/voices?text=chirp3');
    expect(found.body.voices.map(({ voice_id }: { voice_id: string }) => voice_id)).toEqual(['tone-high']);
  });

  test('is taken back with all other changes of a voice of an engine', async () => {
    await name('tone-high', ['nova', 'onyx']);
    expect((await send('DELETE', '/api/voices/nova')).status).toBe(403);
    expect((await send('DELETE', '/api/voices/nova', undefined, admin)).status).toBe(204);
    expect((await send('GET', '/api/voices/nova')).status).toBe(404);
    expect((await send('GET', '/api/voices/tone-high')).body).toMatchObject({ aliases: [], status: 'ready' });
    expect((await send('DELETE', '/api/voices/tone-high', undefined, admin)).status).toBe(400);
  });

  test('goes when it is left out, and can be another voice’s then', async () => {
    await name('tone-high', ['nova', 'onyx']);
    expect((await name('tone-high', ['onyx'])).body.aliases).toEqual(['onyx']);
    expect((await send('GET', '/api/voices/nova')).status).toBe(404);
    expect((await name('tone-low', ['nova'])).body.aliases).toEqual(['nova']);
    expect((await send('GET', '/api/voices/nova')).body.voice_id).toBe('tone-low');
    await name('tone-low', []);
    await name('tone-high', []);
  });

  test('is given to a voice as it is made, changes with its other fields, and goes with it', async () => {
    expect((await make('anchor', { aliases: ['shimmer'] })).body.aliases).toEqual(['shimmer']);
    const changed = await send('PATCH', '/api/voices/shimmer', { name: 'Anchor', aliases: ['shimmer', 'sage'] });
    expect(changed.body).toMatchObject({ voice_id: 'anchor', name: 'Anchor', aliases: ['sage', 'shimmer'] });
    expect((await send('DELETE', '/api/voices/anchor')).status).toBe(204);
    expect((await send('GET', '/api/voices/sage')).status).toBe(404);
    expect((await make('anchor')).body.aliases).toEqual([]);
    expect((await name('tone-low', ['sage'])).status).toBe(200);
    await name('tone-low', []);
    await send('DELETE', '/api/voices/anchor');
  });

  test('is set over gRPC', async () => {
    const client = (await openCore(gateway)).clientOf(VoiceService);
    const change = { voiceId: 'far', spec: { aliases: ['coral'] }, updateMask: { paths: ['aliases'] } };
    const { voice } = await client.unary('updateVoice', change, { metadata: { 'x-api-key': admin } });
    expect(voice?.aliases).toEqual(['coral']);
    await failureOf(client.unary('updateVoice', change, { metadata: { 'x-api-key': owner } }));
    const none = { voiceId: 'coral', spec: {}, updateMask: { paths: ['aliases'] } };
    expect((await client.unary('updateVoice', none, { metadata: { 'x-api-key': admin } })).voice?.aliases).toEqual([]);
  });
});

describe('an alias is refused', () => {
  test('where it is the id of a voice, an alias of another one, or twice the same', async () => {
    await make('mine');
    await name('tone-high', ['echo']);
    await make('own', { aliases: ['nova'] });
    expect(faultsOf(await name('mine', ['tone-low', 'nova', 'mine', 'free'], owner))).toEqual([
      'aliases[0] taken: is the id of another voice',
      'aliases[1] taken: is an alias of the voice own',
      'aliases[2] conflict: is the id of the voice itself',
    ]);
    expect(faultsOf(await name('mine', ['free', 'free'], owner))).toEqual(['aliases[1] duplicate: must be given once']);
    expect(faultsOf(await make('echo'))).toEqual(['voice_id taken: is the id or an alias of another voice']);
    expect(faultsOf(await name('tone-low', ['echo', 'mine']))).toEqual([
      'aliases[0] taken: is an alias of the voice tone-high',
      'aliases[1] taken: is the id of another voice',
    ]);
    expect(await aliasesOf('mine')).toEqual([]);
    for (const voiceId of ['mine', 'own']) await send('DELETE', `/api/voices/${voiceId}`);
    await name('tone-high', []);
  });

  test('where it is of another form, or one too many', async () => {
    await make('mine');
    const bad = ['', ' a', 'a b', 'a,b', '-a', 'é', 'x'.repeat(129), 'a\n'];
    const refused = await name('mine', bad, owner);
    expect(faultsOf(refused).map((fault) => fault.slice(0, 17))).toEqual(bad.map((_, i) => `aliases[${i}] format`));
    const many = Array.from({ length: 21 }, (_, i) => `n${i}`);
    expect(faultsOf(await name('mine', many, owner))).toEqual(['aliases length: must be at most 20 items']);
    expect((await name('mine', many.slice(1), owner)).body.aliases).toHaveLength(20);
    expect((await send('PATCH', '/api/voices/mine', { aliases: 'one' })).status).toBe(400);
    expect((await send('PATCH', '/api/voices/mine', { aliases: [1] })).status).toBe(400);
    await send('DELETE', '/api/voices/mine');
  });

  test('to those who may not change the voice', async () => {
    await send('POST', '/api/voices', { voice_id: 'ours', name: 'Made', bindings }, admin);
    for (const [voiceId, as] of [
      ['ours', other],
      ['tone-low', owner],
    ] as const)
      expect(await name(voiceId, ['ash'], as)).toMatchObject({ status: 403, body: { error: 'access_denied' } });
    await send('DELETE', '/api/voices/ours', undefined, admin);
  });
});

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
