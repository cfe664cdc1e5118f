// Tests the admission of calls before a byte of the body is read, and of calls within this process; that deadlines end a
// call even if its code ignores the signal; the limits of requests to VoiceService; and peers that answer no ping.
import { once } from 'node:events';
import { connect, createServer } from 'node:http2';
import { connect as connectTcp } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ConnectError, createClient } from '@connectrpc/connect';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ApiKeyService } from '../../../gen/sonant/v1/api_key_pb.ts';
import { SpeechService } from '../../../gen/sonant/v1/speech_pb.ts';
import { VoiceService } from '../../../gen/sonant/v1/voice_pb.ts';
import type { KeyManagement } from '../../../src/accounts/keys/key-management.ts';
import { Failure } from '../../../src/platform/errors.ts';
import { type WatchOptions, watchSession } from '../../../src/transports/rpc/server.ts';
import { listen } from '../../free-port.ts';
import { preface } from '../../soak/raw-connection.ts';
import { explain, failureOf, openGrpcClient } from './grpc-client.ts';
import { connectClients, goodKey, openTestServices } from './open-services.ts';
import { request as openRequest, openSession, rawCall, speechMessage, streamPath, synthesizePath } from './raw-grpc.ts';
import { fromConnectError } from './received-failure.ts';

const request = { voiceId: 'ada', text: 'hello' };
const withKey = (key: string) => ({ metadata: { 'x-api-key': key } });

