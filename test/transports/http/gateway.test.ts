// Tests the common properties of every reply: ids, the form of failures, methods and paths (HEAD beside GET,
// the path that a client with a wrong base URL means), the encodings that a body may have, and CORS. Also tests the
// server's graceful shutdown.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, test } from 'vitest';
import { scopes } from '../../../src/accounts/keys/caller.ts';
import { Failure } from '../../../src/platform/errors.ts';
import { bytesOf, openTestGateway } from './open-gateway.ts';
import { connectRaw, toRequest } from './raw-http.ts';

/** A gateway for tests that change nothing that other tests would notice. */
const shared = await openTestGateway({}, afterAll);

const requestId = /^req_[0-9A-Z]{26}$/;
const hello = { voice_id: 'tone-low', text: 'Hello there.' };

describe('every response', () => {
  test('has an id and the version of the API', async () => {
    const answers = [
      await shared.speak(hello),
      await shared.speak({ ...hello, return_format: 'buffer' }),
      await shared.speak({ text_chunks: ['Hello.'], method: 'streaming' }),
      await shared.send('/api/audio/speech/sse', { body: { ...hello } }),
      await shared.send('/api/voices'),
      await shared.send('/healthz'),
      await shared.send('/docs'),
      await shared.send('/openapi.json'),
      await shared.send('/nothing/here'),
      await shared.send('/nothing/%zz'),
      await shared.send('/api/audio/speech', { method: 'OPTIONS' }),
      await shared.send('/api/audio/speech', { headers: { 'X-API-Key': 'none' }, body: {} }),
    ];
    const ids = answers.map(({ headers }) => headers.get('X-Request-Id'));
    for (const id of ids) expect(id).toMatch(requestId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { headers } of answers) expect(headers.get('X-API-Version')).toBe('1.0.0');
    for (const answer of answers) await answer.arrayBuffer();
  });

  test.each(['a', 'A-Z_09', 'x'.repeat(64)])('keeps the id %s that it was given, down to the log', async (id) => {
    const gateway = await openTestGateway();
    const answer = await gateway.speak(hello, { headers: { 'X-Request-Id': id } });
    expect(answer.headers.get('X-Request-Id')).toBe(id);
    await answer.arrayBuffer();
    expect(gateway.calls.map((call) => [call.requestId, call.api])).toEqual([[id, 'rest']]);
    expect(gateway.requests.map((request) => request.requestId)).toEqual([id]);
  });

  test.each(['', 'x'.repeat(65), 'a b', 'ü', 'a/b'])('has an id of ours in place of %j', async (id) => {
    const answer = await shared.send('/healthz', { headers: { 'X-Request-Id': Buffer.from(id).toString('latin1') } });
    expect(answer.headers.get('X-Request-Id')).toMatch(requestId);
    await answer.arrayBuffer();
  });
});

describe('a failure', () => {
  test('is flat, with what applies', async () => {
    const answer = await shared.speak({ text: '', sample_rate: 8000, voice_id: undefined });
    expect(answer.status).toBe(400);
    expect(answer.headers.get('Content-Type')).toBe('application/json; charset=utf-8');
    expect(answer.headers.get('Cache-Control')).toBe('no-store');
    expect(await answer.json()).toEqual({
      error: 'invalid_request',
      message: expect.any(String),
      status: 400,
      request_id: answer.headers.get('X-Request-Id'),
      details: expect.arrayContaining([
        { field: 'voice_id', reason: 'required', message: expect.any(String) },
        { field: 'text', reason: 'blank', message: expect.any(String) },
        {
          field: 'sample_rate',
          reason: 'enum',
          message: expect.stringContaining('24000, 44100, 48000'),
          allowed: [24_000, 44_100, 48_000],
        },
      ]),
    });
  });

  test('is the same and more as application/problem+json', async () => {
    const body = { ...hello, text: 'x'.repeat(5001) };
    const headers = { Accept: 'application/problem+json, */*', 'X-Request-Id': 'mine' };
    const plain = await (await shared.speak(body, { headers: { 'X-Request-Id': 'mine' } })).json();
    const answer = await shared.speak(body, { headers });
    expect(answer.headers.get('Content-Type')).toBe('application/problem+json; charset=utf-8');
    expect(await answer.json()).toEqual({
      ...(plain as object),
      type: '/docs#text_too_long',
      title: expect.any(String),
      detail: expect.stringContaining('5001'),
      instance: 'urn:sonant:request:mine',
    });
  });

  test('that may pass says when to come back, in seconds and milliseconds', async () => {
    const failure = new Failure('rate_limit_exceeded', { retryAfterSeconds: 1.5, limitReason: 'requests', limit: 600 });
    const gateway = await openTestGateway({
      admit: () => async () => {
        throw failure;
      },
    });
    const answer = await gateway.speak(hello);
    expect(answer.status).toBe(429);
    expect(answer.headers.get('Retry-After')).toBe('2');
    expect(answer.headers.get('retry-after-ms')).toBe('1500');
    expect(await answer.json()).toMatchObject({
      error: 'rate_limit_exceeded',
      reason: 'requests',
      retry_after: 2,
      limit: 600,
    });
  });

  test('that is internal hides its cause, which is logged', async () => {
    const cause = new TypeError('a secret path');
    const gateway = await openTestGateway({
      admit: () => async () => {
        throw cause;
      },
    });
    const answer = await gateway.speak(hello);
    const body = await answer.text();
    expect([answer.status, JSON.parse(body).error]).toEqual([500, 'internal_error']);
    expect(body).not.toMatch(/secret|TypeError|\.ts/);
    expect(gateway.requests).toMatchObject([
      { status: 500, route: '/api/audio/speech', failure: { reason: 'internal_error', cause } },
    ]);
  });

  test('of the core is logged by the core, once', async () => {
    const gateway = await openTestGateway({ trouble: { failsAfterSegments: 0, failure: new Error('a secret') } });
    const answer = await gateway.speak(hello);
    expect([answer.status, await answer.json()]).toMatchObject([500, { error: 'internal_error' }]);
    expect(gateway.calls).toMatchObject([{ failure: { reason: 'internal_error', cause: { message: 'a secret' } } }]);
    expect(gateway.requests).toMatchObject([{ status: 500, failure: undefined }]);
  });
});

