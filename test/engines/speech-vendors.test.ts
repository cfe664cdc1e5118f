// Tests a table of the speech servers that people run, as the servers' sources describe them: model, voices, requested
// formats, sample rate, answer when full, and whether the server clones. Each row is checked with the engine.
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { CloneSample, Engine } from '../../src/engines/engine.ts';
import { openAiCompatible, openOpenAiCompatible } from '../../src/engines/openai-compatible/openai-compatible.ts';
import { ServerFull } from '../../src/engines/openai-compatible/server-full.ts';
import { soundOfEvents } from '../../src/engines/openai-compatible/speech-events.ts';
import { createSpeechServer, type soundForms } from '../../src/engines/openai-compatible/speech-server.ts';
import { barePcm } from '../../src/engines/pcm-stream.ts';
import { Failure } from '../../src/platform/errors.ts';
import { type Pcm, samplesOf } from '../../src/platform/pcm.ts';
import { joinPcm, segmentOf } from './open-guard.ts';
import { openAiOptions } from './openai-server.ts';
import { rejection } from './rejection.ts';
import { openVendor, type VendorName, type VendorTrouble, vendors, wavHead } from './speech-vendors.ts';

const signal = new AbortController().signal;
const text = 'One two three.';

type Form = 'auto' | (typeof soundForms)[number];
const options = (url: string) => ({ url, apiKey: '', model: '', form: 'auto' as Form, sampleRateHz: 0 });

async function open(vendorName: VendorName, trouble: VendorTrouble = {}, form: Form = 'auto') {
  const opened = await openVendor(vendorName);
  opened.state.trouble = trouble;
  const server = createSpeechServer({ ...options(opened.url), form });
  const speak = (voice = 'tone-low') => Array.fromAsync(server.speak({ voice, text }, signal));
  return { ...opened, server, speak };
}
const whole = (pieces: readonly Pcm[]) => joinPcm(pieces);

interface Row {
  model: string;
  /** Ids of the listed voices; undefined if the server has no list. */
  voices: string[] | undefined;
  /** The formats that the engine requests, in order; it keeps the last one. */
  asked: string[];
  rateHz: number;
  full: [retryAfterMs: number, reason: string] | undefined;
  clones: boolean;
}
const both = ['tone-low', 'tone-high'];
const row = (model: string, rest: Partial<Row>): Row => ({
  ...{ model, voices: both, asked: ['wav', 'pcm'], rateHz: 24_000, full: undefined, clones: false },
  ...rest,
});
const none = undefined;
/** The engine requests `wav` once to learn the rate, and again if the server refuses `pcm`. */
const table: Record<VendorName, Row> = {
  'vLLM-Omni': row('Qwen/Qwen3-TTS', { voices: ['tone-high', 'tone-low'], clones: true }),
  'SGLang-Omni': row('fishaudio/s2-pro', {
    voices: ['default'],
    rateHz: 44_100,
    full: [0, 'engine_unavailable'],
    clones: true,
  }),
  'SGLang-Omni before #655': row('fishaudio/s2-pro', {
    voices: ['default'],
    full: [0, 'engine_unavailable'],
    clones: true,
  }),
  'SGLang-Omni router': row('fishaudio/s2-pro', {
    ...{ voices: ['default'], rateHz: 44_100, full: [1_000, 'engine_unavailable'], clones: true },
  }),
  'Kokoro-FastAPI': row('tts-1', {}),
  LocalAI: row('piper-en', { voices: none, rateHz: 16_000, full: [2_000, 'engine_unavailable'] }),
  'Orpheus-FastAPI': row('tts-1', {}),
  OpenAI: row('tts-1', { voices: none, full: [20_000, 'engine_unavailable'] }),
  speaches: row('speaches-ai/piper-en', { rateHz: 22_050 }),
  'openedai-speech': row('tts-1', { voices: none, rateHz: 22_050 }),
  'mlx-audio': row('mlx-community/Kokoro-82M-bf16', {}),
  Dynamo: row('audex', { voices: none, rateHz: 16_000 }),
  'Chatterbox-TTS-Server': row('tts-1', { asked: ['wav', 'pcm', 'wav'] }),
};
const vendorNames = Object.keys(vendors) as VendorName[];

