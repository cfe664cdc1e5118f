// Tests the Wyoming protocol over real sockets, with the frames of Home Assistant and the `wyoming` package.
import { expect, test } from 'vitest';
import { createApiKey } from '../../../../src/accounts/keys/api-key.ts';
import { allKeys } from '../../../../src/accounts/keys/api-key-rows.ts';
import type { TestGateway } from '../../http/open-gateway.ts';
import { frameOf, openClient, openWyoming, soundOf } from './wyoming-client.ts';

/** A timeout longer than any pause on a busy machine. */
const patient = { timeout: 20_000 };
const format = { rate: 24_000, width: 2, channels: 1 };
/** Opens the service and a client of it. */
async function openTalk(options?: Parameters<typeof openWyoming>[0]) {
  const service = await openWyoming(options);
  return { ...service, ...service.connect() };
}
const typesOf = (events: readonly { type: string }[]) => [...new Set(events.map(({ type }) => type))];

test('describe is answered with all voices by language, and ping with pong', async () => {
  const { calls, send, next } = await openTalk();
  send('describe');
  const info = (await next())!;
  expect(info.type).toBe('info');
  const [program] = info.data.tts as [Record<string, unknown> & { voices: Record<string, unknown>[] }];
  expect(program).toMatchObject({ name: 'Sonant', installed: true, supports_synthesize_streaming: true });
  expect(program.voices.find(({ name }) => name === 'tone-low')).toEqual({
    ...{ name: 'tone-low', description: 'Tone, low', attribution: { name: 'tone', url: '' }, installed: true },
    ...{ version: null, languages: ['en', 'de'], speakers: null },
  });
  send('ping', { text: 'hi' });
  expect(await next()).toMatchObject({ type: 'pong', data: { text: 'hi' } });
  send('ping');
  expect(await next()).toMatchObject({ type: 'pong', data: { text: null } });
  expect(calls).toMatchObject([{ api: 'wyoming', method: 'sonant.v1.VoiceService/ListVoices', status: 'OK' }]);
});

test('a whole text is spoken, one after the other, each from audio-start to audio-stop', async () => {
  const { calls, usage, key, speak, send, until } = await openTalk();
  send('synthesize', { text: 'Good morning.', voice: { name: 'tone-low' } });
  send('synthesize', { text: 'And good night.', voice: { name: 'tone-high' } });
  const first = await until('audio-stop');
  expect(typesOf(first)).toEqual(['audio-start', 'audio-chunk', 'audio-stop']);
  expect(first[0]!.data).toEqual({ ...format, timestamp: 0 });
  const chunks = first.filter(({ type }) => type === 'audio-chunk');
  let bytes = 0;
  for (const { data, payload } of chunks) {
    expect(data).toEqual({ ...format, timestamp: Math.round(bytes / 48) });
    bytes += payload.length;
  }
  expect(first.at(-1)!.data).toEqual({ timestamp: Math.round(bytes / 48) });
  const elsewhere = await speak({
    ...{ text: 'Good morning.', return_format: 'buffer', output_format: 'pcm', sample_rate: 24_000 },
  });
  expect(soundOf(first).equals(Buffer.from(await elsewhere.arrayBuffer()))).toBe(true);
  expect(typesOf(await until('audio-stop'))).toEqual(['audio-start', 'audio-chunk', 'audio-stop']);
  const ours = calls.filter(({ api }) => api === 'wyoming');
  expect(ours).toMatchObject(
    Array.from({ length: 2 }, () => ({ method: 'sonant.v1.SpeechService/LiveSpeech', status: 'OK' })),
  );
  expect(key).toMatch(/^snt_/);
  expect(await usage.charactersSince(ours[0]!.callerId!, '2020-01-01')).toBe(13 + 15 + 13);
});

