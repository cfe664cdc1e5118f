// Tests aliases of voices: accepted wherever an id is accepted, refused if the name is taken, deleted with their voice,
// and unknown to callers that may not use the voice.
import { once } from 'node:events';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { SpeechService } from '../../gen/sonant/v1/speech_pb.ts';
import { VoiceService } from '../../gen/sonant/v1/voice_pb.ts';
import { openRpcServer } from '../../src/rpc/server.ts';
import { failureOf, openGrpcClient } from '../rpc/grpc-client.ts';
import { openTestGateway } from './open-gateway.ts';

const scopes = ['voices:read', 'voices:write', 'speech:synthesize', 'speech:stream', 'usage:read'];
const gateway = await openTestGateway({}, afterAll);
const admin = await gateway.makeKey([...scopes, 'admin']);
const owner = await gateway.makeKey([...scopes, 'keys:write']);
const other = await gateway.makeKey([...scopes, 'keys:write']);
const server = await openRpcServer({
  services: gateway.services,
  address: { host: '127.0.0.1', port: 0 },
  onFault() {},
});
afterAll(() => server.drain(0));

const send = async (method: string, path: string, body?: object, as = owner) => {
  const headers = { 'X-API-Key': as, 'xi-api-key': as };
  const answer = await gateway.send(path, { method, headers, ...(body && { body }) });
  const bytes = Buffer.from(await answer.arrayBuffer());
  const isJson = answer.headers.get('content-type')?.startsWith('application/json') && bytes.length > 0;
  return { status: answer.status, headers: answer.headers, bytes, body: isJson ? JSON.parse(String(bytes)) : {} };
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
  test('is accepted wherever an id is, over HTTP', async () => {
    expect((await name('tone-high', foreign)).status).toBe(200);
    const speech = '/api/audio/speech';
    const raw = { container: 'raw', encoding: 'pcm_s16le', sample_rate: 24_000 };
    for (const alias of foreign) {
      const id = encodeURIComponent(alias);
      const ways: readonly (readonly [method: string, path: string, body?: object])[] = [
        ['GET', `/api/voices/${id}`],
        ['GET', `/api/voices/${id}/preview`],
        ['POST', speech, { voice_id: alias, text: 'Hello.' }],
        ['POST', speech, { voice_id: alias, text: 'Hello.', return_format: 'buffer' }],
        ['POST', speech, { voice_id: alias, method: 'streaming', text_chunks: ['Hello.'] }],
        ['POST', speech, { voice_id: alias, method: 'streaming', text_chunks: ['Hello.'], return_format: 'url' }],
        ['POST', `${speech}/sse`, { voice_id: alias, text_chunks: ['Hello.'] }],
        ['GET', `${speech}/sse?voice_id=${id}&text=Hello.`],
        ['POST', '/api/audio/estimate', { voice_id: alias, text: 'Hello.' }],
        ['POST', '/v1/audio/speech', { voice: alias, input: 'Hello.' }],
        ['POST', `/v1/text-to-speech/${id}`, { text: 'Hello.' }],
        ['POST', `/v1/text-to-speech/${id}/with-timestamps`, { text: 'Hello.' }],
        ['POST', '/tts/bytes', { transcript: 'Hello.', voice: { mode: 'id', id: alias }, output_format: raw }],
        ['POST', '/tts/sse', { transcript: 'Hello.', voice: { mode: 'id', id: alias }, output_format: raw }],
        ['PATCH', `/api/voices/${id}`, { aliases: foreign }],
      ];
      for (const [method, path, body] of ways) {
        const { status, headers } = await send(method, path, body, admin);
        expect([status, headers.get('X-Ignored-Fields')], `${method} ${path}`).toEqual([200, null]);
        expect([null, 'tone-high'], path).toContain(headers.get('X-Voice-Id'));
      }
    }
    const ticket = await send('POST', '/api/audio/speech/sse/tickets', { voice_id: 'alloy', text_chunks: ['Hello.'] });
    const events = await fetch(ticket.body.sse_url.replace('http://sonant.test', gateway.url));
    expect(await events.text()).toContain('"voice_id":"tone-high"');
  });

  test('is accepted over gRPC and live', async () => {
    await name('tone-high', foreign);
    const metadata = { 'x-api-key': owner };
    const speech = openGrpcClient(SpeechService, `127.0.0.1:${server.port}`);
    const voices = openGrpcClient(VoiceService, `127.0.0.1:${server.port}`);
    onTestFinished(() => {
      speech.close();
      voices.close();
    });
    const call = { metadata };
    const { voice } = await voices.unary('getVoice', { voiceId: 'alloy' }, call);
    expect([voice?.voiceId, voice?.aliases]).toEqual(['tone-high', sorted]);
    await voices.unary('previewVoice', { voiceId: 'alloy' }, call);
    const spoken = await speech.unary('synthesizeSpeech', { voiceId: 'alloy', text: 'Hello.' }, call);
    expect(spoken.voiceId).toBe('tone-high');
    await speech.unary('estimateSpeech', { voiceId: 'alloy', textChunks: ['Hello.'] }, call);
    const streamed = await Array.fromAsync(
      speech.stream('streamSpeech', { voiceId: 'alloy', textChunks: ['Hello.'] }, call),
    );
    expect(streamed[0]?.event).toMatchObject({ case: 'info', value: { voiceId: 'tone-high' } });
    const duplex = speech.bidi('liveSpeech', call);
    const inputs = [
      { case: 'start', value: { voiceId: 'alloy' } },
      { case: 'text', value: { text: 'Hello.' } },
      { case: 'end', value: {} },
    ];
    for (const request of inputs) duplex.write({ request } as never);
    const events = (await Array.fromAsync(duplex)) as { event: { case: string; value: object } }[];
    expect(events.find(({ event }) => event.case === 'info')?.event.value).toMatchObject({ voiceId: 'tone-high' });
  });

  test('is accepted on WebSockets', async () => {
    await name('tone-high', foreign);
    const open = async (path: string, messages: readonly object[]) => {
      const options = { headers: { 'X-API-Key': owner, 'xi-api-key': owner } } as unknown as string[];
      const socket = new WebSocket(gateway.url.replace('http', 'ws') + path, options);
      const received: string[] = [];
      socket.addEventListener('message', ({ data }) => typeof data === 'string' && received.push(data));
      await once(socket, 'open');
      for (const message of messages) socket.send(JSON.stringify(message));
      return { received, socket };
    };
    const live = await open('/api/audio/speech/live', [
      { type: 'start', voice_id: 'alloy' },
      { type: 'text', text: 'Hello.' },
      { type: 'end' },
    ]);
    const theirs = await open('/v1/text-to-speech/alloy/stream-input?output_format=pcm_24000', [
      { text: ' ' },
      { text: 'Hello. ' },
      { text: '' },
    ]);
    const output_format = { container: 'raw', encoding: 'pcm_s16le', sample_rate: 24_000 };
    const voice = { mode: 'id', id: 'a0e99841-438c-4a64-b679-ae501e7d6091' };
    const cartesia = await open('/tts/websocket', [{ context_id: 'one', transcript: 'Hello.', voice, output_format }]);
    const patient = { timeout: 20_000 };
    await expect.poll(() => live.received.join(), patient).toContain('"voice_id":"tone-high"');
    await expect.poll(() => theirs.received.join(), patient).toContain('"isFinal":true');
    await expect.poll(() => cartesia.received.join(), patient).toContain('"type":"done"');
    for (const { socket } of [live, theirs, cartesia]) socket.close();
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
    const client = openGrpcClient(VoiceService, `127.0.0.1:${server.port}`);
    onTestFinished(() => client.close());
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
