// Tests the checks on a request before it is answered, and their order: path, size, key, body.
import { afterAll, describe, expect, test } from 'vitest';
import { scopes } from '../../../src/accounts/keys/caller.ts';
import { openTestGateway } from './open-gateway.ts';
import type { OpenApi } from './openapi-check.ts';

/** A gateway for tests that change nothing that other tests would notice. */
const shared = await openTestGateway({}, afterAll);

const hello = { voice_id: 'tone-low', text: 'Hello there.' };
/** Requests speech with exactly this body. */
const post = (body?: string | ReadableStream, headers: Record<string, string> = {}) =>
  fetch(`${shared.url}/api/audio/speech`, {
    method: 'POST',
    ...(body !== undefined && { body, duplex: 'half' }),
    headers: { 'X-API-Key': shared.key, 'Content-Type': 'application/json', ...headers },
  } as RequestInit);

describe('the order of checks', () => {
  test.each([
    ['the address', '/nothing', { method: 'POST', body: 'x'.repeat(1_048_577) }, 404],
    ['the method', '/api/audio/speech', { method: 'PUT' }, 405],
    ['the size', '/api/audio/speech', { method: 'POST', body: 'x'.repeat(1_048_577) }, 413],
    ['the key', '/api/audio/speech', { method: 'POST', body: 'x', headers: { 'Content-Type': 'text/plain' } }, 401],
  ])('%s', async (_, path, init, status) => {
    const answer = await fetch(shared.url + path, init as RequestInit);
    expect(answer.status).toBe(status);
    await answer.arrayBuffer();
  });

  test('a query that is not UTF-8 is not taken as it is written', async () => {
    for (const query of ['text=%ff%fe', 'text=%', 'text=100%&voice_id=tone-low', 'text=Really?%20a%FF%20b']) {
      const answer = await shared.send(`/api/audio/speech/sse?voice_id=tone-low&${query}`);
      const message = 'The query is not percent-encoded UTF-8.';
      expect([answer.status, await answer.json()]).toMatchObject([400, { error: 'invalid_request', message }]);
    }
    const plain = await shared.send('/api/voices?text=%F0%9F%91%8B');
    expect(plain.status).toBe(200);
  });

  test('a text beside an empty list is a text; an encoding is named in any case', async () => {
    const body = { voice_id: 'tone-low', text: 'Hello.', text_chunks: [] };
    const answer = await shared.send('/api/audio/speech/sse', { body, headers: { 'Content-Encoding': 'Identity' } });
    expect([answer.status, (await answer.text()).includes('speech.audio.done')]).toEqual([200, true]);
  });

  test('the scope before the body', async () => {
    const key = await shared.makeKey(['voices:read']);
    const answer = await shared.send('/api/audio/speech', {
      method: 'POST',
      body: undefined,
      headers: { 'X-API-Key': key },
    });
    expect(answer.status).toBe(403);
    expect(await answer.json()).toMatchObject({
      error: 'insufficient_scope',
      required_scopes: ['speech:synthesize', 'speech:stream'],
    });
  });

  test('JSON before its members, and those before the voice', async () => {
    const send = async (body: string) => (await (await post(body)).json()) as { error: string; details?: object };
    expect((await send('{"voice_id":1,"voice_id":2}')).details).toBeUndefined();
    expect((await send('{"voice_id":"nobody","text":""}')).details).toHaveLength(1);
    expect((await send('{"voice_id":"nobody","text":"Hello."}')).error).toBe('voice_not_found');
  });

  test('a refused request costs the core nothing', async () => {
    const gateway = await openTestGateway();
    for (const body of [{}, { voice_id: 'tone-low' }, { voice_id: 'tone-low', text: 'x'.repeat(900_000) }]) {
      await (await gateway.send('/api/audio/speech', { body })).arrayBuffer();
    }
    expect(gateway.calls).toEqual([]);
  });
});

test.each([
  ['/api/audio/speach', 'POST'],
  ['/api/audio/speach', 'GET'],
  ['/api/audio/speech/sse/ticket', 'POST'],
  ['/api/auth/api-keys/slef', 'POST'],
])('%s is a misspelt address: %s finds nothing there', async (path, method) => {
  const answer = await shared.send(path, { method });
  expect([answer.status, answer.headers.get('Allow')]).toEqual([404, null]);
  expect(await answer.json()).toMatchObject({ error: 'not_found' });
});

