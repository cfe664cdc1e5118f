// Tests how ElevenLabs's WebSockets refuse a caller: the upgrade is accepted, the error is the last message, and the close
// frame has its sentence. Also tests the key in the first message and single-use tokens.
import { connect } from 'node:net';
import { afterAll, expect, test } from 'vitest';
import { openTestGateway } from '../http/open-gateway.ts';
import { failed, openSocket, textOf } from './elevenlabs-socket.ts';

const shared = await openTestGateway({}, afterAll);
const { url } = shared;
const speakUrl = '/v1/text-to-speech/tone-low';
const path = `${speakUrl}/stream-input?output_format=pcm_16000`;

test.each([
  ['a voice that there is not', '/v1/text-to-speech/nobody/multi-stream-input', shared.key, 'voice_not_found'],
  ['a format that there is not', `${speakUrl}/stream-input?output_format=mp3_1`, shared.key, 'invalid_request'],
  ['a wrong key', path, 'snt_wrong', 'invalid_api_key'],
])('%s ends an accepted socket', async (_, from, key, name) => {
  const { opened, end } = openSocket(from, { url, key });
  await opened;
  const { code, reason, last } = await end();
  expect([code, last]).toEqual([1008, failed(name)]);
  expect(reason).not.toBe('');
  expect(last!.message!.startsWith(reason)).toBe(true);
});

test('a failure of a context is the last message of stream-input, and its sentence ends the socket', async () => {
  const gateway = await openTestGateway({ trouble: { failsAfterPieces: 0 } });
  const { opened, send, end } = openSocket(path, gateway);
  await opened;
  send({ text: 'Broken. ' }, { text: '' });
  const { code, reason, last } = await end();
  expect([code, last, reason]).toEqual([1008, failed('engine_error'), last!.message]);
});

test('a reason that is too long for a close frame is cut between characters', async () => {
  const { opened, send, end } = openSocket(path, shared);
  await opened;
  send({ text: 'Hi.', voice_settings: { speed: 'é'.repeat(50) } });
  send({ text: 7 });
  const { code, reason, last } = await end();
  expect([code, Buffer.byteLength(reason) <= 123]).toEqual([1008, true]);
  expect(last!.message!.startsWith(reason)).toBe(true);
});

test('the key may be in the first message', async () => {
  const { opened, send, closed, seen } = openSocket(path, { url });
  await opened;
  send({ text: ' ', xi_api_key: shared.key }, { text: 'Hello there. ' }, { text: '' });
  expect(await closed).toBe(1000);
  expect(textOf(seen)).toBe('Hello there. ');
});

test.each([
  ['a wrong key', JSON.stringify({ text: ' ', xi_api_key: 'snt_wrong' })],
  ['no key', JSON.stringify({ text: 'Hello.' })],
  ['no JSON', 'hello'],
])('%s in the first message ends the socket', async (_, message) => {
  const { socket, opened, end } = openSocket(path, { url });
  await opened;
  socket.send(message);
  expect(await end()).toMatchObject({ code: 1008, last: failed('invalid_api_key') });
});

test('a socket that sends no key ends after five seconds, even if it answers no close frame, and counts', async () => {
  const gateway = await openTestGateway({ isLimited: true, badKeysPerMinute: 1 });
  const { hostname, port } = new URL(gateway.url);
  const socket = connect(Number(port), hostname);
  const lines = [`GET ${path} HTTP/1.1`, `Host: ${hostname}`, 'Connection: Upgrade', 'Upgrade: websocket'];
  lines.push('Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==');
  socket.write(`${lines.join('\r\n')}\r\n\r\n`);
  const answer = Buffer.concat((await Array.fromAsync(socket)) as Buffer[]).toString('latin1');
  expect(answer).toMatch(/^HTTP\/1.1 101 [\s\S]*"error":"invalid_api_key"/);
  const next = openSocket(path, { url: gateway.url, key: 'snt_wrong' });
  expect(await next.end()).toMatchObject({ code: 1008, last: failed('rate_limit_exceeded') });
  const good = openSocket(path, gateway);
  await good.opened;
  good.send({ text: '' });
  expect(await good.closed, 'a valid key is not affected').toBe(1000);
}, 20_000);

test('pings without a key are not messages without end', async () => {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const lines = [`GET ${path} HTTP/1.1`, `Host: ${hostname}`, 'Connection: Upgrade', 'Upgrade: websocket'];
  lines.push('Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==');
  const ping = Buffer.from([0x89, 0x80, 0, 0, 0, 0]);
  socket.write(`${lines.join('\r\n')}\r\n\r\n`);
  socket.write(Buffer.concat(Array.from({ length: 600 }, () => ping)));
  const answer = Buffer.concat((await Array.fromAsync(socket)) as Buffer[]).toString('latin1');
  expect(answer).toContain('"error":"invalid_api_key"');
}, 20_000);
