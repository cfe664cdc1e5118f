// Tests /api/audio/speech/sse by POST and by GET, and the content of its events.
import { afterAll, describe, expect, test } from 'vitest';
import { eventsIn, type ReadEvent, readEvents, soundIn } from './event-reader.ts';
import { bytesOf, farVoice, openTestGateway } from './open-gateway.ts';

const shared = await openTestGateway({}, afterAll);
const url = '/api/audio/speech/sse';
const chunks = { voice_id: 'tone-low', text_chunks: ['Hello there.', 'How are you today?'], sample_rate: 24000 };

const namesOf = (events: readonly ReadEvent[]) => events.map(({ event }) => event);
const last = (events: readonly ReadEvent[]) => events.at(-1)!;

describe('the events', () => {
  test('are numbered, of the contract’s shape, and in its order', async () => {
    const answer = await shared.send(url, { body: { ...chunks, output_format: 'mp3' } });
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
      'x-voice': 'Tone, low',
      'x-chars': '30',
    });
    const all = await answer.text();
    const events = eventsIn(all);
    const id = answer.headers.get('X-Audio-Id');
    expect(events.map((event) => event.id)).toEqual(events.map((_, n) => `${id}:${n}`));
    expect(events.every(({ event, data }) => data.type === event)).toBe(true);
    expect(all.split('\n').filter((line) => line !== '' && !/^(id|event|data): /.test(line))).toEqual([]);

    expect(events[0]!.data).toEqual({
      type: 'speech.audio.info',
      id,
      voice_id: 'tone-low',
      voice_name: 'Tone, low',
      method: 'streaming',
      format: 'mp3',
      content_type: 'audio/mpeg',
      sample_rate: 24000,
      channels: 1,
      chunks: 2,
      chars: 30,
    });
    expect(namesOf(events).filter((name, i, all) => name !== all[i - 1])).toEqual([
      'speech.audio.info',
      'speech.audio.delta',
      'speech.chunk.done',
      'speech.audio.delta',
      'speech.chunk.done',
      'speech.audio.done',
    ]);
    const done = events.filter(({ event }) => event === 'speech.chunk.done').map(({ data }) => data);
    expect(done).toEqual([
      { type: 'speech.chunk.done', chunk_index: 0, chars: 12, start: 0, end: 0.939688 },
      { type: 'speech.chunk.done', chunk_index: 1, chars: 18, start: 0.939688, end: 2.594958 },
    ]);
    expect(last(events).data).toEqual({
      type: 'speech.audio.done',
      id,
      status: 'success',
      chars: 30,
      duration: done[1]!.end,
      bytes: soundIn(events).length,
      audio_url: null,
      usage: { characters: 30, audio_seconds: done[1]!.end },
    });
  });

  test('are ASCII, whatever the script of their names and words', async () => {
    const body = { voice_id: farVoice.voiceId, text: 'Ça va, 😀 Zoë?', timestamps: 'word' };
    const all = await (await shared.send(url, { body })).text();
    expect(all).toMatch(/^[\n -~]*$/);
    const events = eventsIn(all);
    expect(events[0]!.data.voice_name).toBe(farVoice.name);
    expect(JSON.stringify(events)).toContain('Zoë');
  });

  test('carry at most 32 KiB of sound each, and joined are the streamed body, byte for byte', async () => {
    for (const output_format of ['wav', 'pcm', 'mp3', 'opus', 'flac']) {
      const body = { ...chunks, text_chunks: ['word '.repeat(16), 'and more '.repeat(4)], output_format };
      const events = await readEvents(await shared.send(url, { body }));
      const sizes = events
        .filter(({ event }) => event === 'speech.audio.delta')
        .map((event) => soundIn([event]).length);
      expect(Math.max(...sizes)).toBeLessThanOrEqual(32 * 1024);
      const streamed = await bytesOf(await shared.speak({ ...body, method: 'streaming' }));
      expect(streamed.equals(soundIn(events))).toBe(true);
    }
  });

  test('report the words of the caller’s own chunks, if requested', async () => {
    const body = { ...chunks, text_chunks: ['Ça va, 😀 Ann?', 'Yes!'], timestamps: 'word' };
    const events = await readEvents(await shared.send(url, { body }));
    const words = events.filter(({ event }) => event === 'speech.audio.timestamps').map(({ data }) => data);
    expect(words.map((data) => [data.chunk_index, data.quality])).toEqual([
      [0, 'engine'],
      [1, 'engine'],
    ]);
    const [first] = words as unknown as {
      words: { text: string; offset: number; length: number; start: number; end: number }[];
    }[];
    expect(first!.words.at(-1)).toMatchObject({ text: expect.stringMatching(/^Ann/), offset: 9 });
    for (const { start, end } of first!.words) expect(end).toBeGreaterThanOrEqual(start);
  });

  test('report the address of a stream that is stored', async () => {
    const answer = await shared.send(url, { body: { ...chunks, return_format: 'url' } });
    const events = await readEvents(answer);
    const { audio_url, bytes } = last(events).data as unknown as { audio_url: string; bytes: number };
    expect(audio_url).toBe(answer.headers.get('X-Audio-Url'));
    expect((await bytesOf(await fetch(shared.here(audio_url)))).length).toBe(bytes);
  });

  test('end with an error if it fails after the first sound', async () => {
    const gateway = await openTestGateway({ trouble: { failsAfterSegments: 1 } });
    const answer = await gateway.send(url, { body: chunks, headers: { 'X-Request-Id': 'mine' } });
    const events = await readEvents(answer);
    expect(namesOf(events)).not.toContain('speech.audio.done');
    expect(last(events)).toMatchObject({
      event: 'error',
      data: {
        type: 'error',
        error: 'engine_error',
        message: expect.any(String),
        status: 502,
        retryable: false,
        chunk_index: 0,
        request_id: 'mine',
      },
    });
  });
});

