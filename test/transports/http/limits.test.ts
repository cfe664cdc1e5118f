// Tests limits over HTTP: their headers in every answer, refusals, and the usage ledger.
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import { afterAll, describe, expect, test } from 'vitest';
import { SpeechService } from '../../../gen/sonant/v1/speech_pb.ts';
import { operator } from '../../../src/accounts/keys/caller.ts';
import { explain, failureOf } from '../rpc/grpc-client.ts';
import { openCore } from '../rpc/open-core.ts';
import { readEvents } from './event-reader.ts';
import { bytesOf, openTestGateway, type TestGateway } from './open-gateway.ts';

const shared = await openTestGateway({ isLimited: true, badKeysPerMinute: 5 }, afterAll);
const long = { text_chunks: Array(30).fill('one two three four'), voice_id: 'tone-low' };

type Limits = { requestsPerMinute?: number; concurrency?: number; charactersPerMonth?: number };
async function keyOf(gateway: TestGateway, limits: Limits = {}) {
  const { key, apiKey } = await gateway.keyVerifier.create({
    limits,
    scopes: ['speech:synthesize', 'speech:stream', 'voices:read', 'usage:read'],
  });
  return { headers: { 'X-API-Key': key }, key, keyId: apiKey.keyId };
}
const rates = ({ headers }: Response) => [headers.get('RateLimit-Policy'), headers.get('RateLimit')];

const openGrpc = async (gateway: TestGateway) => (await openCore(gateway)).clientOf(SpeechService);

describe('every response to a valid key', () => {
  test('reports the limits and what remains, whatever the status', async () => {
    const { headers } = await keyOf(shared, { requestsPerMinute: 10 });
    const policy = '"requests";q=10;w=60, "concurrency";q=20;qu="concurrent-requests"';
    const answers = [
      await shared.send('/api/voices', { headers }),
      await shared.send('/api/voices/nobody', { headers }),
      await shared.speak({ text: 'Hello.', return_format: 'buffer' }, { headers }),
      await shared.speak({ text: '' }, { headers }),
      await shared.speak({ text_chunks: ['Hello.'], method: 'streaming' }, { headers }),
      await shared.send('/api/audio/speech/sse', { headers, body: { voice_id: 'tone-low', text: 'Hello.' } }),
    ];
    for (const [i, answer] of answers.entries()) {
      expect(rates(answer)).toEqual([policy, expect.stringMatching(RegExp(`^"requests";r=${9 - i};t=\\d+$`))]);
      await answer.arrayBuffer();
    }
    const none = await shared.send('/healthz');
    expect(rates(none)).toEqual([null, null]);
  });

  test('reports them over Connect and gRPC too, with the characters of keys that have a quota', async () => {
    const { key } = await keyOf(shared, { charactersPerMonth: 100, requestsPerMinute: 10 });
    const transport = createConnectTransport({ baseUrl: shared.url, httpVersion: '1.1' });
    let policy: string | null = null;
    let left: string | null = null;
    await createClient(SpeechService, transport).synthesizeSpeech(
      { voiceId: 'tone-low', text: 'Hello.' },
      {
        headers: { 'x-api-key': key },
        onHeader: (headers) => ([policy, left] = [headers.get('ratelimit-policy'), headers.get('ratelimit')]),
      },
    );
    expect(policy).toContain('"characters";q=100;w=');
    expect(left).toMatch(/^"requests";r=9;t=\d+, "characters";r=94;t=\d+$/);
  });
});

/** Expects the header that keeps clients from a retry. In the last minute of a month, they may wait for the next month. */
function expectNoRetry({ headers }: Response): void {
  if (Number(headers.get('Retry-After')) > 0) expect(Number(headers.get('Retry-After'))).toBeLessThanOrEqual(60);
  else expect([headers.get('Retry-After'), headers.get('x-should-retry')]).toEqual([null, 'false']);
}

