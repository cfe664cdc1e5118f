// Tests ElevenLabs's API over HTTP, with the requests of @elevenlabs/elevenlabs-js 2.73: speech, voices, the account, tokens
// for one WebSocket, and pronunciation dictionaries, which are lexicons.
import { afterAll, expect, test } from 'vitest';
import { bytesOf, openTestGateway } from '../http/open-gateway.ts';
import { failed, openSocket, soundOf, textOf } from './elevenlabs-socket.ts';
import { askTimed } from './elevenlabs-timed.ts';

const shared = await openTestGateway({ isLimited: true }, afterAll);
const ask = (path: string, key = shared.key, init: RequestInit = {}) =>
  fetch(shared.url + path, { ...init, headers: { 'xi-api-key': key } });
const read = async (path: string, key?: string) => (await ask(path, key)).json();
const send = (path: string, body: object, key = shared.key) =>
  shared.send(path, { body, headers: { 'xi-api-key': key, 'X-API-Key': key } });
const post = (path: string, body: object) =>
  send(`/v1/text-to-speech/tone-low${path}`, { model_id: 'eleven_multilingual_v2', ...body });

test.each([
  ['fast', 'model_id, voice_settings'],
  [[1.2], 'model_id, voice_settings'],
  [null, 'model_id'],
])('settings that are no object, %j, are named as ignored', async (voice_settings, ignored) => {
  const answer = await post('', { text: 'Hello.', voice_settings });
  expect([answer.status, answer.headers.get('x-ignored-fields')]).toEqual([200, ignored]);
  await answer.arrayBuffer();
});

test('over HTTP: the audio, the same as a stream, and the same with the times of its characters', async () => {
  const text = 'Überall “gleich”. And again.';
  const whole = await post('?output_format=pcm_16000', { text, voice_settings: { stability: 1 } });
  expect([whole.status, whole.headers.get('content-type')]).toEqual([200, 'audio/pcm']);
  expect(whole.headers.get('x-ignored-fields')).toBe('model_id, voice_settings.stability');
  const sound = await bytesOf(whole);
  expect(sound.length).toBeGreaterThan(16_000);
  const answers = await askTimed((path) => post(path, { text }), sound);
  for (const pieces of answers) {
    expect(pieces.flatMap(({ alignment }) => alignment?.characters ?? []).join('')).toBe(text);
    const end = pieces.findLast(({ alignment }) => alignment)!.alignment!.character_end_times_seconds.at(-1)!;
    expect(end, 'clients add up the ends').toBeCloseTo(sound.length / 2 / 16_000, 2);
    const starts = pieces.flatMap(({ alignment }) => alignment?.character_start_times_seconds ?? []);
    expect(starts).toEqual(starts.toSorted((a, b) => a - b));
    expect(starts.at(-1)).toBeLessThanOrEqual(sound.length / 32_000);
  }
  const mp3 = await post('', { text });
  expect([mp3.headers.get('content-type'), (await bytesOf(mp3)).readUInt16BE(0) & 0xffe0]).toEqual([
    'audio/mpeg',
    0xffe0,
  ]);
  const fast = await bytesOf(await post('?output_format=pcm_16000', { text, voice_settings: { speed: 2 } }));
  expect(fast.length / sound.length).toBeCloseTo(0.5, 1);
});

test.each([
  [{ text: ' ' }, '', 'text'],
  [{ text: 'Hello.', voice_settings: { speed: 99 } }, '', 'voice_settings.speed'],
  [{ text: 'Hello.' }, '?output_format=pcm_96000', 'output_format'],
  [{ text: 'Hello.' }, '?language_code=ja', 'language'],
  [{ text: 'x'.repeat(50_001) }, '', '50000'],
])('%o is refused', async (body, query, word) => {
  const answer = await post(query, body);
  const { detail } = (await answer.json()) as { detail: { message: string } };
  expect(answer.status).toBe(400);
  expect(detail.message).toContain(word);
});

test('a text of as many characters as may wait is spoken', async () => {
  expect((await post('', { text: `Hello.${' '.repeat(49_994)}` })).status).toBe(200);
});

