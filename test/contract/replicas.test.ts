// Tests that work begun at one replica continues at another. Four replicas share one PostgreSQL.
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { SpeechService } from '../../gen/sonant/v1/speech_pb.ts';
import { eventsIn, readEvents } from '../transports/http/event-reader.ts';
import { readReply } from '../transports/http/read-reply.ts';
import { talkLive } from '../transports/http/talk-live.ts';
import { openGrpcClient } from '../transports/rpc/grpc-client.ts';
import { openReplicas, type Replica } from './open-replicas.ts';

/** Timeout for a busy machine; Sonant promises one second. */
const patient = { timeout: 10_000 };
/** Waits until replicas have read the database again, which takes half a second at most. */
const readAnew = () => new Promise((resolve) => setTimeout(resolve, 600));
const opened = await openReplicas(4, afterAll);
const silent = await openReplicas(2, afterAll, { isSilent: true });

const sendWith =
  (key: string) =>
  async ({ url }: Replica, method: string, path: string, body?: object, headers: object = {}) => {
    const answer = await fetch(url + path.replace('http://sonant.test', ''), {
      method,
      headers: { 'X-API-Key': key, ...(body && { 'Content-Type': 'application/json' }), ...headers },
      ...(body && { body: JSON.stringify(body) }),
    });
    return readReply(answer);
  };

/** Clones a voice of a built-in engine as `ada`. Returns the status. */
async function clone({ url }: Replica, key: string): Promise<number> {
  const headers = { 'X-API-Key': key };
  const record = async (text: string) => {
    const body = JSON.stringify({ voice_id: 'arthur', text, return_format: 'buffer' });
    const as = { ...headers, 'Content-Type': 'application/json' };
    return (await fetch(`${url}/api/audio/speech`, { method: 'POST', headers: as, body })).blob();
  };
  const body = new FormData();
  const fields = { voice_id: 'ada', name: 'Ada', language_code: 'en-US', speaker_name: 'Ada L.' };
  for (const [name, value] of Object.entries(fields)) body.set(name, value);
  const sentence = 'The boat left the harbour early, long before the sun came up. Nobody had seen it go.';
  body.set('reference_audio', await record(sentence));
  body.set('consent_audio', await record('I agree that my voice becomes tones.'));
  return (await fetch(`${url}/api/voices`, { method: 'POST', headers, body })).status;
}

