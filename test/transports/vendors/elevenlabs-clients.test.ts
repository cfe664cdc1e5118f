// Tests ElevenLabs's WebSocket, with messages from real clients: LiveKit's plugin (@livekit/agents-plugin-elevenlabs
// 1.8.1) and Pipecat's service. Also tests how a caller is refused: the upgrade is accepted, the error is the last message,
// and the close frame has its sentence; and the key in the first message.

import { connect } from 'node:net';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { openFlite } from '../../../src/engines/flite/flite.ts';
import { openTestGateway } from '../http/open-gateway.ts';
import {
  alignmentsOf,
  failed,
  type Message,
  openSocket,
  patient,
  pipecatPath,
  soundOf,
  textOf,
} from './elevenlabs-socket.ts';

const shared = await openTestGateway({}, afterAll);

/** The request that LiveKit's plugin sends. */
const liveKitPath =
  '/v1/text-to-speech/tone-low/multi-stream-input?model_id=eleven_turbo_v2_5&output_format=mp3_22050_32&language_code=en' +
  '&enable_ssml_parsing=false&enable_logging=true&inactivity_timeout=180&apply_text_normalization=auto' +
  '&sync_alignment=true&auto_mode=true';
test('LiveKit: sentences with a flush each, then an empty flush and the end; times run on one clock', async () => {
  const { send, final } = await openSocket(liveKitPath, shared);
  const context_id = 'c1';
  send(
    {
      text: ' ',
      voice_settings: { stability: 0.5, speed: 1 },
      context_id,
      generation_config: { chunk_length_schedule: [80] },
    },
    { text: 'Good morning, all. ', context_id, flush: true },
    { text: 'How are you 😀 today? ', context_id, flush: true },
    { text: '', context_id, flush: true },
    { context_id, close_context: true },
  );
  const messages = await final(context_id);
  expect(messages.filter(({ isFinal }) => isFinal)).toHaveLength(1);
  expect(messages.at(-1)).toEqual({ isFinal: true, contextId: context_id });
  expect(textOf(messages)).toBe('Good morning, all. How are you 😀 today? ');
  const starts = alignmentsOf(messages).flatMap(({ charStartTimesMs }) => charStartTimesMs);
  expect(starts).toEqual(starts.toSorted((a, b) => a - b));
  const durations = alignmentsOf(messages).flatMap(({ charDurationsMs }) => charDurationsMs);
  for (const [i, next] of starts.slice(1).entries()) expect(starts[i]! + durations[i]!).toBeLessThanOrEqual(next);
  for (const { chars, charStartTimesMs, charDurationsMs } of alignmentsOf(messages))
    expect([charStartTimesMs.length, charDurationsMs.length]).toEqual([chars.length, chars.length]);
  expect(
    messages.every(({ alignment, normalizedAlignment }) =>
      Object.is(JSON.stringify(alignment), JSON.stringify(normalizedAlignment)),
    ),
  ).toBe(true);
  expect(soundOf(messages).readUInt16BE(0) & 0xffe0, 'MPEG audio').toBe(0xffe0);
});

test('words in auto mode are the same sound, whether or not the service catches up with them', async () => {
  const flite = await openFlite({ threads: 1 });
  onTestFinished(() => flite.close());
  const gateway = await openTestGateway({ engines: [flite] });
  const spoken = async (pausesAfter: readonly string[]) => {
    const path = '/v1/text-to-speech/clara/stream-input?output_format=pcm_24000&auto_mode=true';
    const { send, closed, seen } = await openSocket(path, gateway);
    for (const text of 'It was Tom. He is 5 ft. 3 in. tall. then he left. Bye.'.split(' ')) {
      send({ text });
      if (pausesAfter.includes(text)) await expect.poll(() => textOf(seen), patient).toContain(`${text} `);
    }
    send({ text: '' });
    expect(await closed).toBe(1000);
    return soundOf(seen);
  };
  const sound = await spoken([]);
  expect(sound.length).toBeGreaterThan(48_000);
  for (const pauses of [['tall.'], ['Tom.', 'tall.', 'left.']])
    expect((await spoken(pauses)).equals(sound), pauses.join()).toBe(true);
});

