// ElevenLabs's API, by the messages that real clients send: those of LiveKit's plugin (@livekit/agents-plugin-elevenlabs
// 1.8.1), of Pipecat's service and of @elevenlabs/elevenlabs-js 2, replayed with Node's own WebSocket and fetch.
import { once } from 'node:events';
import { afterAll, expect, test } from 'vitest';
import { openTestGateway } from './open-gateway.ts';

const shared = await openTestGateway({}, afterAll);

/** Longer than any pause of a busy machine. */
const patient = { timeout: 20_000 };

interface Alignment {
  chars: string[];
  charStartTimesMs: number[];
  charDurationsMs: number[];
}
interface Message {
  audio?: string;
  alignment?: Alignment | null;
  normalizedAlignment?: Alignment | null;
  isFinal?: boolean;
  error?: string;
  contextId?: string;
}

const speakUrl = '/v1/text-to-speech/tone-low';
const headersOf = (key = shared.key) => ({ 'xi-api-key': key });

/** `from` is a path with its query. */
function openSocket(from: string, { url, key }: { url: string; key: string } = shared) {
  const options = { headers: headersOf(key) } as unknown as string[];
  const socket = new WebSocket(url.replace('http', 'ws') + from, options);
  const seen: Message[] = [];
  socket.addEventListener('message', ({ data }) => void seen.push(JSON.parse(data as string)));
  const closed = once(socket, 'close').then(([event]) => (event as CloseEvent).code);
  const send = (...messages: object[]) => {
    for (const message of messages) socket.send(JSON.stringify(message));
  };
  const of = (id: string | undefined) => seen.filter(({ contextId }) => contextId === id);
  const final = async (id: string | undefined) => {
    await expect.poll(() => of(id).at(-1)?.isFinal, patient).toBe(true);
    return of(id);
  };
  return { socket, opened: once(socket, 'open'), closed, send, seen, of, final };
}

const soundOf = (messages: readonly Message[]) =>
  Buffer.concat(messages.map(({ audio }) => Buffer.from(audio ?? '', 'base64')));
const alignmentsOf = (messages: readonly Message[]) => messages.flatMap(({ alignment }) => alignment ?? []);
const textOf = (messages: readonly Message[]) =>
  alignmentsOf(messages)
    .flatMap(({ chars }) => chars)
    .join('');

/** What LiveKit's plugin asks for. */
const liveKitPath =
  '/v1/text-to-speech/tone-low/multi-stream-input?model_id=eleven_turbo_v2_5&output_format=mp3_22050_32&language_code=en' +
  '&enable_ssml_parsing=false&enable_logging=true&inactivity_timeout=180&apply_text_normalization=auto' +
  '&sync_alignment=true&auto_mode=true';
/** What Pipecat's service asks for. */
const pipecatPath =
  '/v1/text-to-speech/tone-low/multi-stream-input?model_id=eleven_turbo_v2_5&output_format=pcm_24000&auto_mode=true';

test('LiveKit: sentences with a flush each, then an empty flush and the end; times run on one clock', async () => {
  const { opened, send, final } = openSocket(liveKitPath);
  await opened;
  const context_id = 'c1';
  send(
    {
      text: ' ',
      voice_settings: { stability: 0.5, speed: 1 },
      context_id,
      generation_config: { chunk_length_schedule: [80] },
    },
    { text: 'Good morning, all. ', context_id, flush: true },
    { text: 'How are you 😀 today? ', context_id, flush: true },
    { text: '', context_id, flush: true },
    { context_id, close_context: true },
  );
  const messages = await final(context_id);
  expect(messages.filter(({ isFinal }) => isFinal)).toHaveLength(1);
  expect(messages.at(-1)).toEqual({ isFinal: true, contextId: context_id });
  expect(textOf(messages)).toBe('Good morning, all. How are you 😀 today? ');
  const starts = alignmentsOf(messages).flatMap(({ charStartTimesMs }) => charStartTimesMs);
  expect(starts).toEqual(starts.toSorted((a, b) => a - b));
  for (const { chars, charStartTimesMs, charDurationsMs } of alignmentsOf(messages))
    expect([charStartTimesMs.length, charDurationsMs.length]).toEqual([chars.length, chars.length]);
  expect(
    messages.every(({ alignment, normalizedAlignment }) =>
      Object.is(JSON.stringify(alignment), JSON.stringify(normalizedAlignment)),
    ),
  ).toBe(true);
  expect(soundOf(messages).readUInt16BE(0) & 0xffe0, 'MPEG audio').toBe(0xffe0);
});

