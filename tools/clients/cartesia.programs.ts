// Tests Cartesia's API with Cartesia's own client, unchanged except for the base URL.

import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import Cartesia from '@cartesia/cartesia-js';
import { afterAll, expect, test } from 'vitest';
import { openTestGateway } from '../../test/transports/http/open-gateway.ts';
import { testCertificate } from '../../test/transports/rpc/test-certificate.ts';

// The WebSocket of Cartesia's client always uses TLS.
setDefaultCACertificates([...getCACertificates(), testCertificate.cert]);
const plain = await openTestGateway({ settings: { tls: testCertificate } }, afterAll);
const shared = { ...plain, url: plain.url.replace('http:', 'https:') };
const clientOf = ({ url, key }: { url: string; key: string }) =>
  new Cartesia({ apiKey: key, baseURL: url, maxRetries: 0 });
const client = clientOf(shared);

const raw = { container: 'raw', encoding: 'pcm_s16le', sample_rate: 24_000 } as const;
const options = { model_id: 'sonic-3', voice: { mode: 'id', id: 'tone-low' }, output_format: raw } as const;

/** A timeout longer than any pause on a busy machine. */
const patient = { timeout: 20_000 };

type Message = Record<string, unknown> & { type: string };

async function openSocket(of = client) {
  const socket = await of.tts.websocket();
  // Errors arrive as messages too, so this event is ignored.
  socket.on('error', () => {});
  return {
    socket,
    /** All messages of a context. */
    async read(context: { receive(): AsyncIterable<unknown> }) {
      return (await Array.fromAsync(context.receive())) as Message[];
    },
  };
}

const soundOf = (messages: readonly Message[]) =>
  Buffer.concat(messages.flatMap(({ type, data }) => (type === 'chunk' ? [Buffer.from(String(data), 'base64')] : [])));

test('a context is spoken while its text comes, with word times on one clock, and done is last', async () => {
  const { socket, read } = await openSocket();
  const context = socket.context({ ...options, add_timestamps: true });
  await context.push({ transcript: 'Good morning. ' });
  await context.push({ transcript: 'How are', flush: true });
  await context.push({ transcript: 'you today?' });
  await context.no_more_inputs();
  const messages = await read(context);
  expect(messages.at(-1)).toMatchObject({ type: 'done', done: true, status_code: 200, context_id: context.contextId });
  expect(messages.slice(0, -1).every(({ done }) => done === false)).toBe(true);
  expect(messages.filter(({ type }) => type === 'flush_done')).toMatchObject([{ flush_done: true, flush_id: 1 }]);
  const times = messages.flatMap(({ type, word_timestamps }) =>
    type === 'timestamps' ? [word_timestamps as { words: string[]; start: number[]; end: number[] }] : [],
  );
  expect(times.flatMap(({ words }) => words)).toEqual(['Good', 'morning.', 'How', 'are', 'you', 'today?']);
  const starts = times.flatMap(({ start }) => start);
  expect(starts).toEqual(starts.toSorted((a, b) => a - b));
  expect(new Set(starts).size).toBe(6);
  expect(soundOf(messages).length).toBeGreaterThan(24_000 * 2);
  socket.close();
});

test('contexts are spoken side by side, and a cancelled one is told nothing but its end', async () => {
  const { socket } = await openSocket();
  const seen: Message[] = [];
  socket.on('event', (message: unknown) => void seen.push(message as Message));
  const of = (id: string) => seen.filter(({ context_id }) => context_id === id);
  const ask = (context_id: string, transcript: string, more: object = {}) =>
    socket.send({ ...options, context_id, transcript, continue: true, ...more } as never);
  await ask('one', 'This goes on and on and on. '.repeat(30));
  await ask('two', 'Short.', { continue: false });
  await expect.poll(() => of('two').at(-1)?.type, patient).toBe('done');
  await socket.send({ context_id: 'one', cancel: true } as never);
  await expect.poll(() => of('one').at(-1)?.type, patient).toBe('done');
  await expect.poll(() => shared.schedule.state.speaking, patient).toBe(0);
  expect(of('one').filter(({ type }) => type === 'error')).toEqual([]);
  socket.close();
});

