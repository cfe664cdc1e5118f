// Tests POST /api/audio/speech and DELETE /api/audio/{id}, over real sockets with the real service.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, test } from 'vitest';
import { bytesOf, errorOf, openTestGateway } from './open-gateway.ts';

const shared = await openTestGateway({}, afterAll);

const sizesOf = (wav: Buffer) => [wav.readUInt32LE(4), wav.readUInt32LE(40)];
const linkOf = async (answer: Response) => (await answer.json()) as { audio_url: string; error?: string };

describe('a link', () => {
  test('has the metadata in headers, and points at the audio', async () => {
    const answer = await shared.speak({ text: 'Hello there.', output_format: 'mp3', sample_rate: 24000 });
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'x-audio-id': expect.stringMatching(/^aud_[0-9A-Z]{36}$/),
      'x-audio-duration': '1.054708',
      'x-cache': 'MISS',
    });
    const expires = Date.parse(answer.headers.get('X-Audio-Expires')!);
    expect(Math.abs(expires - Date.now() - 86_400_000)).toBeLessThan(60_000);
    const { audio_url } = await linkOf(answer);
    expect(audio_url).toBe(`http://sonant.test/audio/${answer.headers.get('X-Audio-Id')}.mp3`);
    const audio = await fetch(shared.here(audio_url));
    expect([audio.status, audio.headers.get('Content-Type')]).toEqual([200, 'audio/mpeg']);
    expect((await bytesOf(audio)).length).toBeGreaterThan(5_000);
  });

  test('is the same again under one Idempotency-Key, and another request under it is refused', async () => {
    const post = (text: string, key = 'order-1') =>
      shared.speak({ text }, { headers: { 'Idempotency-Key': key, 'Cache-Control': 'no-cache' } });
    const [first, again] = [await post('Once and only once.'), await post('Once and only once.')];
    expect(await first.json()).toEqual(await again.json());
    expect(again.headers.get('X-Audio-Id')).toBe(first.headers.get('X-Audio-Id'));
    expect(await errorOf(await post('Something else.'))).toEqual([409, 'idempotency_conflict']);
    expect((await post('Something else.', 'order-2')).status).toBe(200);
    for (const key of ['', 'x'.repeat(256), 'a\tb']) expect((await post('x', key)).status, key).toBe(400);
  });

  test('whose audio was deleted is made anew under its Idempotency-Key', async () => {
    const post = () => shared.speak({ text: 'For a while.' }, { headers: { 'Idempotency-Key': 'deleted' } });
    const first = (await post()).headers.get('X-Audio-Id')!;
    expect((await shared.send(`/api/audio/${first}`, { method: 'DELETE' })).status).toBe(204);
    const { audio_url } = (await (await post()).json()) as { audio_url: string };
    expect(audio_url).not.toContain(first);
    expect((await fetch(shared.here(audio_url))).status).toBe(200);
  });

  test('that is still being made, or failed, is not repeated', async () => {
    const gateway = await openTestGateway({ trouble: { pieceDelayMs: 30 } });
    const post = () => gateway.speak({ text: 'Take your time with this.' }, { headers: { 'Idempotency-Key': 'one' } });
    const running = post();
    while (gateway.tone.counts.begun === 0) await sleep(2);
    const meanwhile = await post();
    expect(meanwhile.headers.get('Retry-After')).toBe('1');
    expect(await errorOf(meanwhile)).toEqual([409, 'idempotency_conflict']);
    expect((await running).status).toBe(200);

    gateway.tone.trouble.failsAfterSegments = 0;
    const failing = () => gateway.speak({ text: 'Fail.' }, { headers: { 'Idempotency-Key': 'two' } });
    expect(await errorOf(await failing())).toEqual([502, 'engine_error']);
    delete gateway.tone.trouble.failsAfterSegments;
    expect((await failing()).status).toBe(200);
  });

  test('can be deleted by its owner, once, and is 410 afterwards', async () => {
    const answer = await shared.speak({ text: 'Soon gone.' });
    const { audio_url } = await linkOf(answer);
    const id = answer.headers.get('X-Audio-Id');
    const stranger = { 'X-API-Key': await shared.makeKey() };
    const remove = (path: string, headers = {}) => shared.send(path, { method: 'DELETE', headers });
    expect(await errorOf(await remove(`/api/audio/${id}`, stranger))).toEqual([404, 'not_found']);
    expect((await fetch(shared.here(audio_url))).status).toBe(200);
    const removed = await remove(`/api/audio/${id}`, { 'Content-Type': 'application/json' });
    expect([removed.status, await removed.text()]).toEqual([204, '']);
    expect(await errorOf(await fetch(shared.here(audio_url)))).toEqual([410, 'audio_expired']);
    expect(await errorOf(await remove(`/api/audio/${id}`))).toEqual([404, 'not_found']);
    for (const odd of ['spoken', '..%2F..%2Fetc', `aud_${'A'.repeat(500)}`]) {
      expect(await errorOf(await remove(`/api/audio/${odd}`)), odd).toEqual([404, 'not_found']);
    }
  });
});

