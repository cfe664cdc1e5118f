// Tests the routes that return no audio: voices, estimates and health.
import { afterAll, describe, expect, test } from 'vitest';
import { farVoice, openTestGateway } from './open-gateway.ts';

const gateway = await openTestGateway({}, afterAll);
const get = async (path: string) => {
  const answer = await gateway.send(path);
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
};
const idsOf = (body: Record<string, unknown>) =>
  (body.voices as { voice_id: string }[]).map(({ voice_id }) => voice_id);

describe('voices', () => {
  test('are listed, and described one by one', async () => {
    const { status, body } = await get('/api/voices');
    expect([status, Object.keys(body), body.next_cursor]).toEqual([200, ['voices', 'next_cursor'], null]);
    const far = (body.voices as object[]).at(-1);
    expect(far).toEqual({
      voice_id: 'far',
      lexicon_ids: [],
      natural: true,
      aliases: [],
      blend: null,
      name: farVoice.name,
      description: 'Says each word as a tone.',
      kind: 'stock',
      engine: 'tone',
      status: 'ready',
      language_codes: ['en', 'de'],
      labels: { pitch: 'low' },
      bindings: [{ engine: 'tone', voice_id: 'far' }],
      capabilities: {
        sample_rates: [24000, 44100, 48000],
        output_formats: ['wav', 'pcm', 'mp3', 'opus', 'flac'],
        speaking_rate: { min: 0.25, max: 4 },
      },
      owner: 'operator',
      access: 'everyone',
      consent: null,
      created_at: null,
      updated_at: null,
    });
    expect(await get('/api/voices/far')).toEqual({ status: 200, body: far });
    expect(await get('/api/voices/nobody')).toMatchObject({ status: 404, body: { error: 'voice_not_found' } });
    expect(await get('/api/voices/%D0%91')).toMatchObject({ status: 404, body: { error: 'voice_not_found' } });
  });

  test.each([
    ['language_code=de-AT', ['tone-low', 'tone-high', 'far']],
    ['language_code=fr', []],
    ['engine=tone', ['tone-low', 'tone-high', 'far']],
    ['engine=other', []],
    ['text=HIGH', ['tone-high']],
    ['text=%D0%B1%D1%8C%D0%BE%D1%80%D0%BA', ['far']],
    ['text=tone%20low', ['tone-low', 'far']],
    ['unknown=1&text=', ['tone-low', 'tone-high', 'far']],
    ['text=7&engine=', []],
  ])('that are wanted: %s', async (query, ids) => {
    expect(idsOf((await get(`/api/voices?${query}`)).body)).toEqual(ids);
  });

  test('come a page at a time', async () => {
    const ids: string[] = [];
    let cursor: unknown = '';
    do {
      const { body } = await get(`/api/voices?limit=2&cursor=${cursor}`);
      ids.push(...idsOf(body));
      cursor = body.next_cursor;
    } while (cursor !== null);
    expect(ids).toEqual(['tone-low', 'tone-high', 'far']);
  });

  test('come in one order over REST, Connect and the facade, the default voice first', async () => {
    const connect = await gateway.send('/sonant.v1.VoiceService/ListVoices', { body: {} });
    const { voices } = (await connect.json()) as { voices: { voiceId: string }[] };
    const facade = (await get('/v1/audio/voices')).body.voices as { id: string }[];
    const ids = idsOf((await get('/api/voices')).body);
    expect(ids[0]).toBe('tone-low');
    expect(voices.map(({ voiceId }) => voiceId)).toEqual(ids);
    expect(facade.map(({ id }) => id)).toEqual(ids);
  });

  test('go on after a cursor whose voice is gone', async () => {
    const key = await gateway.makeKey(['voices:read', 'voices:write', 'admin']);
    const headers = { 'X-API-Key': key };
    const body = { voice_id: 'between', name: 'Between', bindings: [{ engine: 'tone', voice_id: 'tone-low' }] };
    await gateway.send('/api/voices', { body, headers });
    const { next_cursor } = (await get('/api/voices?limit=2')).body;
    expect((await gateway.send('/api/voices/between', { method: 'DELETE', headers })).status).toBe(204);
    expect(idsOf((await get(`/api/voices?cursor=${next_cursor}`)).body)).toEqual(['tone-high', 'far']);
  });

  test.each([
    [`text=${'a'.repeat(201)}`, 'text'],
    [`engine=${'a'.repeat(201)}`, 'engine'],
    ['limit=ten', 'limit', 'type'],
    ['limit=1.5', 'limit', 'type'],
    ['limit=1&limit=2', 'limit', 'type'],
    ['text=a&text=b', 'text', 'type'],
    ['cursor=nonsense', 'cursor', 'format'],
    ['language_code=e_', 'language_code'],
  ])('are not listed by %s', async (query, field, reason: string = expect.any(String)) => {
    expect(await get(`/api/voices?${query}`)).toMatchObject({
      status: 400,
      body: { error: 'invalid_request', details: [{ field, reason, message: expect.not.stringMatching(/page_/) }] },
    });
  });
});

