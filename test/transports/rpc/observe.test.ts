// Tests that each call is reported exactly once, whatever happened to it, and that unreadable requests fail properly.
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { createClient } from '@connectrpc/connect';
import grpc from '@grpc/grpc-js';
import { describe, expect, test } from 'vitest';
import { SpeechService } from '../../../gen/sonant/v1/speech_pb.ts';
import { createTracing, type EndedSpan } from '../../../src/platform/telemetry/trace.ts';
import { failureOf } from './grpc-client.ts';
import { connectClients, goodKey, openTestServices } from './open-services.ts';
import { envelope, rawCall, speechMessage, streamPath, synthesizePath } from './raw-grpc.ts';

const key = { headers: { 'x-api-key': 'good' } };

describe('the request id', () => {
  test.each([
    ['abc_DEF-123', 'abc_DEF-123'],
    ['a'.repeat(64), 'a'.repeat(64)],
    ['a'.repeat(65), expect.stringMatching(/^req_[0-9A-Z]{26}$/)],
    ['no spaces', expect.stringMatching(/^req_/)],
    [undefined, expect.stringMatching(/^req_/)],
  ])('%s is answered with %s', async (given, expected) => {
    const { transport, calls } = await openTestServices();
    let header = new Headers();
    const client = createClient(SpeechService, transport);
    const headers = { ...key.headers, ...(given !== undefined && { 'x-request-id': given }) };
    await client.synthesizeSpeech(
      { voiceId: 'ada', text: 'x' },
      { headers, onHeader: (received) => (header = received) },
    );
    expect(header.get('x-request-id')).toEqual(expected);
    expect(header.get('x-api-version')).toBe('1.0.0');
    expect(calls).toMatchObject([
      { requestId: header.get('x-request-id'), method: 'sonant.v1.SpeechService/SynthesizeSpeech' },
    ]);
  });
});

test.each(['grpc', 'connect', 'grpc-web'] as const)('the trace of the caller goes on over %s', async (name) => {
  const spans: EndedSpan[] = [];
  const services = await openTestServices({
    tracing: createTracing({ share: 0, isParentBased: true }, (span) => spans.push(span)),
  });
  const [traceId, parentSpanId] = ['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331'];
  const traceparent = `00-${traceId}-${parentSpanId}-01`;
  const asked = { voiceId: 'ada', text: 'x' };
  if (name === 'grpc') {
    await services.speech.unary('synthesizeSpeech', asked, { metadata: { ...goodKey.metadata, traceparent } });
  } else {
    await connectClients(services)[name].synthesizeSpeech(asked, { headers: { ...key.headers, traceparent } });
  }
  expect(spans).toMatchObject([{ traceId, parentSpanId, name: 'sonant.v1.SpeechService/SynthesizeSpeech' }]);
});

describe('a caller who leaves', () => {
  const endless = { voiceId: 'ada', textChunks: ['pieces=100000 wait=5'] };

  test('over gRPC is recorded as CANCELLED, and the synthesis aborts at once', async () => {
    const { speech, fakeSpeech, calls } = await openTestServices();
    const stream = speech.stream('streamSpeech', endless, goodKey);
    stream.on('error', () => {});
    await new Promise((resolve) => stream.once('data', resolve));
    stream.cancel();
    await expect.poll(() => fakeSpeech.counts.running).toBe(0);
    expect(calls).toMatchObject([{ status: 'CANCELLED', failure: undefined }]);
  });

  test.each(['connect', 'grpc-web', 'grpc-web over HTTP/2'] as const)('over %s has cancelled', async (name) => {
    const services = await openTestServices();
    const leaving = new AbortController();
    const read = async () => {
      for await (const _ of connectClients(services)[name].streamSpeech(endless, { ...key, signal: leaving.signal }))
        leaving.abort();
    };
    await expect(read()).rejects.toThrow();
    await expect.poll(() => services.fakeSpeech.counts.running).toBe(0);
    expect(services.calls).toMatchObject([{ status: 'CANCELLED', failure: undefined }]);
  });

  test('because an answer is too large to be sent leaves nothing that runs', async () => {
    const { speech, fakeSpeech, calls } = await openTestServices();
    const tooLarge = { voiceId: 'ada', textChunks: ['pieces=100000 bytes=5000000'] };
    const error = await failureOf(speech.stream('streamSpeech', tooLarge, goodKey).toArray());
    expect(error).toMatchObject({ code: grpc.status.INVALID_ARGUMENT });
    await expect.poll(() => fakeSpeech.counts.running).toBe(0);
    expect(calls).toMatchObject([{ failure: { reason: 'payload_too_large' } }]);
  });

  test('before the first sound is recorded as CANCELLED too', async () => {
    const { speech, fakeSpeech, calls } = await openTestServices();
    const stream = speech.stream('streamSpeech', { voiceId: 'ada', textChunks: ['wait=10000'] }, goodKey);
    stream.on('error', () => {}).resume();
    await expect.poll(() => fakeSpeech.counts.running).toBe(1);
    stream.cancel();
    await expect.poll(() => fakeSpeech.counts.running).toBe(0);
    expect(calls).toMatchObject([{ status: 'CANCELLED', messageCount: 0 }]);
  });
});