describe.each(vendorNames)('%s', (vendorName) => {
  const { model, voices, asked, rateHz, full, clones } = table[vendorName];

  test('lists its model and its voices', async () => {
    const { server } = await open(vendorName);
    const listed = await server.listVoices(signal);
    expect(listed.model).toBe(model);
    expect(listed.voices?.map(({ id }) => id)).toEqual(voices);
    expect(listed.uploaded).toEqual(clones ? [] : undefined);
  });

  test.each([undefined, 1_001])('speaks every sample at its rate, in pieces of %s bytes', async (pieceBytes) => {
    const { speak, soundOf, state } = await open(vendorName, pieceBytes === undefined ? {} : { pieceBytes });
    const pieces = await speak();
    expect(new Set(pieces.map(({ sampleRateHz }) => sampleRateHz))).toEqual(new Set([rateHz]));
    expect(whole(pieces)).toEqual(samplesOf(await soundOf(text)));
    expect(state.bodies.map(({ response_format }) => response_format)).toEqual(asked);
    expect(state.bodies.at(-1)).toMatchObject({ model, voice: 'tone-low', input: text });
    // The engine remembers the format and rate, and does not request them again.
    await speak();
    expect(state.bodies.length).toBe(asked.length + 1);
  });

  test('that takes long for the first sound is waited for', async () => {
    const { speak, soundOf } = await open(vendorName, { firstSoundMs: 150 });
    expect(whole(await speak())).toEqual(samplesOf(await soundOf(text)));
  });

  test.each<VendorTrouble>([{ isCut: true }, { isFailing: true }])('never ends cleanly after %j', async (trouble) => {
    const { speak } = await open(vendorName, trouble);
    const failure = await rejection(speak());
    expect(failure).toBeInstanceOf(Failure);
    expect([failure.reason, failure.facts.retryAfterSeconds]).toEqual(['engine_error', 0]);
  });

  test.runIf(full)('is full, and not broken', async () => {
    const { speak } = await open(vendorName, { isFull: true });
    const failure = await rejection(speak());
    expect(failure).toBeInstanceOf(ServerFull);
    expect([(failure as ServerFull).retryAfterMs, failure.reason]).toEqual(full);
  });
});

test.each([false, true])('a server with room for one request speaks it; full at first: %s', async (isFullAtFirst) => {
  const speaking = { count: 0 };
  const opened = await openVendor('speaches');
  const { speak } = opened.vendor;
  opened.vendor.speak = async (each) => {
    if (++speaking.count > 1 || (isFullAtFirst && opened.state.bodies.length === 1)) {
      each.response.writeHead(503, { 'content-type': 'application/json' }).end('{}');
    } else await speak({ ...each, trouble: { firstSoundMs: 50 } });
    speaking.count--;
  };
  const server = createSpeechServer(options(opened.url));
  const say = () => Array.fromAsync(server.speak({ voice: 'tone-low', text }, signal));
  expect(whole(await say())).toEqual(samplesOf(await opened.soundOf(text)));
  expect((await say())[0]!.sampleRateHz).toBe(22_050);
});

describe('events', () => {
  test.each<VendorName>(['vLLM-Omni', 'SGLang-Omni', 'speaches'])(
    'of %s, where they are wanted',
    async (vendorName) => {
      const { speak, soundOf, vendor } = await open(vendorName, { pieceBytes: 1_001 }, 'sse');
      const pieces = await speak();
      expect(whole(pieces)).toEqual(samplesOf(await soundOf(text)));
      expect(pieces[0]!.sampleRateHz).toBe(vendor.rateHz);
      for (const trouble of [{ isCut: true }, { isFailing: true }]) {
        const broken = await open(vendorName, trouble, 'sse');
        expect(await rejection(broken.speak())).toMatchObject({
          reason: 'engine_error',
          facts: { retryAfterSeconds: 0 },
        });
      }
    },
  );

  test('that tell of a full server after the beginning are a failure of that server', async () => {
    const body = Buffer.from('data: {"type":"error","error":{"message":"busy","code":503}}\n\n');
    const { url } = await openVendor('vLLM-Omni', {
      speak: async ({ response }) => void response.writeHead(200, { 'content-type': 'text/event-stream' }).end(body),
    });
    const server = createSpeechServer({ ...options(url), form: 'sse', sampleRateHz: 24_000 });
    const failure = await rejection(Array.fromAsync(server.speak({ voice: 'tone-low', text }, signal)));
    expect(failure).not.toBeInstanceOf(ServerFull);
    expect(failure).toMatchObject({ reason: 'engine_error', facts: { retryAfterSeconds: 0 } });
  });

  test('of WAV begin with its header', async () => {
    const { speak, soundOf, state } = await open('vLLM-Omni', {}, 'wav');
    expect(whole(await speak())).toEqual(samplesOf(await soundOf(text)));
    expect(state.bodies).toMatchObject([{ response_format: 'wav', stream: true, stream_format: 'audio' }]);
  });
});

