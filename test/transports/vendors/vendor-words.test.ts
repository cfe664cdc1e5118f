// Tests that other vendors' APIs report failures in the vendor's form, with the vendor's names for fields and for the
// list of voices (one test for each field that has another name), and read the tags that texts for them contain.
import { afterAll, describe, expect, test } from 'vitest';
import { bytesOf, openTestGateway } from '../http/open-gateway.ts';
import { connectRaw, toAnswer } from '../http/raw-http.ts';
import { openWyoming } from './wyoming/wyoming-client.ts';

const gateway = await openTestGateway({ isLimited: true }, afterAll);
const text = 'Hello you.';

const post = (path: string, body: object, key = gateway.key) =>
  gateway.send(path, { headers: { 'X-API-Key': key }, body });
const ask = async (path: string, body: object, key?: string) => (await (await post(path, body, key)).json()) as any;

type Ask = (fields: Record<string, unknown>, key?: string) => Promise<string>;

const russian = 'Привет, как дела?';
const notSpoken = 'has text in Cyrillic, which voice tone-low cannot speak.';
const notRussian = 'must be a language of voice tone-low: en, de.';

const openAi: Ask = async (fields, key) =>
  (await ask('/v1/audio/speech', { voice: 'tone-low', input: text, ...fields }, key)).error.message;
const elevenLabs: Ask = async ({ voice = 'tone-low', format = 'pcm_24000', ...fields }, key) =>
  (await ask(`/v1/text-to-speech/${voice}?output_format=${format}`, { text, ...fields }, key)).detail.message;
