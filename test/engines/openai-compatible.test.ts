// The engine behind OpenAI's interface keeps the contract, whatever the server before it does.
import { afterAll, describe, expect, test } from 'vitest';
import type { Engine, Segment } from '../../src/engines/engine.ts';
import {
  type OpenAiCompatibleOptions,
  openAiCompatible,
  openOpenAiCompatible,
} from '../../src/engines/openai-compatible/openai-compatible.ts';
import type { Failure } from '../../src/errors.ts';
import { engineConformance } from '../conformance/engine.ts';
import { openOpenAiServer, type ServerTrouble } from './openai-server.ts';

const options = (url: string): OpenAiCompatibleOptions => ({
  url,
  apiKey: 'sk-test',
  model: 'tones',
  voices: [],
  languages: ['en'],
  sampleRateHz: 24_000,
  requestsPerMinute: 0,
  requestsAtOnce: 8,
});

engineConformance('openai-compatible', async () => {
  const { url } = await openOpenAiServer({}, afterAll);
  return openOpenAiCompatible(options(url));
});

const signal = new AbortController().signal;
const segment = (engine: Engine, text = 'One two three.'): Segment => ({
  voice: engine.voices[0]!,
  text,
  languageCode: 'en',
  speakingRate: 1,
  timings: false,
  urgent: true,
});

async function open(trouble: ServerTrouble = {}) {
  const server = await openOpenAiServer(trouble);
  return { ...server, engine: await openOpenAiCompatible(options(server.url)) };
}
const hear = async (engine: Engine, text?: string) =>
  (await Array.fromAsync(engine.speak(segment(engine, text), signal))).flatMap(({ samples }) => [...samples]);
const refusalOf = (promise: Promise<unknown>): Promise<Failure> =>
  promise.then(
    () => {
      throw new Error('it was not refused');
    },
    (error) => error,
  );

describe('what it asks', () => {
  test('is speech of that model and voice, as bare samples, with the key', async () => {
    const { engine, asked } = await open();
    await hear(engine);
    expect(asked).toEqual([
      {
        path: '/v1/audio/speech',
        authorization: 'Bearer sk-test',
        body: { model: 'tones', input: 'One two three.', voice: 'tone-low', response_format: 'pcm', stream: true },
      },
    ]);
  });

  test.each([
    [{ voices: ['a', { id: 'b', name: 'Bea' }, { name: 'c' }, 7] }, ['a', 'b', 'c']],
    [{ data: [{ voice_id: 'd' }] }, ['d']],
    [['e'], ['e']],
  ])('for voices, from %j', async (voices, ids) => {
    const { engine } = await open({ voices });
    expect(engine.voices.map(({ voiceId }) => voiceId)).toEqual(ids);
  });

  test('no list where voices are named, and says so where there is neither', async () => {
    const { url } = await openOpenAiServer({ voices: undefined });
    const named = await openOpenAiCompatible({ ...options(url), voices: ['alloy'] });
    expect(named.voices.map(({ voiceId }) => voiceId)).toEqual(['alloy']);
    await expect(openOpenAiCompatible(options(url))).rejects.toThrow('SONANT_OPENAI_VOICES');
  });
});

describe('the sound', () => {
  test.each([1, 3, 4_097, 100_000])('is the same in pieces of %i bytes', async (pieceBytes) => {
    const { engine } = await open();
    const cut = await open({ pieceBytes });
    expect(await hear(cut.engine, 'One.')).toEqual(await hear(engine, 'One.'));
  });

  test('may come as a WAV all the same', async () => {
    const { engine } = await open();
    const wav = await open({ isWav: true });
    expect(await hear(wav.engine)).toEqual(await hear(engine));
  });
});

describe('a server that fails', () => {
  test.each([
    [503, { 'Retry-After': '1' }],
    [429, {}],
  ])('with %i before any sound is asked again', async (status, headers) => {
    const { engine, asked } = await open({ failures: { count: 2, status, headers } });
    expect((await hear(engine)).length).toBeGreaterThan(1000);
    expect(asked).toHaveLength(3);
  });

  test.each([
    [
      'that is over its quota for long',
      { failures: { count: 9, status: 429, headers: { 'Retry-After': '60' } } },
      'engine_unavailable',
      1,
    ],
    ['that does not know the key', { failures: { count: 9, status: 401 } }, 'engine_unavailable', 1],
    ['that refuses the text', { failures: { count: 9, status: 400 } }, 'engine_error', 1],
    ['that breaks', { failures: { count: 9, status: 500, body: 'oh' } }, 'engine_error', 1],
    ['that stays away', { failures: { count: 9, status: 503 } }, 'engine_unavailable', 3],
    [
      'that answers an error with 200',
      { instead: { type: 'application/json', body: '{"error":1}' } },
      'engine_error',
      1,
    ],
    ['that answers nothing', { instead: { type: 'audio/pcm', body: '' } }, 'engine_error', 1],
    ['that sends half a sample', { instead: { type: 'audio/pcm', body: 'abcdefg' } }, 'engine_error', 1],
    ['that is cut off in the middle', { cutAfterBytes: 10_000 }, 'engine_error', 1],
  ] as [string, ServerTrouble, string, number][])('%s', async (_, trouble, reason, count) => {
    const { engine, asked } = await open(trouble);
    const failure = await refusalOf(hear(engine));
    expect([failure.reason, asked.length]).toEqual([reason, count]);
    expect(failure.message).not.toMatch(/127\.0\.0\.1|no"/);
    if (trouble.failures?.headers) expect(failure.facts.retryAfterSeconds).toBe(60);
  });

  test('that is not there is unavailable, and doctor says so', async () => {
    const { url, server } = await openOpenAiServer();
    server.closeAllConnections();
    server.close();
    expect((await refusalOf(openOpenAiCompatible(options(url)))).reason).toBe('engine_unavailable');
    const settings = { ...options(url) };
    expect(await openAiCompatible.inspect(settings as never, '')).toMatchObject({ state: 'broken' });
    expect(await openAiCompatible.inspect({ ...settings, url: '' } as never, '')).toMatchObject({ state: 'absent' });
    expect(await openAiCompatible.open({ ...settings, url: '' } as never, '')).toBeUndefined();
  });

  test('is told when nobody listens any more', async () => {
    const { engine, state } = await open({ pieceBytes: 1000, pieceDelayMs: 20 });
    const leaving = new AbortController();
    const heard = refusalOf(Array.fromAsync(engine.speak(segment(engine, 'One two three four five.'), leaving.signal)));
    await new Promise((resolve) => setTimeout(resolve, 100));
    leaving.abort(new Error('gone'));
    expect((await heard).message).toBe('gone');
    await expect.poll(() => state.left).toBe(1);
  });
});
