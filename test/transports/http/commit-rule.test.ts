// Tests that nothing is sent before the first audio, an incomplete body never ends cleanly, a disconnected client costs
// nothing more, and a client that does not read stops the engine.
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { errorOf, openTestGateway } from './open-gateway.ts';
import { connectRaw, toRequest } from './raw-http.ts';

const rawFormat = { container: 'raw', encoding: 'pcm_s16le', sample_rate: 24_000 };

describe('the commit rule', () => {
  const chunks = { text_chunks: ['one two three.', 'four five six.', 'seven eight nine.'], method: 'streaming' };

  test('a failure before the first sound has its own status over every transport', async () => {
    const gateway = await openTestGateway({ trouble: { failsAfterSegments: 0 } });
    const bodies = [{ text: 'Hello.' }, { text: 'Hello.', return_format: 'buffer' }, chunks];
    for (const body of bodies) expect(await errorOf(await gateway.speak(body))).toEqual([502, 'engine_error']);
    const events = await gateway.send('/api/audio/speech/sse', { body: { voice_id: 'tone-low', text: 'Hello.' } });
    expect(await errorOf(events)).toEqual([502, 'engine_error']);
    const cartesia = await gateway.send('/tts/sse', {
      body: { transcript: 'Hello.', voice: { mode: 'id', id: 'tone-low' }, output_format: rawFormat },
    });
    expect(cartesia.status).toBe(502);
  });

  test('a later failure breaks the transfer', async () => {
    const gateway = await openTestGateway({ trouble: { failsAfterSegments: 2 } });
    const answer = await gateway.speak(chunks);
    expect(answer.status).toBe(200);
    await expect(answer.arrayBuffer()).rejects.toThrow();
    await sleep(20);
    expect(gateway.requests).toMatchObject([{ isWhole: false, failure: undefined }]);
    expect(gateway.calls).toMatchObject([{ status: 'INTERNAL', failure: { reason: 'engine_error' } }]);
    gateway.tone.trouble.failsAfterSegments = gateway.tone.counts.begun + 2;

    const raw = connectRaw(gateway);
    await raw.send(toRequest(gateway, '/api/audio/speech', { voice_id: 'tone-low', ...chunks }));
    const all = await raw.end();
    expect(all.subarray(0, 12).toString()).toBe('HTTP/1.1 200');
    expect(all.subarray(-7).toString()).not.toBe('\r\n0\r\n\r\n');
  });

  test('a clip that goes missing while it is sent does not end cleanly either', async () => {
    const gateway = await openTestGateway();
    // The clip is too large for the memory cache: a smaller clip would fail before its first byte.
    const body = { text: 'word '.repeat(200), sample_rate: 48_000, return_format: 'buffer' };
    await (await gateway.speak(body)).arrayBuffer();
    const open = gateway.clips.open.bind(gateway.clips);
    gateway.clips.open = async (key, range) => {
      const clip = await open(key, range);
      if (!clip) return clip;
      const { body } = clip;
      const pieces = body[Symbol.asyncIterator].bind(body);
      body[Symbol.asyncIterator] = async function* () {
        yield (await pieces().next()).value;
        // Gives the first piece time to be sent.
        await sleep(20);
        throw new Error('the disk is gone');
      };
      return clip;
    };
    const answer = await gateway.speak(body);
    expect([answer.status, answer.headers.get('X-Cache')]).toEqual([200, 'HIT']);
    await expect(answer.arrayBuffer()).rejects.toThrow();
    await sleep(20);
    expect(gateway.requests.at(-1)).toMatchObject({
      isWhole: false,
      failure: { reason: 'internal_error', cause: { message: 'the disk is gone' } },
    });
  });
});

describe('a client that leaves', () => {
  const ten = 'one two three four five six seven eight nine ten';
  test.each([
    ['leaves while waiting for', 'a link', { text: ten }],
    ['leaves while waiting for', 'sound', { text: ten, return_format: 'buffer' }],
    ['leaves while waiting for', 'a stream', { text_chunks: [ten], method: 'streaming' }],
    ['ends its side before', 'a link', { text: ten }],
    ['ends its side before', 'sound', { text: ten, return_format: 'buffer' }],
    ['ends its side before', 'a stream', { text_chunks: [ten], method: 'streaming' }],
  ])('that %s %s ends the synthesis and frees the slot', async (how, _, body) => {
    const gateway = await openTestGateway({ trouble: { hangsAfterPieces: 2 } });
    const raw = connectRaw(gateway);
    await raw.send(toRequest(gateway, '/api/audio/speech', { voice_id: 'tone-low', ...body }));
    while (gateway.tone.counts.pieces < 2) await sleep(2);
    if (how.startsWith('ends')) raw.socket.end();
    else raw.socket.destroy();
    while (gateway.tone.counts.running > 0 || gateway.schedule.state.speaking > 0) await sleep(2);
    await sleep(10);
    expect(gateway.tone.counts).toMatchObject({ running: 0, finished: 0 });
    expect(gateway.calls).toMatchObject([{ status: 'CANCELLED', failure: undefined }]);
    expect(gateway.requests).toMatchObject([{ isWhole: false, failure: undefined }]);
  });

  test('at a random moment, two hundred times, leaves no slot taken', async () => {
    const gateway = await openTestGateway({ trouble: { pieceDelayMs: 3 }, speakingMax: 16 });
    const chunks = ['one two three four', 'five six seven eight'];
    const bodies = [
      { text: chunks.join(' ') },
      { text: chunks.join(' '), return_format: 'buffer' },
      { text_chunks: chunks, method: 'streaming' },
    ];
    let left = 0;
    const leave = async (i: number) => {
      const raw = connectRaw(gateway);
      await raw.send(toRequest(gateway, '/api/audio/speech', { voice_id: 'tone-low', ...bodies[i % 3] }));
      if (i % 4 === 0) await raw.head();
      else await sleep((i * 7) % 90);
      raw.socket.destroy();
      left++;
    };
    for (let from = 0; from < 200; from += 40) await Promise.all(Array.from({ length: 40 }, (_, i) => leave(from + i)));
    while (gateway.schedule.state.speaking > 0 || gateway.tone.counts.running > 0) await sleep(5);
    expect([left, gateway.schedule.state.waiting.interactive, gateway.faults]).toEqual([200, 0, []]);
    expect(gateway.calls.filter(({ status }) => !['OK', 'CANCELLED'].includes(status))).toEqual([]);
    const answer = await gateway.speak({ text: 'Still here.' });
    expect(answer.status).toBe(200);
    await answer.arrayBuffer();
  });
});

test('a client that stops reading stops the engine', async () => {
  const gateway = await openTestGateway();
  const raw = connectRaw(gateway);
  raw.socket.pause();
  const chunks = Array(60).fill('some words to say again and again '.repeat(20));
  await raw.send(
    toRequest(gateway, '/api/audio/speech', { voice_id: 'tone-low', text_chunks: chunks, method: 'streaming' }),
  );
  let made = -1;
  while (gateway.tone.counts.pieces > made || made <= 0) {
    made = gateway.tone.counts.pieces;
    await sleep(150);
  }
  expect(gateway.schedule.state.speaking).toBe(1);
  expect(made).toBeLessThan(60 * 140);
  raw.socket.destroy();
  while (gateway.schedule.state.speaking > 0) await sleep(5);
});