test('SSML is spoken as a document, whole and in pieces, and text with marks in it is read as text', async () => {
  const { send, until } = await openTalk();
  const text = '<speak>Good <break time="1s"/> morning.</speak>';
  const voice = { name: 'tone-low' };
  send('synthesize', { text: 'Good morning.', voice });
  const plain = soundOf(await until('audio-stop'));
  send('synthesize', { text, voice, text_format: 'ssml' });
  const whole = soundOf(await until('audio-stop'));
  send('synthesize-start', { voice, text_format: 'ssml' });
  for (const piece of text.match(/.{1,7}/g)!) send('synthesize-chunk', { text: piece });
  send('synthesize-stop');
  const inPieces = soundOf(await until('synthesize-stopped'));
  const seconds = (sound: Buffer) => sound.length / 48_000;
  expect(seconds(whole) - seconds(plain)).toBeCloseTo(1, 0);
  expect(inPieces.equals(whole)).toBe(true);
  send('synthesize', { text: 'Good morning.', voice, text_format: 'ssml' });
  expect(soundOf(await until('audio-stop')).equals(plain)).toBe(true);
});

test('a voice is named by an alias too, and the default voice speaks where none is named', async () => {
  const { connect, makeKey, send: ask, usage } = await openWyoming();
  const headers = { 'X-API-Key': await makeKey(['voices:write', 'admin']) };
  await ask('/api/voices/tone-high', { method: 'PATCH', headers, body: { aliases: ['en-GB-lucy'] } });
  await ask('/api/default-voice', { method: 'PUT', headers, body: { voice_id: 'tone-high' } });
  const { send, until } = connect();
  for (const voice of [{ name: 'en-GB-lucy' }, undefined]) {
    send('synthesize', { text: 'Hello.', ...(voice && { voice }) });
    expect(typesOf(await until('audio-stop'))).toEqual(['audio-start', 'audio-chunk', 'audio-stop']);
  }
  const query = { range: allKeys, from: '2020-01-01', to: '2100-01-01', groupBy: 'voice', limit: 10 } as const;
  expect(await usage.sum(query)).toMatchObject([{ group: 'tone-high', characters: 12 }]);
});

test('a language alone is spoken by a voice of its own region, before one that speaks every region', async () => {
  const { connect, makeKey, send: ask, usage } = await openWyoming();
  const headers = { 'X-API-Key': await makeKey(['voices:write', 'admin']) };
  const bindings = [{ engine: 'tone', voice_id: 'tone-high' }];
  for (const [voice_id, ...language_codes] of [
    ['a-american', 'en-US', 'en'],
    ['z-british', 'en-GB', 'en'],
  ])
    await ask('/api/voices', { headers, body: { voice_id, name: voice_id, language_codes, bindings } });
  const { send, until } = connect();
  for (const [language, text] of [
    ['en_GB', 'Hello.'],
    ['en-us', 'Hello you.'],
    ['en_AU', 'Good day, mate.'],
  ]) {
    send('synthesize', { text, voice: { language } });
    expect(typesOf(await until('audio-stop'))).toEqual(['audio-start', 'audio-chunk', 'audio-stop']);
  }
  const query = { range: allKeys, from: '2020-01-01', to: '2100-01-01', groupBy: 'voice', limit: 10 } as const;
  const spoken = (await usage.sum(query)).map(({ group, characters }) => [group, characters]);
  expect(Object.fromEntries(spoken)).toEqual({ 'z-british': 6, 'a-american': 10, 'tone-low': 15 });
});

test('a text in pieces is spoken while it comes, and the repeated text is ignored', async () => {
  const { tone, send, until } = await openTalk();
  send('synthesize-start', { voice: { name: 'tone-low' } });
  send('synthesize-chunk', { text: 'The bed light is off. The kit' });
  // The first sentence's audio arrives while more text is expected.
  const early = await until('audio-chunk');
  send('synthesize-chunk', { text: 'chen lights are on.' });
  send('synthesize', { text: 'The bed light is off. The kitchen lights are on.', voice: { name: 'tone-low' } });
  send('synthesize-stop');
  const events = [...early, ...(await until('synthesize-stopped'))];
  expect(typesOf(events)).toEqual(['audio-start', 'audio-chunk', 'audio-stop', 'synthesize-stopped']);
  expect(events.filter(({ type }) => type === 'audio-start')).toHaveLength(1);
  expect(tone.segments.map(({ text }) => text.trim())).toEqual(['The bed light is off.', 'The kitchen lights are on.']);
  send('synthesize', { text: 'Again.' });
  expect(typesOf(await until('audio-stop'))).toEqual(['audio-start', 'audio-chunk', 'audio-stop']);
});

