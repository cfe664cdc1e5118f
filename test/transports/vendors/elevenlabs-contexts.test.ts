// Tests ElevenLabs's WebSockets with Node's own client: opened, closed and failed contexts, and refused upgrades.
import { setTimeout } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { decodeRecording } from '../../../src/audio/recording/recording.ts';
import { openTestGateway } from '../http/open-gateway.ts';
import { alignmentsOf, failed, openSocket, patient, pipecatPath, soundOf, textOf } from './elevenlabs-socket.ts';

const shared = await openTestGateway({}, afterAll);
const speakUrl = '/v1/text-to-speech/tone-low';

test('closing a context before its flush stops it at once, and the next one speaks', async () => {
  const gateway = await openTestGateway({ trouble: { pieceDelayMs: 5 } });
  const { send, final, of } = await openSocket(pipecatPath, gateway);
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
  await expect.poll(() => gateway.schedule.state.speaking, patient).toBe(0);
  expect(gateway.calls.filter(({ api }) => api === 'elevenlabs').map(({ status }) => status)).toContain('CANCELLED');
});

test('the audio of a context is one file, however often its text is flushed', async () => {
  const path = `${speakUrl}/multi-stream-input?output_format=opus_48000_32`;
  const { send, final } = await openSocket(path, shared);
  for (const text of ['One.', 'Two.', 'Three.']) send({ text, context_id: 'c', flush: true });
  send({ context_id: 'c', close_context: true });
  const sound = soundOf(await final('c'));
  expect(sound.toString('latin1').match(/OpusHead/g)).toHaveLength(1);
  const { samples, sampleRateHz } = await decodeRecording(sound, { secondsMax: 60 });
  expect(samples.length / sampleRateHz).toBeGreaterThan(1);
});

test('a character that is cut is timed as one, and the words after it have the same times', async () => {
  const [cut, whole] = await Promise.all(
    [
      ['One \ud83d', '\ude00\ud83d', '\ude00 two three', ' four. '],
      ['One \u{1F600}\u{1F600} two three', ' four. '],
    ].map(async (texts) => {
      const path = `${speakUrl}/stream-input?output_format=pcm_24000&sync_alignment=true`;
      const { send, closed, seen } = await openSocket(path, shared);
      for (const text of [...texts, '']) send({ text });
      expect(await closed).toBe(1000);
      return alignmentsOf(seen).flatMap(({ chars, charStartTimesMs, charDurationsMs }) =>
        chars.map((char, i) => [char, charStartTimesMs[i]!, charDurationsMs[i]!]),
      );
    }),
  );
  expect(whole!.map(([char]) => char).join('')).toBe('One \u{1F600}\u{1F600} two three four. ');
  expect(cut).toEqual(whole);
});

test('close_socket speaks all text of every context, flushed or not, and closes after it', async () => {
  const text = 'This goes on and on and on. '.repeat(20);
  const whole = await openSocket(pipecatPath, shared);
  whole.send({ text, context_id: 'all', flush: true }, { context_id: 'all', close_context: true });
  const expected = soundOf(await whole.final('all'));
  const gateway = await openTestGateway({ trouble: { pieceDelayMs: 40 } });
  const { send, closed, of } = await openSocket(pipecatPath, gateway);
  send({ text, context_id: 'flushed', flush: true }, { text, context_id: 'open' }, { text: 'Hi', context_id: 'short' });
  const sentMs = performance.now();
  send({ close_socket: true }, { text: 'Too late.', context_id: 'late' });
  expect(await closed).toBe(1000);
  expect(performance.now() - sentMs, 'longer than a connection was left to close').toBeGreaterThan(2_000);
  for (const id of ['flushed', 'open']) {
    expect(textOf(of(id))).toBe(text);
    expect(soundOf(of(id)).equals(expected), id).toBe(true);
  }
  expect(textOf(of('short'))).toBe('Hi ');
  for (const id of ['flushed', 'open', 'short']) expect(of(id).at(-1), id).toEqual({ isFinal: true, contextId: id });
  expect(of('late')).toEqual([]);
});

test('a context that fails after close_socket is told so, and the close is not a clean one', async () => {
  const gateway = await openTestGateway({ trouble: { failsAfterPieces: 0 } });
  const { send, closed, of } = await openSocket(pipecatPath, gateway);
  send({ text: 'Broken.', context_id: 'b' }, { close_socket: true });
  expect(await closed).toBe(1008);
  expect(of('b')).toEqual([failed('engine_error', { contextId: 'b' }), { isFinal: true, contextId: 'b' }]);
});

test('a client that leaves after close_socket stops its contexts', async () => {
  const gateway = await openTestGateway({ trouble: { pieceDelayMs: 20 } });
  const { socket, send, of } = await openSocket(pipecatPath, gateway);
  send({ text: 'This goes on and on and on. '.repeat(100), context_id: 'long' }, { close_socket: true });
  await expect.poll(() => of('long').length, patient).toBeGreaterThan(0);
  socket.close();
  await expect.poll(() => gateway.schedule.state.speaking, patient).toBe(0);
});

test('a context without messages ends after its inactivity timeout', async () => {
  const { send, final } = await openSocket(`${pipecatPath}&inactivity_timeout=1`, shared);
  send({ text: 'Said anyway.', context_id: 'quiet' });
  expect(textOf(await final('quiet'))).toBe('Said anyway. ');
});

