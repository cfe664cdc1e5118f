// Tests live speech over WebSocket, with Node's own client, which shares no code with the server.
import { once } from 'node:events';
import { connect } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { errorOf, openTestGateway } from './open-gateway.ts';
import { connectRaw, toRequest } from './raw-http.ts';

const shared = await openTestGateway({ settings: { allowedOrigins: ['https://app.example'] } }, afterAll);
const path = '/api/audio/speech/live';
const elevenLabs = '/v1/text-to-speech/tone-low';
/** The paths of all WebSockets. */
const paths = [path, '/tts/websocket', `${elevenLabs}/stream-input`, `${elevenLabs}/multi-stream-input`];

type Gateway = Awaited<ReturnType<typeof openTestGateway>>;

function beginLive(
  { url, key }: Pick<Gateway, 'url' | 'key'> = shared,
  headers: Record<string, string> = {},
  to = path,
) {
  const options = { headers: { 'X-API-Key': key, ...headers } } as unknown as string[];
  const socket = new WebSocket(url.replace('http', 'ws') + to, options);
  socket.binaryType = 'arraybuffer';
  const received: (Record<string, unknown> | Buffer)[] = [];
  const waiting: (() => void)[] = [];
  socket.addEventListener('message', ({ data }) => {
    received.push(typeof data === 'string' ? JSON.parse(data) : Buffer.from(data as ArrayBuffer));
    for (const wake of waiting.splice(0)) wake();
  });
  const closed = once(socket, 'close').then(([event]) => (event as CloseEvent).code);
  const send = (...messages: object[]) => {
    for (const message of messages) socket.send(JSON.stringify(message));
  };
  const until = async (type: string) => {
    const seen: (Record<string, unknown> | Buffer)[] = [];
    for (;;) {
      while (received.length === 0) await new Promise<void>((resolve) => waiting.push(resolve));
      seen.push(received.shift()!);
      const last = seen.at(-1)!;
      if (!Buffer.isBuffer(last) && last.type === type) return seen;
    }
  };
  return { socket, opened: once(socket, 'open'), closed, send, until };
}

async function openLive(...asked: Parameters<typeof beginLive>) {
  const { opened, ...live } = beginLive(...asked);
  await opened;
  return live;
}

/** A timeout longer than any pause on a busy machine. */
const patient = { timeout: 20_000 };
const start = { type: 'start', voice_id: 'tone-low' };
const rates = [8000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000];
const soundOf = (messages: readonly (Record<string, unknown> | Buffer)[]) =>
  Buffer.concat(
    messages.flatMap((message) => {
      if (Buffer.isBuffer(message)) return [message];
      return message.type === 'audio' ? [Buffer.from(message.audio as string, 'base64')] : [];
    }),
  );

test('text goes in, sound comes out in binary frames, and an interrupt tells what was heard', async () => {
  const { send, until, closed } = await openLive();
  send({ ...start, timestamps: 'word' }, { type: 'text', text: 'Good morning. ' }, { type: 'text', text: 'Hello' });
  const first = await until('timestamps');
  const info = { type: 'info', turn: 0, voice_id: 'tone-low', format: 'pcm', content_type: 'audio/pcm' };
  expect(first[0]).toMatchObject({ ...info, sample_rate: 24_000, channels: 1, id: expect.stringMatching(/^aud_/) });
  expect(first.at(-1)).toMatchObject({
    turn: 0,
    quality: 'engine',
    words: [{ text: 'Good', offset: 0, start: 0 }, {}],
  });
  send({ type: 'flush' });
  const rest = await until('flushed');
  const { duration } = rest.at(-1) as unknown as { duration: number };
  expect(soundOf([...first, ...rest]).length).toBe(Math.round(duration * 24_000) * 2);
  send({ type: 'text', text: 'This is long enough to be stopped. '.repeat(30) });
  await until('info');
  send({ type: 'interrupt', played_ms: 0 }, { type: 'end' });
  const stopped = await until('interrupted');
  expect(stopped.at(-1)).toMatchObject({ turn: 1, played_ms: 0, text_spoken: '' });
  expect(await until('done')).toHaveLength(1);
  expect(await closed).toBe(1000);
});

test('audio comes in JSON where that is asked for, and is the same', async () => {
  const sounds: Buffer[] = [];
  for (const audio of ['binary', 'json']) {
    const { send, until } = await openLive();
    send({ ...start, audio, format: 'mp3' }, { type: 'text', text: 'The same.' }, { type: 'end' });
    const messages = await until('done');
    expect(messages.some(Buffer.isBuffer)).toBe(audio === 'binary');
    sounds.push(soundOf(messages));
  }
  expect(sounds[1]!.equals(sounds[0]!)).toBe(true);
});