/** Words and times as Pipecat reads them (calculate_word_times). */
function wordsOf(messages: readonly Message[]) {
  const words: { word: string; ms: number }[] = [];
  let clockMs = 0;
  let word = '';
  let startMs = 0;
  for (const { chars, charStartTimesMs, charDurationsMs } of alignmentsOf(messages)) {
    const before = words.length;
    for (const [i, char] of chars.entries()) {
      if (char !== ' ') {
        if (word === '') startMs = clockMs + charStartTimesMs[i]!;
        word += char;
      } else if (word !== '') {
        words.push({ word, ms: startMs });
        word = '';
      }
    }
    if (words.length > before) clockMs += charStartTimesMs.at(-1)! + charDurationsMs.at(-1)!;
  }
  return { words, left: word };
}

test('Pipecat: sentences without a space between them; each message’s times add up to one clock', async () => {
  const { send, final, socket, closed, seen } = await openSocket(pipecatPath, shared);
  send({ text: '' });
  const context_id = 'p1';
  const voice_settings = { stability: 0.5, similarity_boost: 0.8, speed: 1 };
  send({ text: ' ', context_id, voice_settings }, { text: 'Hello there.', context_id });
  send({ text: '', context_id }, { text: 'It costs 3.50 at most, "friend".', context_id }, { text: 'Bye', context_id });
  send({ context_id, flush: true }, { context_id, close_context: true }, { context_id, close_context: true });
  const messages = await final(context_id);
  expect(textOf(messages)).toBe('Hello there. It costs 3.50 at most, "friend". Bye ');
  const { words, left } = wordsOf(messages);
  expect(left).toBe('');
  expect(words.map(({ word }) => word)).toEqual([
    'Hello',
    'there.',
    'It',
    'costs',
    '3.50',
    'at',
    'most,',
    '"friend".',
    'Bye',
  ]);
  const times = words.map(({ ms }) => ms);
  expect(times).toEqual(times.toSorted((a, b) => a - b));
  expect(new Set(times).size).toBe(times.length);
  const durationMs = soundOf(messages).length / 48;
  expect(times.at(-1)).toBeLessThan(durationMs);
  expect(times.at(-1)).toBeGreaterThan(durationMs / 2);
  expect(
    seen.every(({ contextId }) => contextId === context_id),
    'a keep-alive opens no context',
  ).toBe(true);
  send({ close_socket: true });
  expect(await closed).toBe(1000);
  socket.close();
});

test('both clocks tell the same times', async () => {
  const [absolute, relative] = await Promise.all(
    ['&sync_alignment=true', ''].map(async (sync) => {
      const { send, final } = await openSocket(pipecatPath + sync, shared);
      for (const text of ['One two three. ', 'Four five. '])
        send({ text, context_id: 'x' }, { context_id: 'x', flush: true });
      send({ context_id: 'x', close_context: true });
      return final('x');
    }),
  );
  const starts = alignmentsOf(absolute!).flatMap(({ chars, charStartTimesMs }) =>
    chars.map((char, i) => ({ char, ms: charStartTimesMs[i]! })),
  );
  const words = starts
    .filter(({ char }, i) => char !== ' ' && (starts[i - 1]?.char ?? ' ') === ' ')
    .map(({ ms }) => ms);
  expect(wordsOf(relative!).words.map(({ ms }) => ms)).toEqual(words);
});

test.each([
  'A list:\n- one, two;\n- three (3.14)… done!  Two spaces.\n\nA paragraph — “quoted” text.',
  'See https://example.com/a?b=c, or write to me@example.com; it costs $1,299.99, i.e. about 5 % less. 😀👩‍👩‍👧 Fine.',
  'Use `npm ci` and **bold** words.\n```js\nconst a = 1;\n```\nDr. Smith said: don’t!',
  '… 😀 — !',
])('each character of %j is told once, in order, however the text comes', async (text) => {
  for (const [sync, size] of [
    ['true', 1],
    ['true', 7],
    ['false', 3],
  ] as const) {
    const path = `/v1/text-to-speech/tone-low/stream-input?output_format=pcm_8000&sync_alignment=${sync}`;
    const { send, closed, seen } = await openSocket(path, shared);
    const chars = [...text];
    for (let at = 0; at < chars.length; at += size) send({ text: chars.slice(at, at + size).join('') });
    send({ text: '' });
    expect(await closed).toBe(1000);
    expect(textOf(seen).trimEnd()).toBe(text);
  }
});

const { url } = shared;
const speakUrl = '/v1/text-to-speech/tone-low';
const path = `${speakUrl}/stream-input?output_format=pcm_16000`;

