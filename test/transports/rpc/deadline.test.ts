// Tests that the caller's deadline and Sonant's time limit end a call when they are reached, even if the call's code
// ignores the signal.
import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { explain, failureOf } from './grpc-client.ts';
import { connectClients, goodKey, openTestServices } from './open-services.ts';
import { openSession, rawCall, request, speechMessage, streamPath, synthesizePath } from './raw-grpc.ts';

const key = { headers: { 'x-api-key': 'good' } };
/** A text whose synthesis ignores its signal, and takes ten seconds. */
const deaf = 'deaf pieces=1000 wait=10';
const limits = { unaryCallMs: 150, streamCallMs: 150, readerStallMs: 60_000 };

describe('the deadline of the caller', () => {
  test.each(['unary', 'stream'])('ends a %s call whose synthesis ignores its signal', async (kind) => {
    const { target, calls } = await openTestServices();
    // Uses a raw call, because a gRPC client would not wait for the answer.
    const path = kind === 'unary' ? synthesizePath : streamPath;
    const begunMs = performance.now();
    const ended = await rawCall(target, path, [speechMessage(deaf)], { 'grpc-timeout': '100m' });
    expect(ended).toMatchObject({ grpcStatus: '4', reason: 'ENGINE_TIMEOUT' });
    expect(performance.now() - begunMs).toBeLessThan(5000);
    expect(calls).toMatchObject([{ status: 'DEADLINE_EXCEEDED' }]);
  });

  test.each(['connect', 'connect json'] as const)('is kept for %s', async (name) => {
    const services = await openTestServices();
    const client = connectClients(services)[name];
    const call = client.synthesizeSpeech({ voiceId: 'ada', text: deaf }, { ...key, timeoutMs: 1000 });
    await expect(call).rejects.toMatchObject({ code: 4 });
    // Connect's client also disconnects when the time is up.
    await expect
      .poll(() => services.calls)
      .toMatchObject([{ status: expect.stringMatching(/DEADLINE_EXCEEDED|CANCELLED/) }]);
  });

  test.each(['99999999H', '99999999S', '99999999m'])('of %s is no hindrance', async (timeout) => {
    const { speech } = await openTestServices();
    const call = { metadata: { ...goodKey.metadata, 'grpc-timeout': timeout } };
    const { chars } = await speech.unary('synthesizeSpeech', { voiceId: 'ada', text: 'wait=20' }, call);
    expect(chars).toBe(7);
  });

  test('of 30 days is no hindrance to Connect', async () => {
    const { connect, 'connect json': json } = connectClients(await openTestServices());
    for (const client of [connect, json]) {
      const options = { headers: { ...key.headers, 'connect-timeout-ms': String(30 * 86_400_000) } };
      expect((await client.synthesizeSpeech({ voiceId: 'ada', text: 'wait=20' }, options)).chars).toBe(7);
    }
  });
});

describe('our own deadline', () => {
  test('ends a call that has none, and says after how long', async () => {
    const { speech, calls } = await openTestServices({ timeLimits: limits });
    const reported = explain(
      await failureOf(speech.unary('synthesizeSpeech', { voiceId: 'ada', text: deaf }, goodKey)),
    );
    expect(reported).toMatchObject({
      code: 'DEADLINE_EXCEEDED',
      info: { reason: 'ENGINE_TIMEOUT' },
      message: expect.stringContaining('0.15 s'),
    });
    expect(calls).toMatchObject([{ status: 'DEADLINE_EXCEEDED', failure: { reason: 'engine_timeout' } }]);
  });

  test('ends a stream under way', async () => {
    const { speech, calls, fakeSpeech } = await openTestServices({ timeLimits: limits });
    const stream = speech.stream('streamSpeech', { voiceId: 'ada', textChunks: ['pieces=1000 wait=10'] }, goodKey);
    let count = 0;
    stream.on('data', () => count++);
    const reported = explain(await new Promise((resolve) => stream.on('error', resolve)));
    expect(reported).toMatchObject({ code: 'DEADLINE_EXCEEDED', info: { reason: 'ENGINE_TIMEOUT' } });
    expect(count).toBeGreaterThan(1);
    await expect.poll(() => fakeSpeech.counts.running).toBe(0);
    expect(calls).toMatchObject([{ status: 'DEADLINE_EXCEEDED' }]);
  });
});

test('a stream that is not read is ended, and its reader gets the failure', async () => {
  const timeLimits = { unaryCallMs: 60_000, streamCallMs: 60_000, readerStallMs: 100 };
  const { target, fakeSpeech, calls } = await openTestServices({ timeLimits });
  const session = await openSession(target);
  const stream = request(session, streamPath);
  stream.end(speechMessage('pieces=1000 bytes=32768'));
  await expect.poll(() => fakeSpeech.counts.running).toBe(1);
  await expect.poll(() => fakeSpeech.counts.running).toBe(0);
  expect(fakeSpeech.counts.pieces).toBeLessThan(20);
  let trailers: Record<string, unknown> = {};
  stream.on('trailers', (received) => (trailers = received)).resume();
  await once(stream, 'close');
  expect(trailers['grpc-status']).toBe('4');
  expect(decodeURIComponent(String(trailers['grpc-message']))).toContain('read');
  expect(calls).toMatchObject([{ status: 'DEADLINE_EXCEEDED' }]);
  session.destroy();
});
