// Tests Cartesia's API: its WebSocket with messages from Pipecat's CartesiaTTSService, which also defines how replies are
// parsed; the speeds that clients send, a factor or the older scale from -1 to 1 with its five names; access tokens; and
// the calls for voices.
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { type ClientOptions, WebSocket } from 'ws';
import { contextIdCharsMax } from '../../../src/transports/http/http-limits.ts';
import { bytesOf, openTestGateway } from '../http/open-gateway.ts';
import { openSocket, patient } from './elevenlabs-socket.ts';

const shared = await openTestGateway({}, afterAll);

const output_format = { container: 'raw', encoding: 'pcm_s16le', sample_rate: 24_000 };

type Message = Record<string, unknown> & { type: string; context_id: string };

/**
 * The output of _build_msg: a service that accepts sentences sends `max_buffer_delay_ms`, a service that accepts tokens
 * does not.
 */
const messageOf = (context_id: string, transcript: string, more: object = {}) => ({
  ...{ transcript, continue: true, context_id, model_id: 'sonic-3.5', voice: { mode: 'id', id: 'tone-low' } },
  output_format,
  ...{ add_timestamps: true, use_normalized_timestamps: false, language: 'en', ...more },
});

async function openPipecat({ url, key } = shared, options: ClientOptions = {}) {
  const address = `${url.replace('http', 'ws')}/tts/websocket?api_key=${key}&cartesia_version=2026-03-01`;
  const socket = new WebSocket(address, options);
  onTestFinished(() => socket.terminate());
  await once(socket, 'open');
  const seen: Message[] = [];
  const errors: string[] = [];
  const stopped: string[] = [];
  const words: Record<string, [string, number][]> = {};
  const sound: Record<string, number> = {};
  // Reads messages like Pipecat's _process_messages.
  socket.on('message', (data) => {
    const message = JSON.parse(String(data)) as Message;
    seen.push(message);
    const { type, context_id: id } = message;
    if (type === 'done') stopped.push(id);
    else if (type === 'timestamps') {
      const { words: texts, start } = message.word_timestamps as { words: string[]; start: number[] };
      words[id] = [...(words[id] ?? []), ...texts.map((text, i): [string, number] => [text, start[i]!])];
    } else if (type === 'chunk') sound[id] = (sound[id] ?? 0) + Buffer.from(String(message.data), 'base64').length;
    else if (type === 'error') errors.push(id);
    else if (type !== 'flush_done') throw new Error(`unknown message type: ${type}`);
  });
  const send = (...messages: object[]) => {
    for (const message of messages) socket.send(JSON.stringify(message));
  };
  return { socket, send, seen, errors, stopped, words, sound };
}

test('Pipecat: sentences without a space between them are sentences, and their words those of the text', async () => {
  const { send, stopped, words, sound, errors } = await openPipecat();
  const say = (text: string) => messageOf('p1', text, { max_buffer_delay_ms: 0 });
  const sentences = ['Good morning, all.', 'It costs 3.50, or “less”.', 'How are you'];
  const before = shared.tone.segments.length;
  send(...sentences.map(say), { ...say(''), continue: false });
  await expect.poll(() => stopped, patient).toEqual(['p1']);
  expect(words.p1!.map(([word]) => word).join(' ')).toBe(sentences.join(' '));
  const starts = words.p1!.map(([, start]) => start);
  expect(starts).toEqual(starts.toSorted((one, other) => one - other));
  expect(starts.at(-1)).toBeLessThan(sound.p1! / 48_000);
  const spoken = shared.tone.segments.slice(before).map(({ text }) => text);
  expect(spoken.join(' ')).not.toMatch(/[a-z][.”]\S*[A-Z]/);
  expect(errors).toEqual([]);
});

test('a phrase that is cut in the middle of a character is joined', async () => {
  const { send, stopped, words, errors } = await openPipecat();
  const say = (text: string) => messageOf('cut', text, { max_buffer_delay_ms: 0 });
  const before = shared.tone.segments.length;
  send(...['Hi \ud83d', '\ude00 there.', 'Bye.'].map(say), { ...say(''), continue: false });
  await expect.poll(() => stopped, patient).toEqual(['cut']);
  expect(errors).toEqual([]);
  expect(words.cut!.map(([word]) => word)).toEqual(['Hi', 'there.', 'Bye.']);
  const spoken = shared.tone.segments.slice(before).map(({ text }) => text);
  expect(spoken.join(' ')).toMatch(/Hi.*there\. Bye\./);
});