/** The words and their times as Pipecat reads them (calculate_word_times). */
function wordsOf(messages: readonly Message[]) {
  const words: { word: string; ms: number }[] = [];
  let clockMs = 0;
  let word = '';
  let startMs = 0;
  for (const { chars, charStartTimesMs, charDurationsMs } of alignmentsOf(messages)) {
    const before = words.length;
    for (const [i, char] of chars.entries()) {
      if (char !== ' ') {
        if (word === '') startMs = clockMs + charStartTimesMs[i]!;
        word += char;
      } else if (word !== '') {
        words.push({ word, ms: startMs });
        word = '';
      }
    }
    if (words.length > before) clockMs += charStartTimesMs.at(-1)! + charDurationsMs.at(-1)!;
  }
  return { words, left: word };
}

test('Pipecat: sentences without a space between them; each message’s times add up to one clock', async () => {
  const { opened, send, final, socket, closed, seen } = openSocket(pipecatPath);
  await opened;
  send({ text: '' });
  const context_id = 'p1';
  const voice_settings = { stability: 0.5, similarity_boost: 0.8, speed: 1 };
  send({ text: ' ', context_id, voice_settings }, { text: 'Hello there.', context_id });
  send({ text: '', context_id }, { text: 'It costs 3.50 at most, "friend".', context_id }, { text: 'Bye', context_id });
  send({ context_id, flush: true }, { context_id, close_context: true }, { context_id, close_context: true });
  const messages = await final(context_id);
  expect(textOf(messages)).toBe('Hello there. It costs 3.50 at most, "friend". Bye ');
  const { words, left } = wordsOf(messages);
  expect(left).toBe('');
  expect(words.map(({ word }) => word)).toEqual([
    'Hello',
    'there.',
    'It',
    'costs',
    '3.50',
    'at',
    'most,',
    '"friend".',
    'Bye',
  ]);
  const times = words.map(({ ms }) => ms);
  expect(times).toEqual(times.toSorted((a, b) => a - b));
  expect(new Set(times).size).toBe(times.length);
  const durationMs = soundOf(messages).length / 48;
  expect(times.at(-1)).toBeLessThan(durationMs);
  expect(times.at(-1)).toBeGreaterThan(durationMs / 2);
  expect(
    seen.every(({ contextId }) => contextId === context_id),
    'a keep-alive opens no context',
  ).toBe(true);
  send({ close_socket: true });
  expect(await closed).toBe(1000);
  socket.close();
});

test('both clocks tell the same times', async () => {
  const [absolute, relative] = await Promise.all(
    ['&sync_alignment=true', ''].map(async (sync) => {
      const { opened, send, final } = openSocket(pipecatPath + sync);
      await opened;
      for (const text of ['One two three. ', 'Four five. '])
        send({ text, context_id: 'x' }, { context_id: 'x', flush: true });
      send({ context_id: 'x', close_context: true });
      return final('x');
    }),
  );
  const starts = alignmentsOf(absolute!).flatMap(({ chars, charStartTimesMs }) =>
    chars.map((char, i) => ({ char, ms: charStartTimesMs[i]! })),
  );
  const words = starts
    .filter(({ char }, i) => char !== ' ' && (starts[i - 1]?.char ?? ' ') === ' ')
    .map(({ ms }) => ms);
  expect(wordsOf(relative!).words.map(({ ms }) => ms)).toEqual(words);
});