test('a text that is cut in the middle of a character is joined, and half a character inside it is refused', async () => {
  const { send, until } = await openLive();
  const text = 'Well done \u{1F600} and so on.';
  send(start, ...[...text.split('')].map((unit) => ({ type: 'text', text: unit })), { type: 'end' });
  expect((await until('done')).at(-1)).toMatchObject({ chars: [...text].length });
  for (const half of [{ text: 'a\ud83d b' }, { text: '\ude00' }, { text: 'Hello.', more: '\ud83d' }]) {
    const refused = await openLive();
    refused.send(start, { type: 'text', ...half });
    const { details } = (await refused.until('error')).at(-1) as unknown as { details: object[] };
    expect(details).toMatchObject([{ field: 'more' in half ? 'more' : 'text', reason: 'encoding' }]);
    expect(await refused.closed).toBe(1008);
  }
});

test('text that arrives while the process is busy is not late', async () => {
  const { send, until } = await openLive();
  send({ ...start, timestamps: 'word', buffer_ms: 500, unknown: true }, { type: 'text', text: 'Good ' });
  await until('warning');
  for (let turn = 0; turn < 20; turn++) await setImmediate();
  send({ type: 'text', text: 'morning.' }, { type: 'end' });
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600);
  const told = (await until('done')).flatMap((message) => ('words' in message ? [message.words] : []));
  expect(told).toMatchObject([[{ text: 'Good' }, { text: 'morning' }]]);
});

test('of white space nothing is counted, as nothing is charged', async () => {
  const key = await shared.makeKey(['speech:stream', 'voices:read', 'usage:read']);
  const { send, until } = await openLive({ url: shared.url, key });
  send(start, { type: 'text', text: '     ' }, { type: 'flush' }, { type: 'text', text: 'Hi.' }, { type: 'end' });
  expect((await until('flushed')).at(-1)).toEqual({ type: 'flushed', turn: 0, chars: 0, duration: 0 });
  expect((await until('done')).at(-1)).toMatchObject({ chars: 3 });
  const usage = await shared.send('/api/usage', { headers: { 'X-API-Key': key } });
  expect(await usage.json()).toMatchObject({ total: { characters: 3 } });
});

test('what is unknown is named', async () => {
  const { send, until } = await openLive();
  send({ ...start, emotion: 'glad' }, { type: 'end' });
  expect((await until('warning')).at(-1)).toEqual({ type: 'warning', ignored_fields: ['emotion'] });
});

test.each<[what: string, message: object | string, told?: object]>([
  ['no start', { type: 'flush' }],
  [
    'a type that there is not',
    { type: 'shout' },
    { details: [{ field: 'type', reason: 'enum', allowed: ['start', 'text', 'flush', 'interrupt', 'end'] }] },
  ],
  ['one that every object has', { type: 'constructor' }],
  ['no JSON', 'hello'],
  [
    'a way of audio that there is not',
    { ...start, audio: 'both' },
    { details: [{ field: 'audio', reason: 'enum', allowed: ['binary', 'json'] }] },
  ],
  [
    'a wrong rate',
    { ...start, sample_rate: 11_025 },
    { details: [{ field: 'sample_rate', reason: 'enum', allowed: rates }] },
  ],
  [
    'all that is wrong with a start',
    { type: 'start', sample_rate: 1, audio: 'foo', buffer_ms: -1, emotion: 'glad' },
    { details: ['audio', 'sample_rate', 'voice_id', 'buffer_ms', 'emotion'].map((field) => ({ field })) },
  ],
  ['a voice that there is not', { type: 'start', voice_id: 'nobody' }, { error: 'voice_not_found' }],
])('%s is refused with the error as the last message', async (_, message, told) => {
  const { socket, send, until, closed } = await openLive();
  if (typeof message === 'string') socket.send(message);
  else send(message);
  const expected = { error: 'invalid_request', ...told, request_id: expect.stringMatching(/^req_/) };
  expect((await until('error')).at(-1)).toMatchObject(expected);
  expect(await closed).toBe(1008);
});

test('an interrupt of a turn that was interrupted changes nothing, and one of a turn that never began is refused', async () => {
  const { send, until, closed } = await openLive();
  // Null counts as absent.
  send({ ...start, audio: null }, { type: 'text', text: 'Stopped.' }, { type: 'interrupt', turn: 0, played_ms: null });
  await until('interrupted');
  send({ type: 'text', text: 'The next is not spoilt.' }, { type: 'interrupt', turn: 0 }, { type: 'flush' });
  expect((await until('flushed')).at(-1)).toMatchObject({ turn: 1 });
  send({ type: 'interrupt', turn: 99 });
  const error = (await until('error')).at(-1);
  expect(error).toMatchObject({ error: 'invalid_request', details: [{ field: 'turn', reason: 'unknown' }] });
  expect(await closed).toBe(1008);
});

test('a failure of the engine closes with 1011', async () => {
  const gateway = await openTestGateway({ trouble: { failsAfterPieces: 0 } });
  const { send, until, closed } = await openLive(gateway);
  send(start, { type: 'text', text: 'Hello.' }, { type: 'flush' });
  expect((await until('error')).at(-1)).toMatchObject({ error: 'engine_error', status: 502 });
  expect(await closed).toBe(1011);
});

