// Tests stored voices: created, changed, disabled and deleted over REST, within the permissions of a key; and the audio that
// they have said.
import { afterAll, describe, expect, test } from 'vitest';
import { openTestGateway } from './open-gateway.ts';
import { readReply } from './read-reply.ts';

const scopes = ['voices:read', 'voices:write', 'speech:synthesize', 'speech:stream'];
const gateway = await openTestGateway({}, afterAll);
const { key } = await gateway.keyVerifier.create({ scopes: [...scopes, 'keys:write'] });
const admin = await gateway.makeKey([...scopes, 'admin']);
const send = async (method: string, path: string, body?: object, as = key) =>
  readReply(await gateway.send(path, { method, headers: { 'X-API-Key': as }, ...(body && { body }) }));
const bound = (...voices: string[]) => voices.map((voice_id) => ({ engine: 'tone', voice_id }));
const make = (voice_id: string, more: object = {}) =>
  send('POST', '/api/voices', { voice_id, name: 'News', bindings: bound('tone-low'), ...more });
/** A key of the same account. */
const makeChild = async (more: object = {}) =>
  String((await send('POST', '/api/auth/api-keys', { scopes, ...more })).body.key);
const say = async (voice_id: string, as = key) => {
  const answer = await gateway.speak(
    { voice_id, text: 'Good evening.', return_format: 'buffer', output_format: 'pcm' },
    { headers: { 'X-API-Key': as } },
  );
  return { status: answer.status, name: answer.headers.get('X-Voice'), sound: Buffer.from(await answer.arrayBuffer()) };
};

describe('a voice that is made', () => {
  test('is described, listed, and speaks as the voice that it is bound to', async () => {
    const { status, body, headers } = await make('news', { labels: { desk: 'evening' }, description: 'Reads.' });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      ...{ voice_id: 'news', name: 'News', description: 'Reads.', kind: 'stock', engine: 'tone', status: 'ready' },
      ...{ labels: { desk: 'evening' }, bindings: bound('tone-low'), language_codes: ['en', 'de'], consent: null },
      created_at: expect.stringMatching(/^20.*Z$/),
    });
    expect(new URL(headers.get('Location')!).pathname).toBe('/api/voices/news');
    expect((await send('GET', '/api/voices/news')).body).toEqual(body);
    const own = await say('tone-low');
    const news = await say('news');
    expect([news.status, news.name]).toEqual([200, 'News']);
    expect(news.sound.equals(own.sound)).toBe(true);
  });

  test('gets an id where none is given', async () => {
    const { status, body } = await send('POST', '/api/voices', { name: 'X', bindings: bound('tone-high') });
    expect([status, body.voice_id]).toEqual([201, expect.stringMatching(/^voc_[0-9A-Z]{26}$/)]);
  });

  test('can be changed: its bindings, its description, whether it is enabled', async () => {
    await make('changing');
    const low = await say('changing');
    const changed = { name: 'Later', labels: {}, bindings: bound('tone-high', 'tone-low'), language_codes: ['en-GB'] };
    expect(await send('PATCH', '/api/voices/changing', changed)).toMatchObject({ status: 200, body: changed });
    expect((await say('changing')).status, 'en-US is not spoken any more').toBe(400);
    await send('PATCH', '/api/voices/changing', { language_codes: ['en'] });
    const high = await say('changing');
    expect(high.name).toBe('Later');
    expect(high.sound.equals(low.sound)).toBe(false);
    expect((await send('PATCH', '/api/voices/changing', { enabled: false })).body.status).toBe('disabled');
    expect((await say('changing')).status).toBe(409);
    expect((await send('PATCH', '/api/voices/changing', { enabled: true })).body.status).toBe('ready');
    expect((await say('changing')).status).toBe(200);
  });

  test('is not served from the cache of its former self', async () => {
    await make('kept');
    const url = { voice_id: 'kept', text: 'Once more.' };
    const cacheOf = async () => (await gateway.speak(url, { headers: { 'X-API-Key': key } })).headers.get('X-Cache');
    expect([await cacheOf(), await cacheOf()]).toEqual(['MISS', 'HIT']);
    await send('PATCH', '/api/voices/kept', { bindings: bound('tone-high') });
    expect([await cacheOf(), await cacheOf()]).toEqual(['MISS', 'HIT']);
    await send('PATCH', '/api/voices/kept', { name: 'The same voice' });
    expect(await cacheOf()).toBe('HIT');
  });

  test('can be deleted, and its id taken again', async () => {
    await make('gone');
    expect((await send('DELETE', '/api/voices/gone')).status).toBe(204);
    for (const method of ['GET', 'DELETE']) {
      expect(await send(method, '/api/voices/gone')).toMatchObject({ status: 404, body: { error: 'voice_not_found' } });
    }
    expect((await say('gone')).status).toBe(404);
    expect((await make('gone', { bindings: bound('tone-high') })).status).toBe(201);
    expect((await say('gone')).status).toBe(200);
  });

  test('stays the same for running requests, even when it is changed', async () => {
    await make('running');
    gateway.tone.trouble = { pieceDelayMs: 300 };
    const spoken = say('running');
    await expect.poll(() => gateway.tone.counts.running).toBeGreaterThan(0);
    await send('PATCH', '/api/voices/running', { bindings: bound('tone-high'), enabled: false });
    gateway.tone.trouble = {};
    expect((await spoken).sound.equals((await say('tone-low')).sound)).toBe(true);
  });
});