test('Pipecat: tokens are joined as they are', async () => {
  const { send, stopped, words } = await openPipecat();
  const tokens = ['Good', ' mor', 'ning', ',', ' all', '.', ' How', ' are you', '?'];
  send(...tokens.map((text) => messageOf('t1', text)), { ...messageOf('t1', ''), continue: false });
  await expect.poll(() => stopped, patient).toEqual(['t1']);
  expect(words.t1!.map(([word]) => word)).toEqual(['Good', 'morning,', 'all.', 'How', 'are', 'you?']);
});

test('Pipecat: an interrupted context ends, and the next one is spoken whole', async () => {
  const { send, seen, stopped, words, errors } = await openPipecat();
  const say = (id: string, text: string) => messageOf(id, text, { max_buffer_delay_ms: 0 });
  send(say('i1', 'This goes on and on and on. '.repeat(40)));
  await expect.poll(() => seen.length, patient).toBeGreaterThan(0);
  send({ context_id: 'i1', cancel: true }, say('i2', 'Yes?'), { ...say('i2', ''), continue: false });
  await expect.poll(() => stopped.toSorted(), patient).toEqual(['i1', 'i2']);
  const end = seen.findIndex(({ type, context_id }) => type === 'done' && context_id === 'i1');
  expect(seen.slice(end + 1).filter(({ context_id }) => context_id === 'i1')).toEqual([]);
  expect(words.i2!.map(([word]) => word)).toEqual(['Yes?']);
  expect(errors).toEqual([]);
});

test('LiveKit: a socket that answers no ping for five minutes between two turns is still open', async () => {
  const gateway = await openTestGateway();
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const { send, stopped, socket } = await openPipecat(gateway, { autoPong: false });
  const say = (id: string) => send(messageOf(id, 'Hello.'), { ...messageOf(id, ''), continue: false });
  say('one');
  await expect.poll(() => stopped, patient).toEqual(['one']);
  await vi.advanceTimersByTimeAsync(300_000);
  say('two');
  await expect.poll(() => stopped, patient).toEqual(['one', 'two']);
  const closed = once(socket, 'close');
  await vi.advanceTimersByTimeAsync(400_000);
  expect((await closed)[0]).toBe(1006);
});

test('a failure of the connection ends each of its contexts, also one whose text has ended', async () => {
  const slow = await openTestGateway({ trouble: { pieceDelayMs: 20 } });
  const { send, stopped, errors, sound, socket } = await openPipecat(slow);
  const long = 'This goes on and on and on. '.repeat(100);
  send(messageOf('open', 'It is open.'), { ...messageOf('whole', long), continue: false });
  await expect.poll(() => sound.whole ?? 0, patient).toBeGreaterThan(0);
  socket.send('no JSON');
  const [code] = await once(socket, 'close');
  expect(code).toBe(1008);
  expect(errors.toSorted()).toEqual(['open', 'whole', undefined]);
  expect(stopped.toSorted()).toEqual(['open', 'whole']);
});

test('Pipecat: a context without speech is given samples, and an error names its context', async () => {
  const { send, sound, stopped, errors } = await openPipecat();
  send(messageOf('e1', '…'), { ...messageOf('e1', ''), continue: false });
  await expect.poll(() => stopped, patient).toEqual(['e1']);
  expect(sound.e1).toBeGreaterThan(0);
  send(messageOf('e2', 'Hello.', { voice: { mode: 'id', id: 'nobody' } }));
  await expect.poll(() => errors, patient).toEqual(['e2']);
  const tooLong = 'e'.repeat(contextIdCharsMax + 1);
  send(messageOf(tooLong, 'Hello.'));
  await expect.poll(() => errors, patient).toEqual(['e2', tooLong]);
  send(messageOf('e3', 'Still here.'), { ...messageOf('e3', ''), continue: false });
  await expect.poll(() => stopped, patient).toContain('e3');
});

const speak = (controls: object | undefined, more: object = {}) =>
  shared.send('/tts/bytes', {
    body: {
      transcript: 'One and the same.',
      voice: { mode: 'id', id: 'tone-low', ...(controls && { __experimental_controls: controls }) },
      output_format,
      ...more,
    },
  });

const soundOf = async (answer: Response) => {
  expect(answer.status, await answer.clone().text()).toBe(200);
  return Buffer.from(await answer.arrayBuffer());
};

test.each<[unknown, number]>([
  [-1, 0.6],
  [-0.5, 0.8],
  [0, 1],
  [0.25, 1.1],
  [1, 1.4],
  [-3, 0.6],
  [2, 1.4],
  ['slowest', 0.6],
  ['slow', 0.8],
  ['normal', 1],
  ['fast', 1.2],
  ['fastest', 1.4],
  [null, 1],
])('the experimental speed %j is %d times the normal one', async (speed, factor) => {
  const asked = await soundOf(await speak({ speed }));
  const exact = await soundOf(await speak(undefined, { generation_config: { speed: factor } }));
  expect(asked.equals(exact)).toBe(true);
});