test('closing a context before its flush stops it at once, and the next one speaks', async () => {
  const gateway = await openTestGateway({ trouble: { pieceDelayMs: 5 } });
  const { opened, send, final, of } = openSocket(pipecatPath, gateway);
  await opened;
  send({ text: 'This goes on and on and on. '.repeat(100), context_id: 'long' });
  await expect.poll(() => of('long').length, patient).toBeGreaterThan(0);
  send(
    { context_id: 'long', close_context: true },
    { text: 'Short.', context_id: 'next' },
    { context_id: 'next', flush: true },
  );
  send({ context_id: 'next', close_context: true });
  expect((await final('long')).at(-1)).toEqual({ isFinal: true, contextId: 'long' });
  expect((await final('next')).length).toBeGreaterThan(2);
  await expect.poll(() => gateway.slots.speaking, patient).toBe(0);
  expect(gateway.calls.filter(({ door }) => door === 'elevenlabs').map(({ status }) => status)).toContain('CANCELLED');
});

test('close_socket closes while a context still speaks', async () => {
  const gateway = await openTestGateway({ trouble: { pieceDelayMs: 20 } });
  const { opened, send, closed, of } = openSocket(pipecatPath, gateway);
  await opened;
  send({ text: 'This goes on and on and on. '.repeat(100), context_id: 'long' });
  await expect.poll(() => of('long').length, patient).toBeGreaterThan(0);
  send({ close_socket: true });
  expect(await closed).toBe(1000);
  await expect.poll(() => gateway.slots.speaking, patient).toBe(0);
});

test('a context without messages ends after its inactivity timeout', async () => {
  const { opened, send, final } = openSocket(`${pipecatPath}&inactivity_timeout=1`);
  await opened;
  send({ text: 'Said anyway.', context_id: 'quiet' });
  expect(textOf(await final('quiet'))).toBe('Said anyway. ');
});

test.each([
  'pcm_8000',
  'pcm_16000',
  'pcm_22050',
  'pcm_44100',
  'pcm_48000',
  'mp3_44100_128',
  'mp3_22050_32',
  'ulaw_8000',
  'alaw_8000',
  'opus_48000_64',
])('a context without anything to say still gets samples in %s', async (format) => {
  const { opened, send, final } = openSocket(`/v1/text-to-speech/tone-low/multi-stream-input?output_format=${format}`);
  await opened;
  send({ text: ' ', context_id: 'void' }, { context_id: 'void', close_context: true });
  const messages = await final('void');
  expect(messages).toHaveLength(2);
  expect(soundOf(messages).length).toBeGreaterThan(0);
});

test('stream-input has a single context, which empty text ends, and closes after it', async () => {
  const { opened, send, closed, seen } = openSocket(`${speakUrl}/stream-input?output_format=pcm_16000`);
  await opened;
  send({ text: ' ', voice_settings: { speed: 2 }, try_trigger_generation: true, generation_config: {} });
  for (const text of ['Hel', 'lo the', 're, world']) send({ text });
  send({ text: '' });
  expect(await closed).toBe(1000);
  expect(textOf(seen)).toBe('Hello there, world ');
  expect(seen.at(-1)).toEqual({ isFinal: true });
  expect(soundOf(seen).length).toBeGreaterThan(3200);
  const empty = openSocket(`${speakUrl}/stream-input`);
  await empty.opened;
  empty.send({ text: '' });
  expect(await empty.closed).toBe(1000);
  expect(empty.seen).toEqual([{ isFinal: true }]);
});

test('errors name their context, and the other contexts go on', async () => {
  const { opened, send, final, of } = openSocket(pipecatPath);
  await opened;
  send({ text: 'Fast.', context_id: 'bad', voice_settings: { speed: 99 } }, { text: 7, context_id: 'worse' });
  await expect.poll(() => [of('bad').length, of('worse').length], patient).toEqual([1, 1]);
  expect(of('bad')[0]!.error).toContain('voice_settings.speed');
  send(
    { text: 'Fine.', context_id: 'good' },
    { context_id: 'good', flush: true },
    { context_id: 'good', close_context: true },
  );
  expect(textOf(await final('good'))).toBe('Fine. ');
  const failing = await openTestGateway({ trouble: { failsAfterPieces: 0 } });
  const broken = openSocket(pipecatPath, failing);
  await broken.opened;
  broken.send({ text: 'Broken.', context_id: 'b' }, { context_id: 'b', flush: true });
  expect((await broken.final('b'))[0]).toEqual({ error: expect.any(String), contextId: 'b' });
  const single = openSocket(`${speakUrl}/stream-input`);
  await single.opened;
  single.socket.send('not JSON');
  expect(await single.closed).toBe(1008);
  expect(single.seen).toEqual([{ error: expect.any(String) }]);
});

