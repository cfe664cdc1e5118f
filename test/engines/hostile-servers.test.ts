// Tests that a speech server that misbehaves on purpose costs little memory and time, and learns and reveals nothing.
import { status as code } from '@grpc/grpc-js';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Engine } from '../../src/engines/engine.ts';
import { openGoogle } from '../../src/engines/google/google.ts';
import { openOpenAiCompatible } from '../../src/engines/openai-compatible/openai-compatible.ts';
import { soundOfEvents } from '../../src/engines/openai-compatible/speech-events.ts';
import { Failure } from '../../src/platform/errors.ts';
import { createLog } from '../../src/platform/telemetry/log.ts';
import { createVoices } from '../../src/speech/voice.ts';
import { wavOfBytes } from '../audio/recording-files.ts';
import { googleVoice } from './google-rules.ts';
import { googleOptions, openAtGoogle, openGoogleServer } from './google-server.ts';
import { segmentOf } from './open-guard.ts';
import { openAiOptions, openOpenAiServer, type ServerTrouble } from './openai-server.ts';
import { rejection } from './rejection.ts';
import { openTone } from './tone-engine.ts';

const signal = new AbortController().signal;
const mib = 1 << 20;

async function open(trouble: ServerTrouble = {}) {
  const server = await openOpenAiServer(trouble);
  const engine = await openOpenAiCompatible(openAiOptions(server.url));
  onTestFinished(() => engine.close());
  return { ...server, engine };
}

const voices = ['en-GB-Neural2'];
const segment = (engine: Engine, text = 'One two three.') =>
  segmentOf(engine, { text, languageCode: engine.voices[0]!.languageCodes[0]! });
const speak = (engine: Engine, text?: string) => Array.fromAsync(engine.speak(segment(engine, text), signal));

describe('bytes without an end', () => {
  test.each([
    ['a line', 'a'.repeat(16_384)],
    ['an event of many lines', `data: ${'a'.repeat(16_384)}\n`],
    ['empty lines of data', 'data:\n'.repeat(2_000)],
    ['comments', ': ping\n'.repeat(2_000)],
  ])('in %s are read up to a limit', async (_, piece) => {
    let bytes = 0;
    async function* body() {
      yield Buffer.from('data: a\n');
      for (; ; bytes += piece.length) yield Buffer.from(piece);
    }
    const refusal = await rejection(Array.fromAsync(soundOfEvents(body(), {}, () => new Failure('engine_error'))));
    expect(refusal.cause).toMatchObject({ message: 'an event is too long' });
    expect(bytes).toBeLessThan(9 * mib);
  });

  test('in an event that arrives in tiny pieces are each read once', async () => {
    // Reading the whole event again for each piece would take hours.
    const sound = Buffer.alloc(3 * mib, 7);
    const event = Buffer.from(`data: ${JSON.stringify({ audio: sound.toString('base64') })}\n\ndata: [DONE]\n\n`);
    async function* body() {
      for (let at = 0; at < event.length; at += 5) yield event.subarray(at, at + 5);
    }
    const heard = await Array.fromAsync(soundOfEvents(body(), {}, () => new Failure('engine_error')));
    expect(Buffer.concat(heard).equals(sound)).toBe(true);
  });

  test('in an event over HTTP are refused', async () => {
    const { engine } = await open({ instead: { type: 'text/event-stream', body: `data: ${'a'.repeat(9 * mib)}` } });
    expect((await rejection(speak(engine))).cause).toMatchObject({ message: 'an event is too long' });
  });

  test('in a message of Google are refused', async () => {
    const { engine } = await openAtGoogle({ sound: Buffer.alloc(40 * mib) }, { voices });
    expect(await rejection(speak(engine))).toBeInstanceOf(Failure);
  });
});

test('WAVs of one sample become pieces of at least 10 ms', async () => {
  const wavs = Buffer.concat(Array(24_000).fill(wavOfBytes(24_000, Buffer.alloc(2, 9))));
  const { engine } = await open({ instead: { type: 'audio/wav', body: wavs } });
  const pieces = await speak(engine);
  expect(pieces.reduce((sum, { samples }) => sum + samples.length, 0)).toBe(24_000);
  expect(pieces.length).toBeLessThanOrEqual(100);
  // The samples are copied: a view would keep the whole buffer of the connection in memory.
  for (const { samples } of pieces) expect(samples.buffer.byteLength).toBe(samples.byteLength);
});

test.each(['0', '1', '44100.5', '1e300', '-8000', 'NaN', '99999999'])(
  'a sample rate of %s is refused',
  async (rate) => {
    const event = `data: {"audio":{"data":"b25lb25l","sample_rate":${rate}}}\n\ndata: [DONE]\n\n`;
    const { engine } = await open({ instead: { type: 'text/event-stream', body: event } });
    expect(await rejection(speak(engine))).toMatchObject({ reason: 'engine_error' });
  },
);