test.each([
  ['a good key as a bearer token', `Bearer ${shared.key}`, true],
  ['an unknown key as a bearer token', 'bearer snt_nobody', true],
  ['other credentials', 'Basic eDp5', false],
])('%s is refused, and told of the header X-API-Key where it may have been meant', async (_, Authorization, isTold) => {
  for (const path of ['/api/voices', '/api/usage', '/api/audio/speech/live']) {
    const answer = await fetch(shared.url + path, { headers: { Authorization } });
    const { error, message } = (await answer.json()) as { error: string; message: string };
    expect([answer.status, error, message.includes('X-API-Key')], path).toEqual([401, 'invalid_api_key', isTold]);
    expect(message).not.toContain('snt_');
  }
  const wrong = await shared.send('/api/voices', { headers: { Authorization, 'X-API-Key': 'snt_' } });
  expect(((await wrong.json()) as { message: string }).message).not.toContain('X-API-Key');
});

test('an id with a NUL is unknown on every API', async () => {
  const path = await shared.send('/api/voices/tone%00low');
  expect([path.status, await path.json()]).toMatchObject([400, { error: 'invalid_request' }]);
  for (const answer of [
    await shared.send('/api/audio/speech', { body: { voice_id: 'tone\0low', text: 'Hello.' } }),
    await shared.send('/api/audio/speech/sse?voice_id=tone%00low&text=Hello.'),
  ])
    expect([answer.status, await answer.json()]).toMatchObject([
      400,
      { error: 'invalid_request', details: [{ field: 'voice_id', reason: 'encoding' }] },
    ]);
});

test.each([
  ['', 'blank'],
  [5, 'type'],
  ['\0', 'encoding'],
  ['x'.repeat(5001), 'too_long'],
])('a fault of the text of a stream of events names text: %j', async (text, reason) => {
  const answer = await shared.send('/api/audio/speech/sse', { body: { voice_id: 'tone-low', text } });
  expect([answer.status, await answer.json()]).toMatchObject([400, { details: [{ field: 'text', reason }] }]);
});

test.each([
  ['/api/audio/speech', 'GET', 'POST'],
  ['/api/audio/speech/sse', 'DELETE', 'GET, POST'],
  ['/api/audio/aud_X', 'GET', 'DELETE'],
  ['/audio/aud_X.wav', 'POST', 'GET, HEAD'],
  ['/api/voices/x', 'POST', 'DELETE, GET, HEAD, PATCH'],
  ['/api/audio/jobs/a-book', 'PATCH', 'DELETE, GET, HEAD, PUT'],
  ['/api/lexicons/x', 'POST', 'DELETE, GET, HEAD, PUT'],
  ['/healthz', 'OPTIONS', 'GET, HEAD'],
  ['/api/audio/inspect', 'DELETE', 'POST'],
  ['/api/audio/estimate', 'DELETE', 'POST'],
  ['/api/audio/jobs', 'DELETE', 'GET, HEAD, POST'],
  // A stream or a redirect that works once has no HEAD.
  ['/api/audio/speech/sse?voice_id=tone-low&text=Hi', 'HEAD', 'GET, POST'],
  ['/api/audio/speech/sse/aud_1', 'HEAD', 'DELETE, GET'],
  ['/api/audio/speech/sse/tickets/tkt_1', 'HEAD', 'GET'],
  ['/api/audio/jobs/job_1/events', 'HEAD', 'GET'],
  ['/api/models/kokoro/events', 'HEAD', 'GET'],
  ['/api/audio/speech/live', 'HEAD', 'GET'],
  ['/tts/websocket', 'HEAD', 'GET'],
  ['/v1/text-to-speech/tone-low/stream-input', 'HEAD', 'GET'],
  ['/oauth/callback', 'HEAD', 'GET'],
])('%s: a method that it does not take, %s, is answered with those that it takes', async (path, method, allow) => {
  const answer = await shared.send(path, { method });
  expect([answer.status, answer.headers.get('Allow')?.split(', ').sort().join(', ')]).toEqual([405, allow]);
  if (method !== 'HEAD') expect(await answer.text()).toContain('"error":"method_not_allowed"');
});