test('a voice or format that there is not refuses the upgrade, and so does a missing key', async () => {
  const refusals = [
    ['/v1/text-to-speech/nobody/multi-stream-input', shared.key, 404, 'voice_not_found'],
    ['/v1/text-to-speech/tone-low/stream-input?output_format=pcm_32000', shared.key, 400, 'invalid_request'],
    ['/v1/text-to-speech/tone-low/stream-input', 'snt_wrong', 401, 'invalid_api_key'],
  ] as const;
  for (const [path, key, status, name] of refusals) {
    const { socket } = openSocket(path, { url: shared.url, key });
    await once(socket, 'error');
    const plain = await fetch(shared.url + path.replace(/multi-stream-input|stream-input/, 'stream'), {
      method: 'POST',
      headers: { ...headersOf(key), 'content-type': 'application/json' },
      body: JSON.stringify({ text: 'Hello.' }),
    });
    expect(plain.status).toBe(status);
    expect(await plain.json()).toEqual({
      detail: { status: name, message: expect.any(String), request_id: expect.stringMatching(/^req_/) },
    });
  }
});

const post = (path: string, body: object) =>
  fetch(shared.url + speakUrl + path, {
    method: 'POST',
    headers: { ...headersOf(), 'content-type': 'application/json' },
    body: JSON.stringify({ model_id: 'eleven_multilingual_v2', ...body }),
  });
const bytesOf = async (answer: Response) => Buffer.from(await answer.arrayBuffer());

interface Timed {
  audio_base64: string;
  alignment: {
    characters: string[];
    character_start_times_seconds: number[];
    character_end_times_seconds: number[];
  } | null;
}

test('over HTTP: the audio, the same as a stream, and the same with the times of its characters', async () => {
  const text = 'Überall “gleich”. And again.';
  const whole = await post('?output_format=pcm_16000', { text, voice_settings: { stability: 1 } });
  expect([whole.status, whole.headers.get('content-type')]).toEqual([200, 'audio/pcm']);
  expect(whole.headers.get('x-ignored-fields')).toBe('voice_settings.stability');
  const sound = await bytesOf(whole);
  expect(sound.length).toBeGreaterThan(16_000);
  expect((await bytesOf(await post('/stream?output_format=pcm_16000', { text }))).equals(sound)).toBe(true);
  const timed = (await (await post('/with-timestamps?output_format=pcm_16000', { text })).json()) as Timed;
  const lines = (await (await post('/stream/with-timestamps?output_format=pcm_16000', { text })).text())
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Timed);
  for (const pieces of [[timed], lines]) {
    const joined = Buffer.concat(pieces.map(({ audio_base64 }) => Buffer.from(audio_base64, 'base64')));
    expect(joined.equals(sound)).toBe(true);
    expect(pieces.flatMap(({ alignment }) => alignment?.characters ?? []).join('')).toBe(text);
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
  [{ text: 'Hello.' }, '?output_format=pcm_32000', 'output_format'],
  [{ text: 'Hello.' }, '?language_code=ja', 'language'],
  [{ text: 'x'.repeat(50_001) }, '', '50000'],
])('%o is refused', async (body, query, word) => {
  const answer = await post(query, body);
  const { detail } = (await answer.json()) as { detail: { message: string } };
  expect(answer.status).toBe(400);
  expect(detail.message).toContain(word);
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

test('while the service stops, a context is finished and the connection closes with 1012', async () => {
  const gateway = await openTestGateway({ trouble: { pieceDelayMs: 20 } });
  const { opened, send, closed, of } = openSocket(pipecatPath, gateway);
  await opened;
  send({ text: 'This one is finished.', context_id: 'last' });
  await expect.poll(() => of('last').length, patient).toBeGreaterThan(0);
  gateway.runner.leave();
  const drained = gateway.gateway.drain(10_000);
  send({ context_id: 'last', flush: true }, { context_id: 'last', close_context: true });
  expect(await closed).toBe(1012);
  expect(of('last').at(-1)).toEqual({ isFinal: true, contextId: 'last' });
  await drained;
});
