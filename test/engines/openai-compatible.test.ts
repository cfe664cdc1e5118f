// Tests that the engine for OpenAI's interface keeps the contract, whatever its server does.
import { inspect } from 'node:util';
import { afterAll, describe, expect, test } from 'vitest';
import { loadConfig } from '../../src/app/config.ts';
import { wavHeader } from '../../src/audio/wav.ts';
import type { Engine } from '../../src/engines/engine.ts';
import { openAiCompatible, openOpenAiCompatible } from '../../src/engines/openai-compatible/openai-compatible.ts';
import { Failure, type Reason } from '../../src/platform/errors.ts';
import { engineConformance } from '../conformance/engine.ts';
import { segmentOf } from './open-guard.ts';
import { openAiOptions, openOpenAiServer, type ServerTrouble } from './openai-server.ts';
import { rejection } from './rejection.ts';
import { runAlone } from './run-alone.ts';

engineConformance('openai-compatible', async () => {
  const { url } = await openOpenAiServer({}, afterAll);
  return openOpenAiCompatible(openAiOptions(url));
});

const signal = new AbortController().signal;
const segment = (engine: Engine, text = 'One two three.') => segmentOf(engine, { text });

async function open(trouble: ServerTrouble = {}) {
  const server = await openOpenAiServer(trouble);
  return { ...server, engine: await openOpenAiCompatible(openAiOptions(server.url)) };
}
const hear = async (engine: Engine, text?: string) =>
  (await Array.fromAsync(runAlone(engine, segment(engine, text), signal))).flatMap(({ samples }) => [...samples]);

test.each([
  ['http://a/v1', true],
  ['https://a/v1, dns+http://b:8000/v1', true],
  ['dns+https://b/v1', false],
  ['http://a/v1/', false],
])('the setting %s is allowed: %s', (given, isAllowed) => {
  const load = () => loadConfig({ env: { SONANT_OPENAI_URL: given }, folder: '.', engines: [openAiCompatible] });
  if (isAllowed) expect(load).not.toThrow();
  else expect(load).toThrow('SONANT_OPENAI_URL');
});

describe('what it asks', () => {
  test('is speech of that model and voice, as bare samples, with the key', async () => {
    const { engine, requests } = await open();
    await hear(engine);
    expect(requests).toEqual([
      {
        path: '/v1/audio/speech',
        authorization: 'Bearer sk-of-the-operator',
        body: {
          model: 'tones',
          input: 'One two three.',
          voice: 'tone-low',
          response_format: 'pcm',
          stream: true,
          stream_format: 'audio',
        },
      },
    ]);
  });

  test('is speech with instructions and a seed where these are given, by a model that takes them', async () => {
    const { engine, requests, url } = await open();
    const manner = { instructions: 'Whisper.', seed: 7 };
    await Array.fromAsync(runAlone(engine, { ...segment(engine), ...manner }, signal));
    expect(requests[0]!.body).toMatchObject(manner);
    for (const [model, instructions, seed] of [
      ['tones', true, true],
      ['gpt-4o-mini-tts', true, false],
      ['tts-1-hd', false, false],
      ['kokoro', false, false],
    ] as const)
      expect((await openOpenAiCompatible(openAiOptions(url, { model }))).capabilities).toMatchObject({
        instructions,
        seed,
      });
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
    const named = await openOpenAiCompatible(openAiOptions(url, { voices: ['alloy'] }));
    expect(named.voices.map(({ voiceId }) => voiceId)).toEqual(['alloy']);
    const logged: string[] = [];
    const unnamed = await openOpenAiCompatible(openAiOptions(url), {}, (...entry) => logged.push(inspect(entry)));
    expect([unnamed.voices, logged]).toEqual([[], [expect.stringContaining('SONANT_OPENAI_VOICES')]]);
  });
});

describe('the sound', () => {
  test.each([1, 3, 4_097, 100_000])('is the same in pieces of %i bytes', async (pieceBytes) => {
    const { engine } = await open();
    const cut = await open({ pieceBytes });
    expect(await hear(cut.engine, 'One.')).toEqual(await hear(engine, 'One.'));
  });

  test('may come as a WAV all the same, and its rate is the one that counts', async () => {
    const { engine } = await open();
    const wav = await open({ wavRateHz: 22_050 });
    expect(await hear(wav.engine)).toEqual(await hear(engine));
    const [piece] = await Array.fromAsync(wav.engine.speak(segment(wav.engine), signal));
    expect(piece!.sampleRateHz).toBe(22_050);
  });
});

const failing = (status: number, headers?: Record<string, string>): ServerTrouble => ({
  failures: { count: 9, status, ...(headers && { headers }), body: '{"error":{"message":"secret words"}}' },
});
const instead = (type: string, body: string | Uint8Array): ServerTrouble => ({ instead: { type, body } });