describe('the log has nothing of what a server says', () => {
  const spoken = 'Whö "told" you of my illness?';
  const logOf = (failure: Failure) => {
    let line = '';
    createLog('info', (written) => {
      line = written;
    }).info('call', { failure, cause: failure.cause });
    return line;
  };

  test.each<[string, ServerTrouble]>([
    ['in an error', { failures: { count: 9, status: 400 } }],
    ['in an error of a full server', { failures: { count: 9, status: 503 } }],
    ['in a page', { instead: { type: 'text/html', body: '' } }],
    ['in an error under a false name', { instead: { type: 'audio/pcm', body: '' } }],
    ['in an event', { instead: { type: 'text/event-stream', body: 'data: ' } }],
    ['in a content type', { instead: { type: `application/json; a="${openAiOptions('').apiKey}"`, body: '{}' } }],
  ])('%s', async (_, trouble) => {
    const { engine } = await open(trouble);
    // Servers quote the end of a request too, in any encoding.
    const body = JSON.stringify({ error: { message: `${spoken} ${openAiOptions('').apiKey}`, end: spoken.slice(9) } });
    if (trouble.failures) trouble.failures.body = body;
    if (trouble.instead?.body === 'data: ') trouble.instead.body += `${body}\n\n`;
    else if (trouble.instead) trouble.instead.body ||= body;
    const line = logOf(await rejection(speak(engine, spoken)));
    expect(line).toMatch(/the server answers \d+ \((html|json|pcm|event-stream|unknown type), \d+ bytes\)/);
    expect(line).not.toMatch(/illness|told|sk-of/);
  });

  test('at Google', async () => {
    const { engine } = await openAtGoogle(
      { failures: { count: 9, code: code.INTERNAL, logged: `no: ${spoken}` } },
      { voices },
    );
    const line = logOf(await rejection(speak(engine, spoken)));
    expect(line).toContain('Google answers INTERNAL');
    expect(line).not.toMatch(/illness|told/);
  });
});

test('a wait of years at Google is limited to a minute', async () => {
  const { engine } = await openAtGoogle(
    { failures: { count: 9, code: code.RESOURCE_EXHAUSTED, retrySeconds: 1e9 } },
    { voices },
  );
  expect((await rejection(speak(engine))).facts.retryAfterSeconds).toBe(60);
});

describe('a redirect', () => {
  test('to another origin is not followed', async () => {
    const other = await openOpenAiServer();
    const { engine, state } = await open();
    const location = `${other.url}/audio/speech`;
    for (const status of [301, 302, 303, 307, 308]) {
      state.trouble.failures = { count: 1, status, headers: { Location: location } };
      const failure = await rejection(speak(engine));
      expect((failure.cause as Error).message).toBe(`the server answers ${status} (json, 26 bytes)`);
    }
    expect(other.requests).toEqual([]);
  });

  test('within the server is followed once, with the text and the key', async () => {
    const { engine, requests, state } = await open();
    state.trouble.failures = { count: 1, status: 307, headers: { Location: '/v1/audio/speech/' } };
    expect((await speak(engine)).length).toBeGreaterThan(0);
    expect(requests.map(({ path }) => path)).toEqual(['/v1/audio/speech', '/v1/audio/speech/']);
    expect(requests[1]).toMatchObject({
      authorization: 'Bearer sk-of-the-operator',
      body: { input: 'One two three.' },
    });
    state.trouble.failures = { count: 9, status: 307, headers: { Location: '/v1/audio/speech/' } };
    expect(await rejection(speak(engine))).toMatchObject({ reason: 'engine_unavailable' });
    expect(requests).toHaveLength(4);
  });
});

describe('a start never fails because of what a server says:', () => {
  const startWith = async (opening: Promise<Engine>) => {
    const engine = await opening;
    onTestFinished(() => engine.close());
    const tone = openTone();
    return createVoices([engine, tone])
      .list()
      .map(({ voice }) => `${voice.engine} ${voice.voiceId}`)
      .sort();
  };
  const own = ['tone tone-high', 'tone tone-low'];

  test.each<[string, ServerTrouble | undefined, string[]]>([
    ['ids of built-in voices', { voices: ['tone-low', 'a', 'tone-high'] }, ['a']],
    ['an id twice', { voices: ['a', 'a', { id: 'a', name: 'A' }] }, ['a']],
    ['ids with new lines', { voices: ['a\nb', 'a\r', { id: '\u2028' }, 'c'] }, ['c']],
    ['things that are no voices', { voices: [null, 7, [], {}, { id: {} }, { id: '' }, 'a'] }, ['a']],
    ['nobody', { voices: [] }, []],
    ['null', { voices: null }, []],
    ['no JSON', { list: { status: 200, body: '{"voices":[[[[' } }, []],
    ['a page', { list: { status: 200, body: '<html></html>' } }, []],
    ['that the key is wrong', { list: { status: 401, body: '{}' } }, []],
    ['a strange status', { list: { status: 418, body: '{}' } }, []],
    ['a redirect', { list: { status: 302, headers: { Location: 'http://127.0.0.1:9/' }, body: '' } }, []],
    ['a redirect to itself', { list: { status: 307, headers: { Location: '/v1/audio/voices' }, body: '' } }, []],
    ['too much', { list: { status: 200, body: `{"voices":["${'a'.repeat(2 * mib)}"]}` } }, []],
  ])('%s', async (_, trouble, voices) => {
    const { url } = await openOpenAiServer(trouble);
    const offered = voices.map((voiceId) => `openai-compatible ${voiceId}`);
    expect(await startWith(openOpenAiCompatible(openAiOptions(url)))).toEqual([...offered, ...own]);
  });

  test('100,000 voices', async () => {
    const { url } = await openOpenAiServer({ voices: Array.from({ length: 100_000 }, (_, n) => `v${n}`) });
    expect(await startWith(openOpenAiCompatible(openAiOptions(url)))).toHaveLength(5_002);
  });

  test('at Google, that the login is wrong, or voices with endless names', async () => {
    const { endpoint, state } = await openGoogleServer();
    const open = () => openGoogle(googleOptions(endpoint));
    state.trouble = { failures: { count: 1, code: code.UNAUTHENTICATED } };
    expect(await startWith(open())).toEqual(own);
    // Matching this name would take hours.
    state.trouble = { voices: [googleVoice(`en-US-${'a-'.repeat(mib)}`, 'en-US', 'MALE')] };
    expect(await startWith(open())).toEqual(own);
  });
});