describe('over its limit', () => {
  test('of requests, a key gets Retry-After over every transport, and is admitted after it', async () => {
    // One request becomes available every three seconds; the other steps take less time, even on a busy machine.
    const { headers, key } = await keyOf(shared, { requestsPerMinute: 20 });
    for (let i = 0; i < 20; i++) await (await shared.send('/api/voices', { headers })).arrayBuffer();
    const refused = await shared.send('/api/voices', { headers });
    const waitMs = Number(refused.headers.get('retry-after-ms'));
    const waitSeconds = String(Math.ceil(waitMs / 1000));
    expect([refused.status, refused.headers.get('Retry-After'), waitMs <= 3000]).toEqual([429, waitSeconds, true]);
    expect(await refused.json()).toMatchObject({ error: 'rate_limit_exceeded', reason: 'requests', limit: 20 });
    expect(refused.headers.get('RateLimit')).toMatch(/^"requests";r=0;t=60$/);
    const client = await openGrpc(shared);
    const request = { voiceId: 'tone-low', text: 'Hello.' };
    const failure = explain(
      await failureOf(client.unary('synthesizeSpeech', request, { metadata: { 'x-api-key': key } })),
    );
    expect(failure).toMatchObject({ code: 'RESOURCE_EXHAUSTED', info: { reason: 'RATE_LIMIT_EXCEEDED' } });
    const { seconds, nanos } = failure.retry!;
    await sleep(Number(seconds) * 1000 + nanos / 1e6 + 1);
    expect((await shared.send('/api/voices', { headers })).status).toBe(200);
  });

  test('of characters, it is told when the month ends, not to wait so long, and charged nothing', async () => {
    const { headers } = await keyOf(shared, { charactersPerMonth: 20 });
    const speak = (text: string) => shared.speak({ text }, { headers });
    expect((await speak('Twelve chars')).status).toBe(200);
    const refused = await speak('Twelve again');
    const failure = await refused.json();
    const message = expect.stringMatching(/; 8 are left until \d{4}-\d\d-01 \(UTC\)\.$/);
    expect([refused.status, failure]).toMatchObject([429, { reason: 'characters', limit: 20, actual: 24, message }]);
    expectNoRetry(refused);
    expect(failure).not.toHaveProperty('retry_after');
    expect((await speak('Eight...')).status).toBe(200);
    const never = await speak('These are far more than twenty.');
    expect([never.status, await never.json()]).toMatchObject([400, { error: 'invalid_request', limit: 20 }]);
    expectNoRetry(never);
  });

  test('of characters, clients of other vendors do not wait either', async () => {
    const { headers } = await keyOf(shared, { charactersPerMonth: 20 });
    const post = (path: string, body: object) => shared.send(path, { headers, body });
    const ofElevenLabs = (text: string) => post('/v1/text-to-speech/tone-low', { text });
    const voice = { mode: 'id', id: 'tone-low' };
    const ofCartesia = (transcript: string) => post('/tts/bytes', { transcript, voice, model_id: 'sonic-3' });
    const ofOpenAi = (input: string) => post('/v1/audio/speech', { input, voice: 'tone-low' });
    for (const speak of [ofElevenLabs, ofCartesia, ofOpenAi]) {
      const never = await speak('Ten chars. Ten chars. Ten chars.');
      expect([never.status, await never.text()]).toEqual([400, expect.stringContaining('20 a month')]);
    }
    await (await ofElevenLabs('Twelve chars')).arrayBuffer();
    const refused = await ofElevenLabs('Twelve again');
    expect([refused.status, await refused.json()]).toMatchObject([401, { detail: { status: 'quota_exceeded' } }]);
    for (const speak of [ofCartesia, ofOpenAi]) {
      const answer = await speak('Twelve again');
      expect([answer.status, await answer.text()]).toEqual([429, expect.stringContaining('8 are left')]);
      expectNoRetry(answer);
    }
  });

  test('of characters in the middle of live speech, it fails as over any limit, however long the rest is', async () => {
    const gateway = await openTestGateway({ isLimited: true });
    const { key } = await keyOf(gateway, { charactersPerMonth: 20 });
    const stream = (await openGrpc(gateway)).bidi('liveSpeech', { metadata: { 'x-api-key': key } });
    const failed = once(stream, 'error');
    const send = (request: object) => void stream.write({ request } as never);
    send({ case: 'start', value: { voiceId: 'tone-low' } });
    send({ case: 'text', value: { text: 'Good morning.' } });
    send({ case: 'flush', value: {} });
    stream.on('data', ({ event }) => {
      if (event.case !== 'flushed') return;
      send({ case: 'text', value: { text: 'And this is far more than there is.' } });
      send({ case: 'end', value: {} });
    });
    const failure = explain((await failed)[0]);
    expect(failure).toMatchObject({
      code: 'RESOURCE_EXHAUSTED',
      info: { reason: 'RATE_LIMIT_EXCEEDED', metadata: { reason: 'characters' } },
    });
    expect(failure.retry).toBeUndefined();
    expect(failure.message).toContain('this text has 35');
  });

  test('of syntheses at once, it waits a moment; a stream holds its place to its last byte, and no longer', async () => {
    const gateway = await openTestGateway({ isLimited: true, trouble: { pieceDelayMs: 5 } });
    const { headers, keyId } = await keyOf(gateway, { concurrency: 2 });
    const stream = () => gateway.speak({ ...long, method: 'streaming' }, { headers });
    const [one, two] = [await stream(), await stream()];
    const refused = await stream();
    expect([refused.status, await refused.json()]).toMatchObject([429, { reason: 'concurrency', limit: 2 }]);
    expect(refused.headers.get('Retry-After')).toBe('1');
    expect((await gateway.send('/api/voices', { headers })).status).toBe(200);
    await one.body!.cancel();
    const three = await stream();
    expect(three.status).toBe(200);
    await Promise.all([bytesOf(two), bytesOf(three)]);
    await expect.poll(() => gateway.limiter.running(keyId)).toBe(0);
  });

  test('of wrong keys, an address is refused, and its right key still works', async () => {
    const gateway = await openTestGateway({ isLimited: true, badKeysPerMinute: 5 });
    const { headers } = await keyOf(gateway);
    const wrong = async () => (await gateway.send('/api/voices', { headers: { 'X-API-Key': 'wrong' } })).status;
    const statuses = [];
    for (let i = 0; i < 6; i++) statuses.push(await wrong());
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429]);
    expect((await gateway.send('/api/voices', { headers })).status).toBe(200);
  });
});