describe('draining', () => {
  const long = { text_chunks: Array(6).fill('one two three four'), method: 'streaming' };

  test('is announced: before it, requests are served, readiness fails and connections are closed', async () => {
    const gateway = await openTestGateway();
    expect((await fetch(`${gateway.url}/readyz`)).status).toBe(200);
    gateway.gateway.leave();
    const ready = await fetch(`${gateway.url}/readyz`);
    expect([ready.status, await ready.json()]).toMatchObject([503, { message: 'Not ready: it is stopping.' }]);
    const spoken = await gateway.speak(hello);
    expect([spoken.status, spoken.headers.get('connection')]).toEqual([200, 'close']);
    expect((await fetch(`${gateway.url}/healthz`)).status).toBe(200);
  });

  test('lets running requests finish, accepts none, and leaves no connection open', async () => {
    const gateway = await openTestGateway({ trouble: { pieceDelayMs: 15 } });
    const idle = connectRaw(gateway);
    await idle.send('GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n');
    await idle.head();
    const running = await gateway.speak(long);
    const streaming = await gateway.send('/api/audio/speech/sse', {
      body: { voice_id: 'tone-low', text_chunks: long.text_chunks },
    });
    const drained = gateway.gateway.drain(10_000);
    await idle.end();
    await expect(fetch(`${gateway.url}/healthz`)).rejects.toThrow();
    expect((await bytesOf(running)).length).toBeGreaterThan(100_000);
    expect(await streaming.text()).toContain('speech.audio.done');
    await drained;
  });

  test('does not wait for idle connections', async () => {
    const gateway = await openTestGateway();
    const silent = connectRaw(gateway);
    const slow = connectRaw(gateway);
    await slow.send('GET /healthz HTTP/1.1\r\nHost: ');
    await gateway.gateway.drain(600_000);
    expect([await silent.end(), await slow.end()]).toEqual([Buffer.alloc(0), Buffer.alloc(0)]);
  });

  test('ends the requests that are still running at the deadline', async () => {
    const gateway = await openTestGateway({ trouble: { pieceDelayMs: 50 } });
    const running = await gateway.speak(long);
    const streaming = await gateway.send('/api/audio/speech/sse', {
      body: { voice_id: 'tone-low', text_chunks: long.text_chunks },
    });
    const drained = gateway.gateway.drain(50);
    await expect(running.arrayBuffer()).rejects.toThrow();
    expect(await streaming.text()).toMatch(/event: error\ndata: {"type":"error","error":"overloaded".*\n\n$/);
    await drained;
    expect(gateway.schedule.state.speaking).toBe(0);
  });

  test('on a connection that lives on, refuses what comes and says that it closes', async () => {
    const gateway = await openTestGateway({ trouble: { pieceDelayMs: 20 } });
    const raw = connectRaw(gateway);
    await raw.send(toRequest(gateway, '/api/audio/speech', hello));
    while (gateway.tone.counts.begun === 0) await sleep(5);
    const drained = gateway.gateway.drain(5_000);
    await raw.send('GET /api/voices HTTP/1.1\r\nHost: a\r\n\r\n');
    const all = (await raw.end()).toString();
    expect(all).toContain('"status":"success"');
    expect(all.slice(all.lastIndexOf('HTTP/1.1'))).toMatch(
      /^HTTP\/1.1 503 .*connection: close\r\n.*"error":"overloaded"/is,
    );
    await drained;
  });
});

describe('CORS', () => {
  const preflight = {
    Origin: 'https://a.example',
    'Access-Control-Request-Method': 'POST',
    'Access-Control-Request-Headers': 'x-api-key',
  };

  test('is off by default', async () => {
    const answer = await shared.send('/api/voices', { headers: { Origin: 'https://a.example' } });
    expect([...answer.headers.keys()].filter((name) => name.startsWith('access-control') || name === 'vary')).toEqual(
      [],
    );
    await answer.arrayBuffer();
    const preflighted = await shared.send('/api/audio/speech', { method: 'OPTIONS', headers: preflight });
    expect(preflighted.status).toBe(405);
    await preflighted.arrayBuffer();
  });

  test('lets pages of the origins that are listed read replies and failures, with every header of ours', async () => {
    const gateway = await openTestGateway({ settings: { allowedOrigins: ['https://a.example', 'https://b.example'] } });
    for (const path of ['/api/voices', '/nothing', '/audio/aud_X.wav', '/sonant.v1.VoiceService/ListVoices']) {
      const answer = await gateway.send(path, { headers: { Origin: 'https://a.example' } });
      expect(answer.headers.get('Access-Control-Allow-Origin'), path).toBe('https://a.example');
      expect(answer.headers.get('Vary'), path).toBe('Origin');
      expect(answer.headers.get('Access-Control-Expose-Headers'), path).toMatch(
        /X-Request-Id.*X-Audio-Id.*Retry-After/,
      );
      await answer.arrayBuffer();
    }
    const preflighted = await gateway.send('/api/audio/speech', { method: 'OPTIONS', headers: preflight });
    expect([preflighted.status, preflighted.headers.get('Access-Control-Allow-Headers')]).toEqual([
      204,
      expect.stringContaining('X-API-Key'),
    ]);
    const methods = preflighted.headers.get('Access-Control-Allow-Methods')!.toLowerCase().split(', ');
    const { paths } = (await (await gateway.send('/openapi.json')).json()) as { paths: Record<string, object> };
    expect(methods).toEqual(expect.arrayContaining([...new Set(Object.values(paths).flatMap(Object.keys))]));
    const theirs = 'content-type,x-fern-sdk-name,xi-api-key';
    const headers = { ...preflight, 'Access-Control-Request-Headers': theirs };
    const ofElevenLabs = await gateway.send('/v1/text-to-speech/tone-low/stream', { method: 'OPTIONS', headers });
    const allowed = ofElevenLabs.headers.get('Access-Control-Allow-Headers')!.toLowerCase().split(', ');
    const others = 'cartesia-version x-cartesia-client openai-organization openai-project if-match traceparent';
    expect(allowed).toEqual(expect.arrayContaining([...theirs.split(','), ...others.split(' ')]));
  });

  test('is named in Vary beside what else a reply depends on', async () => {
    const gateway = await openTestGateway({ settings: { allowedOrigins: ['https://a.example'] } });
    const headers = { 'X-API-Key': await gateway.makeKey(['voices:read', 'voices:write']) };
    const body = { name: 'Mine', entries: [{ grapheme: 'AWS', alias: 'cloud' }] };
    const made = await gateway.send('/api/lexicons', { method: 'POST', headers, body });
    const { lexicon_id: id } = (await made.json()) as { lexicon_id: string };
    const answer = await gateway.send(`/api/lexicons/${id}`, { headers });
    expect([answer.status, answer.headers.get('Vary')]).toEqual([200, 'Origin, Accept']);
    await answer.arrayBuffer();
  });

  test('keeps others out', async () => {
    const gateway = await openTestGateway({ settings: { allowedOrigins: ['https://a.example'] } });
    for (const origin of ['https://evil.example', 'http://a.example', 'https://a.example.evil', 'null']) {
      const answer = await gateway.send('/api/voices', { headers: { Origin: origin } });
      expect(answer.headers.get('Access-Control-Allow-Origin')).toBeNull();
      expect(answer.headers.get('Vary')).toBe('Origin');
      await answer.arrayBuffer();
    }
  });
});

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
