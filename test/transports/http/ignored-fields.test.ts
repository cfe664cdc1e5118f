// Tests unknown parts of a request: reported if they are ignored, refused if the gateway is strict, in both cases with
// the likely name.
import { afterAll, describe, expect, test } from 'vitest';
import { envelope } from '../rpc/raw-grpc.ts';
import { openTestGateway } from './open-gateway.ts';

const lax = await openTestGateway({}, afterAll);
const strict = await openTestGateway({ settings: { isStrict: true } }, afterAll);
const [laxAdmin, strictAdmin] = await Promise.all(
  [lax, strict].map(({ makeKey }) =>
    makeKey(['voices:read', 'usage:read', 'keys:read', 'keys:write', 'speech:stream']),
  ),
);
const writing = ['speech:synthesize', 'jobs:write', 'voices:write'];
const [laxWriter, strictWriter] = (await Promise.all([lax, strict].map(({ makeKey }) => makeKey(writing)))) as [
  string,
  string,
];

const namesOf = (answer: Response) => ['X-Ignored-Fields', 'X-Did-You-Mean'].map((name) => answer.headers.get(name));
const text = 'voice_id=tone-low&text=Hello.';

describe('an unknown parameter of a query', () => {
  test.each([
    ['/api/voices?language=fr', 'language', 'language=language_code'],
    ['/api/usage?groupby=voice&zone=utc', 'groupby, zone', 'groupby=group_by'],
    ['/api/auth/api-keys?limits=3', 'limits', 'limits=limit'],
    ['/api/auth/api-keys/self?verbose=1', 'verbose', null],
    [`/api/audio/speech/sse?${text}&sample_rat=24000`, 'sample_rat', 'sample_rat=sample_rate'],
  ])('of %s is named', async (path, ignored, meant) => {
    const answer = await lax.send(path, { headers: { 'X-API-Key': laxAdmin! } });
    await answer.arrayBuffer();
    expect([answer.status, ...namesOf(answer)]).toEqual([200, ignored, meant]);
  });

  test.each([
    ['/api/voices?language=fr&limit=x', ['language', 'limit'], 'language_code'],
    ['/api/usage?groupby=voice&from=x', ['groupby', 'from'], 'group_by'],
    ['/api/auth/api-keys?cursors=3', ['cursors'], 'cursor'],
    [`/api/audio/speech/sse?${text}&speakingrate=2`, ['speakingrate'], 'speaking_rate'],
  ])('of %s is refused where the gateway is strict, with the other faults', async (path, fields, meant) => {
    const answer = await strict.send(path, { headers: { 'X-API-Key': strictAdmin! } });
    const body = (await answer.json()) as { details: { field: string; reason: string; message: string }[] };
    expect([answer.status, ...namesOf(answer)]).toEqual([400, null, null]);
    expect(body.details.map(({ field }) => field).toSorted()).toEqual(fields.toSorted());
    expect(body.details.find(({ reason }) => reason === 'unknown')!.message).toContain(`did you mean ${meant}?`);
  });

  test('is told of where the route takes none, beside the members of the body', async () => {
    const body = { voice_id: 'tone-low', text: 'Hello.', voise_id: 'x' };
    const answer = await lax.send('/api/audio/speech?output_format=mp3', { body });
    await answer.arrayBuffer();
    expect([answer.status, ...namesOf(answer)]).toEqual([200, 'voise_id, output_format', 'voise_id=voice_id']);
    const refused = await strict.send('/api/audio/speech?output_format=mp3', {
      body: { voice_id: 'tone-low', text: 'Hello.' },
    });
    expect([refused.status, await refused.json()]).toMatchObject([400, { details: [{ field: 'output_format' }] }]);
  });

  test('is nothing to what needs no key', async () => {
    for (const gateway of [lax, strict]) {
      const answer = await fetch(`${gateway.url}/healthz?probe=1`);
      expect([answer.status, ...namesOf(answer)]).toEqual([200, null, null]);
    }
  });

  test('is not named by a request that fails', async () => {
    const answer = await lax.send('/api/voices/nobody?language=fr');
    expect([answer.status, ...namesOf(answer)]).toEqual([404, null, null]);
  });
});