test.each([
  ['/v1/text-to-speech/nobody/stream', shared.key, 404, 'voice_not_found'],
  ['/v1/text-to-speech/tone-low?output_format=pcm_96000', shared.key, 400, 'invalid_request'],
  ['/v1/text-to-speech/tone-low/with-timestamps', 'snt_wrong', 401, 'invalid_api_key'],
  ['/v1/text-to-speech/tone-low/multi-stream-input', shared.key, 405, 'method_not_allowed'],
])('%s is refused in the form of ElevenLabs’s errors', async (path, key, status, name) => {
  const answer = await send(path, { text: 'Hello.' }, key);
  expect(answer.status).toBe(status);
  expect(await answer.json()).toEqual({
    detail: { status: name, message: expect.any(String), request_id: expect.stringMatching(/^req_/) },
  });
});

test('voices and models are listed; without the header of ElevenLabs, models are OpenAI’s', async () => {
  const { voices } = (await read('/v1/voices')) as { voices: object[] };
  expect(voices).toContainEqual(
    expect.objectContaining({ voice_id: 'tone-low', name: 'Tone, low', category: 'premade' }),
  );
  const models = (await read('/v1/models')) as object[];
  const languages = expect.arrayContaining([{ language_id: 'en', name: 'English' }]);
  expect(models).toContainEqual(
    expect.objectContaining({ model_id: 'eleven_flash_v2_5', can_do_text_to_speech: true, languages }),
  );
  expect(await read('/v1/models', 'snt_wrong')).toMatchObject({ detail: { status: 'invalid_api_key' } });
  for (const [key, answer] of [
    [shared.key, { object: 'list' }],
    ['snt_wrong', { error: { code: 'invalid_api_key' } }],
  ] as const) {
    const models = await fetch(`${shared.url}/v1/models`, { headers: { Authorization: `Bearer ${key}` } });
    expect(await models.json()).toMatchObject(answer);
  }
});

test('parameters of the lists of voices that mean nothing are named', async () => {
  for (const path of ['/v1/voices?show_legacy=true', '/v2/voices?page_size=1&show_legacy=true']) {
    const answer = await ask(path);
    expect([answer.status, answer.headers.get('x-ignored-fields')]).toEqual([200, 'show_legacy']);
  }
});

test('voices are searched, and a page token is good for its search alone', async () => {
  const search = async (query: string) => {
    return (await read(`/v2/voices${query}`)) as {
      voices: { voice_id: string }[];
      has_more: boolean;
      total_count: number;
      next_page_token: string | null;
    };
  };
  const all = await search('');
  expect([all.has_more, all.next_page_token, all.total_count]).toEqual([false, null, all.voices.length]);
  expect((await search('?search=TONE-HIGH')).voices.map((voice) => voice.voice_id)).toEqual(['tone-high']);
  const message = expect.stringContaining('next_page_token');
  for (const query of ['next_page_token=nobody', `search=tone-high&next_page_token=${all.voices[0]!.voice_id}`]) {
    const unknown = await ask(`/v2/voices?${query}`);
    const detail = { status: 'invalid_request', message };
    expect([unknown.status, await unknown.json()], query).toMatchObject([400, { detail }]);
  }
  const refused = await ask('/v2/voices', 'snt_wrong');
  expect([refused.status, await refused.json()]).toMatchObject([401, { detail: { status: 'invalid_api_key' } }]);
});

test('a voice is found by its id or alias, with its settings', async () => {
  const headers = { 'X-API-Key': await shared.makeKey(['voices:write', 'admin']) };
  const aliases = ['21m00Tcm4TlvDq8ikWAM'];
  const lucy = { voice_id: 'lucy', name: 'Lucy', aliases, bindings: [{ engine: 'tone', voice_id: 'tone-low' }] };
  expect((await shared.send('/api/voices', { headers, body: lucy })).status).toBe(201);
  const get = async (path: string) => {
    const answer = await ask(`/v1/voices/${path}`);
    return [answer.status, await answer.json()];
  };
  const settings = { stability: 0.5, similarity_boost: 0.75, style: 0, use_speaker_boost: true, speed: 1 };
  for (const id of ['lucy', ...aliases]) {
    const voice = { voice_id: id, name: 'Lucy', category: 'premade', settings };
    expect(await get(id)).toMatchObject([200, voice]);
    expect(await get(`${id}/settings`)).toEqual([200, settings]);
  }
  expect(await get('settings/default')).toEqual([200, settings]);
  for (const path of ['nobody', 'nobody/settings'])
    expect(await get(path)).toMatchObject([404, { detail: { status: 'voice_not_found' } }]);
  expect((await shared.send('/api/voices/lucy', { method: 'DELETE', headers })).status).toBe(204);
});

test('a page has 1 to 100 voices', async () => {
  for (const size of ['-1', '0', '101', 'ten']) {
    const answer = await ask(`/v2/voices?page_size=${size}`);
    const message = 'page_size must be 1 to 100.';
    expect([answer.status, await answer.json()], size).toMatchObject([400, { detail: { message } }]);
  }
});

