// Tests that a stream can be resumed after its connection breaks.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, test } from 'vitest';
import { type ReadEvent, readEvents, soundIn } from './event-reader.ts';
import { errorOf, openTestGateway } from './open-gateway.ts';

const shared = await openTestGateway({}, afterAll);
const url = '/api/audio/speech/sse';
const chunks = { voice_id: 'tone-low', text_chunks: ['Hello there.', 'How are you today?'], sample_rate: 24000 };

const namesOf = (events: readonly ReadEvent[]) => events.map(({ event }) => event);
const last = (events: readonly ReadEvent[]) => events.at(-1)!;

describe('a stream whose connection broke', () => {
  test('is read on anywhere, a hundred times, to the very same sound', async () => {
    const body = {
      ...chunks,
      text_chunks: ['one two three four', 'five six'],
      output_format: 'pcm',
      timestamps: 'word',
    };
    const whole = await readEvents(await shared.send(url, { body }));
    const cutAndReadOn = async (i: number) => {
      const cutAt = 1 + ((i * 7) % (whole.length - 1));
      const answer = await shared.send(url, { body });
      const id = answer.headers.get('X-Audio-Id');
      const before = await readEvents(answer, (text) => text.includes(`id: ${id}:${cutAt}\n`) && text.endsWith('\n\n'));
      const lastId = before[cutAt - 1]!.id;
      const rest = await shared.send(`${url}/${id}`, { headers: { 'Last-Event-ID': lastId } });
      const after = await readEvents(rest);
      const joined = [...before.slice(0, cutAt), ...after];
      expect(joined.map(({ event }) => event)).toEqual(namesOf(whole));
      expect(soundIn(joined).equals(soundIn(whole))).toBe(true);
    };
    for (let from = 0; from < 100; from += 10)
      await Promise.all(Array.from({ length: 10 }, (_, i) => cutAndReadOn(from + i)));
    expect(shared.schedule.state.speaking).toBe(0);
  });

  test('is read on at the address where it began, as an EventSource does by itself, and not paid for twice', async () => {
    const gateway = await openTestGateway();
    const query = new URLSearchParams({ voice_id: 'tone-low', text: 'one two three four', sample_rate: '24000' });
    const streaming = { voice_id: 'tone-low', method: 'streaming', text_chunks: ['one two three four'] };
    const asks = [
      (headers: Record<string, string>) => gateway.send(`${url}?${query}`, { headers }),
      (headers: Record<string, string>) => gateway.send(url, { body: chunks, headers }),
      (headers: Record<string, string>) =>
        gateway.send('/api/audio/speech', { body: streaming, headers: { Accept: 'text/event-stream', ...headers } }),
    ];
    for (const ask of asks) {
      const whole = await readEvents(await ask({}));
      const { begun } = gateway.tone.counts;
      const rest = await readEvents(await ask({ 'Last-Event-ID': whole[1]!.id }));
      expect(rest).toEqual(whole.slice(2));
      const behind = await ask({ 'Last-Event-ID': last(whole).id });
      expect([behind.status, await behind.text()]).toEqual([204, '']);
      const stranger = { 'X-API-Key': await gateway.makeKey(), 'Last-Event-ID': whole[1]!.id };
      expect(await errorOf(await ask(stranger))).toEqual([410, 'stream_expired']);
      expect(await errorOf(await ask({ 'Last-Event-ID': 'nonsense' }))).toEqual([400, 'invalid_request']);
      expect(gateway.tone.counts.begun).toBe(begun);
      expect(namesOf(await readEvents(await ask({ 'Last-Event-ID': '' })))).toEqual(namesOf(whole));
    }
  });

  test('is read again from the beginning without a Last-Event-ID, and behind its end is nothing', async () => {
    const answer = await shared.send(url, { body: chunks });
    const events = await readEvents(answer);
    const id = answer.headers.get('X-Audio-Id');
    expect(await readEvents(await shared.send(`${url}/${id}`))).toEqual(events);
    const behind = await shared.send(`${url}/${id}`, { headers: { 'Last-Event-ID': last(events).id } });
    expect([behind.status, await behind.text()]).toEqual([204, '']);
  });

  test('is readable by its key only, with a valid id', async () => {
    const answer = await shared.send(url, { body: chunks });
    const events = await readEvents(answer);
    const id = answer.headers.get('X-Audio-Id');
    const stranger = { 'X-API-Key': await shared.makeKey() };
    expect(await errorOf(await shared.send(`${url}/${id}`, { headers: stranger }))).toEqual([410, 'stream_expired']);
    expect(await errorOf(await shared.send(`${url}/aud_NOBODY`))).toEqual([410, 'stream_expired']);
    for (const bad of ['nonsense', 'aud_OTHER:1', `${id}:x`, `${id}:-1`, `${id}:${events.length}`, `${id}:999999999`]) {
      const refused = await shared.send(`${url}/${id}`, { headers: { 'Last-Event-ID': bad } });
      expect(await errorOf(refused), bad).toEqual([400, 'invalid_request']);
    }
  });

  test('has one reader at a time: a new one takes the place of the old', async () => {
    const gateway = await openTestGateway({ trouble: { pieceDelayMs: 20 } });
    const answer = await gateway.send(url, {
      body: { voice_id: 'tone-low', text: 'one two three four five six seven eight' },
    });
    const id = answer.headers.get('X-Audio-Id');
    const old = expect(answer.text()).rejects.toThrow();
    const events = await readEvents(await gateway.send(`${url}/${id}`));
    await old;
    expect(last(events).event).toBe('speech.audio.done');
  });

  test('can be ended by its client: it stops at once, and nothing of it is stored', async () => {
    const gateway = await openTestGateway({ trouble: { hangsAfterPieces: 2 } });
    const answer = await gateway.send(url, { body: chunks });
    const address = `${url}/${answer.headers.get('X-Audio-Id')}`;
    expect(
      await errorOf(
        await gateway.send(address, { method: 'DELETE', headers: { 'X-API-Key': await gateway.makeKey() } }),
      ),
    ).toEqual([410, 'stream_expired']);
    expect(gateway.schedule.state.speaking).toBe(1);
    expect((await gateway.send(address, { method: 'DELETE' })).status).toBe(204);
    while (gateway.schedule.state.speaking > 0) await sleep(5);
    expect(await errorOf(await gateway.send(address))).toEqual([410, 'stream_expired']);
    expect(gateway.tone.counts.aborted).toBeGreaterThan(0);
    const ended = last(await readEvents(answer));
    expect(ended).toMatchObject({ event: 'error', data: { error: 'stream_expired' } });
  });

  test('before it has begun is ended at once: there is nothing to come back to', async () => {
    const gateway = await openTestGateway({ trouble: { hangsAfterPieces: 0 } });
    const leaving = new AbortController();
    const pending = gateway.send(url, { body: chunks, signal: leaving.signal }).catch(() => {});
    while (gateway.tone.counts.running === 0) await sleep(2);
    leaving.abort();
    await pending;
    while (gateway.tone.counts.running > 0) await sleep(2);
    expect(gateway.schedule.state.speaking).toBe(0);
  });

  test('goes on without a reader, and is complete when the reader is back', async () => {
    const gateway = await openTestGateway({ trouble: { pieceDelayMs: 10 } });
    const answer = await gateway.send(url, {
      body: { voice_id: 'tone-low', text: 'one two three four five six seven eight' },
    });
    const id = answer.headers.get('X-Audio-Id');
    await readEvents(answer, (text) => text.includes(':1\n'));
    while (gateway.tone.counts.finished === 0) await sleep(5);
    const events = await readEvents(await gateway.send(`${url}/${id}`));
    expect(last(events).event).toBe('speech.audio.done');
  });
});