test.each([['quick'], ['toString'], [[0]], [true]])(
  'the experimental speed %j is refused by its name',
  async (speed) => {
    const answer = await speak({ speed });
    const message = expect.stringMatching(
      /^voice\.__experimental_controls\.speed must be a number, or one of slowest, /,
    );
    expect([answer.status, await answer.json()]).toMatchObject([400, { error_code: 'invalid_request', message }]);
  },
);

test.each(['speed', 'generation_config'])('the words of LiveKit’s plugin are speeds in %s too', async (member) => {
  for (const [word, factor] of Object.entries({ slowest: 0.6, fast: 1.2, fastest: 1.4 })) {
    const named = await soundOf(await speak(undefined, { [member]: member === 'speed' ? word : { speed: word } }));
    const exact = await soundOf(await speak(undefined, { generation_config: { speed: factor } }));
    expect(named.equals(exact), word).toBe(true);
  }
});

test('newer speeds keep their scale and go before the experimental one', async () => {
  const fast = await soundOf(await speak({ speed: -1 }, { speed: 'fast' }));
  const factor = await soundOf(await speak({ speed: -1 }, { speed: 1.2 }));
  const exact = await soundOf(await speak(undefined, { generation_config: { speed: 1.2 } }));
  expect([fast.equals(exact), factor.equals(exact)]).toEqual([true, true]);
});

const speech = { transcript: 'Hello.', voice: { mode: 'id', id: 'tone-low' }, output_format };

const ask = (path: string, body: object | undefined, headers: Record<string, string>, method = body ? 'POST' : 'GET') =>
  fetch(shared.url + path, {
    method,
    headers: { 'cartesia-version': '2026-03-01', ...(body && { 'content-type': 'application/json' }), ...headers },
    ...(body && { body: JSON.stringify(body) }),
  });
const bearer = (key: string) => ({ Authorization: `Bearer ${key}` });

async function makeToken(body: object = { grants: { tts: true }, expires_in: 60 }, key = shared.key): Promise<string> {
  const answer = await ask('/access-token', body, bearer(key));
  expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'no-store']);
  return ((await answer.json()) as { token: string }).token;
}
const refusalOf = async (answer: Response) => {
  const { error_code, message } = (await answer.json()) as { error_code: string; message: string };
  return [answer.status, error_code, message];
};
const expired = [401, 'invalid_api_key', 'The access token is invalid or has expired. Request a new one.'];

test('a token speaks again and again, in the query or as a bearer, over HTTP and WebSocket', async () => {
  const token = await makeToken();
  for (const answer of [
    await ask(`/tts/bytes?access_token=${token}`, speech, {}),
    await ask('/tts/bytes', speech, bearer(token)),
    await ask(`/tts/sse?access_token=${token}`, speech, {}),
  ]) {
    expect(answer.status).toBe(200);
    expect((await bytesOf(answer)).length).toBeGreaterThan(5_000);
  }
  const path = `/tts/websocket?access_token=${token}&cartesia_version=2026-03-01`;
  const { send, seen } = await openSocket(path, { url: shared.url });
  send({ ...speech, context_id: 'c' });
  await expect.poll(() => (seen as { type?: string }[]).at(-1)?.type, patient).toBe('done');
});

test('a token is only for speech, and ends with its time or its key', async () => {
  const token = await makeToken();
  for (const [path, body] of [
    ['/access-token', {}],
    ['/voices', undefined],
    [`/voices?access_token=${token}`, undefined],
    ['/v1/text-to-speech/tone-low', { text: 'Hello.' }],
    ['/api/audio/speech', { text: 'Hello.', voice_id: 'tone-low' }],
  ] as const)
    expect((await ask(path, body, bearer(token))).status, path).toBe(401);

  const short = await makeToken({ expires_in: 1 });
  await delay(2_100);
  expect(await refusalOf(await ask('/tts/bytes', speech, bearer(short)))).toEqual(expired);

  const { key, apiKey } = await shared.keyVerifier.create({ scopes: ['speech:stream'] });
  const revoked = await makeToken({}, key);
  expect((await ask('/tts/bytes', speech, bearer(revoked))).status).toBe(200);
  await shared.keyVerifier.revoke(apiKey.keyId);
  expect((await ask('/tts/bytes', speech, bearer(revoked))).status).toBe(401);
});