test('the quota of a key is a subscription', async () => {
  const { key } = await shared.keyVerifier.create({ limits: { charactersPerMonth: 100 } });
  await bytesOf(await send('/v1/text-to-speech/tone-low', { text: 'Hello.' }, key));
  const subscription = { character_count: 6, character_limit: 100, status: 'active', tier: 'sonant' };
  expect(await read('/v1/user/subscription', key)).toMatchObject(subscription);
  const user = (await read('/v1/user', key)) as { subscription: { next_character_count_reset_unix: number } };
  expect(user).toMatchObject({ subscription, xi_api_key: null });
  expect(user.subscription.next_character_count_reset_unix * 1000).toBeGreaterThan(Date.now());
  expect(await read('/v1/user/subscription')).toMatchObject({ character_count: 0, character_limit: 2 ** 31 - 1 });
  expect(await read('/v1/user', 'snt_wrong')).toMatchObject({ detail: { status: 'invalid_api_key' } });
});

test('voices are filtered and ordered', async () => {
  const key = await shared.makeKey(['voices:read', 'voices:write']);
  const made = await shared.send('/api/voices', {
    headers: { 'X-API-Key': key },
    body: { voice_id: 'own', name: 'A voice of my own', bindings: [{ engine: 'tone', voice_id: 'tone-low' }] },
  });
  expect([made.status, await made.text()]).toEqual([201, expect.any(String)]);
  const list = async (query: string) => {
    const { voices, total_count } = (await read(`/v2/voices?page_size=100&${query}`, key)) as {
      voices: { voice_id: string; name: string; is_owner: boolean }[];
      total_count: number;
    };
    expect(voices).toHaveLength(total_count);
    return voices.map((voice) => ({ ...voice, preview_url: undefined }));
  };
  const all = await list('');
  const others = all.filter(({ voice_id }) => voice_id !== 'own');
  expect(await list('voice_type=personal')).toEqual([
    expect.objectContaining({ voice_id: 'own', is_owner: true, created_at_unix: expect.any(Number) }),
  ]);
  expect(await list('voice_type=default')).toEqual(others);
  for (const query of ['non-community', 'non-default', 'workspace', 'saved'].map((type) => `voice_type=${type}`))
    expect(
      (await list(query)).map(({ voice_id }) => voice_id),
      query,
    ).toEqual(['own']);
  for (const query of ['voice_type=community', 'category=professional', 'category=cloned', 'collection_id=x'])
    expect(await list(query), query).toEqual([]);
  for (const query of ['high_quality=true', 'min_notice_period_days=1', 'gender=male', 'language=de', 'use_cases=news'])
    expect(await list(query), query).toEqual([]);
  for (const query of ['high_quality=false', 'language=de&language=en', 'include_total_count=true'])
    expect(await list(query), query).toEqual(all);
  expect(await list('category=premade')).toEqual(all);
  const named = await list('voice_ids=own&voice_ids=tone-high');
  expect(named.map(({ voice_id }) => voice_id).sort()).toEqual(['own', 'tone-high']);
  const names = (await list('sort=name&sort_direction=desc')).map(({ name }) => name);
  expect(names).toEqual(names.toSorted((one, other) => other.localeCompare(one)));
  expect((await list('sort=created_at_unix&sort_direction=desc'))[0]).toMatchObject({ voice_id: 'own' });
  for (const field of ['voice_type', 'category', 'sort', 'sort_direction']) {
    const answer = await ask(`/v2/voices?${field}=nonsense`);
    expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining(`${field} must be one of`)]);
  }
});

test('a preview plays without a key, until the key is revoked', async () => {
  const { key, apiKey } = await shared.keyVerifier.create({});
  const { preview_url: url } = (await read('/v1/voices/tone-low', key)) as { preview_url: string };
  expect(url).not.toContain(key);
  const played = await fetch(shared.here(url));
  expect([played.status, played.headers.get('content-type')]).toEqual([200, 'audio/mpeg']);
  expect((await bytesOf(played)).length).toBeGreaterThan(1_000);
  const { voices } = (await read('/v1/voices', key)) as { voices: { preview_url: string }[] };
  expect((await fetch(shared.here(voices.at(-1)!.preview_url))).status).toBe(200);
  for (const wrong of [`${url}x`, url.replace(/token=.*/, 'token='), url.replace(/token=.*/, 'token=a&token=b')]) {
    const refused = await fetch(shared.here(wrong));
    expect([refused.status, await refused.text()]).toEqual([401, expect.stringContaining('invalid_api_key')]);
  }
  await shared.send(`/api/auth/api-keys/${apiKey.keyId}`, {
    method: 'DELETE',
    headers: { 'X-API-Key': await shared.makeKey(['admin', 'keys:write']) },
  });
  await expect.poll(async () => (await fetch(shared.here(url))).status).toBe(401);
});