describe('sound in pieces', () => {
  async function* inPieces(...pieces: readonly (string | Buffer)[]) {
    for (const piece of pieces) yield Buffer.from(piece as string);
  }
  const samples = Buffer.from([1, 0, 2, 0, 3, 0, 4, 0]);
  const head = (size: number, rateHz = 24_000) => wavHead(rateHz, size);
  const decoded = async (...pieces: Buffer[]) => [
    ...whole(await Array.fromAsync(barePcm(inPieces(...pieces), 16_000))),
  ];

  test.each([0, 8, 2_000_000_000, 0xffffffff])('of a WAV that states %i bytes is read to its end', async (size) => {
    expect(await decoded(Buffer.concat([head(size), samples]))).toEqual([1, 2, 3, 4]);
    expect(
      await decoded(head(size).subarray(0, 9), head(size).subarray(9), samples.subarray(0, 3), samples.subarray(3)),
    ).toEqual([1, 2, 3, 4]);
  });

  test('that are WAV files of their own is joined, at one rate only', async () => {
    const piece = Buffer.concat([head(8), samples]);
    expect(await decoded(piece, piece)).toEqual([1, 2, 3, 4, 1, 2, 3, 4]);
    await expect(decoded(piece, Buffer.concat([head(8, 16_000), samples]))).rejects.toMatchObject({
      reason: 'engine_error',
    });
  });

  test('that are WAV files in one stream has no header and no other chunk in it, however it is cut', async () => {
    const list = Buffer.from('LIST\x05\0\0\0INFOx\0', 'latin1');
    const all = Buffer.concat([head(8), samples, list, head(8), samples, list.subarray(0, 6)]);
    expect(await decoded(all)).toEqual([1, 2, 3, 4, 1, 2, 3, 4]);
    for (const size of [1, 7, 46])
      expect(
        await decoded(
          ...Array.from({ length: Math.ceil(all.length / size) }, (_, n) => all.subarray(n * size, (n + 1) * size)),
        ),
      ).toEqual([1, 2, 3, 4, 1, 2, 3, 4]);
    // Some servers state the size of their first piece only.
    expect(await decoded(head(4), Buffer.concat([samples, samples]))).toEqual([1, 2, 3, 4, 1, 2, 3, 4]);
  });

  test('that is less than a WAV states is a failure that may pass', async () => {
    await expect(decoded(head(10), samples)).rejects.toMatchObject({
      reason: 'engine_error',
      facts: { retryAfterSeconds: 0 },
    });
  });

  const failure = (status: number, message: string) =>
    new Failure('engine_error', {}, new Error(`${status} ${message}`));
  const heard = async (...pieces: string[]) => {
    const stated = {};
    const bytes = await Array.fromAsync(soundOfEvents(inPieces(...pieces), stated, failure));
    return { text: Buffer.concat(bytes).toString(), ...stated };
  };
  const delta = 'data: {"type":"speech.audio.delta","audio":"b25l"}\n\n';
  const done = 'data: {"type":"speech.audio.done"}\n\n';

  test('that are events is read in every dialect', async () => {
    expect(await heard(delta, delta, done)).toEqual({ text: 'oneone' });
    expect(
      await heard(': ping\r\n\r\nevent: speech.audio.delta\r\nda', 'ta:{"audio":\r\ndata: "b25l"}\r', '\n\r\n', done),
    ).toEqual({
      text: 'one',
    });
    expect(await heard(delta, 'data: {"type":"speech.audio.done","audio":""}\n\ndata: [DONE]\n\n')).toEqual({
      text: 'one',
    });
    const chunk = (rate: number) =>
      `data: {"object":"audio.speech.chunk","audio":{"data":"b25l","sample_rate":${rate}}}\n\n`;
    expect(await heard(chunk(44_100), chunk(44_100), 'data: [DONE]\n\n')).toEqual({
      text: 'oneone',
      sampleRateHz: 44_100,
    });
    await expect(heard(chunk(44_100), chunk(24_000), done)).rejects.toThrow();
  });

  test.each(['data: [DONE]', 'data:[DONE]\n', 'data: [DONE]\r\n'])('that end with %j are whole', async (last) => {
    expect(await heard(delta, last)).toEqual({ text: 'one' });
  });

  test.each([
    ['ends without the last event', delta, 'last event is missing'],
    ['ends within the last event', `${delta}data: {"type":"speech.audio.done"}\n`, 'last event is missing'],
    [
      'was cut at the limit of tokens',
      `${delta}data: {"type":"speech.audio.done","finish_reason":"length"}\n\n`,
      'token limit',
    ],
    [
      'breaks',
      `${delta}data: {"type":"error","error":{"message":"died","code":507}}\n\n`,
      '507 event-stream, 29 bytes',
    ],
    ['breaks in one word', `${delta}data: {"error":"died"}\n\n${done}`, '500 event-stream, 6 bytes'],
    ['is no JSON', 'data: died\n\n', 'not JSON'],
  ])('that %s is a failure', async (_, text, cause) => {
    await expect(heard(text)).rejects.toMatchObject({ cause: { message: expect.stringContaining(cause) } });
  });
});