describe('four replicas', () => {
  beforeEach((context) => context.skip(!opened, 'PostgreSQL was not found'));
  const [a, b, c, d] = (opened?.replicas ?? []) as [Replica, Replica, Replica, Replica];
  const all = [a, b, c, d];
  const key = opened?.key ?? '';

  const send = sendWith(key);
  const speak = (replica: Replica, text: string, headers: object = {}, more: object = {}) =>
    send(replica, 'POST', '/api/audio/speech', { voice_id: 'tone-low', text, ...more }, headers);
  const makeAdmin = () => opened!.makeKey(['admin', 'voices:write']);
  const makeKey = async (more: object = {}) =>
    (await send(a, 'POST', '/api/auth/api-keys', { name: 'x', ...more })).body as { id: string; key: string };

  test('one first key is made, and every replica accepts it', async () => {
    expect(opened!.replicas.filter(({ service }) => service.firstKey).length).toBe(1);
    for (const replica of all) expect((await send(replica, 'GET', '/api/voices')).status).toBe(200);
  });

  test('audio made at one is fetched at another, and the same request there is answered from it', async () => {
    const made = await speak(a, 'Fetched elsewhere.');
    const fetched = await send(b, 'GET', made.body.audio_url);
    expect([fetched.status, fetched.bytes.length > 1000]).toEqual([200, true]);
    const again = await speak(c, 'Fetched elsewhere.');
    expect([again.headers.get('X-Cache'), again.body.audio_url]).toEqual(['HIT', made.body.audio_url]);
  });

  test('audio in memory that is deleted at another replica is gone within a second', async () => {
    const { headers, body } = await speak(a, 'Held in memory.');
    const get = async () => (await send(b, 'GET', body.audio_url)).status;
    const hear = async () =>
      (await speak(b, 'Held in memory.', {}, { return_format: 'buffer' })).headers.get('X-Cache');
    for (let n = 0; n < 4; n++) expect([await get(), await hear()]).toEqual([200, 'HIT']);
    const id = headers.get('X-Audio-Id');
    expect((await send(a, 'DELETE', `/api/audio/${id}`)).status).toBe(204);
    await readAnew();
    expect([await get(), await hear()]).toEqual([410, 'MISS']);
    expect((await speak(b, 'Held in memory.')).headers.get('X-Audio-Id')).not.toBe(id);
  });

  test('a hundred identical requests make one synthesis', async () => {
    const begun = () => all.reduce((sum, { tone }) => sum + tone.counts.begun, 0);
    const before = begun();
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, i) => speak(all[i % 4]!, 'All of us want to hear the same.')),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(new Set(answers.map(({ body }) => body.audio_url)).size).toBe(1);
    expect(begun() - before).toBe(1);
  });

  test('an Idempotency-Key and a ticket work at every replica', async () => {
    const headers = { 'Idempotency-Key': 'everywhere', 'Cache-Control': 'no-cache' };
    const first = await speak(a, 'Once.', headers);
    expect((await speak(b, 'Once.', headers)).body).toEqual(first.body);
    expect((await speak(c, 'Another.', headers)).body.error).toBe('idempotency_conflict');
    const request = { voice_id: 'tone-low', text_chunks: ['Hello there.'] };
    const ticket = (await send(a, 'POST', '/api/audio/speech/sse/tickets', request)).body;
    const uses = await Promise.all(all.map((replica) => send(replica, 'GET', ticket.sse_url)));
    expect(uses.map(({ status }) => status).sort()).toEqual([200, 410, 410, 410]);
    const streamed = uses.find(({ status }) => status === 200)!;
    expect(eventsIn(streamed.bytes.toString()).at(-1)!.event).toBe('speech.audio.done');
  });

  test('limits hold across all replicas', async () => {
    const { key: limited } = await makeKey({ limits: { requests_per_minute: 60 } });
    const headers = { 'X-API-Key': limited };
    const startMs = performance.now();
    const answers = await Promise.all(
      Array.from({ length: 160 }, (_, i) => send(all[i % 4]!, 'GET', '/api/voices', undefined, headers)),
    );
    const admitted = answers.filter(({ status }) => status === 200).length;
    // The limit allows a burst of 60 requests, and one more for each second that has passed.
    const seconds = Math.ceil((performance.now() - startMs) / 1000);
    expect(admitted).toBeGreaterThanOrEqual(60);
    expect(admitted).toBeLessThanOrEqual(60 + seconds);
  });

  test('a key that is revoked at one is refused by the next call at another, and its stream there ends', async () => {
    const { id, key: own } = await makeKey();
    const headers = { 'X-API-Key': own };
    expect((await speak(b, 'Before.', headers)).status).toBe(200);
    b.tone.trouble = { pieceDelayMs: 20 };
    const streaming = await fetch(`${b.url}/api/audio/speech`, {
      method: 'POST',
      headers: { ...headers, 'Content-Type': 'application/json' },
      body: JSON.stringify({
        voice_id: 'tone-low',
        method: 'streaming',
        text_chunks: Array(50).fill('Goes on and on.'),
      }),
    });
    const reader = streaming.body!.getReader();
    await reader.read();
    await send(a, 'DELETE', `/api/auth/api-keys/${id}`);
    expect((await speak(b, 'After.', headers)).body.error).toBe('invalid_api_key');
    const rest = (async () => {
      while (!(await reader.read()).done);
    })();
    await expect(rest).rejects.toThrow();
    b.tone.trouble = {};
  });

  test('a voice created at one speaks at another, and one disabled at one is disabled at all, also in memory', async () => {
    expect(await clone(a, key)).toBe(201);
    const say = (replica: Replica, return_format = 'url') =>
      speak(replica, 'I am Ada.', {}, { voice_id: 'ada', return_format });
    await expect.poll(async () => (await say(b)).status, patient).toBe(200);
    const { audio_url } = (await say(b)).body;
    const get = async (replica: Replica) => (await send(replica, 'GET', audio_url)).status;
    // From now on, it is in the memory of this replica.
    for (let n = 0; n < 3; n++) expect([await get(b), (await say(b, 'buffer')).status]).toEqual([200, 200]);
    expect((await send(c, 'POST', '/api/voices/ada/consent/revoke')).status).toBe(200);
    expect(await get(d)).toBe(410);
    for (const replica of all) await expect.poll(async () => (await say(replica)).status, patient).toBe(409);
    await readAnew();
    expect([await get(b), (await say(b, 'buffer')).status, (await say(b)).status]).toEqual([410, 409, 409]);
  });

  test('an alias and the default voice that are chosen at one are known at all, and go at all', async () => {
    const admin = { 'X-API-Key': await makeAdmin() };
    const spoken = async (replica: Replica) => {
      const { headers } = await send(replica, 'POST', '/v1/audio/speech', { voice: 'nova', input: 'Hello.' });
      const aliased = await speak(replica, 'Hello.', {}, { voice_id: 'alloy', return_format: 'buffer' });
      return [headers.get('X-Voice-Id'), aliased.headers.get('X-Voice-Id')];
    };
    const [before] = await spoken(a);
    expect((await send(a, 'PATCH', '/api/voices/tone-high', { aliases: ['alloy'] }, admin)).status).toBe(200);
    expect((await send(b, 'PUT', '/api/default-voice', { voice_id: 'clara' }, admin)).status).toBe(200);
    for (const each of all) await expect.poll(() => spoken(each), patient).toEqual(['clara', 'tone-high']);
    await send(c, 'PATCH', '/api/voices/alloy', { aliases: [] }, admin);
    await send(d, 'PUT', '/api/default-voice', { voice_id: null }, admin);
    for (const each of all) await expect.poll(() => spoken(each), patient).toEqual([before, null]);
  });

  test('a blend made at one is spoken at every other, and changed at all', async () => {
    const weights = (low: number, high: number) => [
      { voice_id: 'tone-low', weight: low },
      { voice_id: 'tone-high', weight: high },
    ];
    const made = await send(a, 'POST', '/api/voices', { voice_id: 'mixed', name: 'Mixed', blend: weights(1, 1) });
    expect(made.status).toBe(201);
    const say = async (replica: Replica) => {
      const fields = { voice_id: 'mixed', return_format: 'buffer' };
      const { status, bytes } = await speak(replica, 'Both of us.', { 'Cache-Control': 'no-cache' }, fields);
      return status === 200 ? bytes : undefined;
    };
    const first = (await say(a))!;
    for (const replica of [b, c, d])
      await expect.poll(async () => (await say(replica))?.equals(first), patient).toBe(true);
    expect((await send(d, 'PATCH', '/api/voices/mixed', { blend: weights(1, 3) })).status).toBe(200);
    for (const replica of all) await expect.poll(async () => (await say(replica))?.equals(first), patient).toBe(false);
    expect((await send(b, 'DELETE', '/api/voices/mixed')).status).toBe(204);
    for (const replica of all) await expect.poll(async () => await say(replica), patient).toBeUndefined();
  });
});