test('a context without anything to say still gets samples', async () => {
  const { socket, read } = await openSocket();
  for (const encoding of ['pcm_s16le', 'pcm_f32le', 'pcm_mulaw', 'pcm_alaw'] as const) {
    const context = socket.context({ ...options, output_format: { ...raw, encoding, sample_rate: 8000 } });
    await context.push({ transcript: ' ' });
    await context.no_more_inputs();
    const messages = await read(context);
    expect(messages.map(({ type }) => type)).toEqual(['chunk', 'done']);
    expect(soundOf(messages).length).toBeGreaterThan(0);
  }
  socket.close();
});

test('an error of a context is a string with a status that clients heed, and the socket goes on', async () => {
  const { socket, read } = await openSocket();
  const seen: Message[] = [];
  socket.on('event', (message: unknown) => void seen.push(message as Message));
  await socket.send({
    ...options,
    voice: { mode: 'id', id: 'nobody' },
    context_id: 'bad',
    transcript: 'Hello.',
  } as never);
  await expect.poll(() => seen.map(({ type }) => type), patient).toEqual(['error', 'done']);
  expect(seen[0]).toMatchObject({ done: false, error: expect.any(String), error_code: 'voice_not_found' });
  expect(seen[0]!.status_code).toBeGreaterThanOrEqual(500);
  const context = socket.context(options);
  await context.push({ transcript: 'Still here.' });
  await context.no_more_inputs();
  expect((await read(context)).at(-1)!.type).toBe('done');
  socket.close();
});

test('a context whose first message is refused is told its error, and done as the last', async () => {
  const { socket } = await openSocket();
  const seen: Message[] = [];
  socket.on('event', (message: unknown) => void seen.push(message as Message));
  const refused: [string, object][] = [
    ['format', { output_format: { ...raw, encoding: 'pcm_u8' } }],
    ['voice', { voice: undefined }],
    ['delay', { max_buffer_delay_ms: 'soon' }],
  ];
  for (const [context_id, more] of refused) {
    await socket.send({ ...options, transcript: 'Hello.', context_id, ...more } as never);
    const of = () => seen.filter((message) => message.context_id === context_id);
    await expect
      .poll(() => of().map(({ type, done }) => [type, done]), patient)
      .toEqual([
        ['error', false],
        ['done', true],
      ]);
  }
  socket.close();
});

test('a text for a context that has had its last is refused with 400, and the context is spoken to its end', async () => {
  const { socket } = await openSocket();
  const seen: Message[] = [];
  socket.on('event', (message: unknown) => void seen.push(message as Message));
  const ask = (transcript: string) => socket.send({ ...options, context_id: 'ended', transcript } as never);
  await ask('This is the last text. '.repeat(20));
  await ask('And one more.');
  await ask('');
  await expect.poll(() => seen.at(-1)?.type, patient).toBe('done');
  const error = { done: false, status_code: 400, error: expect.any(String), error_code: 'invalid_request' };
  expect(seen.filter(({ type }) => type === 'error')).toMatchObject([{ ...error, context_id: 'ended' }]);
  const alone = await client.tts.generate({ ...options, transcript: 'This is the last text. '.repeat(20) } as never);
  expect(soundOf(seen).equals(Buffer.from(await alone.arrayBuffer()))).toBe(true);
  socket.close();
});

test('a transcript that is cut in the middle of a character is joined, and null is no text', async () => {
  const { socket, read } = await openSocket();
  const sounds: Buffer[] = [];
  for (const pieces of [[null, 'Hi \ud83d', null, '\ude00 Zo\u00eb.'], ['Hi \u{1F600} Zo\u00eb.']]) {
    const context = socket.context(options);
    for (const transcript of pieces) await context.push({ transcript } as never);
    await context.no_more_inputs();
    const messages = await read(context);
    expect(messages.at(-1)!.type).toBe('done');
    sounds.push(soundOf(messages));
  }
  expect(sounds[0]!.equals(sounds[1]!)).toBe(true);
  socket.close();
});