test('a built-in voice can be disabled, described otherwise, and restored, by an admin', async () => {
  const change = { enabled: false, name: 'Off' };
  expect(await send('PATCH', '/api/voices/tone-high', change)).toMatchObject({
    ...{ status: 403, body: { error: 'access_denied' } },
  });
  expect((await send('PATCH', '/api/voices/tone-high', change, admin)).body).toMatchObject({
    ...{ voice_id: 'tone-high', name: 'Off', status: 'disabled', bindings: bound('tone-high') },
  });
  expect((await say('tone-high')).status).toBe(409);
  expect((await send('DELETE', '/api/voices/tone-high')).status).toBe(403);
  expect((await send('DELETE', '/api/voices/tone-high', undefined, admin)).status).toBe(204);
  expect((await send('GET', '/api/voices/tone-high')).body).toMatchObject({ name: 'Tone, high', status: 'ready' });
  expect((await say('tone-high')).status).toBe(200);
  const again = await send('DELETE', '/api/voices/tone-high', undefined, admin);
  expect([again.status, again.body.error]).toEqual([400, 'invalid_request']);
});

const wrong = { aliases: ['*'], access: 'all', language_codes: ['!!'], labels: { a: 1 }, lexicon_ids: ['x'] };

test.each([
  ['nothing', {}, ['name', 'bindings']],
  ['an id that cannot be', { name: 'X', voice_id: '../x', bindings: bound('tone-low') }, ['voice_id']],
  ['an id that is taken', { name: 'X', voice_id: 'tone-low', bindings: bound('tone-low') }, ['voice_id']],
  [
    'engines and voices that are not there',
    {
      name: 'X',
      bindings: [{ engine: 'none' }, { engine: 'tone', voice_id: 'nobody' }, { engine: 'tone' }],
    },
    ['bindings[0].engine', 'bindings[1].voice_id', 'bindings[2].voice_id'],
  ],
  ['the same twice', { name: 'X', bindings: bound('tone-low', 'tone-low') }, ['bindings']],
  [
    'wrong types',
    { name: 1, description: [], language_codes: 'en', labels: { a: 1 }, bindings: {}, enabled: 'yes' },
    ['name', 'description', 'language_codes', 'labels.a', 'bindings', 'enabled'],
  ],
  [
    'wrong values',
    {
      name: 'x'.repeat(201),
      description: 'a\nb',
      language_codes: ['english!'],
      labels: { 'a b': 'x' },
      bindings: bound('tone-low'),
    },
    ['name', 'description', 'labels', 'language_codes[0]'],
  ],
  [
    'a wrong type among wrong values',
    { name: '', voice_id: 'a b', bindings: [{ engine: 'none' }], ...wrong },
    [
      'access',
      'labels.a',
      'voice_id',
      'name',
      'aliases[0]',
      'bindings[0].engine',
      'language_codes[0]',
      'lexicon_ids[0]',
    ],
  ],
])('%s is refused, every fault at once', async (_, body, fields) => {
  const { status, body: reply } = await send('POST', '/api/voices', body);
  expect([status, reply.error]).toEqual([400, 'invalid_request']);
  expect((reply.details as { field: string }[]).map(({ field }) => field)).toEqual(fields);
});

test('a change is refused with every fault at once', async () => {
  await make('unchanged');
  const { status, body } = await send('PATCH', '/api/voices/unchanged', { name: '', enabled: 1, ...wrong });
  const fields = (body.details as { field: string }[]).map(({ field }) => field);
  expect([status, ...fields]).toEqual([
    ...[400, 'enabled', 'access', 'labels.a', 'name', 'aliases[0]', 'language_codes[0]', 'lexicon_ids[0]'],
  ]);
});

