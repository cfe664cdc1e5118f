// Tests that every transport accepts large requests within its limits, and refuses requests with more fields than any
// request needs.
import { gzipSync } from 'node:zlib';
import { create, toBinary } from '@bufbuild/protobuf';
import { ConnectError, createClient } from '@connectrpc/connect';
import { compressionGzip, createConnectTransport, createGrpcTransport } from '@connectrpc/connect-node';
import { describe, expect, test } from 'vitest';
import { LiveSpeechRequestSchema, SpeechService } from '../../../gen/sonant/v1/speech_pb.ts';
import { explain, failureOf } from './grpc-client.ts';
import { connectClients, goodKey, openTestServices } from './open-services.ts';
import { envelope, rawCall } from './raw-grpc.ts';
import { fromConnectError } from './received-failure.ts';

const key = { headers: { 'x-api-key': 'good' } };
const tooLong = { voiceId: 'ada', textChunks: Array<string>(201).fill('a text '.repeat(70)) };
const tooMany = { voiceId: 'ada', textChunks: Array<string>(20_000).fill('a text '.repeat(5)) };

async function refusalOf(client: ReturnType<typeof connectClients>['connect'], request: typeof tooLong) {
  try {
    for await (const _ of client.streamSpeech(request, key));
  } catch (error) {
    return fromConnectError(ConnectError.from(error));
  }
  throw new Error('was taken');
}

test('one of 100 KB is read whole, and one of 20 000 fields is refused, through every way in', async () => {
  const services = await openTestServices();
  const compressed = { sendCompression: compressionGzip, compressMinBytes: 0 };
  const { webUrl: baseUrl, target } = services;
  const clients = {
    ...connectClients(services),
    'connect, compressed': createClient(
      SpeechService,
      createConnectTransport({ baseUrl, httpVersion: '1.1', useBinaryFormat: true, ...compressed }),
    ),
    'connect json, compressed': createClient(
      SpeechService,
      createConnectTransport({ baseUrl, httpVersion: '1.1', ...compressed }),
    ),
    'grpc, compressed': createClient(
      SpeechService,
      createGrpcTransport({ baseUrl: `http://${target}`, ...compressed }),
    ),
  };
  for (const [name, client] of Object.entries(clients)) {
    expect(await refusalOf(client, tooLong), name).toMatchObject({
      ...{ reason: 'text_too_long', facts: { limit: 200, actual: 201 } },
    });
    const { reason, message } = await refusalOf(client, tooMany);
    expect([reason, message], name).toEqual(['invalid_request', expect.stringContaining('too many')]);
  }
  for (const [request, expected] of [
    [tooLong, { info: { metadata: { actual: '201' } } }],
    [tooMany, { message: expect.stringContaining('too many') }],
  ] as const) {
    const stream = services.speech.stream('streamSpeech', request, goodKey);
    stream.resume();
    expect(explain(await new Promise((resolve) => stream.on('error', resolve)))).toMatchObject(expected);
  }
  const long = { voiceId: 'ada', text: 'x'.repeat(900_000) };
  expect(explain(await failureOf(services.speech.unary('synthesizeSpeech', long, goodKey)))).toMatchObject({
    info: { metadata: { limit: '5000' } },
  });
  expect(services.faults).toEqual([]);
});

test('an unknown member of a large request in JSON is told, and one that is wrong is refused', async () => {
  const { webUrl } = await openTestServices();
  const post = (body: object) =>
    fetch(`${webUrl}/sonant.v1.SpeechService/EstimateSpeech`, {
      method: 'POST',
      headers: { 'x-api-key': 'good', 'content-type': 'application/json' },
      body: JSON.stringify({ textChunks: Array(40).fill('word '.repeat(200)), voiceId: 'ada', ...body }),
    });
  const taken = await post({ colour: 'red' });
  expect([taken.status, taken.headers.get('x-ignored-fields')]).toEqual([200, 'colour']);
  for (const wrong of [{ normalize: 'perhaps' }, { text_chunks: ['a'] }, { markup: 'NONE' }]) {
    const answer = await post(wrong);
    expect([answer.status, (await answer.json()) as object]).toMatchObject([400, { code: 'invalid_argument' }]);
  }
});

const jobPath = '/sonant.v1.JobService/CreateJob';
const livePath = '/sonant.v1.SpeechService/LiveSpeech';
const unknown = Buffer.from([0x98, 0x3e, 0x01, 0x9b, 0x3e, 0x08, 0x01, 0x9c, 0x3e]);
const flood = Buffer.alloc(30_000, unknown.subarray(0, 3));