test('sound that was cut at the limit of tokens is a failure that lasts', async () => {
  const { speak, state } = await open('SGLang-Omni');
  state.finishReason = 'length';
  const failure = await rejection(speak());
  expect([failure.reason, failure.facts.retryAfterSeconds]).toEqual(['engine_error', undefined]);
  expect(state.asked.at(-1)).toBe('GET /audio/speech/speech-7');
});

test('how sound ended is asked twice, and is a failure that may pass where it is not known', async () => {
  const { speak, state } = await open('SGLang-Omni');
  await speak();
  const listsBefore = state.asked.filter((each) => each === 'GET /models').length;
  state.outcomesLost = 1;
  await speak();
  state.outcomesLost = 2;
  expect(await rejection(speak())).toMatchObject({ reason: 'engine_error', facts: { retryAfterSeconds: 0 } });
  await speak();
  expect(state.asked.filter((each) => each === 'GET /models').length).toBe(listsBefore);
});

test('a refusal for another reason that names a format does not change how sound is requested', async () => {
  const { url, state } = await openVendor('vLLM-Omni', {
    refuse: ({ input }) => (input === 'pcm?' ? [422, { detail: 'no pcm of this' }] : undefined),
  });
  const server = createSpeechServer({ ...options(url), sampleRateHz: 24_000 });
  await rejection(Array.fromAsync(server.speak({ voice: 'tone-low', text: 'pcm?' }, signal)));
  await Array.fromAsync(server.speak({ voice: 'tone-low', text }, signal));
  expect(state.bodies.map(({ response_format }) => response_format)).toEqual(['pcm', 'wav', 'pcm']);
});

test.each([422, 503])('a server that quotes the request with %i does not bring it into the log', async (status) => {
  const { url } = await openVendor('vLLM-Omni', {
    refuse: (body) => [status, { detail: [{ msg: 'Field required', input: body }] }],
  });
  const server = createSpeechServer({ ...options(url), sampleRateHz: 24_000 });
  const request = { voice: 'tone-low', text: 'Whö "told" you of my illness?', instructions: 'Whisper, as if ashamed.' };
  const failure = await rejection(Array.fromAsync(server.speak(request, signal)));
  expect((failure.cause as Error).message).toMatch(
    new RegExp(`^the server answers ${status} \\(json, \\d+ bytes, Field required\\)$`),
  );
  expect(failure instanceof ServerFull).toBe(status === 503);
});

test('a setting overrides what would be found out', async () => {
  const { url, state } = await openVendor('vLLM-Omni');
  const given = { ...options(url), model: 'Qwen/Qwen3-TTS', sampleRateHz: 16_000 };
  const [piece] = await Array.fromAsync(createSpeechServer(given).speak({ voice: 'tone-low', text }, signal));
  expect(piece!.sampleRateHz).toBe(16_000);
  expect(state.asked).toEqual(['POST /audio/speech']);
});