test('a token opens one WebSocket, and no other call', async () => {
  const made = await ask('/v1/single-use-token/tts_websocket', shared.key, { method: 'POST' });
  expect([made.status, made.headers.get('cache-control')]).toEqual([200, 'no-store']);
  const { token } = (await made.json()) as { token: string };
  expect(token).not.toContain(shared.key);
  const path = `/v1/text-to-speech/tone-low/stream-input?output_format=pcm_16000&single_use_token=${token}`;
  const first = await openSocket(path, { url: shared.url });
  first.send({ text: 'Hello there. ' }, { text: '' });
  expect(await first.closed).toBe(1000);
  expect(textOf(first.seen)).toBe('Hello there. ');
  const second = await openSocket(path, { url: shared.url });
  second.send({ text: ' ' });
  expect(await second.end()).toMatchObject({ code: 1008, last: failed('invalid_api_key') });
  expect((await ask('/v1/single-use-token/other', shared.key, { method: 'POST' })).status).toBe(404);
  expect((await ask('/v1/single-use-token/tts_websocket', 'snt_wrong', { method: 'POST' })).status).toBe(401);
});

test('speech has the id of its request and its cost', async () => {
  for (const path of ['', '/stream', '/with-timestamps', '/stream/with-timestamps']) {
    // Tags cost nothing.
    const answer = await post(path, { text: 'Hello <break time="1s"/>😀.' });
    await answer.arrayBuffer();
    expect(answer.headers.get('request-id')).toBe(answer.headers.get('x-request-id'));
    expect(answer.headers.get('character-cost')).toBe('8');
  }
});

const scopes = ['speech:stream', 'voices:read', 'voices:write'];
const mine = await shared.makeKey(scopes);
const { key: others } = await shared.keyVerifier.create({ scopes });
const root = '/v1/pronunciation-dictionaries';

const call = async (path: string, body?: object, key = mine) => {
  const form = body instanceof FormData ? { method: 'POST', body } : {};
  const answer = await (body && !('body' in form) ? send(path, body, key) : ask(path, key, form));
  return [answer.status, (await answer.json()) as any] as const;
};
const rules = [
  { type: 'alias', string_to_replace: 'SQL', alias: 'sequel and many more words', case_sensitive: false },
  { type: 'phoneme', string_to_replace: 'Nguyen', phoneme: 'ŋwiən', alphabet: 'ipa' },
];
const [, made] = await call(`${root}/add-from-rules`, { name: 'Products', rules, workspace_access: 'editor' });
const locator = { pronunciation_dictionary_id: made.id as string, version_id: made.version_id as string };

const speak = (more: object, path = '/v1/text-to-speech/tone-low', key = mine) =>
  send(`${path}?output_format=pcm_16000`, { text: 'An sql base.', ...more }, key);

test('dictionaries are made from rules or a file, found and listed page by page', async () => {
  expect(made).toMatchObject({ name: 'Products', version_rules_num: 2, permission_on_resource: 'admin' });
  expect(made.creation_time_unix).toBeGreaterThan(1.7e9);
  const form = new FormData();
  const document = `<?xml version="1.0"?><lexicon version="1.0" alphabet="ipa" xml:lang="en"
    xmlns="http://www.w3.org/2005/01/pronunciation-lexicon"><lexeme><grapheme>AWS</grapheme><alias>Amazon</alias></lexeme></lexicon>`;
  form.append('name', 'Clouds');
  form.append('file', new Blob([document]), 'clouds.pls');
  const [status, file] = await call(`${root}/add-from-file`, form);
  expect([status, file.name, file.version_rules_num]).toEqual([200, 'Clouds', 1]);
  const [, found] = await call(`${root}/${made.id}`);
  expect(found).toMatchObject({ id: made.id, latest_version_id: made.version_id });
  expect(found.rules).toEqual([
    { ...rules[0], word_boundaries: true },
    { ...rules[1], case_sensitive: true, word_boundaries: true },
  ]);
  const [, first] = await call(`${root}?page_size=1`);
  const [, second] = await call(`${root}?page_size=1&cursor=${first.next_cursor}`);
  const pages = [first, second].map((page) =>
    page.pronunciation_dictionaries.map(({ name }: { name: string }) => name),
  );
  expect(pages.flat().sort()).toEqual(['Clouds', 'Products']);
  expect([first.has_more, second.has_more]).toEqual([true, false]);
  expect((await call(root, undefined, others))[1].pronunciation_dictionaries).toEqual([]);
});