const raw = { container: 'raw', encoding: 'pcm_s16le', sample_rate: 24_000 };
const cartesia: Ask = async (fields, key) => {
  const usual = { voice: { mode: 'id', id: 'tone-low' }, transcript: text, output_format: raw };
  return (await ask('/tts/bytes', { ...usual, ...fields }, key)).message;
};
const mcp: Ask = async (fields, key) => {
  const params = { name: 'speak', arguments: { voice_id: 'tone-low', text, ...fields } };
  const { result } = await ask('/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params }, key);
  return result.content[0].text.split('\n').at(-1);
};
const wyoming: Ask = async (fields) => {
  const { send, until } = (await openWyoming()).connect();
  send('synthesize', { text, voice: { name: 'tone-low' }, ...fields });
  return String((await until('error')).at(-1)!.data.text);
};

const notFound = (list: string) => `Voice not found; ${list} lists the voices of this key.`;

describe.each<[string, Ask, [Record<string, unknown>, string][]]>([
  [
    'OpenAI',
    openAi,
    [
      [{ voice: 5 }, 'voice must be text.'],
      [{ voice: 'nobody' }, notFound('GET /v1/audio/voices')],
      [{ input: 5 }, 'input must be text.'],
      [{ input: russian }, `input ${notSpoken}`],
      [{ speed: 9 }, 'speed must be 0.25 to 4.'],
      [{ response_format: 'ogg' }, 'response_format must be one of wav, pcm, mp3, opus, flac, aac.'],
      [{ stream_format: 'ogg' }, 'stream_format must be one of audio, sse.'],
      [{ seed: -1, instructions: 5 }, 'instructions must be text; seed must be 0 to 4294967295.'],
    ],
  ],
  [
    'ElevenLabs',
    elevenLabs,
    [
      [{ voice: 'nobody' }, notFound('GET /v1/voices')],
      [{ text: 5 }, 'text must be a string.'],
      [{ text: russian }, `text ${notSpoken}`],
      [{ voice_settings: { speed: 9 } }, 'voice_settings.speed must be 0.25 to 4.'],
      [{ language_code: 'fr' }, `language_code ${notRussian}`],
      [{ seed: -1 }, 'seed must be 0 to 4294967295.'],
    ],
  ],
  [
    'Cartesia',
    cartesia,
    [
      [{ voice: { mode: 'id', id: 5 } }, 'voice.id must be text.'],
      [{ voice: { mode: 'id', id: 'nobody' } }, notFound('GET /voices')],
      [{ transcript: 5 }, 'transcript must be a string.'],
      [{ transcript: russian }, `transcript ${notSpoken}`],
      [{ output_format: 5 }, 'output_format must be an object.'],
      [
        { output_format: { ...raw, sample_rate: 1 } },
        'output_format.sample_rate must be one of 8000, 16000, 22050, 24000, 32000, 44100, 48000.',
      ],
      [{ language: 'fr' }, `language ${notRussian}`],
      [{ generation_config: { speed: 9 } }, 'generation_config.speed must be 0.25 to 4.'],
      [{ speed: 9 }, 'speed must be 0.25 to 4.'],
      [{ generation_config: { emotion: 5 } }, 'generation_config.emotion must be text.'],
      [{ max_buffer_delay_ms: 'x' }, 'max_buffer_delay_ms must be a whole number.'],
      [{ add_timestamps: 5 }, 'add_timestamps must be true or false.'],
    ],
  ],
  [
    'MCP',
    mcp,
    [
      [{ voice_id: 'nobody' }, notFound('list_voices')],
      [{ text: russian }, `text ${notSpoken.slice(0, -1)}`],
      [{ language_code: 'fr' }, `language_code ${notRussian.slice(0, -1)}`],
      [{ lexicon_ids: ['a', 'b'] }, 'lexicon_ids[1] is not a lexicon of this key'],
    ],
  ],
  [
    'Wyoming',
    wyoming,
    [
      [{ voice: { name: 'nobody' } }, notFound('the event describe')],
      [{ voice: { name: '' }, text: russian }, `text ${notSpoken}`],
      [{ voice: { name: 'x'.repeat(200) } }, 'voice.name must be 1 to 128 characters.'],
      [{ voice: { language: 'no such' } }, 'voice.language must be a BCP-47 language code such as en-US.'],
    ],
  ],
])('%s', (_, ask, rows) => {
  test.each(rows)('%j', async (fields, words) => expect(await ask(fields)).toBe(words));
});

test('a text over the whole quota is a sentence without the name of a field', async () => {
  const { key } = await gateway.keyVerifier.create({ limits: { charactersPerMonth: 5 }, scopes: ['speech:stream'] });
  for (const ask of [openAi, elevenLabs, cartesia])
    expect(await ask({}, key)).toBe('This text has 10 characters; the limit for this key is 5 a month.');
});

test('no text mentions what the API lacks: details, and streams of texts', async () => {
  const { title } = await ask('/tts/bytes', { voice: { id: 'tone-low' }, transcript: 5, output_format: raw });
  expect(title).toBe('The request is invalid.');
  const params = { name: 'speak', arguments: { text: 'x'.repeat(5001) } };
  const { result } = await ask('/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params });
  expect(result.content[0].text).toBe('text has 5001 characters, over the limit of 5000');
});

test('what is wrong with several items is said once', async () => {
  const { details } = await ask('/api/audio/speech', { voice_id: 'tone-low', text, lexicon_ids: ['a', 'b'] });
  expect(details).toHaveLength(2);
  expect(await openAi({ lexicon_ids: ['a', 'b'] })).toBe(
    'lexicon_ids[0] is not a lexicon of this key; lexicon_ids[1] is not a lexicon of this key.',
  );
});

const { key } = gateway;
const message = expect.any(String);
const request_id = expect.stringMatching(/^req_/);
const shapes = {
  elevenlabs: (name: string) => ({ detail: { status: name, message, request_id } }),
  openai: (code: string) => ({ error: { message, type: 'invalid_request_error', param: null, code } }),
  cartesia: (error_code: string) => ({ error_code, title: message, message, request_id }),
  sonant: (error: string) => expect.objectContaining({ error, status: expect.any(Number), request_id }),
};
const bearer = { Authorization: `Bearer ${key}` };
const theirs = { 'xi-api-key': key };
const versioned = { ...bearer, 'Cartesia-Version': '2026-03-01' };

/** Bypasses the check against the OpenAPI document, which contains none of these addresses. */
async function askRaw(method: string, path: string, headers: Record<string, string>) {
  const raw = connectRaw(gateway);
  const lines = Object.entries({ Host: 'a', Connection: 'close', ...headers }).map((line) => line.join(': '));
  await raw.send(`${method} ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
  const answer = toAnswer(await raw.end());
  return { ...answer, body: JSON.parse(String(answer.body)) };
}

test.each<[keyof typeof shapes, string, Record<string, string>]>([
  ['elevenlabs', '/v1/user/more', theirs],
  ['elevenlabs', '/v1/usage', theirs],
  ['elevenlabs', '/v1/history?page_size=1', theirs],
  ['elevenlabs', '/v1/history/x', theirs],
  ['elevenlabs', '/v1/models/eleven_v3/more', theirs],
  ['elevenlabs', '/v1/voices/lucy/samples/x', {}],
  ['elevenlabs', '/v1/text-to-speech', {}],
  ['elevenlabs', '/v2/voices/lucy', {}],
  ['elevenlabs', '/v2', {}],
  ['elevenlabs', '/v1', theirs],
  ['openai', '/v1/chat/completions', bearer],
  ['openai', '/v1/history', bearer],
  ['openai', '/v1/voicesome', bearer],
  ['openai', '/v1', {}],
  ['cartesia', '/tts', {}],
  ['cartesia', '/tts/infill', {}],
  ['cartesia', '/voices/lucy/accents', {}],
  ['cartesia', '/accents', versioned],
  ['cartesia', '/infill/bytes', versioned],
  ['sonant', '/voicesome', {}],
  ['sonant', '/api/v1/user', theirs],
  ['sonant', '/api/nothing', versioned],
  ['sonant', '/v3/voices', theirs],
])('%s: %s', async (vendor, path, headers) => {
  for (const method of ['GET', 'POST', 'PATCH', 'DELETE']) {
    const { status, body } = await askRaw(method, path, headers);
    expect([status, body], method).toEqual([404, shapes[vendor]('not_found')]);
  }
});

test.each<[keyof typeof shapes, string, Record<string, string>]>([
  ['elevenlabs', '/v1/voices/add', theirs],
  ['elevenlabs', '/v1/voices/lucy/settings', {}],
  ['openai', '/v1/models/tts-1', bearer],
  ['cartesia', '/voices', {}],
])('%s: only GET %s is allowed', async (vendor, path, headers) => {
  for (const method of ['POST', 'PATCH', 'DELETE']) {
    const { status, body, headers: told } = await askRaw(method, path, headers);
    expect([status, body, told.allow], method).toEqual([405, shapes[vendor]('method_not_allowed'), 'GET, HEAD']);
  }
});

const samplesPerSecond = 16_000;
const sound = { voice: { mode: 'id', id: 'tone-low' }, output_format: { ...raw, sample_rate: samplesPerSecond } };
const vendors = {
  Cartesia: (transcript: string) => post('/tts/bytes', { ...sound, transcript }),
  ElevenLabs: (text: string) => post('/v1/text-to-speech/tone-low?output_format=pcm_16000', { text }),
};

test.each(Object.entries(vendors))('%s: a break is silence, and is not spoken', async (_, speak) => {
  const secondsOf = async (text: string) => {
    const answer = await speak(text);
    expect(answer.status, await answer.clone().text()).toBe(200);
    return (await bytesOf(answer)).length / 2 / samplesPerSecond;
  };
  const plain = await secondsOf('One two three. Four.');
  const paused = await secondsOf('One two three.<break time="1.5s" /> Four.');
  expect(paused - plain).toBeGreaterThan(0.9);
  expect(paused - plain).toBeLessThan(1.6);
});

test.each(Object.entries(vendors))('%s: a break that is too long is refused', async (_, speak) => {
  const answer = await speak('One.<break time="21s"/> Two.');
  expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining('at most 20 s')]);
});

test('Cartesia: the words of spelled and pronounced text are words', async () => {
  const transcript = 'Gate <spell>A4</spell>, I <<m|ɛ|t>> her.';
  const answer = await post('/tts/sse', { ...sound, transcript, add_timestamps: true });
  const events = (await answer.text()).matchAll(/^data: (.*)$/gm);
  const words = [...events].flatMap(([, data]) => JSON.parse(data!).word_timestamps?.words ?? []);
  expect(words).toEqual(['Gate', 'A4,', 'I', 'mɛt', 'her.']);
});

test.each(Object.entries(vendors))(
  '%s: tags for how to speak are not spoken; other words in brackets are',
  async (_, speak) => {
    const [plain, tagged, bracketed] = await Promise.all(
      ['Two words.', '[Whispers] Two [clears throat] words.', 'Two [more] words.'].map(
        async (text) => (await bytesOf(await speak(text))).length,
      ),
    );
    expect(Math.abs(tagged! - plain!)).toBeLessThan(0.2 * plain!);
    expect(bracketed!).toBeGreaterThan(1.2 * plain!);
  },
);
