// Tests ElevenLabs's API over HTTP, with the requests of @elevenlabs/elevenlabs-js 2.73.
import { afterAll, expect, test } from 'vitest';
import { bytesOf, openTestGateway } from '../http/open-gateway.ts';
import { askTimed } from './elevenlabs-timed.ts';

const shared = await openTestGateway({}, afterAll);
const headersOf = (key = shared.key) => ({ 'xi-api-key': key });

const post = (path: string, body: object) =>
  fetch(`${shared.url}/v1/text-to-speech/tone-low${path}`, {
    method: 'POST',
    headers: { ...headersOf(), 'content-type': 'application/json' },
    body: JSON.stringify({ model_id: 'eleven_multilingual_v2', ...body }),
  });

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

test.each([
  ['/v1/text-to-speech/nobody/stream', shared.key, 404, 'voice_not_found'],
  ['/v1/text-to-speech/tone-low?output_format=pcm_96000', shared.key, 400, 'invalid_request'],
  ['/v1/text-to-speech/tone-low/with-timestamps', 'snt_wrong', 401, 'invalid_api_key'],
  ['/v1/text-to-speech/tone-low/multi-stream-input', shared.key, 405, 'method_not_allowed'],
])('%s is refused in the form of ElevenLabs’s errors', async (path, key, status, name) => {
  const headers = { ...headersOf(key), 'content-type': 'application/json' };
  const answer = await fetch(shared.url + path, { method: 'POST', headers, body: JSON.stringify({ text: 'Hello.' }) });
  expect(answer.status).toBe(status);
  expect(await answer.json()).toEqual({
    detail: { status: name, message: expect.any(String), request_id: expect.stringMatching(/^req_/) },
  });
});

test('voices and models are listed; without the header of ElevenLabs, models are OpenAI’s', async () => {
  const list = async (path: string, headers: Record<string, string> = headersOf()) =>
    (await fetch(shared.url + path, { headers })).json();
  const { voices } = (await list('/v1/voices')) as { voices: object[] };
  expect(voices).toContainEqual(
    expect.objectContaining({ voice_id: 'tone-low', name: 'Tone, low', category: 'premade' }),
  );
  const models = (await list('/v1/models')) as object[];
  const languages = expect.arrayContaining([{ language_id: 'en', name: 'English' }]);
  expect(models).toContainEqual(
    expect.objectContaining({ model_id: 'eleven_flash_v2_5', can_do_text_to_speech: true, languages }),
  );
  expect(await list('/v1/models', { Authorization: `Bearer ${shared.key}` })).toMatchObject({ object: 'list' });
  expect(await list('/v1/models', headersOf('snt_wrong'))).toMatchObject({ detail: { status: 'invalid_api_key' } });
  const theirs = { error: { code: 'invalid_api_key' } };
  expect(await list('/v1/models', { Authorization: 'Bearer snt_wrong' })).toMatchObject(theirs);
});

test('parameters of the lists of voices that mean nothing are named', async () => {
  for (const path of ['/v1/voices?show_legacy=true', '/v2/voices?page_size=1&show_legacy=true']) {
    const answer = await fetch(shared.url + path, { headers: headersOf() });
    expect([answer.status, answer.headers.get('x-ignored-fields')]).toEqual([200, 'show_legacy']);
  }
});

test('voices are searched, page by page', async () => {
  const search = async (query: string) => {
    const response = await fetch(`${shared.url}/v2/voices${query}`, { headers: headersOf() });
    return (await response.json()) as {
      voices: { voice_id: string }[];
      has_more: boolean;
      total_count: number;
      next_page_token: string | null;
    };
  };
  const all = await search('');
  expect([all.has_more, all.next_page_token, all.total_count]).toEqual([false, null, all.voices.length]);
  const ids: string[] = [];
  let token: string | null = '';
  while (token !== null) {
    const page = await search(`?page_size=1${token && `&next_page_token=${token}`}`);
    expect([page.voices.length, page.total_count]).toEqual([1, all.total_count]);
    ids.push(page.voices[0]!.voice_id);
    token = page.next_page_token;
  }
  expect(ids).toEqual(all.voices.map((voice) => voice.voice_id));
  expect((await search('?search=TONE-HIGH')).voices.map((voice) => voice.voice_id)).toEqual(['tone-high']);
  const message = expect.stringContaining('next_page_token');
  for (const query of ['next_page_token=nobody', `search=tone-high&next_page_token=${ids[0]}`]) {
    const unknown = await fetch(`${shared.url}/v2/voices?${query}`, { headers: headersOf() });
    const detail = { status: 'invalid_request', message };
    expect([unknown.status, await unknown.json()], query).toMatchObject([400, { detail }]);
  }
  const refused = await fetch(`${shared.url}/v2/voices`, { headers: headersOf('snt_wrong') });
  expect([refused.status, await refused.json()]).toMatchObject([401, { detail: { status: 'invalid_api_key' } }]);
});

test('a voice is found by its id or alias, with its settings', async () => {
  const headers = { 'X-API-Key': await shared.makeKey(['voices:write', 'admin']) };
  const aliases = ['21m00Tcm4TlvDq8ikWAM'];
  const lucy = { voice_id: 'lucy', name: 'Lucy', aliases, bindings: [{ engine: 'tone', voice_id: 'tone-low' }] };
  expect((await shared.send('/api/voices', { headers, body: lucy })).status).toBe(201);
  const get = async (path: string) => {
    const answer = await fetch(`${shared.url}/v1/voices/${path}`, { headers: headersOf() });
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
});

test('a page has 1 to 100 voices', async () => {
  for (const size of ['-1', '0', '101', 'ten']) {
    const answer = await fetch(`${shared.url}/v2/voices?page_size=${size}`, { headers: headersOf() });
    const message = 'page_size must be 1 to 100.';
    expect([answer.status, await answer.json()], size).toMatchObject([400, { detail: { message } }]);
  }
});