test('bytes and events are the same sound', async () => {
  const request = { ...options, transcript: 'One and the same.' };
  const bytes = Buffer.from(await (await client.tts.generate(request as never)).arrayBuffer());
  const events = (await Array.fromAsync((await client.tts.generateSSE(request as never)) as never)) as Message[];
  expect(bytes.length).toBeGreaterThan(24_000);
  expect(soundOf(events).equals(bytes)).toBe(true);
  const foreign = { ...request, transcript: 'Überall “Öl”.', add_timestamps: true };
  const timed = (await Array.fromAsync((await client.tts.generateSSE(foreign as never)) as never)) as Message[];
  expect(
    timed.flatMap(({ word_timestamps: times }) => (times as { words: string[] } | undefined)?.words ?? []),
  ).toEqual(['Überall', '“Öl”.']);
  const floats = { ...request, output_format: { ...raw, encoding: 'pcm_f32le' } };
  const wide = Buffer.from(await (await client.tts.generate(floats as never)).arrayBuffer());
  expect(wide.length).toBe(bytes.length * 2);
  const unnamed = await postBytes({ ...request, output_format: { ...raw, container: null, encoding: null } });
  expect([unnamed.status, Buffer.from(await unnamed.arrayBuffer()).equals(bytes)]).toEqual([200, true]);
});

test('the words of timestamps are those that were written, with their punctuation', async () => {
  const { socket, read } = await openSocket();
  const transcript = 'Well, (yes) – "it costs 3.50!" Call foo(bar)… “Öl”; a-b. 東京です。はい？ End';
  const context = socket.context({ ...options, add_timestamps: true });
  for (const piece of transcript.match(/.{1,3}/gsu)!) await context.push({ transcript: piece });
  await context.no_more_inputs();
  const messages = await read(context);
  const words = messages.flatMap(
    ({ word_timestamps: times }) => (times as { words: string[] } | undefined)?.words ?? [],
  );
  const told = words.join('').replaceAll(/\s/g, '');
  expect(told).toBe(transcript.replaceAll(/\s/g, '').replace('–', ''));
  let from = 0;
  for (const word of words) {
    const at = transcript.indexOf(word, from);
    expect(at, word).toBeGreaterThanOrEqual(from);
    from = at + word.length;
  }
  socket.close();
});

test('a body without a type is JSON, as LiveKit’s plugin for Node sends it', async () => {
  const { request } = await import('node:https');
  const ask = (headers: Record<string, string>) =>
    new Promise<[number | undefined, string | undefined]>((resolve, reject) => {
      const sent = request(`${shared.url}/tts/bytes`, {
        method: 'POST',
        headers: { 'X-API-Key': shared.key, ...headers },
      });
      sent.on('response', (answer) => {
        answer.resume();
        resolve([answer.statusCode, answer.headers['content-type']]);
      });
      sent.on('error', reject);
      sent.end(JSON.stringify({ ...options, transcript: 'Hello.' }));
    });
  expect(await ask({})).toEqual([200, 'audio/pcm']);
  expect(await ask({ 'content-type': 'text/plain' })).toEqual([415, expect.stringContaining('json')]);
});

test('voices are listed page by page', async () => {
  const ids: string[] = [];
  for await (const { id } of client.voices.list({ limit: 1 })) ids.push(id);
  expect(ids).toContain('tone-low');
  expect(new Set(ids).size).toBe(ids.length);
  const headers = { 'X-API-Key': shared.key };
  const unknown = await fetch(`${shared.url}/voices?starting_after=zzz`, { headers });
  const refusal = { error_code: 'invalid_request', message: expect.stringContaining('starting_after') };
  expect([unknown.status, await unknown.json()]).toMatchObject([400, refusal]);
  const named = await fetch(`${shared.url}/voices?limit=1&owner=me`, { headers });
  expect([named.status, named.headers.get('x-ignored-fields')]).toEqual([200, 'owner']);
  for (const limit of ['-1', '0', '101', 'ten']) {
    const wrong = await fetch(`${shared.url}/voices?limit=${limit}`, { headers });
    expect([wrong.status, await wrong.json()], limit).toMatchObject([400, { message: 'limit must be 1 to 100.' }]);
  }
});

