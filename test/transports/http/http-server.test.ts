// Tests clients that send raw bytes slowly, in excess, or not at all. The service stays up, answers if possible, and
// serves others in the meantime.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, expect, test } from 'vitest';
import { lingerCheckMs } from '../../../src/transports/http/http-limits.ts';
import { openTestGateway } from './open-gateway.ts';
import { connectRaw, toAnswer, toRequest } from './raw-http.ts';

const gateway = await openTestGateway({}, afterAll);
const hello = { voice_id: 'tone-low', text: 'Hello.' };
const failureIn = (bytes: Buffer) => JSON.parse(toAnswer(bytes).body.toString());

afterEach(async () => {
  const answer = await gateway.send('/healthz');
  expect([answer.status, await answer.json()]).toEqual([200, { status: 'ok' }]);
  expect(gateway.faults).toEqual([]);
});

test.each([
  ['no HTTP', 'this is not HTTP\r\n\r\n'],
  ['the beginning of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ['two lengths', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n'],
  ['a length and chunks', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n'],
  ['a folded header', 'GET / HTTP/1.1\r\nHost: a\r\nX: 1\r\n 2\r\n\r\n'],
  [
    '10 000 headers',
    `GET / HTTP/1.1\r\nHost: a\r\n${Array.from({ length: 10_000 }, (_, i) => `x${i}: 1\r\n`).join('')}\r\n`,
  ],
  ['a header of a megabyte', `GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(1 << 20)}\r\n\r\n`],
  ['an address of a megabyte', `GET /${'x'.repeat(1 << 20)} HTTP/1.1\r\nHost: a\r\n\r\n`],
])('%s is answered as a request that is not valid', async (_, bytes) => {
  const raw = connectRaw(gateway);
  await raw.send(bytes);
  const all = await raw.end();
  expect(toAnswer(all)).toMatchObject({
    status: 400,
    headers: { connection: 'close', 'x-api-version': '1.0.0', 'x-request-id': expect.stringMatching(/^req_/) },
  });
  expect(failureIn(all)).toMatchObject({ error: 'invalid_request', status: 400 });
});

test.each([
  ['two Host headers', 400, 'GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n'],
  ['two Host headers, of HTTP/1.0', 400, 'GET /healthz HTTP/1.0\r\nHost: a\r\nhost: a\r\n\r\n'],
  ['no Host header', 400, 'GET /healthz HTTP/1.1\r\n\r\n'],
  ['an expectation that is not met', 417, 'GET /healthz HTTP/1.1\r\nHost: a\r\nExpect: tea\r\n\r\n'],
  [
    '101 headers',
    400,
    `GET /healthz HTTP/1.1\r\nHost: a\r\n${Array.from({ length: 100 }, (_, i) => `x${i}: 1\r\n`).join('')}\r\n`,
  ],
])('%s: %i, in the form of every failure', async (_, status, bytes) => {
  const raw = connectRaw(gateway);
  await raw.send(bytes.replace('\r\n', '\r\nX-Request-Id: mine\r\n'));
  const all = await raw.end();
  expect(toAnswer(all)).toMatchObject({
    status,
    headers: { connection: 'close', 'x-api-version': '1.0.0', 'x-request-id': 'mine' },
  });
  expect(failureIn(all)).toMatchObject({ error: 'invalid_request', status, request_id: 'mine' });
});

test('a request sent a byte at a time is served', async () => {
  const raw = connectRaw(gateway);
  raw.socket.setNoDelay(true);
  for (const byte of toRequest(gateway, '/api/audio/speech', hello)) {
    raw.socket.write(byte);
    await new Promise(setImmediate);
  }
  expect((await raw.head()).status).toBe(200);
});

test('a client that sends single bytes or nothing does not block others', async () => {
  const quiet = Array.from({ length: 100 }, () => connectRaw(gateway));
  for (const [i, { socket }] of quiet.entries()) if (i % 2) socket.write('P');
  const answer = await gateway.speak({ text: 'Hello.' });
  expect(answer.status).toBe(200);
  await answer.arrayBuffer();
});

test('a declared body of a gigabyte is refused before it is sent, and the response arrives', async () => {
  const raw = connectRaw(gateway);
  await raw.send(
    `POST /api/audio/speech HTTP/1.1\r\nHost: a\r\nX-API-Key: ${gateway.key}\r\nContent-Type: application/json\r\nContent-Length: ${2 ** 30}\r\n\r\n`,
  );
  const pour = async () => {
    const piece = Buffer.alloc(1 << 20, 'x');
    while (!raw.socket.destroyed) await raw.send(piece);
  };
  void pour();
  const { status } = await raw.head();
  expect(status).toBe(413);
  expect(failureIn(await raw.end())).toMatchObject({ error: 'payload_too_large' });
});

test('a body in chunks of one byte is taken whole', async () => {
  const json = JSON.stringify({ ...hello, pad: 'x'.repeat(100_000) });
  const raw = connectRaw(gateway);
  await raw.send(
    `POST /api/audio/speech HTTP/1.1\r\nHost: a\r\nX-API-Key: ${gateway.key}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
  );
  await raw.send(`${[...json].map((char) => `1\r\n${char}\r\n`).join('')}0\r\n\r\n`);
  expect(await raw.head()).toMatchObject({ status: 200, headers: { 'x-ignored-fields': 'pad' } });
});

test('a client that is answered before its body is complete keeps its connection', async () => {
  const raw = connectRaw(gateway);
  const body = 'x'.repeat((1 << 20) + 10);
  await raw.send(`POST /nothing HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n`);
  expect((await raw.head()).status).toBe(404);
  await raw.send(body.slice(0, 1 << 19));
  // The service checks several times in this pause whether the client has sent too much.
  await sleep(4 * lingerCheckMs);
  await raw.send(body.slice(1 << 19));
  await raw.send('GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  expect((await raw.end()).toString()).toContain('{"status":"ok"}');
});

test('Expect: 100-continue is confirmed only if the body is wanted', async () => {
  const wanted = connectRaw(gateway);
  const [head, body] = toRequest(gateway, '/api/audio/speech', hello, ['Expect: 100-continue']).split(/(?<=\r\n\r\n)/);
  await wanted.send(head!);
  expect((await wanted.head()).status).toBe(100);
  await wanted.send(body!);
  while (!(await wanted.head()).body.includes('success')) await sleep(5);

  const refused = connectRaw(gateway);
  await refused.send(head!.replace(gateway.key, 'nonsense'));
  expect((await refused.head()).status).toBe(401);
});

test('HTTP/1.0 is spoken, and a stream that breaks off is no clean end there either', async () => {
  const whole = connectRaw(gateway);
  const request = toRequest(gateway, '/api/audio/speech', {
    voice_id: 'tone-low',
    text_chunks: ['Hello.'],
    method: 'streaming',
  });
  await whole.send(request.replace('HTTP/1.1', 'HTTP/1.0'));
  const { status, headers, body } = toAnswer(await whole.end());
  expect([status, headers['transfer-encoding'], body.subarray(0, 4).toString()]).toEqual([200, undefined, 'RIFF']);

  const troubled = await openTestGateway({ trouble: { failsAfterPieces: 3 } });
  const broken = connectRaw(troubled);
  const failure = new Promise<Error | undefined>((resolve) => {
    broken.socket.on('error', resolve);
    broken.socket.on('end', () => resolve(undefined));
  });
  await broken.send(
    toRequest(troubled, '/api/audio/speech', {
      voice_id: 'tone-low',
      text_chunks: ['one two three four five'],
      method: 'streaming',
    }).replace('HTTP/1.1', 'HTTP/1.0'),
  );
  expect(await failure).toMatchObject({ code: 'ECONNRESET' });
});

test('a connection that sends more requests than it may before the first answer is closed', async () => {
  const request = 'GET /healthz HTTP/1.1\r\nHost: a\r\n';
  const asked = connectRaw(gateway);
  await asked.send(`${`${request}\r\n`.repeat(63)}${request}Connection: close\r\n\r\n`);
  expect((await asked.end()).toString('latin1').match(/HTTP\/1\.1 200/g)).toHaveLength(64);
  const flood = connectRaw(gateway);
  await flood.send(`${request}\r\n`.repeat(1000));
  expect((await flood.end()).toString('latin1').match(/HTTP\/1\.1 200/g) ?? []).toEqual([]);
});

test('requests in a row on one connection, sent at once, are answered in their order', async () => {
  const raw = connectRaw(gateway);
  const paths = ['/healthz', '/nothing', '/readyz', '/api/audio/speech', '/healthz'];
  await raw.send(paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`).join(''));
  await raw.send('GET /docs HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  const statuses = [...(await raw.end()).toString('latin1').matchAll(/HTTP\/1\.1 (\d+)/g)].map((match) => match[1]);
  expect(statuses).toEqual(['200', '404', '200', '405', '200', '200']);
});