test('a misspelt member of a body is named with the member that it was meant to be', async () => {
  const body = { voice_id: 'tone-low', text: 'Hello.', sampleRate: 24_000 };
  const answer = await lax.speak(body);
  await answer.arrayBuffer();
  expect(namesOf(answer)).toEqual(['sampleRate', 'sampleRate=sample_rate']);
  const refused = await strict.speak(body);
  expect(await refused.json()).toMatchObject({
    details: [{ field: 'sampleRate', reason: 'unknown', message: 'is not a known field; did you mean sample_rate?' }],
  });
});

test.each([
  ['/api/audio/speech', { return_format: 'buffer', text: 'Hello.' }],
  ['/api/audio/speech', { method: 'streaming', text_chunks: ['Hello.'] }],
  ['/api/audio/speech/sse', { text: 'Hello.' }],
  ['/api/audio/estimate', { text: 'Hello.' }],
])('an Idempotency-Key that has no effect at %s %j is named, or refused', async (path, fields) => {
  const asked = { body: { voice_id: 'tone-low', ...fields }, headers: { 'Idempotency-Key': 'k' } };
  const answer = await lax.send(path, asked);
  await answer.arrayBuffer();
  expect([answer.status, answer.headers.get('X-Ignored-Fields')]).toEqual([200, 'Idempotency-Key']);
  const refused = await strict.send(path, asked);
  expect([refused.status, await refused.json()]).toMatchObject([400, { details: [{ field: 'Idempotency-Key' }] }]);
});

describe('an unknown member of a message in JSON', () => {
  const ask = (gateway: typeof lax, method: string, body: object) =>
    gateway.send(`/sonant.v1.SpeechService/${method}`, { body: { voiceId: 'tone-low', ...body } });

  test('is ignored and named, as over REST', async () => {
    const answer = await ask(lax, 'EstimateSpeech', { textChunks: ['Hello.'], colour: 'red' });
    expect([answer.status, answer.headers.get('X-Ignored-Fields')]).toEqual([200, 'colour']);
    expect(await answer.json()).toMatchObject({ chars: 6 });
    const stream = await openStream({ voiceId: 'tone-low', textChunks: ['Hello.'], colour: 'red' });
    expect(await stream.text()).toContain('"done":');
    expect(stream.headers.get('X-Ignored-Fields')).toBe('colour');
  });

  test('is refused where the service is strict, with the member that it was meant to be', async () => {
    const answer = await ask(strict, 'EstimateSpeech', { textChunk: ['Hello.'] });
    expect([answer.status, await answer.json()]).toMatchObject([400, { code: 'invalid_argument' }]);
  });

  test('is not the unknown value of an enum, which is refused', async () => {
    const answer = await ask(lax, 'EstimateSpeech', { textChunks: ['Hello.'], outputFormat: 'OUTPUT_FORMAT_TAPE' });
    expect([answer.status, await answer.json()]).toMatchObject([400, { code: 'invalid_argument' }]);
  });

  test('and a method that a call does not take is told with those that it takes', async () => {
    const answer = await lax.send('/sonant.v1.SpeechService/EstimateSpeech', { method: 'PUT' });
    expect([answer.status, answer.headers.get('Allow')]).toEqual([405, 'POST']);
  });
});