describe('a server that fails', () => {
  test.each<[string, ServerTrouble, Reason, number | undefined]>([
    ['over its quota, and says for how long', failing(429, { 'Retry-After': '60' }), 'engine_unavailable', 60],
    ['full', failing(429), 'engine_unavailable', 0],
    ['full for years', failing(429, { 'Retry-After': '999999999' }), 'engine_unavailable', 60],
    ['full for ages', failing(503, { 'Retry-After': '9'.repeat(400) }), 'engine_unavailable', 60],
    [
      'full until the year 9999',
      failing(503, { 'Retry-After': new Date(2 ** 47).toUTCString() }),
      'engine_unavailable',
      60,
    ],
    ['full, and says nothing more', failing(503), 'engine_unavailable', 0],
    ['full for a second', failing(429, { 'Retry-After': '1' }), 'engine_unavailable', 1],
    ['out of service', failing(503, { 'Retry-After': '7' }), 'engine_unavailable', 7],
    ['away behind its proxy', failing(502), 'engine_unavailable', 0],
    ['away behind its proxy for long', failing(504, { 'Retry-After': 'soon' }), 'engine_unavailable', 0],
    ['with a fault', failing(500), 'engine_error', 0],
    ['with a fault that says when', failing(500, { 'Retry-After': '3' }), 'engine_error', 3],
    ['that cannot do it', failing(501), 'engine_error', undefined],
    ['that does not know the key', failing(401), 'engine_unavailable', undefined],
    ['that knows the key no more', failing(403), 'engine_unavailable', undefined],
    ['that wants to be paid', failing(402), 'engine_unavailable', undefined],
    ['that refuses the text', failing(400), 'engine_error', undefined],
    ['that is another', failing(404), 'engine_error', undefined],
    ['cut off in the middle', { cutAfterBytes: 10_000 }, 'engine_error', 0],
    ['cut off within a sample', { cutAfterBytes: 9_999 }, 'engine_error', 0],
    ['gone before it answers', { cutAfterBytes: 0 }, 'engine_unavailable', 0],
    ['with an error for sound', instead('application/json', '{"error":"secret words"}'), 'engine_error', undefined],
    ['with a page for sound', instead('text/html; charset=utf-8', '<html>secret words'), 'engine_error', undefined],
    ['with an error under a false name', instead('audio/pcm', '{"error":"secret words"}'), 'engine_error', undefined],
    ['with an MP3', instead('audio/mpeg', Buffer.alloc(5_000, 0x55)), 'engine_error', undefined],
    ['with nothing', instead('audio/pcm', ''), 'engine_error', undefined],
    ['with silence', instead('audio/pcm', Buffer.alloc(48_000)), 'engine_error', undefined],
    ['with a WAV of nothing', instead('audio/wav', wavHeader(24_000, Infinity)), 'engine_error', undefined],
    ['with half a WAV', instead('audio/wav', wavHeader(24_000, Infinity).subarray(0, 30)), 'engine_error', undefined],
    ['with a WAV of an odd rate', { wavRateHz: 400_000_000 }, 'engine_error', undefined],
    ['with what calls itself a WAV', instead('audio/wav', `RIFF${'\x07'.repeat(9_000)}`), 'engine_error', undefined],
    ['with half a sample too much', instead('audio/pcm', Buffer.alloc(4_801, 0x11)), 'engine_error', undefined],
  ])('%s', async (_, trouble, reason, retryAfterSeconds) => {
    const { engine, requests } = await open(trouble);
    const failure = await rejection(hear(engine));
    expect([failure.reason, failure.facts.retryAfterSeconds]).toEqual([reason, retryAfterSeconds]);
    expect(failure.message).not.toMatch(/127\.0\.0\.1|secret/);
    expect(requests).toHaveLength(1);
  });

  test('once, and then speaks', async () => {
    const { engine, requests } = await open({ failures: { count: 1, status: 500 } });
    expect(await rejection(hear(engine))).toMatchObject({ reason: 'engine_error', facts: { retryAfterSeconds: 0 } });
    expect((await hear(engine)).length).toBeGreaterThan(1_000);
    expect(requests).toHaveLength(2);
  });

  test('and names the date when it is back', async () => {
    const { engine } = await open(failing(503, { 'Retry-After': new Date(Date.now() + 50_000).toUTCString() }));
    const { retryAfterSeconds } = (await rejection(hear(engine))).facts;
    expect(retryAfterSeconds).toBeGreaterThan(20);
    expect(retryAfterSeconds).toBeLessThanOrEqual(50);
  });

  test.each<[string, ServerTrouble]>([
    ['that never begins', { isMute: true }],
    ['that stops in the middle', { stallAfterBytes: 8_000 }],
  ])('%s is left as soon as it is given up', async (_, trouble) => {
    const { engine, requests, state } = await open(trouble);
    const leaving = new AbortController();
    const speaking = rejection(Array.fromAsync(runAlone(engine, segment(engine), leaving.signal)));
    await expect.poll(() => requests.length).toBe(1);
    leaving.abort(new Failure('engine_timeout'));
    expect(await speaking).toBe(leaving.signal.reason);
    await expect.poll(() => state.left).toBe(1);
  });

  test('that is unreachable does not stop the start, and doctor reports it', async () => {
    const { url, server } = await openOpenAiServer();
    server.closeAllConnections();
    server.close();
    const engine = await openOpenAiCompatible(openAiOptions(url));
    expect(engine.voices).toEqual([]);
    await engine.close();
    const settings = openAiOptions(url);
    const message = expect.stringMatching(new RegExp(`^${url}: connect ECONNREFUSED`));
    expect(await openAiCompatible.inspect(settings as never, '')).toEqual({ state: 'broken', message });
    expect(await openAiCompatible.inspect({ ...settings, url: '' } as never, '')).toMatchObject({ state: 'absent' });
    expect(await openAiCompatible.open({ ...settings, url: '' } as never, '')).toBeUndefined();
  });

  test('that lists nobody does not stop the start, and doctor reports it', async () => {
    const { url } = await openOpenAiServer({ voices: [] });
    const message = `${url} does not list its voices; name them in SONANT_OPENAI_VOICES`;
    expect((await openAiCompatible.open(openAiOptions(url) as never, ''))!.voices).toEqual([]);
    expect(await openAiCompatible.inspect(openAiOptions(url) as never, '')).toEqual({ state: 'broken', message });
  });
});