describe('a clone', () => {
  const pcm = (seconds: number) => ({
    samples: Int16Array.from({ length: 24_000 * seconds }, (_, n) => 9_000 * Math.sin(n / 20)),
    sampleRateHz: 24_000,
  });
  const sample = (more: Partial<CloneSample> = {}): CloneSample => ({
    reference: pcm(4),
    referenceText: 'What I say here.',
    consent: pcm(4),
    consentScript: 'I agree.',
    languageCode: 'en',
    ...more,
  });
  const clonedSegment = (engine: Engine, clone: Uint8Array) =>
    segmentOf(engine, { voice: { ...engine.voices[0]!, voiceId: 'voc_1', kind: 'cloned' }, clone });
  async function openEngine(vendorName: VendorName, others: readonly VendorName[] = [], refreshMs = 60_000) {
    const opened = await openVendor(vendorName);
    const more = await Promise.all(others.map((each) => openVendor(each)));
    const logged: string[] = [];
    const engine = await openOpenAiCompatible(
      openAiOptions([opened, ...more].map(({ url }) => url).join(','), { apiKey: '', model: '', refreshMs }),
      {},
      (...entry) => logged.push(JSON.stringify(entry)),
    );
    onTestFinished(() => engine.close());
    const say = (clone: Uint8Array) => Array.fromAsync(engine.speak(clonedSegment(engine, clone), signal));
    return { ...opened, more, engine, cloning: engine.cloning!, logged, say };
  }

  test.each<VendorName>(['vLLM-Omni', 'SGLang-Omni'])(
    'is made, spoken, forgotten, uploaded again and deleted at %s',
    async (vendorName) => {
      const { engine, cloning, state, say, restart } = await openEngine(vendorName);
      const clone = await cloning.make(sample(), signal);
      const [uploaded] = state.uploaded;
      expect(uploaded).toMatchObject({
        name: expect.stringMatching(/^sonant-[0-9a-f]{24}$/),
        consent: uploaded!.name,
        ref_text: 'What I say here.',
      });
      expect(uploaded!.wav.length).toBe(44 + 4 * 48_000);
      expect((await say(clone)).length).toBeGreaterThan(0);
      expect(state.bodies.at(-1)!.voice).toBe(uploaded!.name);
      expect(engine.voices.map(({ voiceId }) => voiceId)).not.toContain(uploaded!.name);

      restart();
      expect((await say(clone)).length).toBeGreaterThan(0);
      if (vendorName === 'vLLM-Omni') expect(state.uploaded).toEqual([{ ...uploaded!, createdAt: expect.any(Number) }]);
      await cloning.forget!(clone);
      expect(state.uploaded).toEqual([]);
      await cloning.forget!(clone);
    },
  );

  test('is not listed as a voice of everyone', async () => {
    const { cloning, url } = await openEngine('vLLM-Omni');
    await cloning.make(sample(), signal);
    const { voices, uploaded } = await createSpeechServer(options(url)).listVoices(signal);
    expect(voices?.map(({ id }) => id)).toEqual(['tone-high', 'tone-low']);
    expect(uploaded).toHaveLength(1);
  });

  test('is uploaded to each server that is to speak it, and deleted at all', async () => {
    const { cloning, state, more, say } = await openEngine('vLLM-Omni', ['vLLM-Omni']);
    const clone = await cloning.make(sample(), signal);
    // One server is given at most eight requests at once.
    await Promise.all(Array.from({ length: 12 }, () => say(clone)));
    const all = [state, more[0]!.state];
    expect(all.map(({ uploaded }) => uploaded.length)).toEqual([1, 1]);
    await cloning.forget!(clone);
    expect(all.map(({ uploaded }) => uploaded.length)).toEqual([0, 0]);
  });

  test('of a recording that the server refuses is the caller’s to correct, and the log has nothing of what is said', async () => {
    const { cloning } = await openEngine('vLLM-Omni');
    const failure = await rejection(cloning.make(sample({ reference: pcm(0.5) }), signal));
    expect(failure).toMatchObject({ reason: 'invalid_request', facts: { details: [{ field: 'reference_audio' }] } });
    expect((failure.cause as Error).message).toBe('the server answers 400 (json, 133 bytes, too short)');
  });

  test('a recording that cannot be deleted now is logged without its transcript, and deleted later', async () => {
    const { cloning, logged, state } = await openEngine('vLLM-Omni', [], 200);
    const clone = await cloning.make(sample(), signal);
    state.isReadOnly = true;
    await cloning.forget!(clone);
    expect(logged).toEqual([expect.stringMatching(/^\["warn","a clone could not be deleted.*answers 500/)]);
    expect(logged[0]).not.toMatch(/What I say|UklGR/);
    expect(state.uploaded).toHaveLength(1);
    state.isReadOnly = false;
    while (state.uploaded.length > 0) await sleep(20);
  });

  test('that nobody has spoken for a day is deleted; one that is spoken is uploaded anew before', async () => {
    const { cloning, state, say } = await openEngine('vLLM-Omni', [], 200);
    const clones = [await cloning.make(sample(), signal), await cloning.make(sample(), signal)];
    const [idle, used] = state.uploaded;
    const hour = 3_600;
    const operators = { ...idle!, name: 'of-the-operator', createdAt: 1 };
    const nowSeconds = Math.floor(Date.now() / 1000);
    const { url, ...other } = await openVendor('vLLM-Omni');
    other.state.uploaded = [{ ...used!, createdAt: nowSeconds - 13 * hour }];
    const server = createSpeechServer(options(url));
    await Array.fromAsync(
      server.speak({ voice: used!.name, text, clone: { ...used!, text: '', wav: new Uint8Array(50_044) } }, signal),
    );
    expect(other.state.uploaded[0]!.createdAt).toBeGreaterThanOrEqual(nowSeconds);

    state.uploaded = [{ ...idle!, createdAt: nowSeconds - 25 * hour }, used!, operators];
    while (state.uploaded.length > 2) await sleep(20);
    expect(state.uploaded).toEqual([used, operators]);
    expect((await say(clones[0]!)).length).toBeGreaterThan(0);
    expect(state.uploaded.map(({ name }) => name)).toContain(idle!.name);
  });

  test('at a server that speaks unknown names in another voice is looked up again from time to time', async () => {
    const { url, state, restart } = await openVendor('SGLang-Omni');
    const clock = { nowMs: 0 };
    const server = createSpeechServer(options(url), () => clock.nowMs);
    const clone = { name: `sonant-${'0'.repeat(24)}`, text: '', wav: new Uint8Array(50_044) };
    const say = () => Array.fromAsync(server.speak({ voice: clone.name, text, clone }, signal));
    await say();
    const lists = () => state.asked.filter((each) => each === 'GET /audio/voices').length;
    expect(state.uploaded).toHaveLength(1);
    await say();
    expect(lists()).toBe(1);
    restart();
    clock.nowMs = 10_001;
    await say();
    expect([lists(), state.uploaded.length]).toEqual([2, 1]);
  });

  test('is uploaded once for several segments, and in place of one of its name', async () => {
    const { url, state } = await openVendor('vLLM-Omni');
    state.isStrict = true;
    const clone = { name: `sonant-${'0'.repeat(24)}`, text: '', wav: new Uint8Array(50_044) };
    const uploads = () => state.asked.filter((each) => each === 'POST /audio/voices').length;
    const server = createSpeechServer({ ...options(url), sampleRateHz: 24_000 });
    const say = () => Array.fromAsync(server.speak({ voice: clone.name, text, clone }, signal));
    await Promise.all([say(), say(), say()]);
    expect(uploads()).toBe(1);
    await server.uploadClone(clone, signal);
    expect([uploads(), state.uploaded.length]).toEqual([3, 1]);
  });

  test('stays where only its server is inspected', async () => {
    const { url, state, cloning } = await openEngine('vLLM-Omni');
    await cloning.make(sample(), signal);
    state.uploaded[0]!.createdAt = 1;
    const report = await openAiCompatible.inspect({ ...options(url), voices: [] } as never, '');
    expect(report.message).toContain('can clone voices');
    expect(state.uploaded).toHaveLength(1);
  });

  test('needs a server that takes voices', async () => {
    const { engine } = await openEngine('Kokoro-FastAPI');
    expect(engine.cloning).toBeUndefined();
  });

  test('that this engine did not make is refused', async () => {
    const { say } = await openEngine('vLLM-Omni');
    for (const bytes of [[], [1, 2, 3], [1, 200, 0, 0, 0, 0], [...Buffer.from('{"name":"sonant-"}')]])
      expect((await rejection(say(Uint8Array.from(bytes)))).reason).toBe('engine_error');
  });
});