test.each([
  [{ name: 'tone-high' }, 'tone-high'],
  [{ name: 'tone-high', speaker: '7' }, 'tone-high'],
  [{ language: 'en_US' }, 'tone-low'],
  [{ language: 'en' }, 'tone-low'],
  [{}, 'tone-low'],
  [undefined, 'tone-low'],
])('the voice %j is %s', async (voice, voiceId) => {
  const { tone, send, until } = await openTalk();
  send('synthesize', { text: 'Hello.', ...(voice && { voice }) });
  await until('audio-stop');
  expect(tone.segments.map((segment) => segment.voice.voiceId)).toEqual([voiceId]);
});

test('a text without anything to say has a sound without samples', async () => {
  const { send, until } = await openTalk();
  send('synthesize-start');
  send('synthesize-stop');
  expect((await until('synthesize-stopped')).map(({ type }) => type)).toEqual([
    ...['audio-start', 'audio-stop', 'synthesize-stopped'],
  ]);
});

test('a failure of the engine is an error in place of audio-stop', async () => {
  const { send, until } = await openTalk({ trouble: { failsAfterPieces: 1 } });
  send('synthesize', { text: 'This will break.' });
  const events = await until('audio-stop');
  expect(events.at(-1)).toMatchObject({ type: 'error', data: { code: 'engine_error' } });
});

test.each<[string, Parameters<typeof openWyoming>[0], string[]]>([
  ['an unknown key', { makeKey: async () => createApiKey().key }, ['invalid_api_key', 'invalid_api_key']],
  ['a key without scopes', { makeKey: ({ makeKey }) => makeKey(['usage:read']) }, Array(2).fill('insufficient_scope')],
  ['a key for voices only', { makeKey: ({ makeKey }) => makeKey(['voices:read']) }, ['info', 'insufficient_scope']],
])('%s is held to what it may do', async (_, options, answers) => {
  const { connect, calls } = await openWyoming(options);
  const answersTo = async (type: string, data?: object) => {
    const { send, next } = connect();
    send(type, data);
    const { type: answer, data: given } = (await next())!;
    return answer === 'error' ? given.code : answer;
  };
  const text = 'This is longer than ten characters.';
  expect([await answersTo('describe'), await answersTo('synthesize', { text })]).toEqual(answers);
  expect(calls.map(({ api, failure }) => [api, failure?.reason ?? 'info'])).toEqual(
    answers.map((answer) => ['wyoming', answer]),
  );
});

test('what is spoken is charged to the key, until its characters are spent', async () => {
  const makeKey = async ({ keyVerifier }: TestGateway) =>
    (await keyVerifier.create({ limits: { charactersPerMonth: 40 } })).key;
  const { calls, send, until } = await openTalk({ isLimited: true, makeKey });
  send('synthesize', { text: 'This is longer than 20 characters.' });
  send('synthesize', { text: 'This is longer than 20 characters.' });
  expect((await until('audio-stop')).at(-1)).toMatchObject({ type: 'audio-stop' });
  expect(await until('audio-stop')).toMatchObject([{ type: 'error', data: { code: 'rate_limit_exceeded' } }]);
  await expect.poll(() => calls.map(({ status }) => status), patient).toEqual(['OK', 'RESOURCE_EXHAUSTED']);
});

test('a client that leaves in the middle frees the engine and its place', async () => {
  const { connect, tone, schedule, calls, faults } = await openWyoming({ trouble: { pieceDelayMs: 5 } });
  const speaking = connect();
  speaking.send('synthesize', { text: 'This goes on and on and on. '.repeat(20) });
  await speaking.until('audio-chunk');
  speaking.socket.resetAndDestroy();
  const writing = connect();
  writing.send('synthesize-start');
  writing.send('synthesize-chunk', { text: 'This is spoken. And this is awa' });
  await writing.until('audio-chunk');
  writing.socket.destroy();
  await expect.poll(() => [tone.counts.running, schedule.state.speaking, calls.length], patient).toEqual([0, 0, 2]);
  expect(calls).toMatchObject([{ status: 'CANCELLED' }, { status: 'CANCELLED' }]);
  expect(faults).toEqual([]);
});