test.each([
  ['expires_in must be a whole number of seconds', { expires_in: 3601 }],
  ['expires_in must be a whole number of seconds', { expires_in: 'long' }],
  ['grants.tts must be true', { grants: { stt: true } }],
])('%s: a token is refused', async (sentence, body) => {
  const refused = await refusalOf(await ask('/access-token', body, bearer(shared.key)));
  expect(refused).toEqual([400, 'invalid_request', expect.stringContaining(sentence)]);
});

test('a key without speech gets no token, and other tokens of the service are no tokens for speech', async () => {
  const listing = await shared.makeKey(['voices:read']);
  expect((await ask('/access-token', {}, bearer(listing))).status).toBe(403);
  const { voices } = (await (await ask('/v1/voices', undefined, { 'xi-api-key': shared.key })).json()) as {
    voices: { preview_url: string }[];
  };
  const preview = new URL(voices[0]!.preview_url).searchParams.get('token')!;
  const forged = `${(await makeToken()).slice(0, -4)}AAAA`;
  for (const token of [preview, forged, 'eyJ', 'snt_wrong'])
    expect((await ask(`/tts/bytes?access_token=${token}`, speech, {})).status).toBe(401);
  expect(await refusalOf(await ask('/tts/bytes?access_token=a&access_token=b', speech, {}))).toEqual(expired);
});

test('voices of the caller are listed, changed and deleted; those of others are not', async () => {
  const key = await shared.makeKey(['voices:read', 'voices:write']);
  const { key: others } = await shared.keyVerifier.create({ scopes: ['voices:read', 'voices:write'] });
  const bindings = [{ engine: 'tone', voice_id: 'tone-low' }];
  const made = { voice_id: 'mine', name: 'Mine', labels: { accent: 'us', gender: 'male' }, bindings };
  expect((await shared.send('/api/voices', { headers: { 'X-API-Key': key }, body: made })).status).toBe(201);
  const list = async (query: string, of = key) => {
    const answer = await ask(`/voices?${query}`, undefined, bearer(of));
    return ((await answer.json()) as { data: { id: string }[] }).data.map(({ id }) => id);
  };
  expect(await list('is_owner=true')).toEqual(['mine']);
  expect(await list('is_owner=false')).not.toContain('mine');
  expect(await list('gender=masculine&limit=100')).toContain('mine');
  expect(await list('', others)).not.toContain('mine');

  const patch = await ask(
    '/voices/mine',
    { name: 'Ours', gender: 'feminine', accent: 'british' },
    bearer(key),
    'PATCH',
  );
  expect(patch.headers.get('x-ignored-fields')).toBe('accent');
  const changed = {
    id: 'mine',
    name: 'Ours',
    gender: 'feminine',
    is_owner: true,
    access: 'private',
    visibility: 'owner',
  };
  expect(await patch.json()).toMatchObject(changed);
  const found = (await (await ask('/voices/mine', undefined, bearer(key))).json()) as { preview_file_url: string };
  expect(found).toMatchObject(changed);
  expect(found.preview_file_url).toContain('/api/voices/mine/preview?token=');
  const kept = await shared.send('/api/voices/mine', { headers: { 'X-API-Key': key } });
  expect(await kept.json()).toMatchObject({ labels: { accent: 'us', gender: 'female' } });
  for (const [body, sentence] of [
    [{ gender: 'robot' }, 'gender must be one of'],
    [{ name: '' }, 'name must'],
    [{}, 'at least one'],
  ] as const)
    expect(await refusalOf(await ask('/voices/mine', body, bearer(key), 'PATCH'))).toEqual([
      400,
      'invalid_request',
      expect.stringContaining(sentence),
    ]);
  for (const [method, body] of [
    ['PATCH', { name: 'Theirs' }],
    ['DELETE', undefined],
  ] as const) {
    expect((await ask('/voices/mine', body, bearer(others), method)).status).toBe(404);
    expect((await ask('/voices/tone-low', body, bearer(others), method)).status).toBe(403);
  }
  expect((await ask('/voices/mine', undefined, bearer(key), 'DELETE')).status).toBe(204);
  expect(await list('is_owner=true')).toEqual([]);
});

test('what the service cannot do is refused with a sentence, and not tried again', async () => {
  const form = new FormData();
  form.append('clip', new Blob([new Uint8Array(100)]));
  const clone = await fetch(`${shared.url}/voices/clone`, { method: 'POST', headers: bearer(shared.key), body: form });
  expect(clone.headers.get('x-should-retry')).toBe('false');
  expect(await refusalOf(clone)).toEqual([501, 'not_supported', expect.stringContaining('consent')]);
  const localize = await ask(
    '/voices/localize',
    { voice_id: 'tone-low', name: 'x', accent: 'polish' },
    bearer(shared.key),
  );
  expect(await refusalOf(localize)).toEqual([501, 'not_supported', expect.stringContaining('GET /voices?language=')]);
});