describe('sound in the reply', () => {
  test.each([
    ['wav', 44100, 'audio/wav'],
    ['pcm', 24000, 'audio/pcm'],
    ['mp3', 48000, 'audio/mpeg'],
    ['opus', 44100, 'audio/ogg'],
    ['flac', 24000, 'audio/flac'],
  ])('as %s at %i Hz has its headers and its length', async (output_format, sample_rate, type) => {
    const answer = await shared.speak({
      text: 'Hello there, world.',
      output_format,
      sample_rate,
      return_format: 'buffer',
    });
    const { headers } = answer;
    const audio = await bytesOf(answer);
    const id = headers.get('X-Audio-Id');
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-type': type,
      'content-disposition': `attachment; filename=${id}.${output_format}`,
      'content-length': String(audio.length),
      'x-voice': 'Tone, low',
      'x-voice-id': 'tone-low',
      'x-method': 'rest',
      'x-chars': '19',
      'x-format': output_format,
      'x-sample-rate': String(sample_rate),
      'x-audio-duration': '1.544875',
      'x-cache': 'MISS',
    });
    expect(headers.get('Transfer-Encoding')).toBeNull();
    if (output_format === 'wav') expect(sizesOf(audio)).toEqual([audio.length - 8, audio.length - 44]);
    if (output_format === 'pcm') expect(audio.length).toBe(2 * Math.round(1.544875 * sample_rate));
  });
});

describe('a stream', () => {
  test('is one file from end to end, with the headers of sound', async () => {
    const answer = await shared.speak({
      text_chunks: ['Hello there.', 'How are you?'],
      method: 'streaming',
      sample_rate: 24000,
    });
    const audio = await bytesOf(answer);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'transfer-encoding': 'chunked',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
      'content-type': 'audio/wav',
      'content-disposition': expect.stringMatching(/^attachment; filename=aud_[0-9A-Z]+\.wav$/),
      'x-method': 'streaming',
      'x-chars': '24',
      'x-format': 'wav',
      'x-sample-rate': '24000',
      'x-cache': 'MISS',
    });
    expect(answer.headers.get('X-Audio-Url')).toBeNull();
    expect(sizesOf(audio)).toEqual([0xffffffff, 0xffffffff]);
    expect(audio.indexOf('RIFF', 4)).toBe(-1);
  });

  test('begins before it is done', async () => {
    const gateway = await openTestGateway({ trouble: { hangsAfterPieces: 3 } });
    const answer = await gateway.speak({ text_chunks: ['one two three four five'], method: 'streaming' });
    const reader = answer.body!.getReader();
    expect((await reader.read()).value!.length).toBeGreaterThan(44);
    await reader.cancel();
  });

  test('that requests a link is stored, under the address in its headers', async () => {
    const answer = await shared.speak({ text_chunks: ['Keep this.'], method: 'streaming', return_format: 'url' });
    const streamed = await bytesOf(answer);
    const url = answer.headers.get('X-Audio-Url')!;
    expect(url).toBe(`http://sonant.test/audio/${answer.headers.get('X-Audio-Id')}.wav`);
    expect(Date.parse(answer.headers.get('X-Audio-Expires')!)).toBeGreaterThan(Date.now());
    const kept = await bytesOf(await fetch(shared.here(url)));
    expect(kept.subarray(44).equals(streamed.subarray(44))).toBe(true);
    expect(sizesOf(kept)).toEqual([kept.length - 8, kept.length - 44]);
  });
});

describe('names and members', () => {
  test('members that mean nothing are named', async () => {
    const answer = await shared.speak({
      text: 'Hello.',
      speed: 1,
      'a,b': 2,
      'größe\n': 3,
      timestamps: 'word',
      model: null,
    });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('X-Ignored-Fields')).toBe('speed, a%2Cb, gr%C3%B6%C3%9Fe%0A, timestamps, model');
    await answer.arrayBuffer();
    const many = await shared.speak({
      text: 'Hello.',
      ...Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`x${i}`.repeat(50), 1])),
    });
    expect(many.headers.get('X-Ignored-Fields')!.length).toBeLessThan(2000);
    await many.arrayBuffer();
  });

  test('the path for audio only gives audio, whatever is asked for', async () => {
    const speak = async (path: string, body: object) => {
      const answer = await shared.send(path, {
        headers: { Accept: 'audio/wav, text/event-stream, application/json' },
        body: { voice_id: 'tone-low', output_format: 'pcm', ...body },
      });
      const { headers } = answer;
      return {
        answer,
        headers: [headers.get('Content-Type'), headers.get('X-Ignored-Fields')],
        audio: await bytesOf(answer),
      };
    };
    const path = '/api/audio/speech/buffer';
    const text = 'Audio for generated clients.';
    const whole = await speak('/api/audio/speech', { text, return_format: 'buffer' });
    const same = await speak(path, { text });
    expect([same.headers, same.audio]).toEqual([['audio/pcm', null], whole.audio]);
    const noLink = await speak(path, { text, return_format: 'url' });
    expect([noLink.headers, noLink.audio]).toEqual([['audio/pcm', 'return_format'], whole.audio]);
    const stream = await speak(path, { method: 'streaming', text_chunks: [text] });
    expect([stream.headers, stream.answer.headers.get('X-Method')]).toEqual([['audio/pcm', null], 'streaming']);
    expect(stream.audio.length).toBeGreaterThan(1000);
    const failed = await speak(path, { text, voice_id: 'nobody' });
    expect([failed.answer.status, failed.headers[0]]).toEqual([404, 'application/json; charset=utf-8']);
  });

  test('changes to a text are reported as warnings', async () => {
    const nothing = await shared.speak({ text: '... 🙂 !' });
    expect([nothing.status, nothing.headers.get('X-Warnings')]).toEqual([200, 'nothing_spoken']);
    const foreign = await shared.speak({
      text: 'She said привет and went on with her story.',
      return_format: 'buffer',
    });
    expect(foreign.headers.get('X-Warnings')).toBe('transliterated');
    await Promise.all([nothing.arrayBuffer(), foreign.arrayBuffer()]);
  });
});