describe('the ledger', () => {
  interface Usage {
    total: { requests: number; characters: number; audio_seconds: number };
    groups: ({ group: string } & Usage['total'])[];
  }
  const usageOf = async (gateway: TestGateway, headers: Record<string, string>, query = ''): Promise<Usage> =>
    (await (await gateway.send(`/api/usage${query}`, { headers })).json()) as Usage;

  test('has the characters by day, voice and key, and is readable by its owner', async () => {
    const { headers, keyId } = await keyOf(shared);
    await (await shared.speak({ text: 'Twelve chars' }, { headers })).arrayBuffer();
    await (await shared.speak({ text: 'Twelve chars', voice_id: 'tone-high' }, { headers })).arrayBuffer();
    const answer = await shared.send('/api/audio/speech/sse', {
      headers,
      body: { voice_id: 'tone-low', text_chunks: ['Six...', 'Seven..'] },
    });
    const done = (await readEvents(answer)).at(-1)!;
    const { total, groups } = await usageOf(shared, headers, '?group_by=voice');
    expect(total).toMatchObject({ requests: 3, characters: 37 });
    expect(total.audio_seconds).toBeGreaterThan(done.data.duration as number);
    expect(groups.map(({ group, requests, characters }) => [group, requests, characters])).toEqual([
      ['tone-low', 2, 25],
      ['tone-high', 1, 12],
    ]);
    expect((await usageOf(shared, headers, '?group_by=key')).groups.map(({ group }) => group)).toEqual([keyId]);
    const today = new Date().toISOString().slice(0, 10);
    expect((await usageOf(shared, headers)).groups.map(({ group }) => group)).toEqual([today]);
    expect((await usageOf(shared, headers, '?from=2020-01-01&to=2020-12-31')).total.requests).toBe(0);
  });

  test('has for a rotated key what was spoken with those it has replaced, and for nobody else', async () => {
    const first = await keyOf(shared, { charactersPerMonth: 100 });
    const other = await keyOf(shared);
    const speak = async ({ headers }: Pick<typeof first, 'headers'>, text: string) =>
      (await shared.speak({ text }, { headers })).arrayBuffer();
    await speak(first, 'Twelve chars');
    const { key, apiKey } = await shared.keyVerifier.management.rotate(first.keyId, 60, operator);
    const next = { headers: { 'X-API-Key': key }, keyId: apiKey.keyId };
    expect((await usageOf(shared, next.headers)).total).toMatchObject({ requests: 1, characters: 12 });
    await speak(next, 'Twelve more.');
    for (const { headers } of [first, next]) {
      const { total, groups } = await usageOf(shared, headers, '?group_by=key');
      expect([total.requests, total.characters]).toEqual([2, 24]);
      expect(groups.map(({ group }) => group)).toEqual([first.keyId, next.keyId]);
    }
    expect(rates(await shared.send('/api/usage', next))[1]).toMatch(/"characters";r=76/);
    expect((await usageOf(shared, other.headers)).total.requests).toBe(0);
  });

  test.each([
    ['from=yesterday', 'from'],
    ['from=2026-02-30', 'from'],
    ['from=2020-01-01', 'from'],
    ['from=2026-01-02&to=2026-01-01', 'from'],
    ['group_by=week', 'group_by'],
    ['to=1&to=2', 'to'],
  ])('is not asked with %s', async (query, field) => {
    const { headers } = await keyOf(shared);
    const answer = await shared.send(`/api/usage?${query}`, { headers });
    expect([answer.status, await answer.json()]).toMatchObject([400, { details: [{ field }] }]);
  });

  test('counts of a stream that is left what was sent of it, and of one that fails before its first sound nothing', async () => {
    const gateway = await openTestGateway({ isLimited: true, trouble: { pieceDelayMs: 5 } });
    const { headers } = await keyOf(gateway, { charactersPerMonth: 100_000 });
    const answer = await gateway.speak({ ...long, method: 'streaming' }, { headers });
    const reader = answer.body!.getReader();
    for (let bytes = 0; bytes < 200_000; ) bytes += (await reader.read()).value!.length;
    await reader.cancel();
    await expect.poll(() => gateway.schedule.state.speaking).toBe(0);
    const { total } = await usageOf(gateway, headers);
    expect(total.requests).toBe(1);
    expect(total.characters).toBeGreaterThanOrEqual(18);
    expect(total.characters).toBeLessThan(30 * 18);
    expect(total.audio_seconds).toBeGreaterThan(200_000 / 88_200);
    gateway.tone.trouble = { failsAfterSegments: 0 };
    expect((await gateway.speak({ text: 'Something else.' }, { headers })).status).toBe(502);
    expect((await usageOf(gateway, headers)).total).toEqual(total);
    const left = /"characters";r=(\d+)/.exec(
      (await gateway.send('/api/voices', { headers })).headers.get('RateLimit')!,
    )![1];
    expect(Number(left)).toBe(100_000 - total.characters);
  });
});
