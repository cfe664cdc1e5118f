// Tests ElevenLabs's pronunciation dictionaries, which are lexicons, and the requests for speech that name them.
import { afterAll, expect, test } from 'vitest';
import { bytesOf, openTestGateway } from '../http/open-gateway.ts';
import { openSocket, soundOf } from './elevenlabs-socket.ts';

const shared = await openTestGateway({}, afterAll);
const scopes = ['speech:stream', 'voices:read', 'voices:write'];
const mine = await shared.makeKey(scopes);
const { key: others } = await shared.keyVerifier.create({ scopes });
const root = '/v1/pronunciation-dictionaries';

const send = async (path: string, body?: object, key = mine) => {
  const isForm = body instanceof FormData;
  const headers = { 'xi-api-key': key, ...(body && !isForm && { 'content-type': 'application/json' }) };
  const sent = isForm ? body : JSON.stringify(body);
  const answer = await fetch(shared.url + path, {
    method: body ? 'POST' : 'GET',
    headers,
    ...(body && { body: sent! }),
  });
  return [answer.status, (await answer.json()) as any] as const;
};
const rules = [
  { type: 'alias', string_to_replace: 'SQL', alias: 'sequel and many more words', case_sensitive: false },
  { type: 'phoneme', string_to_replace: 'Nguyen', phoneme: 'ŋwiən', alphabet: 'ipa' },
];
const [, made] = await send(`${root}/add-from-rules`, { name: 'Products', rules, workspace_access: 'editor' });
const locator = { pronunciation_dictionary_id: made.id as string, version_id: made.version_id as string };

const speak = async (more: object, path = '/v1/text-to-speech/tone-low', key = mine) => {
  const headers = { 'xi-api-key': key, 'content-type': 'application/json' };
  const body = JSON.stringify({ text: 'An sql base.', ...more });
  return fetch(`${shared.url}${path}?output_format=pcm_16000`, { method: 'POST', headers, body });
};

test('dictionaries are made from rules or a file, found and listed page by page', async () => {
  expect(made).toMatchObject({ name: 'Products', version_rules_num: 2, permission_on_resource: 'admin' });
  expect(made.creation_time_unix).toBeGreaterThan(1.7e9);
  const form = new FormData();
  const document = `<?xml version="1.0"?><lexicon version="1.0" alphabet="ipa" xml:lang="en"
    xmlns="http://www.w3.org/2005/01/pronunciation-lexicon"><lexeme><grapheme>AWS</grapheme><alias>Amazon</alias></lexeme></lexicon>`;
  form.append('name', 'Clouds');
  form.append('file', new Blob([document]), 'clouds.pls');
  const [status, file] = await send(`${root}/add-from-file`, form);
  expect([status, file.name, file.version_rules_num]).toEqual([200, 'Clouds', 1]);
  const [, found] = await send(`${root}/${made.id}`);
  expect(found).toMatchObject({ id: made.id, latest_version_id: made.version_id });
  expect(found.rules).toEqual([
    { ...rules[0], word_boundaries: true },
    { ...rules[1], case_sensitive: true, word_boundaries: true },
  ]);
  const [, first] = await send(`${root}?page_size=1`);
  const [, second] = await send(`${root}?page_size=1&cursor=${first.next_cursor}`);
  const pages = [first, second].map((page) =>
    page.pronunciation_dictionaries.map(({ name }: { name: string }) => name),
  );
  expect(pages.flat().sort()).toEqual(['Clouds', 'Products']);
  expect([first.has_more, second.has_more]).toEqual([true, false]);
  expect((await send(root, undefined, others))[1].pronunciation_dictionaries).toEqual([]);
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
  const socket = openSocket('/v1/text-to-speech/tone-low/stream-input?output_format=pcm_16000', {
    ...shared,
    key: mine,
  });
  await socket.opened;
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
  expect(await send(`${root}/${made.id}`, undefined, others)).toMatchObject([404, unknown]);
});

test.each([
  [{ name: 'x', rules: [{ ...rules[1], alphabet: 'cmu-arpabet' }] }, 'rules.alphabet must be'],
  [{ name: 'x', rules: [{ alias: 'y' }] }, 'rules.string_to_replace'],
  [{ name: 'x', rules: [1] }, 'rules'],
  [{ name: 1, rules }, 'name must be'],
])('rules are refused with a sentence: %j', async (body, sentence) => {
  const refused = await send(`${root}/add-from-rules`, body);
  expect(refused).toMatchObject([400, { detail: { message: expect.stringContaining(sentence) } }]);
});

test('a key without the scope for lexicons makes none', async () => {
  const key = await shared.makeKey(['speech:stream']);
  expect(await send(`${root}/add-from-rules`, { name: 'x', rules }, key)).toMatchObject([
    403,
    { detail: { status: 'insufficient_scope' } },
  ]);
  const form = new FormData();
  form.append('file', new Blob([new Uint8Array([0xff, 0xfe])]));
  expect(await send(`${root}/add-from-file`, form)).toMatchObject([
    400,
    { detail: { message: expect.stringContaining('UTF-8') } },
  ]);
});

test('with apply_text_normalization off, numbers are not spelled out', async () => {
  const { url, key, tone } = await openTestGateway({ engine: { capabilities: { readsNumbers: false } } });
  for (const apply_text_normalization of ['auto', 'on', 'off']) {
    const headers = { 'xi-api-key': key, 'content-type': 'application/json' };
    const body = JSON.stringify({ text: 'Room 12.', apply_text_normalization });
    await bytesOf(await fetch(`${url}/v1/text-to-speech/tone-low`, { method: 'POST', headers, body }));
  }
  expect(tone.segments.map(({ text }) => text)).toEqual(['Room twelve.', 'Room twelve.', 'Room 12.']);
});