describe('two replicas that are not notified of the changes of each other', () => {
  beforeEach((context) => context.skip(!silent, 'PostgreSQL was not found'));
  const [a, b] = (silent?.replicas ?? []) as [Replica, Replica];
  const key = silent?.key ?? '';
  const send = sendWith(key);
  const blend = ['tone-low', 'tone-high'].map((voice_id) => ({ voice_id, weight: 1 }));
  let made = 0;
  const text = 'It is there.';

  const create = async (path: string, body: object) => {
    const { body: created } = await send(a, 'POST', path, body);
    expect(created.error ?? undefined).toBeUndefined();
    return created;
  };
  /** Creates a voice at the first replica. Returns its id and an alias, to read at the other replica. */
  const makeVoice = async (more: object = {}) => {
    const name = `v${++made}`;
    await create('/api/voices', { voice_id: name, name, blend, aliases: [`${name}-alias`], ...more });
    return { id: name, alias: `${name}-alias` };
  };
  const makeLexicon = async (): Promise<string> =>
    (await create('/api/lexicons', { name: 'x', entries: [{ grapheme: 'AWS', alias: 'cloud' }] })).lexicon_id;
  const post = async (path: string, body: object) => (await send(b, 'POST', path, body)).status;
  const speak = (fields: object) => post('/api/audio/speech', { text, ...fields });
  const stream = { method: 'streaming', text: undefined, text_chunks: [text] };
  const grpc = silent && openGrpcClient(SpeechService, silent.replicas[1]!.target);
  const metadata = { 'x-api-key': key };

  /** The last message of live speech. */
  const speakLive = async (start: object, spoken = text) => {
    const sent = [{ type: 'start', ...start }, { type: 'text', text: spoken }, { type: 'end' }];
    return (await talkLive({ url: b.url, key }, sent)).messages.at(-1)!.type;
  };

  test.each<[string, unknown, (voice: string) => unknown]>([
    ['spoken for a link', 200, (voice_id) => speak({ voice_id })],
    ['spoken as a stream', 200, (voice_id) => speak({ voice_id, ...stream })],
    ['spoken as events', 200, (voice_id) => post('/api/audio/speech/sse', { voice_id, text_chunks: [text] })],
    [
      'asked for with a ticket',
      201,
      (voice_id) => post('/api/audio/speech/sse/tickets', { voice_id, text_chunks: [text] }),
    ],
    ['estimated', 200, (voice_id) => post('/api/audio/estimate', { voice_id, text })],
    ['named in SSML', 200, (voice) => speak({ voice_id: 'tone-high', ...ssmlOf(voice) })],
    ['spoken live', 'done', (voice_id) => speakLive({ voice_id })],
    ['named in live SSML', 'done', (voice) => speakLive({ voice_id: 'tone-high', markup: 'ssml' }, ssmlOf(voice).ssml)],
    [
      'spoken by gRPC',
      true,
      async (voiceId) =>
        (await Array.fromAsync(grpc!.stream('streamSpeech', { voiceId, textChunks: [text] }, { metadata }))).length > 0,
    ],
    [
      'spoken by the API of OpenAI',
      [200, 'own'],
      async (voice) => {
        const answer = await send(b, 'POST', '/v1/audio/speech', { voice, input: text });
        return [answer.status, voice.startsWith(answer.headers.get('X-Voice-Id')!) ? 'own' : 'default'];
      },
    ],
    ['spoken by the API of ElevenLabs', 200, (voice) => post(`/v1/text-to-speech/${voice}`, { text })],
    [
      'spoken by the API of Cartesia',
      200,
      (id) =>
        post('/tts/bytes', {
          model_id: 'sonic',
          transcript: text,
          voice: { mode: 'id', id },
          output_format: { container: 'wav', encoding: 'pcm_s16le', sample_rate: 24_000 },
        }),
    ],
    [
      'spoken by a job',
      'succeeded',
      async (voice_id) => {
        const { body: job } = await send(b, 'POST', '/api/audio/jobs', { voice_id, text });
        const status = async () => (await send(b, 'GET', `/api/audio/jobs/${job.id}`)).body.status;
        await expect.poll(status, patient).not.toMatch(/queued|running/);
        return status();
      },
    ],
    ['read', 200, async (voice) => (await send(b, 'GET', `/api/voices/${voice}`)).status],
    ['previewed', 200, async (voice) => (await send(b, 'GET', `/api/voices/${voice}/preview`)).status],
    ['changed', 200, async (voice) => (await send(b, 'PATCH', `/api/voices/${voice}`, { name: 'Other' })).status],
    ['deleted', 204, async (voice) => (await send(b, 'DELETE', `/api/voices/${voice}`)).status],
  ])(
    'a voice that was made at one is %s at the other at once, by its id and by an alias',
    async (_, expected, read) => {
      expect(await read((await makeVoice()).id)).toEqual(expected);
      expect(await read((await makeVoice()).alias)).toEqual(expected);
    },
  );

  test('so is a cloned voice', async () => {
    expect(await clone(a, key)).toBe(201);
    expect((await send(b, 'GET', '/api/voices/ada')).status).toBe(200);
    expect(await speak({ voice_id: 'ada' })).toBe(200);
  });

  test('so is an alias that a voice is given which both know', async () => {
    const { id } = await makeVoice();
    expect(await speak({ voice_id: id })).toBe(200);
    expect((await send(a, 'PATCH', `/api/voices/${id}`, { aliases: [`${id}-new`] })).status).toBe(200);
    expect(await speak({ voice_id: `${id}-new` })).toBe(200);
  });

  test('so is a lexicon', async () => {
    expect(await speak({ voice_id: 'tone-low', lexicon_ids: [await makeLexicon()] })).toBe(200);
    const read = async (method: string, body?: object) =>
      (await send(b, method, `/api/lexicons/${await makeLexicon()}`, body)).status;
    expect(await read('GET')).toBe(200);
    expect(await read('PUT', { entries: [{ grapheme: 'a', alias: 'b' }] })).toBe(200);
    expect(await read('DELETE')).toBe(204);
    const bound = { lexicon_ids: [await makeLexicon()] };
    expect((await send(b, 'PATCH', `/api/voices/${(await makeVoice()).id}`, bound)).status).toBe(200);
    const created = { name: 'Bound', blend, lexicon_ids: [await makeLexicon()] };
    expect((await send(b, 'POST', '/api/voices', created)).status).toBe(201);
  });

  test('a voice is not spoken without the lexicon that is bound to it', async () => {
    const { id } = await makeVoice({ lexicon_ids: [await makeLexicon()] });
    const { body } = await send(b, 'POST', '/api/audio/speech', { text: 'AWS', voice_id: id });
    expect(body).toMatchObject({ voice_name: id, chars: 'cloud'.length });
  });

  test('so is a key, and it is changed, rotated and revoked at both', async () => {
    const own = await create('/api/auth/api-keys', { name: 'x' });
    const use = async (of: string) => (await send(b, 'GET', '/api/voices', undefined, { 'X-API-Key': of })).status;
    const path = `/api/auth/api-keys/${own.id}`;
    expect((await send(b, 'GET', path)).status).toBe(200);
    expect((await send(a, 'PATCH', path, { scopes: ['usage:read'] })).status).toBe(200);
    expect(await use(own.key)).toBe(403);
    expect((await send(b, 'PATCH', path, { scopes: ['voices:read'] })).status).toBe(200);
    expect(await use(own.key)).toBe(200);
    const { body: next } = await send(a, 'POST', `${path}/rotate`, { grace_seconds: 0 });
    expect([await use(next.key), await use(own.key)]).toEqual([200, 401]);
    expect((await send(a, 'DELETE', `/api/auth/api-keys/${next.id}`)).status).toBe(204);
    expect(await use(next.key)).toBe(401);
  });

  test('so is a job, and each replica continues what the other did with it', async () => {
    for (const { tone } of [a, b]) tone.trouble = { pieceDelayMs: 20 };
    const { id } = await create('/api/audio/jobs', { voice_id: 'tone-low', text: `${text} `.repeat(500) });
    const path = `/api/audio/jobs/${id}`;
    const events = await fetch(`${b.url}${path}/events`, { headers: metadata });
    const listed = (await send(b, 'GET', '/api/audio/jobs')).body.jobs as { id: string }[];
    expect(listed.map((job) => job.id)).toContain(id);
    expect((await send(b, 'POST', `${path}/cancel`)).status).toBe(200);
    expect((await readEvents(events)).at(-1)!.data.job).toMatchObject({ id, status: 'canceled' });
    expect((await send(a, 'GET', path)).body.status).toBe('canceled');
    expect((await send(a, 'POST', `${path}/retry`)).status).toBe(202);
    expect((await send(b, 'GET', path)).body.status).toMatch(/queued|running/);
    expect((await send(a, 'POST', `${path}/cancel`)).status).toBe(200);
    expect((await send(b, 'POST', `${path}/retry`)).status).toBe(202);
    expect((await send(b, 'DELETE', path)).status).toBe(204);
    for (const replica of [a, b]) expect((await send(replica, 'GET', path)).status).toBe(404);
    for (const { tone } of [a, b]) tone.trouble = {};
  });

  test('what was never made, and what was deleted, is not found at either', async () => {
    const { id, alias } = await makeVoice();
    for (const voice_id of [id, alias]) expect(await speak({ voice_id })).toBe(200);
    expect((await send(b, 'DELETE', `/api/voices/${id}`)).status).toBe(204);
    for (const voice_id of [id, alias, 'never-made']) expect(await speak({ voice_id })).toBe(404);
  });
});

const ssmlOf = (voice: string) => ({
  text: undefined,
  ssml: `<speak><voice name="${voice}">It is there.</voice></speak>`,
});