test('stream-input whose client sends nothing speaks its text, and then ends with an error', async () => {
  const slow = await openTestGateway({ trouble: { pieceDelayMs: 20 } });
  const { send, end, seen } = await openSocket(`${speakUrl}/stream-input?inactivity_timeout=1`, slow);
  send({ text: 'Said anyway. ' });
  const { code, reason, last } = await end();
  expect(textOf(seen)).toBe('Said anyway. ');
  expect([code, last]).toEqual([1008, failed('request_timeout')]);
  expect(reason).toContain('1 s');
  const late = await openSocket(`${speakUrl}/stream-input?inactivity_timeout=1`, slow);
  const long = 'This takes longer than a second to say. '.repeat(20);
  late.send({ text: long });
  await setTimeout(1500);
  late.send({ text: 'Too late. ' }, { text: '' });
  expect(await late.end()).toMatchObject({ code: 1008, last: failed('request_timeout') });
  expect(textOf(late.seen).startsWith(long.trim())).toBe(true);
  const ended = await openSocket(`${speakUrl}/stream-input?inactivity_timeout=1`, slow);
  ended.send({ text: 'This takes longer than a second to say. '.repeat(20) }, { text: '' });
  expect(await ended.end()).toMatchObject({ code: 1000, last: { isFinal: true } });
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
  const { send, final } = await openSocket(
    `/v1/text-to-speech/tone-low/multi-stream-input?output_format=${format}`,
    shared,
  );
  send({ text: ' ', context_id: 'void' }, { context_id: 'void', close_context: true });
  const messages = await final('void');
  expect(messages).toHaveLength(2);
  expect(soundOf(messages).length).toBeGreaterThan(0);
});

test('stream-input has a single context, which empty text ends, and closes after it', async () => {
  const { send, closed, seen } = await openSocket(`${speakUrl}/stream-input?output_format=pcm_16000`, shared);
  send({ text: ' ', voice_settings: { speed: 2 }, try_trigger_generation: true, generation_config: {} });
  for (const text of ['Hel', 'lo the', 're, world']) send({ text });
  send({ text: '' });
  expect(await closed).toBe(1000);
  expect(textOf(seen)).toBe('Hello there, world ');
  expect(seen.at(-1)).toEqual({ isFinal: true });
  expect(soundOf(seen).length).toBeGreaterThan(3200);
  const empty = await openSocket(`${speakUrl}/stream-input`, shared);
  empty.send({ text: '' });
  expect(await empty.closed).toBe(1000);
  expect(empty.seen).toEqual([{ isFinal: true }]);
});

test('only so many contexts can be open on a connection', async () => {
  const { send, seen, final, closed } = await openSocket(`${pipecatPath}&inactivity_timeout=1`, shared);
  for (let i = 0; i <= 100; i++) send({ text: ' ', context_id: `c${i}` });
  await expect.poll(() => seen.length, patient).toBeGreaterThan(1);
  expect(seen).toEqual([
    failed('too_many_concurrent_requests', { message: expect.stringContaining('100 contexts'), contextId: 'c100' }),
    { isFinal: true, contextId: 'c100' },
  ]);
  await Promise.all([final('c0'), final('c99')]);
  send({ text: 'One more. ', context_id: 'more' }, { context_id: 'more', flush: true });
  send({ context_id: 'more', close_context: true });
  expect(textOf(await final('more'))).toBe('One more. ');
  send({ close_socket: true });
  expect(await closed).toBe(1000);
});

test('errors name their context, and the other contexts go on', async () => {
  const { send, final, of } = await openSocket(pipecatPath, shared);
  send({ text: 'Fast.', context_id: 'bad', voice_settings: { speed: 99 } }, { text: 7, context_id: 'worse' });
  for (const id of ['bad', 'worse']) expect(await final(id)).toHaveLength(2);
  expect(of('bad')[0]!.message).toContain('voice_settings.speed');
  send(
    { text: 'Fine.', context_id: 'good' },
    { context_id: 'good', flush: true },
    { context_id: 'good', close_context: true },
  );
  expect(textOf(await final('good'))).toBe('Fine. ');
  const failing = await openTestGateway({ trouble: { failsAfterPieces: 0 } });
  const broken = await openSocket(pipecatPath, failing);
  broken.send({ text: 'Broken.', context_id: 'b' }, { context_id: 'b', flush: true });
  expect((await broken.final('b'))[0]).toEqual(failed('engine_error', { contextId: 'b' }));
  const single = await openSocket(`${speakUrl}/stream-input`, shared);
  single.socket.send('not JSON');
  expect(await single.closed).toBe(1008);
  expect(single.seen).toEqual([failed('invalid_request')]);
});

test('while the service stops, a context is finished and the connection closes with 1012', async () => {
  const gateway = await openTestGateway({ trouble: { pieceDelayMs: 20 } });
  const { send, end, of } = await openSocket(pipecatPath, gateway);
  const single = await openSocket(`${speakUrl}/stream-input`, gateway);
  single.send({ text: 'This one is whole. '.repeat(3) }, { text: '' });
  const waiting = await openSocket(`${speakUrl}/stream-input`, gateway);
  waiting.send({ text: ' ' });
  await expect.poll(() => single.seen.length, patient).toBeGreaterThan(0);
  send({ text: 'This one is finished.', context_id: 'last' });
  await expect.poll(() => of('last').length, patient).toBeGreaterThan(0);
  gateway.runner.leave();
  const drained = gateway.gateway.drain(10_000);
  send({ context_id: 'last', flush: true }, { context_id: 'last', close_context: true });
  expect(await end()).toMatchObject({ code: 1012, reason: 'The service is stopping. Try again later.' });
  expect(of('last').at(-1)).toEqual({ isFinal: true, contextId: 'last' });
  expect(await single.closed, 'complete audio').toBe(1000);
  expect(await waiting.closed, 'without audio').toBe(1012);
  await drained;
});