describe('of a request that is refused as invalid, the details name what is unknown too', () => {
  const detailsOf = async (answer: Response) => {
    const { details } = (await answer.json()) as { details: { field: string; reason: string; message: string }[] };
    return [answer.status, ...details.map(({ field, reason, message }) => `${field} ${reason}: ${message}`)];
  };
  const means = 'unknown: is not a known field';

  test.each([
    [
      '/api/audio/speech',
      { voice: 'tone-low', text: 'Hi', colour: 'red' },
      ['voice_id required', `voice ${means}; did you mean voice_id?`, `colour ${means}`],
    ],
    [
      '/api/audio/jobs',
      { voice_id: 'x', chapters: [{ txt: 'Hi' }] },
      [`chapters[0].txt ${means}; did you mean chapters[0].text?`],
    ],
    ['/api/voices', { nme: 'x', voice_id: 3 }, ['voice_id type', `nme ${means}; did you mean name?`]],
    ['/api/audio/speech?voice=x', { text: 'Hi' }, ['voice_id required', `voice ${means}`]],
  ])('of %s %j', async (path, body, told) => {
    for (const gateway of [lax, strict]) {
      const key = gateway === lax ? laxWriter : strictWriter;
      const [status, ...details] = await detailsOf(await gateway.send(path, { body, headers: { 'X-API-Key': key } }));
      expect(status).toBe(400);
      for (const each of told) {
        if (gateway === strict && path.includes('?')) continue;
        expect(details).toContainEqual(expect.stringContaining(each));
      }
      const names = details.map((each) => String(each).split(' ')[0]);
      expect(new Set(names).size).toBe(names.length);
    }
  });

  test('but not of one that is refused for another reason', async () => {
    const answer = await lax.speak({ voice_id: 'nobody', text: 'Hi', colour: 'red' });
    expect([answer.status, await answer.json()]).toMatchObject([404, { error: 'voice_not_found' }]);
    const vendors = await lax.send('/v1/audio/speech', { body: { inputs: 'Hi', voice: 'tone-low' } });
    expect(await vendors.json()).toEqual({ error: expect.objectContaining({ param: 'input' }) });
  });

  test('over Connect as well, and in a stream', async () => {
    const body = { voice: 'tone-low', text: 'Hi' };
    const answer = await lax.send('/sonant.v1.SpeechService/SynthesizeSpeech', { body });
    expect(answer.status).toBe(400);
    const stream = await (await openStream({ voice: 'tone-low', textChunks: ['Hi'] })).bytes();
    const { error } = JSON.parse(Buffer.from(stream).toString('utf8', headBytes));
    for (const failure of [(await answer.json()) as ConnectFailure, error as ConnectFailure])
      expect(bad(failure)).toContain('did you mean voice_id?');
  });
});

test.each([
  ['gives a member twice', '{"voiceId":"tone-low","voiceId":"far","textChunks":["Hi"],"zz":1}'],
  ['gives an unknown member twice', '{"voiceId":"tone-low","textChunks":["Hi"],"zz":{"a":1,"a":2}}'],
  ['nests too deep', `{"voiceId":"tone-low","textChunks":["Hi"],"zz":${'['.repeat(33)}${']'.repeat(33)}}`],
  ['has half of a surrogate pair', '{"voiceId":"tone-low","textChunks":["Hi"],"zz":"\\ud800"}'],
  ['is cut off', '{"voiceId":'],
])('JSON that %s is refused over Connect as over REST', async (_, body) => {
  const messages = ['/sonant.v1.SpeechService/EstimateSpeech', '/api/audio/estimate'].map(async (path) => {
    const headers = { 'X-API-Key': lax.key, 'Content-Type': 'application/json' };
    const answer = await fetch(lax.url + path, { method: 'POST', headers, body });
    return [answer.status, ((await answer.json()) as { message: string }).message];
  });
  const [connect, rest] = await Promise.all(messages);
  expect(connect).toEqual([400, rest![1]]);
});

test('a misspelt member within another is told over Connect with the one that it was meant to be', async () => {
  const spec = { name: 'a', entries: [{ graphem: 'a', alias: 'b' }] };
  const path = '/sonant.v1.LexiconService/CreateLexicon';
  const answer = await lax.send(path, { body: { spec }, headers: { 'X-API-Key': laxWriter } });
  expect([answer.status, bad((await answer.json()) as ConnectFailure)]).toEqual([
    400,
    expect.stringContaining('did you mean spec.entries[0].grapheme?'),
  ]);
});

const bad = ({ details }: ConnectFailure) =>
  String(Buffer.from(details.find(({ type }) => type === 'google.rpc.BadRequest')!.value, 'base64'));

interface ConnectFailure {
  details: { type: string; value: string }[];
}

/** Length of the header that precedes each message of a stream. */
const headBytes = 5;

function openStream(fields: object): Promise<Response> {
  return fetch(`${lax.url}/sonant.v1.SpeechService/StreamSpeech`, {
    method: 'POST',
    headers: { 'X-API-Key': lax.key, 'Content-Type': 'application/connect+json' },
    body: envelope(Buffer.from(JSON.stringify(fields))),
  });
}