test.each([
  ['unknown fields', flood],
  ['groups in groups', Buffer.alloc(30_000, unknown.subarray(3, 5))],
  ['values of an enum', fieldOf(9, Buffer.alloc(30_000, 1))],
  ['fields in an item', fieldOf(3, flood)],
  ['fields in an entry of a map', fieldOf(15, flood)],
  ['entries of a map', Buffer.alloc(30_000, Buffer.from([0x7a, 0]))],
])('too many %s are refused', async (_, bytes) => {
  const { target } = await openTestServices();
  const refused = { grpcStatus: '3', message: 'The message has too many fields.' };
  expect(await rawCall(target, jobPath, [envelope(bytes)])).toMatchObject(refused);
  const zipped = [envelope(gzipSync(bytes), 1)];
  expect(await rawCall(target, jobPath, zipped, { 'grpc-encoding': 'gzip' })).toMatchObject(refused);
  // This flag marks the end of a stream in the Connect protocol, and has no meaning in gRPC.
  expect(await rawCall(target, jobPath, [envelope(bytes, 2)])).toMatchObject(refused);
});

test.each([
  ['cut off', fieldOf(2, Buffer.alloc(30_000)).subarray(0, 20_000)],
  ['no message', Buffer.alloc(30_000, 0xff)],
  ['a tag of six bytes', Buffer.concat([Buffer.from([0x88, 0x80, 0x80, 0x80, 0x80, 0]), Buffer.alloc(30_000, 0x10)])],
  ['a number that is encoded as bytes', fieldOf(5, flood)],
  ['a nested message that ends after its outer field', Buffer.concat([fieldOf(3, Buffer.from([0x0a, 0x7f])), flood])],
  ['a group without its end', Buffer.concat([fieldOf(2, Buffer.alloc(30_000)), unknown.subarray(3, 5)])],
])('what is %s is refused', async (_, bytes) => {
  const { target } = await openTestServices();
  const { grpcStatus, message } = await rawCall(target, jobPath, [envelope(bytes)]);
  expect([grpcStatus, message]).toEqual(['3', expect.stringContaining('parse binary')]);
});

/** A field with these bytes. */
function fieldOf(no: number, bytes: Buffer): Buffer {
  const { length } = bytes;
  return Buffer.concat([
    Buffer.from([no * 8 + 2, (length & 0x7f) | 0x80, ((length >> 7) & 0x7f) | 0x80, length >> 14]),
    bytes,
  ]);
}

describe('a message of a stream', () => {
  const gzip = { 'grpc-encoding': 'gzip' };
  const text = (length: number) =>
    toBinary(
      LiveSpeechRequestSchema,
      create(LiveSpeechRequestSchema, { request: { case: 'text', value: { text: 'x'.repeat(length) } } }),
    );

  test.each([
    ['too large', envelope(text(300_000)), 'too large', {}],
    ['too large when decompressed', envelope(gzipSync(Buffer.alloc(300_000)), 1), 'too large', gzip],
    ['not compressed as it says', envelope(Buffer.from('no gzip'), 1), 'decompression failed', gzip],
    ['of too many fields', envelope(flood), 'too many fields', {}],
    ['of too many fields when decompressed', envelope(gzipSync(flood), 1), 'too many fields', gzip],
  ])('that is %s is refused', async (_, bytes, why, headers) => {
    const { target } = await openTestServices();
    const { grpcStatus, message } = await rawCall(target, livePath, [bytes], headers as Record<string, string>);
    expect([grpcStatus, message]).toEqual(['3', expect.stringContaining(why)]);
  });

  test.each([
    ['in one piece', (bytes: Buffer) => [bytes]],
    [
      'in pieces of three bytes',
      (bytes: Buffer) => Array.from({ length: 8 }, (_, n) => bytes.subarray(n * 3, n < 7 ? n * 3 + 3 : undefined)),
    ],
  ])('%s is read as it was sent', async (_, cut) => {
    const { target } = await openTestServices();
    // Live speech starts with another message, which its handler reports.
    const whole = await rawCall(target, livePath, cut(Buffer.concat([envelope(text(40_000)), envelope(text(3))])));
    const zipped = await rawCall(target, livePath, [envelope(gzipSync(text(40_000)), 1)], gzip);
    expect([whole.message, zipped.message]).toEqual([expect.stringContaining('start'), whole.message]);
  });
});