test('a key that is limited to some voices sees no others, and creates none', async () => {
  await make('allowed');
  await make('other');
  const limited = await makeChild({ voice_ids: ['allowed'] });
  expect((await send('GET', '/api/voices', undefined, limited)).body.voices).toMatchObject([{ voice_id: 'allowed' }]);
  expect((await say('allowed', limited)).status).toBe(200);
  expect((await send('PATCH', '/api/voices/allowed', { name: 'Mine' }, limited)).status).toBe(200);
  for (const [method, path, body] of [
    ['GET', '/api/voices/other'],
    ['PATCH', '/api/voices/other', { name: 'Mine' }],
    ['DELETE', '/api/voices/other'],
    ['POST', '/api/voices/other/consent/revoke'],
    ['GET', '/api/voices/other/preview'],
    ['POST', '/api/audio/speech', { voice_id: 'other', text: 'Hello.' }],
    ['POST', '/api/audio/speech', { voice_id: 'other', text_chunks: ['Hello.'], method: 'streaming' }],
    ['POST', '/api/audio/speech/sse', { voice_id: 'other', text: 'Hello.' }],
    ['POST', '/api/audio/estimate', { voice_id: 'other', text: 'Hello.' }],
  ] as const) {
    const refused = await send(method, path, body, limited);
    expect(refused, `${method} ${path}`).toMatchObject({ status: 404, body: { error: 'voice_not_found' } });
  }
  const made = await send('POST', '/api/voices', { name: 'New', bindings: bound('tone-low') }, limited);
  expect([made.status, made.body.error]).toEqual([403, 'access_denied']);
});

test('an account has 200 voices at most, counted when it makes several at once; one that is deleted makes room', async () => {
  const owner = await gateway.makeKey(scopes);
  const add = (voice_id: string) =>
    send('POST', '/api/voices', { voice_id, name: 'One', bindings: bound('tone-low') }, owner);
  await add('first');
  const others = 'name, description, kind, status, language_codes, labels, version, bindings, owner_id';
  const copy = `insert into voices (voice_id, revision, ${others}, access, created_at_ms, updated_at_ms)
    select $1, $2, ${others}, access, 1, 1 from voices where voice_id = 'first'`;
  for (let n = 1; n < 198; n++) await gateway.store.query(copy, `many-${n}`, -n);
  const made = await Promise.all(['a', 'b', 'c'].map((name) => add(`many-${name}`)));
  const refused = made.filter(({ status }) => status !== 201);
  const message = 'This account already has 200 voices, which is the limit. Delete some first.';
  const refusal = { status: 400, body: { error: 'invalid_request', message, limit: 200, actual: 200 } };
  expect(refused).toMatchObject([refusal]);
  expect((await make('of-another-account')).status).toBe(201);
  expect((await send('DELETE', '/api/voices/first', undefined, owner)).status).toBe(204);
  expect((await add('first')).status).toBe(201);
  expect(await add('one-more')).toMatchObject(refusal);
});

test('a preview is a sentence in the voice’s own language, spoken once', async () => {
  await make('heard');
  const begun = gateway.tone.counts.begun;
  for (let i = 0; i < 3; i++) {
    const answer = await gateway.send('/api/voices/heard/preview', { headers: { 'X-API-Key': key } });
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'audio/mpeg']);
    expect((await answer.arrayBuffer()).byteLength).toBeGreaterThan(5_000);
  }
  expect(gateway.tone.counts.begun - begun).toBeLessThanOrEqual(2);
});

test('a preview speaks no lexicon, however the lexicons of the voice change', async () => {
  await make('bound');
  const listen = async () => {
    const answer = await gateway.send('/api/voices/bound/preview', { headers: { 'X-API-Key': key } });
    return Buffer.from(await answer.arrayBuffer());
  };
  const before = await listen();
  const begun = gateway.tone.counts.begun;
  for (const alias of ['any text at all, of any length', 'another text']) {
    const entries = [{ grapheme: 'voice', alias }];
    const { body } = await send('POST', '/api/lexicons', { name: 'Any text', entries });
    expect((await send('PATCH', '/api/voices/bound', { lexicon_ids: [body.lexicon_id] })).status).toBe(200);
    expect((await listen()).equals(before)).toBe(true);
  }
  expect(gateway.tone.counts.begun).toBe(begun);
});

test('cloning where no engine can clone is refused for good, with all else that is wrong', async () => {
  expect((await send('GET', '/api/cloning')).body).toEqual({ engines: [] });
  const body = new FormData();
  for (const field of ['name', 'speaker_name', 'labels']) body.set(field, 'Ada');
  body.set('reference_audio', new Blob([Buffer.from('RIFF')], { type: 'audio/wav' }), 'reference.wav');
  const answer = await fetch(`${gateway.url}/api/voices`, { method: 'POST', headers: { 'X-API-Key': key }, body });
  expect([answer.status, answer.headers.get('Retry-After')]).toEqual([400, null]);
  expect(await answer.json()).toMatchObject({
    error: 'invalid_request',
    details: [
      { field: 'labels', reason: 'type' },
      { field: 'language_code', reason: 'required' },
      { field: 'consent_audio', reason: 'required' },
      { field: 'engines', reason: 'unsupported', message: expect.stringContaining('GET /api/cloning') },
    ],
  });
});