test('voices are found by text, gender and language, and one by its id or alias', async () => {
  const lucy = {
    ...{ voice_id: 'lucy', name: 'Lucy', description: 'Bright', aliases: ['en-lucy'], labels: { gender: 'female' } },
    ...{ language_codes: ['de-AT', 'de'], bindings: [{ engine: 'tone', voice_id: 'tone-low' }] },
  };
  const headers = { 'X-API-Key': await plain.makeKey(['voices:write', 'admin']), 'Content-Type': 'application/json' };
  const made = await fetch(`${shared.url}/api/voices`, { method: 'POST', headers, body: JSON.stringify(lucy) });
  expect(made.status).toBe(201);
  const names = ['lucy', 'en-lucy'];
  const idsOf = async (query: object) => (await Array.fromAsync(client.voices.list(query))).map(({ id }) => id);
  for (const query of [
    { q: 'BRIGHT' },
    { gender: 'feminine' },
    { q: 'bright', language: 'de' },
    { q: 'lucy', gender: 'feminine' },
  ])
    expect(await idsOf(query), JSON.stringify(query)).toEqual(names);
  for (const query of [{ q: 'lucy', gender: 'masculine' }, { language: 'fr' }, { gender: 'gender_neutral' }])
    expect(await idsOf(query), JSON.stringify(query)).toEqual([]);
  const own = { 'X-API-Key': shared.key };
  for (const [query, field] of [
    ['gender=female', 'gender'],
    ['language=e_', 'language'],
    ['starting_after=lucy&starting_after=far', 'starting_after'],
    ['starting_after=nobody', 'starting_after'],
    ['q=bright&starting_after=tone-low', 'starting_after'],
    ['gender=masculine&starting_after=lucy', 'starting_after'],
    ['language=fr&starting_after=lucy', 'starting_after'],
    [`q=${'a'.repeat(201)}`, 'q'],
  ] as const) {
    const refused = await fetch(`${shared.url}/voices?${query}`, { headers: own });
    const message = expect.stringMatching(new RegExp(`^${field} `));
    expect([refused.status, await refused.json()], query).toMatchObject([400, { message }]);
  }
  const voice = { name: 'Lucy', description: 'Bright', language: 'de', gender: 'feminine', is_owner: false };
  const locales = [{ locale: 'de-AT', is_native: true }];
  for (const id of names) expect(await client.voices.get(id)).toMatchObject({ ...voice, id, locales });
  const unknown = await client.voices.get('nobody').catch((error: unknown) => error);
  expect(unknown).toMatchObject({ status: 404, error: { error_code: 'voice_not_found' } });
});

test('events over HTTP name the context of their request, if it has one', async () => {
  const sse = { ...options, transcript: 'Named.', add_timestamps: true, context_id: 'c-1' };
  const events = (await Array.fromAsync((await client.tts.generateSSE(sse as never)) as never)) as Message[];
  expect(events.map(({ type }) => type)).toEqual(expect.arrayContaining(['chunk', 'timestamps', 'done']));
  expect(new Set(events.map(({ context_id }) => context_id))).toEqual(new Set(['c-1']));
  const post = (body: object) =>
    fetch(`${shared.url}/tts/sse`, {
      method: 'POST',
      headers: { 'X-API-Key': shared.key, 'Content-Type': 'application/json' },
      body: JSON.stringify({ ...options, transcript: 'Hello.', ...body }),
    });
  const named = await post({ context_id: 'c-2' });
  expect(named.headers.get('x-ignored-fields')).toBe('model_id');
  await named.text();
  for (const body of [{}, { context_id: null }]) expect(await (await post(body)).text()).not.toContain('context_id');
  const wrong = await post({ context_id: 5 });
  expect([wrong.status, await wrong.json()]).toMatchObject([400, { message: 'context_id must be a string.' }]);
});

const postBytes = (more: object) =>
  fetch(`${shared.url}/tts/bytes`, {
    method: 'POST',
    headers: { 'X-API-Key': shared.key, 'Content-Type': 'application/json' },
    body: JSON.stringify({ ...options, transcript: 'Hello.', ...more }),
  });