test('200 callers that abort at random moments leave nothing running', async () => {
  const { speech, fakeSpeech, calls } = await openTestServices();
  const leave = async (i: number) => {
    const textChunks = [`pieces=60 wait=${i % 4} bytes=20000`];
    const stream = speech.stream('streamSpeech', { voiceId: 'ada', textChunks }, goodKey);
    stream.on('error', () => {});
    const messages = i % 7;
    let count = 0;
    if (messages === 0) await sleep(i % 40);
    else await new Promise<void>((resolve) => stream.on('data', () => ++count === messages && resolve()));
    stream.cancel();
  };
  for (let from = 0; from < 200; from += 50) await Promise.all(Array.from({ length: 50 }, (_, i) => leave(from + i)));
  await expect.poll(() => fakeSpeech.counts.running).toBe(0);
  // Some clients disconnected before their request was sent.
  expect(fakeSpeech.counts.begun).toBeGreaterThan(150);
  await expect.poll(() => calls.length).toBeGreaterThanOrEqual(fakeSpeech.counts.begun);
  expect(calls.length).toBeLessThanOrEqual(200);
  expect(calls.map(({ status }) => status)).toContain('CANCELLED');
  expect(calls.every(({ failure }) => failure === undefined)).toBe(true);
});

describe('what cannot be read', () => {
  const large = Buffer.alloc((1 << 20) + 2000, 'x');
  const noProtobuf = envelope(Buffer.from([0xff, 0xff]));
  const gzip = { 'grpc-encoding': 'gzip' };

  /** A call without a reason is refused by the transport itself. */
  test.each<[string, Uint8Array[], reason?: string | undefined, headers?: Record<string, string>, path?: string]>([
    ['no protobuf', [noProtobuf], 'INVALID_REQUEST'],
    ['half a message', [speechMessage('x').subarray(0, 8)], 'INVALID_REQUEST'],
    ['too large a message', [envelope(large)], 'PAYLOAD_TOO_LARGE'],
    ['one that says it is too large', [Buffer.from([0, 0x7f, 0xff, 0xff, 0xff])], 'PAYLOAD_TOO_LARGE'],
    ['one that unpacks to too much', [envelope(gzipSync(Buffer.alloc(1 << 27)), 1)], 'PAYLOAD_TOO_LARGE', gzip],
    ['one that does not unpack', [envelope(Buffer.from('no gzip'), 1)], 'INVALID_REQUEST', gzip],
    ['a deadline that is none', [speechMessage('x')], 'INVALID_REQUEST', { 'grpc-timeout': 'soon' }],
    ['a compression that nobody knows', [speechMessage('x')], undefined, { 'grpc-encoding': 'zip' }],
    ['no message', []],
    ['two messages', [speechMessage('x'), speechMessage('x')]],
    ['no protobuf for a stream', [noProtobuf], 'INVALID_REQUEST', {}, streamPath],
    ['too large a message for a stream', [envelope(large)], 'PAYLOAD_TOO_LARGE', {}, streamPath],
  ])('%s', async (_, pieces, reason, headers = {}, path = synthesizePath) => {
    const { target, calls, fakeSpeech } = await openTestServices();
    const answer = await rawCall(target, path, pieces, headers);
    expect([answer.grpcStatus, answer.reason]).toEqual([reason ? '3' : '12', reason]);
    expect(calls.map(({ status }) => status)).toEqual([reason ? 'INVALID_ARGUMENT' : 'UNIMPLEMENTED']);
    expect(fakeSpeech.counts.begun).toBe(0);
  });

  test.each([
    ['no JSON', '{"voiceId":', 400, 'INVALID_REQUEST'],
    ['a number for a text', '{"voiceId":"ada","text":5}', 400, 'INVALID_REQUEST'],
    ['too much', `{"text":"${large}"}`, 400, 'PAYLOAD_TOO_LARGE'],
  ])('%s over Connect', async (_, body, status, reason) => {
    const { webUrl, calls } = await openTestServices();
    const headers = { ...key.headers, 'content-type': 'application/json' };
    const response = await fetch(webUrl + synthesizePath, { method: 'POST', headers, body });
    expect(response.status).toBe(status);
    const error = (await response.json()) as { details: { debug: { reason?: string } }[] };
    expect(error.details.map(({ debug }) => debug.reason)).toContain(reason);
    expect(response.headers.get('x-request-id')).toBe(calls[0]?.requestId);
    expect(calls).toHaveLength(1);
  });
});

test.each([
  ['SpeechService/SynthesizeSpeech', 1 << 20],
  ['LexiconService/CreateLexicon', 4 << 20],
  ['JobService/CreateJob', 16 << 20],
])('over Connect, what unpacks to too much for %s is told with the limit of it', async (path, limit) => {
  const { webUrl, calls } = await openTestServices();
  const headers = { ...key.headers, 'content-type': 'application/json', 'content-encoding': 'gzip' };
  const body = gzipSync(`{"id":"${'x'.repeat(limit)}"}`);
  const response = await fetch(`${webUrl}/sonant.v1.${path}`, { method: 'POST', headers, body });
  expect(response.status).toBe(400);
  expect(calls).toMatchObject([{ failure: { reason: 'payload_too_large', facts: { limit } } }]);
});

test('a request may come compressed', async () => {
  const { target, fakeSpeech } = await openTestServices();
  const body = envelope(gzipSync(speechMessage('x '.repeat(2000)).subarray(5)), 1);
  expect(await rawCall(target, synthesizePath, [body], { 'grpc-encoding': 'gzip' })).toMatchObject({ grpcStatus: '0' });
  expect(fakeSpeech.counts.finished).toBe(1);
});
