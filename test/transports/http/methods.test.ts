// Tests methods and paths over HTTP: HEAD beside GET, 405 with Allow, the path that a client with a wrong base URL means,
// and the encodings that a body may have.
import { afterAll, expect, test } from 'vitest';
import { scopes } from '../../../src/accounts/keys/key-grant.ts';
import { openTestGateway } from './open-gateway.ts';

const shared = await openTestGateway({}, afterAll);
const key = await shared.makeKey(scopes);

test.each([
  '/api/voices',
  '/api/voices/tone-low',
  '/api/voices/tone-low/preview',
  '/api/audio/jobs',
  '/api/lexicons',
  '/api/usage',
  '/v1/models',
  '/v1/models/tts-1',
  '/v1/audio/models',
  '/v1/audio/voices',
  '/v1/voices',
  '/v2/voices',
  '/v1/user/subscription',
  '/voices',
  '/voices/tone-low',
  '/openapi.json',
  '/docs',
  '/docs/swagger-ui.css',
  '/console',
  '/healthz',
  '/readyz',
  '/metrics',
])('HEAD %s is GET without its body', async (path) => {
  const headers = { 'X-API-Key': key };
  const [whole, head] = await Promise.all(['GET', 'HEAD'].map((method) => shared.send(path, { method, headers })));
  expect([whole!.status, head!.status]).toEqual([200, 200]);
  const length = (await whole!.arrayBuffer()).byteLength;
  expect(await head!.text()).toBe('');
  for (const name of ['content-type', 'etag']) expect(head!.headers.get(name), name).toBe(whole!.headers.get(name));
  if (!head!.headers.has('content-encoding')) expect(Number(head!.headers.get('content-length'))).toBe(length);
});

test.each([
  ['/api/audio/speech/sse?voice_id=tone-low&text=Hi', 'GET, POST'],
  ['/api/audio/speech/live', 'GET'],
  ['/tts/websocket', 'GET'],
  ['/v1/text-to-speech/tone-low/stream-input', 'GET'],
  ['/oauth/callback', 'GET'],
])('a stream or a redirect that works once, %s, has no HEAD', async (path, allowed) => {
  const answer = await shared.send(path, { method: 'HEAD' });
  const methods = answer.headers.get('allow')?.split(', ').sort().join(', ');
  expect([answer.status, methods]).toEqual([405, allowed]);
});

test.each([
  ['DELETE', '/api/audio/inspect', 'POST'],
  ['DELETE', '/api/audio/estimate', 'POST'],
  ['DELETE', '/api/audio/jobs', 'GET, HEAD, POST'],
  ['DELETE', '/api/audio/speech', 'POST'],
])('%s %s is refused with the methods of the path', async (method, path, allowed) => {
  const answer = await shared.send(path, { method });
  await answer.arrayBuffer();
  const methods = answer.headers.get('allow')?.split(', ').sort().join(', ');
  expect([answer.status, methods]).toEqual([405, allowed]);
});

test.each([
  ['/audio/speech', '/v1/audio/speech'],
  ['/audio/voices', '/v1/audio/voices'],
  ['/models', '/v1/models'],
  ['/text-to-speech/tone-low/stream', '/v1/text-to-speech/tone-low/stream'],
  ['/v1/v1/text-to-speech/tone-low', '/v1/text-to-speech/tone-low'],
  ['/v1/tts/bytes', '/tts/bytes'],
])('a client that asks for %s is told of %s', async (path, meant) => {
  // The form of ElevenLabs' errors, which other documents describe.
  const headers = { 'xi-api-key': key };
  for (const init of [{ headers }, { headers, body: {} }]) {
    const answer = await shared.send(path, init);
    expect([answer.status, await answer.text()]).toEqual([404, expect.stringContaining(`did you mean ${meant}?`)]);
  }
});

test.each(['gzip', 'br'])('a body in %s is refused, and the accepted encodings are named', async (encoding) => {
  for (const [path, type] of [
    ['/api/audio/speech', 'application/json'],
    ['/v1/audio/speech', 'application/json'],
    ['/api/voices', 'multipart/form-data; boundary=x'],
    ['/api/books', 'text/plain'],
    ['/api/lexicons', 'application/pls+xml'],
  ] as const) {
    const headers = { 'X-API-Key': key, 'Content-Type': type, 'Content-Encoding': encoding };
    const answer = await fetch(shared.url + path, { method: 'POST', headers, body: 'x' });
    expect([answer.status, answer.headers.get('accept-encoding')], path).toEqual([415, 'identity']);
    expect(await answer.text(), path).toContain(`Content-Encoding ${encoding} is not accepted`);
  }
});

test.each(['/openapi.json', '/docs', '/docs/swagger-ui-bundle.js'])('%s is compressed', async (path) => {
  for (const accepted of ['gzip', 'gzip, deflate, br, zstd', 'br;q=1.0, gzip;q=0.8, *;q=0.1']) {
    const answer = await shared.send(path, { headers: { 'Accept-Encoding': accepted } });
    expect([answer.status, answer.headers.get('content-encoding')], accepted).toEqual([200, 'gzip']);
    await answer.arrayBuffer();
  }
  for (const accepted of ['identity', 'gzip;q=0', 'gzip; q=0.0, br', 'br']) {
    const answer = await shared.send(path, { headers: { 'Accept-Encoding': accepted } });
    expect([answer.status, answer.headers.get('content-encoding')], accepted).toEqual([200, null]);
    await answer.arrayBuffer();
  }
});
