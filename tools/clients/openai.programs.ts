// Tests OpenAI's own SDK against Sonant's version of its API: common calls, and every failure.
import OpenAI, {
  type APIError,
  APIUserAbortError,
  AuthenticationError,
  BadRequestError,
  ConflictError,
  RateLimitError,
} from 'openai';
import { afterAll, expect, test } from 'vitest';
import { Failure } from '../../src/platform/errors.ts';
import { isInstalled } from '../../test/programs.ts';
import { openTestGateway } from '../../test/transports/http/open-gateway.ts';

let refusals = 0;
const gateway = await openTestGateway(
  {
    trouble: {},
    admit:
      (real) =>
      (...call) => {
        const failure = new Failure('rate_limit_exceeded', { limitReason: 'requests', retryAfterSeconds: 0.05 });
        return refusals-- > 0 ? Promise.reject(failure) : real(...call);
      },
  },
  afterAll,
);
const clientOf = (apiKey = gateway.key, maxRetries = 0) =>
  new OpenAI({ apiKey, baseURL: `${gateway.url}/v1`, maxRetries });
const openai = clientOf();
const speechRequest = { model: 'tts-1', voice: 'tone-low', input: 'Good evening to all.' };
const refusalOf = async (call: Promise<unknown>): Promise<APIError> =>
  call.then(
    () => Promise.reject(new Error('it was not refused')),
    (error) => error,
  );

test('a text becomes an MP3 at 24 kHz, or what else is asked for', async () => {
  const mp3 = Buffer.from(await (await openai.audio.speech.create(speechRequest)).arrayBuffer());
  expect(mp3.readUInt16BE(0) & 0xffe0, 'MPEG audio').toBe(0xffe0);
  const answer = await openai.audio.speech.create({ ...speechRequest, response_format: 'wav' });
  const wav = Buffer.from(await answer.arrayBuffer());
  expect([answer.headers.get('content-type'), wav.toString('latin1', 0, 4), wav.readUInt32LE(24)]).toEqual([
    'audio/wav',
    'RIFF',
    24_000,
  ]);
  const pcm = Buffer.from(
    await (await openai.audio.speech.create({ ...speechRequest, response_format: 'pcm' })).arrayBuffer(),
  );
  expect(pcm.equals(wav.subarray(44))).toBe(true);
  for (const [response_format, type, head] of [
    ['opus', 'audio/ogg', 'OggS'],
    ['flac', 'audio/flac', 'fLaC'],
    ...(isInstalled('ffmpeg') ? ([['aac', 'audio/aac', '\xff\xf1X@']] as const) : []),
  ] as const) {
    const answer = await openai.audio.speech.create({ ...speechRequest, response_format });
    const bytes = Buffer.from(await answer.arrayBuffer());
    expect([answer.headers.get('content-type'), bytes.toString('latin1', 0, 4)]).toEqual([type, head]);
  }
  const fast = await openai.audio.speech.create({ ...speechRequest, response_format: 'pcm', speed: 2 });
  expect((await fast.arrayBuffer()).byteLength / pcm.length).toBeCloseTo(0.5, 1);
});