test.each([
  ['output_format.encoding', { output_format: { ...raw, container: 'wav', encoding: 'pcm_u8' } }],
  ['output_format.bit_rate', { output_format: { container: 'mp3', sample_rate: 44_100, bit_rate: 127_000 } }],
  ['output_format', { output_format: 'mp3' }],
  ['speed', { speed: 'quick' }],
  ['speed', { speed: [1] }],
  ['generation_config.speed', { generation_config: { speed: 'quick' } }],
  ['generation_config', { generation_config: 'fast' }],
  ['add_timestamps', { add_timestamps: 'yes' }],
])('%s is refused rather than replaced in %j', async (field, more) => {
  const answer = await postBytes(more);
  const message = expect.stringMatching(new RegExp(`^${field.replace('.', '\\.')} must `));
  expect([answer.status, await answer.json()]).toMatchObject([400, { error_code: 'invalid_request', message }]);
});

test('what of a request means nothing over HTTP is named', async () => {
  const answer = await postBytes({
    context_id: 'c',
    continue: false,
    output_format: { container: 'mp3', sample_rate: 44_100, bit_rate: 128_000 },
    generation_config: { speed: 1.1, volume: 2, emotion: 'calm' },
    voice: { mode: 'id', id: 'tone-low' },
  });
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'audio/mpeg']);
  expect(answer.headers.get('x-ignored-fields')?.split(', ').toSorted()).toEqual([
    'context_id',
    'continue',
    'generation_config.volume',
    'model_id',
  ]);
});

test('failures have the form of Cartesia’s', async () => {
  const refused = await clientOf({ ...shared, key: 'snt_wrong' })
    .voices.list()
    .catch((error: { status: number; error: unknown }) => error);
  expect(refused).toMatchObject({ status: 401, error: { error_code: 'invalid_api_key', message: expect.any(String) } });
  const body = { ...options, transcript: ' ', output_format: { ...raw, encoding: 'pcm_u8' } };
  const headers = { 'X-API-Key': shared.key, 'Content-Type': 'application/json' };
  const bad = await fetch(`${shared.url}/tts/bytes`, { method: 'POST', headers, body: JSON.stringify(body) });
  expect([bad.status, await bad.json()]).toMatchObject([400, { error_code: 'invalid_request' }]);
  for (const way of ['bytes', 'sse']) {
    const long = JSON.stringify({ ...options, transcript: 'word '.repeat(10_001) });
    const refusal = await fetch(`${shared.url}/tts/${way}`, { method: 'POST', headers, body: long });
    expect([refusal.status, await refusal.json()]).toMatchObject([400, { error_code: 'text_too_long' }]);
  }
});

test('an access token speaks over HTTP and WebSocket, and changes nothing', async () => {
  const { token } = await client.accessToken.create({ grants: { tts: true }, expires_in: 60 });
  const guest = new Cartesia({ token, baseURL: shared.url, maxRetries: 0 });
  const answer = await guest.tts.generate({ ...options, transcript: 'Hello.' });
  expect((await answer.arrayBuffer()).byteLength).toBeGreaterThan(10_000);
  const { socket, read } = await openSocket(guest);
  const context = socket.context(options);
  await context.push({ transcript: 'Hello.' });
  await context.no_more_inputs();
  expect(soundOf(await read(context)).length).toBeGreaterThan(10_000);
  socket.close();
  await expect(guest.voices.update('tone-low', { name: 'Other' })).rejects.toMatchObject({ status: 401 });
});

test('voices are filtered page by page, and those that cannot be made are refused once', async () => {
  const ids = [];
  for await (const voice of client.voices.list({ is_owner: false, limit: 1 })) ids.push(voice.id);
  expect(ids).toContain('tone-low');
  expect((await client.voices.list({ is_owner: true })).data).toEqual([]);
  const retrying = new Cartesia({ apiKey: shared.key, baseURL: shared.url });
  const before = shared.requests.length;
  const clip = new File([new Uint8Array(9)], 'clip.wav');
  await expect(retrying.voices.clone({ clip, name: 'Me', language: 'en' })).rejects.toMatchObject({ status: 501 });
  await expect.poll(() => shared.requests.slice(before).map(({ status }) => status), patient).toEqual([501]);
});