test('a message that is too large closes the connection', async () => {
  const { socket, closed } = await openLive();
  socket.send('x'.repeat(256 * 1024 + 1));
  expect(await closed).toBe(1009);
});

test('a refused upgrade is an ordinary HTTP error', async () => {
  const upgrade = async (headers: Record<string, string>, to = path) => {
    const { hostname, port } = new URL(shared.url);
    const socket = connect(Number(port), hostname);
    const all = {
      Host: `${hostname}:${port}`,
      Connection: 'Upgrade',
      Upgrade: 'websocket',
      'Sec-WebSocket-Version': '13',
      'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
      ...headers,
    };
    const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(`GET ${to} HTTP/1.1\r\n${lines.join('')}\r\n`);
    let answer = '';
    for await (const piece of socket) {
      answer += piece;
      // An upgrade that is accepted has no end.
      if (answer.startsWith('HTTP/1.1 101')) break;
    }
    return answer;
  };
  expect(await upgrade({})).toMatch(/^HTTP\/1.1 401 [\s\S]*X-Request-Id: [\s\S]*"error":"invalid_api_key"/i);
  const { protocol, host } = new URL(shared.url);
  expect(protocol).toBe('http:');
  for (const to of paths)
    for (const Origin of ['https://evil.example', `https://${host}`])
      expect(await upgrade({ 'X-API-Key': shared.key, Origin }, to), to).toMatch(
        /^HTTP\/1.1 403 [\s\S]*"(error|error_code|status)":"access_denied"/,
      );
  const version = await upgrade({ 'X-API-Key': shared.key, 'Sec-WebSocket-Version': '12' });
  expect(version).toMatch(/^HTTP\/1.1 400 [\s\S]*Sec-WebSocket-Version: 13/i);
  for (const [name, value] of [
    ['Sec-WebSocket-Version', '12'],
    ['Sec-WebSocket-Key', 'short'],
    ['Sec-WebSocket-Protocol', 'one, one'],
  ] as const) {
    const malformed = await upgrade({ 'X-API-Key': shared.key, [name]: value });
    expect(malformed).toMatch(/^HTTP\/1.1 400 [\s\S]*X-Request-Id: [\s\S]*"error":"invalid_request"/i);
    expect(malformed).toContain(`"field":"${name}"`);
  }
  const plain = await shared.send(path);
  expect(await errorOf(plain)).toEqual([400, 'invalid_request']);
  for (const to of paths) {
    for (const origin of ['https://app.example', shared.url, 'http://sonant.test']) {
      const allowed = await openLive(shared, { Origin: origin }, to);
      allowed.socket.close();
    }
  }
});

test.each([
  [true, 'https', true],
  [true, 'http', false],
  [false, 'https', false],
])('behind a proxy: %s, X-Forwarded-Proto %s: a page over HTTPS may connect: %s', async (isBehindProxy, proto, may) => {
  const gateway = await openTestGateway({ settings: { isBehindProxy } });
  const headers = { Origin: `https://${new URL(gateway.url).host}`, 'X-Forwarded-Proto': proto };
  const { opened, closed, socket } = beginLive(gateway, headers);
  expect(await Promise.race([opened.then(() => true), closed.then(() => false)])).toBe(may);
  socket.close();
});

test('a peer that leaves frees the engine and its place', async () => {
  const gateway = await openTestGateway({ trouble: { pieceDelayMs: 5 } });
  const { socket, send, until } = await openLive(gateway);
  send(start, { type: 'text', text: 'This goes on and on and on. '.repeat(20) });
  await until('info');
  socket.close();
  await expect.poll(() => [gateway.tone.counts.running, gateway.schedule.state.speaking], patient).toEqual([0, 0]);
  await expect.poll(() => gateway.calls.at(-1), patient).toMatchObject({ api: 'websocket', status: 'CANCELLED' });
});

test('while the service stops, a turn is finished and the connection closes with 1012', async () => {
  const gateway = await openTestGateway({ trouble: { pieceDelayMs: 20 } });
  const { send, until, closed } = await openLive(gateway);
  send(start, { type: 'text', text: 'This turn is finished.' });
  await until('info');
  gateway.runner.leave();
  const drained = gateway.gateway.drain(10_000);
  send({ type: 'flush' });
  await until('flushed');
  expect(await closed).toBe(1012);
  await drained;
});

test('an upgrade sent before the previous response has ended closes only its own connection', async () => {
  const raw = connectRaw(shared);
  const lines = [`GET ${path} HTTP/1.1`, 'Host: a', `X-API-Key: ${shared.key}`, 'Connection: Upgrade'];
  const upgrade = ['Upgrade: websocket', 'Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='];
  const fields = { voice_id: 'tone-low', text: 'one two three four', return_format: 'buffer' };
  await raw.send(toRequest(shared, '/api/audio/speech', fields) + [...lines, ...upgrade, '', ''].join('\r\n'));
  await raw.end();
  expect((await shared.speak(fields)).status).toBe(200);
});
