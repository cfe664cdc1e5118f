// Tests that a speech server that misbehaves on purpose costs Sonant little memory and time.
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Engine, Segment } from '../../src/engines/engine.ts';
import { openGoogle } from '../../src/engines/google/google.ts';
import { openOpenAiCompatible } from '../../src/engines/openai-compatible/openai-compatible.ts';
import { soundOfEvents } from '../../src/engines/openai-compatible/speech-events.ts';
import { Failure } from '../../src/errors.ts';
import { type GoogleTrouble, openGoogleServer, wavHeader } from './google-server.ts';
import { openOpenAiServer, type ServerTrouble } from './openai-server.ts';

const signal = new AbortController().signal;
const mib = 1 << 20;

const options = (url: string) => ({
  url,
  apiKey: 'sk-of-the-operator',
  model: 'tones',
  form: 'auto' as const,
  voices: [],
  languages: ['en'],
  sampleRateHz: 24_000,
  requestsPerMinute: 0,
  requestsAtOnce: 8,
});

async function open(trouble: ServerTrouble = {}) {
  const server = await openOpenAiServer(trouble);
  const engine = await openOpenAiCompatible(options(server.url));
  onTestFinished(() => engine.close());
  return { ...server, engine };
}

async function openAtGoogle(trouble: GoogleTrouble) {
  const server = await openGoogleServer();
  const limits = { segmentsPerMinute: 100, cloneSegmentsPerMinute: 100, segmentsSpokenMax: 10 };
  const engine = await openGoogle({ credentials: '', endpoint: server.endpoint, voices: ['en-GB-Neural2'], ...limits });
  onTestFinished(() => engine.close());
  server.state.trouble = trouble;
  return { ...server, engine };
}

const segment = (engine: Engine, text = 'One two three.'): Segment => ({
  voice: engine.voices[0]!,
  text,
  languageCode: engine.voices[0]!.languageCodes[0]!,
  speakingRate: 1,
  timings: false,
  urgent: true,
});
const speak = (engine: Engine, text?: string) => Array.fromAsync(engine.speak(segment(engine, text), signal));
const rejection = (promise: Promise<unknown>): Promise<Failure> =>
  promise.then(
    () => Promise.reject(new Error('it was not refused')),
    (error) => error,
  );

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
    const { engine } = await openAtGoogle({ sound: Buffer.alloc(40 * mib) });
    expect(await rejection(speak(engine))).toBeInstanceOf(Failure);
  });
});

test('WAVs of one sample become pieces of at least 10 ms', async () => {
  const sample = Buffer.alloc(2, 9);
  const wavs = Buffer.concat(Array.from({ length: 24_000 }, () => Buffer.concat([wavHeader(24_000, sample), sample])));
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
