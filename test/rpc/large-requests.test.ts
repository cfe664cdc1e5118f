// Large requests, which are read in steps: they are understood as the library understands them, through every way in, and
// those with more fields than any request needs are refused.
import { gzipSync } from 'node:zlib';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { ConnectError, createClient } from '@connectrpc/connect';
import { compressionGzip, createConnectTransport, createGrpcTransport } from '@connectrpc/connect-node';
import { describe, expect, test } from 'vitest';
import { CreateJobRequestSchema } from '../../gen/sonant/v1/job_service_pb.ts';
import { CreateLexiconRequestSchema } from '../../gen/sonant/v1/lexicon_pb.ts';
import { LiveSpeechRequestSchema, SpeechService, StreamSpeechRequestSchema } from '../../gen/sonant/v1/speech_pb.ts';
import { checkMessages, type RequestShape } from '../../src/rpc/large-requests.ts';
import { readMessage } from '../../src/rpc/message-steps.ts';
import { atOnce } from '../../src/runtime/steps.ts';
import { explain, failureOf } from './grpc-client.ts';
import { connectClients, goodKey, openTestServices } from './open-services.ts';
import { envelope } from './raw-grpc.ts';
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

describe('a message in steps', () => {
  const unknown = Buffer.from([0x98, 0x3e, 0x01, 0x9b, 0x3e, 0x08, 0x01, 0x9c, 0x3e]);
  const entries = Array.from({ length: 5000 }, (_, n) => ({ grapheme: `word${n}`, alias: 'é'.repeat(n % 90) }));
  const chapters = Array.from({ length: 300 }, (_, n) => ({ title: `${n}`, text: 'x'.repeat(n * 80) }));
  test.each([
    [CreateLexiconRequestSchema, { spec: { name: 'a', entries } }],
    [CreateLexiconRequestSchema, { spec: { pls: 'x'.repeat(100_000) } }],
    [CreateJobRequestSchema, { chapters, metadata: { a: 'b', c: 'd' }, captions: [1, 2], cover: Buffer.alloc(50_000) }],
    [StreamSpeechRequestSchema, { textChunks: Array(300).fill('a text '.repeat(20)), speakingRate: 1.5 }],
  ])('%# is what the library reads', (schema, fields) => {
    const bytes = toBinary(schema as never, create(schema as never, fields as never));
    for (const sent of [bytes, Buffer.concat([unknown, bytes, unknown])])
      expect(atOnce(readMessage(schema, sent, 100_000))).toEqual(fromBinary(schema as never, sent));
  });

  test.each([
    ['unknown fields', Buffer.alloc(30_000, unknown.subarray(0, 3))],
    ['groups in groups', Buffer.alloc(30_000, unknown.subarray(3, 5))],
    ['values of an enum', envelopeOf(9, Buffer.alloc(30_000, 1))],
    ['fields in an item', envelopeOf(3, Buffer.alloc(30_000, unknown.subarray(0, 3)))],
    ['fields in an entry of a map', envelopeOf(15, Buffer.alloc(30_000, unknown.subarray(0, 3)))],
    ['entries of a map', Buffer.alloc(30_000, Buffer.from([0x7a, 0]))],
  ])('too many %s are refused', (_, bytes) => {
    expect(() => atOnce(readMessage(CreateJobRequestSchema, bytes, 5000))).toThrow('too many fields');
  });

  test.each([
    ['cut off', envelopeOf(2, Buffer.alloc(30_000)).subarray(0, 20_000)],
    ['no message', Buffer.alloc(30_000, 0xff)],
    ['a group without its end', Buffer.concat([envelopeOf(2, Buffer.alloc(30_000)), unknown.subarray(3, 5)])],
  ])('what is %s is refused', (_, bytes) => {
    expect(() => fromBinary(CreateJobRequestSchema, bytes)).toThrow();
    expect(() => atOnce(readMessage(CreateJobRequestSchema, bytes, 100_000))).toThrow('parse binary');
  });
});

/** A field with these bytes. */
function envelopeOf(no: number, bytes: Buffer): Buffer {
  const { length } = bytes;
  return Buffer.concat([
    Buffer.from([no * 8 + 2, (length & 0x7f) | 0x80, ((length >> 7) & 0x7f) | 0x80, length >> 14]),
    bytes,
  ]);
}

describe('messages of a stream', () => {
  const shape: RequestShape = {
    ...{ method: SpeechService.method.liveSpeech, isJson: false, isEnveloped: true, isCompressed: true },
    ...{ bytesMax: 256 * 1024, valuesMax: 1000, arrivalMs: 0 },
  };
  const textOf = (text: string) =>
    toBinary(LiveSpeechRequestSchema, create(LiveSpeechRequestSchema, { request: { case: 'text', value: { text } } }));
  async function check(bytes: Uint8Array, chunkBytes: number, how: Partial<RequestShape> = {}) {
    const chunks = async function* () {
      for (let i = 0; i < bytes.length; i += chunkBytes) yield bytes.subarray(i, i + chunkBytes);
    };
    return Buffer.concat(await Array.fromAsync(checkMessages(chunks(), { ...shape, ...how })));
  }

  test('come as they were sent, whatever pieces they arrive in, and decompressed', async () => {
    const messages = ['a', 'b'.repeat(100_000), '', 'c'].map(textOf);
    const plain = Buffer.concat(messages.map((message) => envelope(message)));
    for (const chunkBytes of [1, 4, 5, 1000, plain.length]) expect(await check(plain, chunkBytes)).toEqual(plain);
    const zipped = Buffer.concat(messages.map((message) => envelope(gzipSync(message), 1)));
    expect(await check(zipped, 100)).toEqual(plain);
    // The library says what is wrong with these.
    expect(await check(zipped, 100, { isCompressed: false })).toEqual(zipped);
    expect(await check(plain.subarray(0, 50_000), 100)).toEqual(plain.subarray(0, 50_000));
  });

  test.each([
    ['too large', envelope(textOf('x'.repeat(300_000))), 'too large', {}],
    ['too large when decompressed', envelope(gzipSync(Buffer.alloc(300_000)), 1), 'too large', {}],
    ['not compressed as it says', envelope(Buffer.from('no gzip'), 1), 'not compressed', {}],
    ['of too many fields', envelope(Buffer.alloc(30_000, Buffer.from([0x98, 0x3e, 0x01]))), 'too many fields', {}],
    ['of too many values', envelope(Buffer.from(`{"a":[${'1,'.repeat(20_000)}1]}`)), 'too many', { isJson: true }],
  ])('one that is %s is refused', async (_, bytes, why, how) => {
    await expect(check(bytes, 1000, how)).rejects.toThrow(why);
  });
});