describe('a body', () => {
  test.each([
    ['text/plain', {}],
    ['application/xml', {}],
    ['multipart/form-data; boundary=x', {}],
    ['application/json; charset=latin1', {}],
    ['nonsense', {}],
    ['application/json', { 'Content-Encoding': 'gzip' }],
  ])('of type %s %j is not read', async (type, headers) => {
    const answer = await post('{}', { 'Content-Type': type, ...headers });
    expect([answer.status, await answer.json()]).toMatchObject([415, { error: 'unsupported_media_type' }]);
  });

  test.each(['application/json', 'application/json; charset=utf-8', 'Application/JSON; charset="UTF8"'])(
    'of type %s is',
    async (type) => {
      const answer = await post(JSON.stringify(hello), { 'Content-Type': type });
      expect(answer.status).toBe(200);
      await answer.arrayBuffer();
    },
  );

  test.each([undefined, '', '[]', 'null', '"text"', '7'])('%j is no object', async (body) => {
    const answer = await post(body);
    expect([answer.status, await answer.json()]).toMatchObject([400, { error: 'invalid_request' }]);
  });

  test('of one mebibyte is read, and one byte more is not', async () => {
    const json = (size: number) => JSON.stringify({ pad: 'x'.repeat(size - JSON.stringify({ pad: '' }).length) });
    const fits = await post(json(1 << 20));
    expect([fits.status, fits.headers.get('X-Ignored-Fields')]).toEqual([400, null]);
    expect(await fits.json()).toMatchObject({ error: 'invalid_request' });
    const answer = await post(json((1 << 20) + 1));
    expect([answer.status, await answer.json()]).toMatchObject([413, { error: 'payload_too_large', limit: 1 << 20 }]);
  });

  test('without a declared length is cut off at the limit', async () => {
    const stream = new ReadableStream({
      start(controller) {
        for (let i = 0; i < 20; i++) controller.enqueue(Buffer.alloc(64 * 1024, 'x'));
        controller.close();
      },
    });
    const answer = await post(stream);
    expect([answer.status, await answer.json()]).toMatchObject([413, { error: 'payload_too_large' }]);
  });
});

test.each(['text/plain', 'application/json'])(
  'a body of %s is discarded by every operation that takes none',
  async (type) => {
    const { paths } = (await (await shared.send('/openapi.json')).json()) as OpenApi;
    const bodiless = Object.entries(paths).flatMap(([path, operations]) =>
      Object.entries(operations).flatMap(([method, { requestBody }]) =>
        method === 'get' || requestBody ? [] : [[method.toUpperCase(), path.replace(/\{\w+\}/g, 'nothing')] as const],
      ),
    );
    expect(bodiless.length).toBeGreaterThan(10);
    for (const [method, path] of [...bodiless, ['POST', '/oauth/sign-out'] as const]) {
      // Each request has its own key, because one of the requests revokes its key.
      const headers = { 'X-API-Key': await shared.makeKey(scopes), 'Content-Type': type };
      const answer = await fetch(shared.url + path, { method, body: 'x', headers });
      expect([path, answer.status]).toEqual([path, expect.toBeOneOf([201, 204, 404, 410])]);
      await answer.arrayBuffer();
    }
  },
);

test.each(['/docs', '/console'])('the page %s is found with a slash', async (path) => {
  for (const method of ['GET', 'HEAD']) {
    const led = await fetch(`${shared.url}${path}/?a=b`, { method, redirect: 'manual' });
    const location = led.headers.get('Location')!;
    expect([led.status, new URL(location, led.url).href]).toEqual([308, `${shared.url}${path}?a=b`]);
    expect(new URL(location, `https://proxy.test/prefix${path}/`).pathname).toBe(`/prefix${path}`);
  }
});

const kept = ['/docs', '/openapi.json', '/console', '/api/voices/tone-low/preview'];
test.each(kept)('%s is sent once to a client that keeps it', async (path) => {
  const first = await shared.send(path);
  const etag = first.headers.get('ETag')!;
  expect([first.status, (await first.text()).length > 1_000, etag]).toEqual([200, true, expect.stringMatching(/^"/)]);
  for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
    const again = await shared.send(path, { headers: { 'If-None-Match': known } });
    expect([again.status, await again.text(), again.headers.get('ETag')]).toEqual([304, '', etag]);
  }
  const other = await shared.send(path, { headers: { 'If-None-Match': '"other"' } });
  expect([other.status, (await other.text()).length > 1_000]).toEqual([200, true]);
});