test('a client that has said all still gets its answer', async () => {
  const { socket, until, next } = await openTalk();
  socket.end(frameOf('synthesize', { text: 'That was all.' }));
  expect((await until('audio-stop')).at(-1)).toMatchObject({ type: 'audio-stop' });
  expect(await next()).toBeUndefined();
});

test('a client that does not read stops the engine, and gets all when it reads', async () => {
  const { tone, socket, send, until } = await openTalk();
  socket.pause();
  const sentences = Array.from({ length: 150 }, (_, i) => `This is the sentence of number ${i}.`);
  send('synthesize', { text: sentences.join(' ') });
  let before = -1;
  await expect
    .poll(
      () => {
        const { pieces } = tone.counts;
        const rests = pieces > 0 && pieces === before;
        before = pieces;
        return rests;
      },
      { ...patient, interval: 500 },
    )
    .toBe(true);
  const { begun } = tone.counts;
  expect(begun).toBeLessThan(140);
  const events = await until('audio-stop');
  expect(events.at(-1)!.type).toBe('audio-stop');
  expect(tone.counts.begun).toBeGreaterThan(begun);
});

test('a client that never reads is given up', async () => {
  const timeLimits = { unaryCallMs: 60_000, streamCallMs: 60_000, readerStallMs: 300 };
  const { tone, calls, socket, send, closed } = await openTalk({ timeLimits });
  socket.pause();
  send('synthesize', { text: 'This is never read by anyone at all. '.repeat(1000) });
  await expect.poll(() => calls[0], patient).toMatchObject({ status: 'DEADLINE_EXCEEDED' });
  await expect.poll(() => tone.counts.running, patient).toBe(0);
  // Data in transit still arrives before the end.
  socket.resume();
  socket.end();
  await closed;
});

test('text that comes faster than it is spoken is bounded', async () => {
  const { tone, socket, send, until } = await openTalk({ trouble: { pieceDelayMs: 20 } });
  send('synthesize-start');
  const text = 'This is much more than anyone can say. '.repeat(100);
  for (let i = 0; i < 20; i++) send('synthesize-chunk', { text });
  const events = await until('error');
  expect(events.at(-1)).toMatchObject({ data: { code: 'rate_limit_exceeded' } });
  socket.end();
  await expect.poll(() => tone.counts.running, patient).toBe(0);
});

test('only this machine and the listed addresses may connect', async () => {
  const localOnly = await openWyoming({ address: { host: '::', port: 0 } });
  const here = localOnly.connect();
  here.send('ping');
  expect(await here.next()).toMatchObject({ type: 'pong' });
  const { networkInterfaces } = await import('node:os');
  const outer = Object.values(networkInterfaces()).flatMap((all = []) =>
    all.filter(({ internal, family }) => !internal && family === 'IPv4').map(({ address }) => address),
  )[0];
  if (outer === undefined) return;
  const refused = openClient(localOnly.server.port, outer);
  expect(await refused.next().catch(() => undefined)).toBeUndefined();
  expect(localOnly.refused).toEqual([expect.stringContaining(outer)]);
  const openToAddress = await openWyoming({ address: { host: '0.0.0.0', port: 0 }, allowed: [`${outer}/32`] });
  const welcome = openClient(openToAddress.server.port, outer);
  welcome.send('ping');
  expect(await welcome.next()).toMatchObject({ type: 'pong' });
});

test('while the service stops, what is spoken is finished, and silent connections end', async () => {
  const { connect, server, runner } = await openWyoming({ trouble: { pieceDelayMs: 20 } });
  const silent = connect();
  silent.send('ping');
  await silent.next();
  const speaking = connect();
  speaking.send('synthesize', { text: 'This is finished.' });
  await speaking.until('audio-start');
  runner.leave();
  const drained = server.drain(10_000);
  expect(await silent.next()).toBeUndefined();
  silent.socket.end();
  expect((await speaking.until('audio-stop')).at(-1)).toMatchObject({ type: 'audio-stop' });
  expect(await speaking.next()).toBeUndefined();
  speaking.socket.end();
  await drained;
});