test.each([
  ['a voice that there is not', '/v1/text-to-speech/nobody/multi-stream-input', shared.key, 'voice_not_found'],
  ['a format that there is not', `${speakUrl}/stream-input?output_format=mp3_1`, shared.key, 'invalid_request'],
  ['a wrong key', path, 'snt_wrong', 'invalid_api_key'],
])('%s ends an accepted socket, after its first message', async (_, from, key, name) => {
  const { send, end, seen } = await openSocket(from, { url, key });
  // The answer to another request: by then, the first refusal would have arrived too.
  expect((await fetch(`${url}${speakUrl}`, { method: 'POST' })).status).toBe(401);
  expect(seen).toEqual([]);
  send({ text: ' ' });
  const { code, reason, last } = await end();
  expect([code, last]).toEqual([1008, failed(name)]);
  expect(reason).not.toBe('');
  expect(last!.message!.startsWith(reason)).toBe(true);
});

test('a failure of a context is the last message of stream-input, and its sentence ends the socket', async () => {
  const gateway = await openTestGateway({ trouble: { failsAfterPieces: 0 } });
  const { send, end } = await openSocket(path, gateway);
  send({ text: 'Broken. ' }, { text: '' });
  const { code, reason, last } = await end();
  expect([code, last, reason]).toEqual([1008, failed('engine_error'), last!.message]);
});

test('a reason that is too long for a close frame is cut between characters', async () => {
  const { send, end } = await openSocket(path, shared);
  send({ text: 'Hi.', voice_settings: { speed: 'é'.repeat(50) } });
  send({ text: 7 });
  const { code, reason, last } = await end();
  expect([code, Buffer.byteLength(reason) <= 123]).toEqual([1008, true]);
  expect(last!.message!.startsWith(reason)).toBe(true);
});

test('the key may be in the first message', async () => {
  const { send, closed, seen } = await openSocket(path, { url });
  send({ text: ' ', xi_api_key: shared.key }, { text: 'Hello there. ' }, { text: '' });
  expect(await closed).toBe(1000);
  expect(textOf(seen)).toBe('Hello there. ');
});

test.each([
  ['a wrong key', JSON.stringify({ text: ' ', xi_api_key: 'snt_wrong' })],
  ['no key', JSON.stringify({ text: 'Hello.' })],
  ['no JSON', 'hello'],
])('%s in the first message ends the socket', async (_, message) => {
  const { socket, end } = await openSocket(path, { url });
  socket.send(message);
  expect(await end()).toMatchObject({ code: 1008, last: failed('invalid_api_key') });
});

/** Opens a WebSocket without a key, sends these frames, and returns all that is received until the socket ends. */
async function readSocket(address: string, frames = Buffer.alloc(0)): Promise<string> {
  const { hostname, port } = new URL(address);
  const socket = connect(Number(port), hostname);
  const lines = [`GET ${path} HTTP/1.1`, `Host: ${hostname}`, 'Connection: Upgrade', 'Upgrade: websocket'];
  lines.push('Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==');
  socket.write(`${lines.join('\r\n')}\r\n\r\n`);
  socket.write(frames);
  return Buffer.concat((await Array.fromAsync(socket)) as Buffer[]).toString('latin1');
}

test('a socket that sends no key ends after four seconds, even if it answers no close frame, and counts', async () => {
  const gateway = await openTestGateway({ isLimited: true, badKeysPerMinute: 1 });
  const answer = await readSocket(gateway.url);
  expect(answer).toMatch(/^HTTP\/1.1 101 [\s\S]*"error":"invalid_api_key"/);
  const next = await openSocket(path, { url: gateway.url, key: 'snt_wrong' });
  next.send({ text: ' ' });
  expect(await next.end()).toMatchObject({ code: 1008, last: failed('rate_limit_exceeded') });
  const good = await openSocket(path, gateway);
  good.send({ text: '' });
  expect(await good.closed, 'a valid key is not affected').toBe(1000);
}, 20_000);

test('pings without a key are not messages without end', async () => {
  const ping = Buffer.from([0x89, 0x80, 0, 0, 0, 0]);
  const answer = await readSocket(url, Buffer.concat(Array.from({ length: 600 }, () => ping)));
  expect(answer).toContain('"error":"invalid_api_key"');
}, 20_000);
