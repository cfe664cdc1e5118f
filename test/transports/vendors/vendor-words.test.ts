// Tests that failures in other vendors' APIs use the vendor's names for fields and for the list of voices: one test for
// each field that has another name.
import { afterAll, describe, expect, test } from 'vitest';
import { openTestGateway } from '../http/open-gateway.ts';
import { openWyoming } from './wyoming/wyoming-client.ts';

const gateway = await openTestGateway({ isLimited: true }, afterAll);
const text = 'Hello you.';

async function ask(path: string, body: object, key = gateway.key) {
  const headers = { 'X-API-Key': key, 'Content-Type': 'application/json' };
  const answer = await fetch(gateway.url + path, { method: 'POST', headers, body: JSON.stringify(body) });
  return (await answer.json()) as any;
}

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