describe('an estimate', () => {
  const post = async (body: object) => {
    const answer = await gateway.send('/api/audio/estimate', { body: { voice_id: 'tone-low', ...body } });
    return [answer.status, await answer.json()] as [number, { duration: number; bytes: number }];
  };

  test('says what it would be, and nothing is spoken', async () => {
    const before = gateway.tone.counts.begun;
    const [status, estimate] = await post({ text: 'Hello there, 😀 world.', output_format: 'pcm', sample_rate: 24000 });
    expect([status, Object.keys(estimate)]).toEqual([200, ['chars', 'duration', 'bytes', 'segments', 'warnings']]);
    expect(estimate).toMatchObject({ chars: 21, segments: 1, warnings: [] });
    expect(estimate.duration).toBeGreaterThan(0.5);
    expect(estimate.bytes).toBe(Math.round(estimate.duration * 48_000));
    expect(await post({ text_chunks: ['a b', '...'], method: 'streaming' })).toMatchObject([200, { chars: 6 }]);
    expect(gateway.tone.counts.begun).toBe(before);
  });

  test('is refused where the request would be, in its own terms', async () => {
    expect(await post({ text: '' })).toMatchObject([400, { details: [{ field: 'text' }] }]);
    expect(await post({ text: '今日は良い天気ですね' })).toMatchObject([
      400,
      { details: [{ field: 'text', reason: 'unsupported_text' }] },
    ]);
    expect(await post({ text_chunks: ['今日は良い天気ですね'], method: 'streaming' })).toMatchObject([
      400,
      { details: [{ field: 'text_chunks' }] },
    ]);
    expect(await post({ text: 'Hello.', voice_id: 'nobody' })).toMatchObject([404, { error: 'voice_not_found' }]);
  });
});

describe('health', () => {
  test('is asked for without a key, by GET and HEAD', async () => {
    for (const [path, status] of [
      ['/healthz', 'ok'],
      ['/readyz', 'ready'],
    ] as const) {
      const answer = await fetch(gateway.url + path);
      expect([answer.status, await answer.json()]).toEqual([200, { status }]);
      const head = await fetch(gateway.url + path, { method: 'HEAD' });
      expect([head.status, await head.text()]).toEqual([200, '']);
    }
  });

  test('is not ready while a dependency is not, and names it', async () => {
    const state = { rows: true };
    const checks = [
      { name: 'rows', isReady: async () => state.rows },
      {
        name: 'engines',
        isReady: async () => {
          if (!state.rows) throw new Error('broken too');
          return true;
        },
      },
    ];
    const other = await openTestGateway({ checks });
    expect((await other.send('/readyz')).status).toBe(200);
    state.rows = false;
    const answer = await other.send('/readyz');
    expect([answer.status, await answer.json()]).toMatchObject([
      503,
      { error: 'overloaded', message: 'Not ready: rows, engines.' },
    ]);
    expect((await other.send('/healthz')).status).toBe(200);
  });
});

const limited = await openTestGateway({ isLimited: true }, afterAll);
const body = { voice_id: 'tone-low', text: 'How long is this?' };

async function headersOf(limits: object) {
  const { key } = await limited.keyVerifier.create({ limits, scopes: ['speech:synthesize', 'speech:stream'] });
  return { 'X-API-Key': key };
}

test('an estimate charges a request and no characters', async () => {
  const headers = await headersOf({ requestsPerMinute: 10, charactersPerMonth: 5 });
  const answer = await limited.send('/api/audio/estimate', { body, headers });
  expect(answer.status).toBe(200);
  expect(answer.headers.get('RateLimit')).toMatch(/"requests";r=9;.*"characters";r=5/);
});

test('an estimate takes a slot of its key', async () => {
  const headers = await headersOf({ concurrency: 1 });
  const long = { text_chunks: Array(30).fill('one two three four'), voice_id: 'tone-low' };
  const stream = await limited.send('/api/audio/speech/sse', { body: long, headers });
  const reader = stream.body!.getReader();
  await reader.read();
  const answer = await limited.send('/api/audio/estimate', { body, headers });
  expect([answer.status, await answer.json()]).toMatchObject([429, { reason: 'concurrency' }]);
  await reader.cancel();
});