test('a change that races with a deletion does not restore the voice', async () => {
  for (let i = 0; i < 10; i++) {
    await make('racing');
    const ends = await Promise.all([
      send('DELETE', '/api/voices/racing'),
      send('PATCH', '/api/voices/racing', { name: 'Still there' }),
    ]);
    expect(ends[0].status).toBe(204);
    expect([200, 404]).toContain(ends[1].status);
    expect((await send('GET', '/api/voices/racing')).status).toBe(404);
  }
});

test('a key that is limited to some voices cannot have them speak as others', async () => {
  await make('narrow');
  const limited = await makeChild({ voice_ids: ['narrow', 'tone-low'] });
  const asHigh = await send('PATCH', '/api/voices/narrow', { bindings: bound('tone-high') }, limited);
  expect([asHigh.status, (asHigh.body.details as { field: string }[])[0]!.field]).toEqual([
    400,
    'bindings[0].voice_id',
  ]);
  expect(
    (await send('PATCH', '/api/voices/narrow', { bindings: bound('tone-low'), name: 'Same' }, limited)).status,
  ).toBe(200);
});

test('a language that no bound voice speaks is not listed', async () => {
  const reply = await make('finnish', { language_codes: ['en', 'fi-FI', 'EN'] });
  expect([reply.status, reply.body.details]).toMatchObject([
    400,
    [{ field: 'language_codes', reason: 'unsupported_language' }],
  ]);
  expect((await make('english', { language_codes: ['en-gb', 'EN-GB'] })).body.language_codes).toEqual(['en-GB']);
});

test('a response under an Idempotency-Key is not replayed when its audio is deleted', async () => {
  await make('idle');
  const headers = { 'X-API-Key': key, 'Idempotency-Key': 'k1' };
  const linkOf = async () => {
    const answer = await gateway.speak({ voice_id: 'idle', text: 'Keep me.' }, { headers });
    return [answer.headers.get('X-Audio-Id'), answer.status];
  };
  const [id] = await linkOf();
  expect(await linkOf()).toEqual([id, 200]);
  await gateway.rows.expireOfVoice('idle', Number.MAX_SAFE_INTEGER, 10);
  const [another, status] = await linkOf();
  expect([another === id, status]).toEqual([false, 200]);
});

test('what means nothing in a binding is named', async () => {
  const bindings = [{ engine: 'tone', voice_id: 'tone-low', weight: 2 }];
  const body = { name: 'X', bindings, mood: 'calm' };
  const answer = await gateway.send('/api/voices', { method: 'POST', headers: { 'X-API-Key': key }, body });
  expect([answer.status, answer.headers.get('X-Ignored-Fields')]).toEqual([201, 'bindings[0].weight, mood']);
});

describe('stored audio is served until its voice is deleted:', () => {
  const statusOf = async (method: string, path: string, body?: object) =>
    (await send(method, path, body, admin)).status;
  /** Speaks with the voice; returns a function that requests the status of the link. */
  const linkTo = async (voice_id: string) => {
    const answer = await gateway.speak({ voice_id, text: 'Good night.' }, { headers: { 'X-API-Key': admin } });
    const { audio_url } = (await answer.json()) as { audio_url: string };
    return () => statusOf('GET', audio_url);
  };

  test("an engine's own voice whose bindings are changed, restored and changed again", async () => {
    const path = '/api/voices/tone-high';
    const readLink = await linkTo('tone-high');
    for (const bindings of [bound('tone-high', 'tone-low'), undefined, bound('tone-high')]) {
      const status = await (bindings ? statusOf('PATCH', path, { bindings }) : statusOf('DELETE', path));
      expect([status, await readLink()]).toEqual([bindings ? 200 : 204, 200]);
    }
  });

  test('one that was made under the id of one that was deleted: what that one has said is gone', async () => {
    const make = () => statusOf('POST', '/api/voices', { voice_id: 'anew', name: 'Anew', bindings: bound('tone-low') });
    expect(await make()).toBe(201);
    const readOld = await linkTo('anew');
    expect([await statusOf('DELETE', '/api/voices/anew'), await make()]).toEqual([204, 201]);
    const readNew = await linkTo('anew');
    expect(await statusOf('PATCH', '/api/voices/anew', { bindings: bound('tone-high') })).toBe(200);
    expect([await readOld(), await readNew()]).toEqual([410, 200]);
  });
});