test('speech, a dialogue and a WebSocket use the dictionaries that they name', async () => {
  const pronunciation_dictionary_locators = [locator];
  const [plain, aliased] = await Promise.all(
    [{}, { pronunciation_dictionary_locators }].map(async (more) => bytesOf(await speak(more))),
  );
  expect(aliased!.length).toBeGreaterThan(1.5 * plain!.length);
  const inputs = [{ text: 'An sql base.', voice_id: 'tone-low' }];
  const dialogue = await speak({ inputs, pronunciation_dictionary_locators }, '/v1/text-to-dialogue');
  expect((await bytesOf(dialogue)).equals(aliased!)).toBe(true);
  const socket = await openSocket('/v1/text-to-speech/tone-low/stream-input?output_format=pcm_16000', {
    ...shared,
    key: mine,
  });
  socket.send({ text: ' ', pronunciation_dictionary_locators }, { text: 'An sql base.' }, { text: '' });
  await socket.closed;
  expect(soundOf(socket.seen).equals(aliased!)).toBe(true);
});

test.each([
  ['an unknown dictionary', [{ pronunciation_dictionary_id: 'lex_01JD3Q8S6V5W2K9YB4XJ7M0C3F' }]],
  ['an id that is no text', [{ pronunciation_dictionary_id: { toString: 1 } }]],
  ['a locator without an id', [{}]],
  ['no list', 'lex'],
])('%s refuses the speech', async (_, pronunciation_dictionary_locators) => {
  const answer = await speak({ pronunciation_dictionary_locators });
  const { detail } = (await answer.json()) as { detail: { message: string } };
  expect([answer.status, detail.message]).toEqual([400, expect.stringMatching(/^pronunciation_dictionary_locators /)]);
});

test('a dictionary of another account is unknown', async () => {
  const answer = await speak({ pronunciation_dictionary_locators: [locator] }, undefined, others);
  const message = 'pronunciation_dictionary_locators is not a pronunciation dictionary of this key.';
  expect([answer.status, await answer.json()]).toMatchObject([400, { detail: { message } }]);
  const unknown = { detail: { status: 'not_found', message: 'Pronunciation dictionary not found for this key.' } };
  expect(await call(`${root}/${made.id}`, undefined, others)).toMatchObject([404, unknown]);
});

test.each([
  [{ name: 'x', rules: [{ ...rules[1], alphabet: 'cmu-arpabet' }] }, 'rules.alphabet must be'],
  [{ name: 'x', rules: [{ alias: 'y' }] }, 'rules.string_to_replace'],
  [{ name: 'x', rules: [1] }, 'rules'],
  [{ name: 1, rules }, 'name must be'],
])('rules are refused with a sentence: %j', async (body, sentence) => {
  const refused = await call(`${root}/add-from-rules`, body);
  expect(refused).toMatchObject([400, { detail: { message: expect.stringContaining(sentence) } }]);
});

test('a key without the scope for lexicons makes none', async () => {
  const key = await shared.makeKey(['speech:stream']);
  expect(await call(`${root}/add-from-rules`, { name: 'x', rules }, key)).toMatchObject([
    403,
    { detail: { status: 'insufficient_scope' } },
  ]);
  const form = new FormData();
  form.append('file', new Blob([new Uint8Array([0xff, 0xfe])]));
  expect(await call(`${root}/add-from-file`, form)).toMatchObject([
    400,
    { detail: { message: expect.stringContaining('UTF-8') } },
  ]);
});

test('with apply_text_normalization off, numbers are not spelled out', async () => {
  const gateway = await openTestGateway({ engine: { capabilities: { readsNumbers: false } } });
  for (const apply_text_normalization of ['auto', 'on', 'off']) {
    const body = { text: 'Room 12.', apply_text_normalization };
    await bytesOf(await gateway.send('/v1/text-to-speech/tone-low', { body }));
  }
  expect(gateway.tone.segments.map(({ text }) => text)).toEqual(['Room twelve.', 'Room twelve.', 'Room 12.']);
});