test('the same as a stream, and as events', async () => {
  const whole = Buffer.from(
    await (await openai.audio.speech.create({ ...speechRequest, response_format: 'pcm' })).arrayBuffer(),
  );
  const stream = await openai.audio.speech.create({ ...speechRequest, response_format: 'pcm' });
  expect(Buffer.concat(await Array.fromAsync(stream.body as never as AsyncIterable<Uint8Array>)).equals(whole)).toBe(
    true,
  );
  const events = await openai.audio.speech.create({ ...speechRequest, response_format: 'pcm', stream_format: 'sse' });
  const text = await events.text();
  const chunks = text
    .split('\n\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line.slice('data: '.length)));
  expect(events.headers.get('content-type')).toBe('text/event-stream');
  expect(chunks.at(-1)).toEqual({
    type: 'speech.audio.done',
    usage: { input_tokens: 20, output_tokens: 0, total_tokens: 20 },
  });
  const sound = chunks.slice(0, -1).map(({ type, audio }) => {
    expect(type).toBe('speech.audio.delta');
    return Buffer.from(audio, 'base64');
  });
  expect(Buffer.concat(sound).equals(whole)).toBe(true);
});

test('a voice may be an object with its id, and speaks its own language by default', async () => {
  const answer = await openai.audio.speech.create({ ...speechRequest, voice: { id: 'tone-high' } as never });
  expect(answer.headers.get('X-Voice')).toBe('Tone, high');
});

test('voices and models are listed', async () => {
  const { voices } = (await (await fetch(`${gateway.url}/v1/audio/voices`, bearer())).json()) as { voices: object[] };
  expect(voices).toContainEqual({ id: 'tone-low', name: 'Tone, low' });
  const models = await Array.fromAsync(await openai.models.list());
  expect(models.map(({ id }) => id)).toContain('tts-1');
  for (const model of models) expect(await openai.models.retrieve(model.id)).toEqual(model);
  const unknown = await refusalOf(openai.models.retrieve('nobody'));
  expect([unknown.status, unknown.code, unknown.type]).toEqual([404, 'not_found', 'invalid_request_error']);
});
const bearer = (key = gateway.key) => ({ headers: { Authorization: `Bearer ${key}` } });

test('each refusal has the error class that the SDK knows', async () => {
  const wrongKey = await refusalOf(clientOf('sk-wrong').audio.speech.create(speechRequest));
  expect(wrongKey).toBeInstanceOf(AuthenticationError);
  expect([wrongKey.code, wrongKey.type]).toEqual(['invalid_api_key', 'invalid_request_error']);
  const made = { voice_id: 'off', name: 'Off', bindings: [{ engine: 'tone', voice_id: 'tone-low' }], enabled: false };
  await gateway.send('/api/voices', {
    headers: { 'X-API-Key': await gateway.makeKey(['voices:write', 'admin']) },
    body: made,
  });
  const wrongVoice = await refusalOf(openai.audio.speech.create({ ...speechRequest, voice: 'off' }));
  expect(wrongVoice).toBeInstanceOf(ConflictError);
  expect(wrongVoice.code).toBe('voice_not_ready');
  const tooLong = await refusalOf(openai.audio.speech.create({ ...speechRequest, input: 'x'.repeat(5001) }));
  expect(tooLong).toBeInstanceOf(BadRequestError);
  expect(tooLong.code).toBe('text_too_long');
  const wrong = { ...speechRequest, input: '', response_format: 'aiff', speed: 9, stream_format: 'x' } as never;
  const wrongFields = await refusalOf(openai.audio.speech.create(wrong));
  expect([wrongFields.code, wrongFields.param]).toEqual(['invalid_request', 'response_format']);
  for (const word of ['response_format', 'stream_format', 'input', 'speed'])
    expect(wrongFields.message).toContain(word);
  gateway.tone.trouble = { failure: new Failure('engine_error'), failsAfterPieces: 0 };
  const failed = await refusalOf(openai.audio.speech.create({ ...speechRequest, input: 'Another.' }));
  gateway.tone.trouble = {};
  expect([failed.status, failed.code, failed.type]).toEqual([502, 'engine_error', 'server_error']);
});

test('the SDK retries after Retry-After, and is served', async () => {
  refusals = 2;
  const answer = await clientOf(gateway.key, 2).audio.speech.create(speechRequest);
  expect(answer.status).toBe(200);
  refusals = 1;
  expect(await refusalOf(openai.audio.speech.create(speechRequest))).toBeInstanceOf(RateLimitError);
});

test('who aborts ends the synthesis; a failure in the middle breaks the body, and is an event in a stream of events', async () => {
  gateway.tone.trouble = { pieceDelayMs: 20 };
  const leaving = new AbortController();
  const long = { ...speechRequest, input: 'word '.repeat(400) };
  const aborted = refusalOf(openai.audio.speech.create(long, { signal: leaving.signal }).then((a) => a.arrayBuffer()));
  await expect.poll(() => gateway.tone.counts.running).toBeGreaterThan(0);
  leaving.abort();
  const reason = await aborted;
  expect(reason instanceof APIUserAbortError || reason.name === 'AbortError').toBe(true);
  await expect.poll(() => gateway.tone.counts.running).toBe(0);
  gateway.tone.trouble = { failure: new Failure('engine_error'), failsAfterPieces: 4 };
  const broken = await openai.audio.speech.create({ ...long, response_format: 'pcm' });
  await expect(broken.arrayBuffer()).rejects.toThrow();
  const events = await (await openai.audio.speech.create({ ...long, stream_format: 'sse' })).text();
  gateway.tone.trouble = {};
  const [last] = events.trimEnd().split('\n\n').slice(-1);
  expect(last).toMatch(/^event: error\ndata: \{"error":\{"message":.*"code":"engine_error"/);
});

test('reading is enough to list, speaking needs its scope, and all of it holds to the voices of the key', async () => {
  const reader = await gateway.makeKey(['voices:read']);
  const refused = await refusalOf(clientOf(reader).audio.speech.create(speechRequest));
  expect([refused.status, refused.code]).toEqual([403, 'insufficient_scope']);
  const { key: limited } = await gateway.keyVerifier.create({ voiceIds: ['tone-high'] });
  const { voices } = (await (await fetch(`${gateway.url}/v1/audio/voices`, bearer(limited))).json()) as {
    voices: object[];
  };
  expect(voices).toEqual([{ id: 'tone-high', name: 'Tone, high' }]);
  const refusedVoice = await refusalOf(clientOf(limited).audio.speech.create(speechRequest));
  expect([refusedVoice.status, refusedVoice.code, refusedVoice.param]).toEqual([404, 'voice_not_found', 'voice']);
  const answer = await clientOf(limited).audio.speech.create({ ...speechRequest, voice: 'alloy' });
  expect([answer.headers.get('X-Voice-Id'), answer.headers.get('X-Ignored-Fields')]).toEqual(['tone-high', 'voice']);
});