describe('requested', () => {
  test('by GET, it is the same as by POST', async () => {
    const query = new URLSearchParams({
      voice_id: 'tone-low',
      sample_rate: '24000',
      output_format: 'pcm',
      speaking_rate: '1.5',
    });
    for (const chunk of chunks.text_chunks) query.append('text_chunks', chunk);
    const byQuery = await readEvents(await shared.send(`${url}?${query}`));
    const byBody = await readEvents(
      await shared.send(url, { body: { ...chunks, output_format: 'pcm', speaking_rate: 1.5 } }),
    );
    const plain = (events: ReadEvent[]) => events.map(({ data: { id: _, ...data } }) => data);
    expect(plain(byQuery)).toEqual(plain(byBody));
  });

  test('with one text, that is one chunk', async () => {
    const whole = { voice_id: 'tone-low', text: 'Hello there.' };
    const events = await readEvents(await shared.send(url, { body: whole }));
    expect(events[0]!.data).toMatchObject({ chunks: 1, chars: 12 });
    const byQuery = await readEvents(
      await shared.send(`${url}?voice_id=tone-low&text=Hello%20there.&method=streaming`),
    );
    expect(soundIn(byQuery).equals(soundIn(events))).toBe(true);
  });

  test.each([
    ['nothing', {}, ['text_chunks required']],
    ['both', { text: 'a', text_chunks: ['b'] }, ['text conflict']],
    ['a blank text', { text: ' ' }, ['text blank']],
    ['no text', { text: 5 }, ['text type']],
    ['a method that does not stream', { text: 'a', method: 'rest' }, ['method enum']],
    [
      'several things',
      { text: '', method: 5, sample_rate: '24000' },
      ['method enum', 'sample_rate enum', 'text blank'],
    ],
    ['unknown timestamps', { text: 'a', timestamps: 'letter' }, ['timestamps enum']],
    ['a language of others', { text: 'a', language_code: 'fr' }, ['language_code unsupported_language']],
    ['a script of others', { text: '今日は良い天気ですね' }, ['text unsupported_text']],
  ])('wrongly, with %s, it says so in terms of the caller', async (_, fields, faults) => {
    const answer = await shared.send(url, { body: { voice_id: 'tone-low', ...fields } });
    const { details } = (await answer.json()) as { details: { field: string; reason: string }[] };
    expect([answer.status, details.map(({ field, reason }) => `${field} ${reason}`)]).toEqual([400, faults]);
  });

  test.each([
    ['sample_rate=24k', 'sample_rate enum'],
    ['sample_rate=24000&sample_rate=44100', 'sample_rate type'],
    ['speaking_rate=NaN', 'speaking_rate type'],
    ['voice_id=a', 'voice_id type'],
  ])('wrongly in the address, by %s, too', async (query, fault) => {
    const answer = await shared.send(`${url}?voice_id=tone-low&text=Hello&${query}`);
    const { details } = (await answer.json()) as { details: { field: string; reason: string }[] };
    expect(details.map(({ field, reason }) => `${field} ${reason}`)).toEqual([fault]);
  });
});