describe('over gRPC', () => {
  test.each([
    ['no key', {}, 'UNAUTHENTICATED', 'INVALID_API_KEY'],
    ['a wrong key', withKey('wrong'), 'UNAUTHENTICATED', 'INVALID_API_KEY'],
    ['a key without the scope', withKey('poor'), 'PERMISSION_DENIED', 'INSUFFICIENT_SCOPE'],
    ['a key over its limit', withKey('slowed'), 'RESOURCE_EXHAUSTED', 'RATE_LIMIT_EXCEEDED'],
    ['a bug in admission', withKey('broken'), 'INTERNAL', 'INTERNAL_ERROR'],
  ])('%s is refused', async (_, call, code, reason) => {
    const { speech, fakeSpeech, calls } = await openTestServices();
    const reported = explain(await failureOf(speech.unary('synthesizeSpeech', request, call)));
    expect(reported).toMatchObject({ code, info: { reason } });
    if (code === 'PERMISSION_DENIED') expect(reported.info?.metadata).toEqual({ required_scopes: 'speech:synthesize' });
    expect(fakeSpeech.counts.begun).toBe(0);
    expect(calls).toMatchObject([{ status: code, callerId: undefined, messageCount: 0 }]);
  });

  test('a refusal does not wait for the body, and the rest of it is not read', async () => {
    const { target } = await openTestServices();
    const session = connect(`http://${target}`);
    const stream = session.request({
      ':method': 'POST',
      ':path': '/sonant.v1.SpeechService/SynthesizeSpeech',
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    stream.write(Buffer.alloc(100_000));
    let trailers: Record<string, unknown> = {};
    stream.on('trailers', (received) => (trailers = received)).resume();
    await once(stream, 'close');
    expect(trailers['grpc-status']).toBe('16');
    session.destroy();
  });
});

test('a revoked key ends its calls, except one that manages keys: it may have revoked itself', async () => {
  const keys = {
    async revoke() {
      opened.runner.checkKeys();
      await sleep(50);
      throw new Failure('not_found');
    },
  } as unknown as KeyManagement;
  const opened = await openTestServices({ isInForce: async () => false, keys });
  const reasonOf = (call: Promise<unknown>) => call.catch((error: ConnectError) => fromConnectError(error).reason);
  const speech = createClient(SpeechService, opened.transport);
  const options = { headers: { 'x-api-key': 'good' } };
  const listen = async () => {
    const spoken = speech.streamSpeech({ voiceId: 'ada', textChunks: ['pieces=20 wait=5'] }, options);
    for await (const _ of spoken) opened.runner.checkKeys();
  };
  expect(await reasonOf(listen())).toBe('invalid_api_key');
  const management = createClient(ApiKeyService, opened.transport);
  expect(await reasonOf(management.revokeApiKey({ keyId: 'good-caller-key' }, options))).toBe('not_found');
});

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
  const stream = openRequest(session, streamPath);
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

async function open() {
  const { target } = await openTestServices();
  const client = openGrpcClient(VoiceService, target);
  onTestFinished(() => client.close());
  const list = (request: object = {}) => client.unary('listVoices', request, goodKey);
  const faults = async (request: object) =>
    explain(await failureOf(list(request))).violations?.map(({ field, reason }) => `${field} ${reason}`);
  return { client, list, faults };
}

test('a query, a language, a page token and an engine are refused beyond their limits, whatever their size', async () => {
  const { list, faults } = await open();
  const words = 'a '.repeat(500_000);
  const refused = explain(await failureOf(list({ text: words })));
  expect(refused).toMatchObject({
    ...{ code: 'INVALID_ARGUMENT', info: { metadata: { limit: '200', actual: '1000000' } } },
    violations: [{ field: 'text', reason: 'TOO_LONG' }],
  });
  const cursor = Buffer.from(`after:${'x'.repeat(700_000)}`).toString('base64url');
  expect(await faults({ cursor })).toEqual(['cursor FORMAT']);
  const languageCode = `en-x${'-abcde'.repeat(150_000)}`;
  expect(await faults({ languageCode, engine: 'x'.repeat(201) })).toEqual(['engine TOO_LONG', 'language_code FORMAT']);
  expect((await list({ text: 'a '.repeat(100) })).voices.length).toBeGreaterThan(0);
});

test('an update mask of 900 paths is refused, and so is one of 170 000; one that names a field twice is taken', async () => {
  const { client } = await open();
  const update = (paths: string[]) => client.unary('updateVoice', { voiceId: 'ada', updateMask: { paths } }, goodKey);
  expect(explain(await failureOf(update(Array(900).fill('name'))))).toMatchObject({
    ...{ code: 'INVALID_ARGUMENT', info: { metadata: { limit: '100', actual: '900' } } },
    violations: [{ field: 'name' }, { field: 'update_mask' }],
  });
  expect(explain(await failureOf(update(Array(170_000).fill('name'))))).toMatchObject({ code: 'INVALID_ARGUMENT' });
  expect(explain(await failureOf(update(['name', 'name'])))).toMatchObject({ violations: [{ field: 'name' }] });
});

const quick = { pingEveryMs: 20, pingAnswerMs: 20, readerStallMs: 100 };

async function openWatched(options: WatchOptions): Promise<number> {
  const server = createServer().on('session', (session) => watchSession(session, { ...quick, ...options }));
  const serverPort = await listen(server);
  onTestFinished(() => void server.close());
  return serverPort;
}

/** Waits until the server closes the connection of a peer that reads but sends nothing. */
async function untilClosed(port: number): Promise<void> {
  const socket = connectTcp(port, '127.0.0.1').on('error', () => {});
  socket.resume().write(preface);
  await once(socket, 'close');
}

test('a peer that answers no ping is gone', async () => {
  await untilClosed(await openWatched({ isStalled: () => false }));
});

test('a peer that answers stays', async () => {
  const port = await openWatched({ isStalled: () => true, pingAnswerMs: 10_000 });
  const session = connect(`http://127.0.0.1:${port}`);
  await once(session, 'connect');
  for (let pings = 0; pings < 3; pings++) await once(session, 'ping');
  expect(session.closed).toBe(false);
  session.destroy();
});

test('while audio waits to be written, a silent peer is waited for', async () => {
  const waits = [true, true, true, false];
  await untilClosed(await openWatched({ isStalled: () => waits.shift()! }));
  expect(waits).toEqual([]);
});

test('no longer than for any reader that stalls', async () => {
  let looks = 0;
  await untilClosed(await openWatched({ isStalled: () => looks++ >= 0 }));
  expect(looks).toBe(quick.readerStallMs / quick.pingAnswerMs);
});
