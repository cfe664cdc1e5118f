// Opens the servers with which the APIs are compared. They only read the request and write a constant answer: over
// HTTP/1.1 by node:http, with all headers and events of the service, and over gRPC by plain node:http2 and by grpc-js.
// None of them authenticates, limits, counts or logs a call.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type OutgoingHttpHeaders, type ServerResponse } from 'node:http';
import { createServer as createHttp2Server, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo, Server } from 'node:net';
import type { Writable } from 'node:stream';
import { create, type DescMessage, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import grpc from '@grpc/grpc-js';
import { SpeechService, type StreamSpeechResponseSchema } from '../../gen/sonant/v1/speech_pb.ts';
import { VoiceService } from '../../gen/sonant/v1/voice_pb.ts';
import { createId } from '../../src/platform/runtime/id.ts';
import { piece, pieceCount, sound, voice } from './ready-speech.ts';

const host = '127.0.0.1';
const { synthesizeSpeech, streamSpeech } = SpeechService.method;
const { getVoice } = VoiceService.method;

async function portOf(server: Server): Promise<number> {
  server.listen(0, host);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

export const openRawHttp = (): Promise<number> => portOf(createServer((request, reply) => void answer(request, reply)));

async function answer(request: IncomingMessage, reply: ServerResponse): Promise<void> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part);
  const common = {
    ...{ 'x-request-id': createId('req'), 'x-api-version': '1.0.0' },
    ...{ 'x-content-type-options': 'nosniff', 'x-frame-options': 'DENY' },
    ...{ 'content-security-policy': "default-src 'none'; frame-ancestors 'none'", 'referrer-policy': 'no-referrer' },
    ...{ 'ratelimit-policy': '"requests";q=600;w=60, "concurrency";q=20;qu="concurrent-requests"' },
    ratelimit: '"requests";r=87;t=2',
  };
  const sendWhole = (headers: OutgoingHttpHeaders, body: Uint8Array) =>
    void reply.writeHead(200, { ...common, ...headers, 'content-length': body.length }).end(body);
  if (request.method === 'GET')
    return sendWhole({ 'content-type': 'application/json' }, Buffer.from(JSON.stringify(voice)));
  const fields = JSON.parse(Buffer.concat(parts).toString());
  const audioId = createId('aud', 128);
  const ofSound = {
    ...{ 'X-Voice': voice.name, 'X-Voice-Id': voice.voiceId, 'X-Chars': '5', 'X-Format': 'wav' },
    ...{ 'X-Sample-Rate': '24000', 'X-Audio-Id': audioId },
  };
  const disposition = { 'content-type': 'audio/wav', 'Content-Disposition': `attachment; filename=${audioId}.wav` };
  if (fields.return_format === 'buffer') {
    const more = { ...ofSound, 'X-Method': 'rest', 'X-Cache': 'HIT', 'X-Audio-Duration': '2' };
    return sendWhole({ ...disposition, ...more }, sound);
  }
  const streamed = {
    'X-Method': 'streaming',
    'X-Cache': 'MISS',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
  };
  if (!request.url!.endsWith('/sse')) {
    reply.writeHead(200, { ...common, ...disposition, ...ofSound, ...streamed });
    for (let n = 0; n < pieceCount; n++) await write(reply, piece);
  } else {
    reply.writeHead(200, { ...common, 'content-type': 'text/event-stream', ...ofSound, ...streamed });
    for (const event of eventTexts(audioId)) await write(reply, event);
  }
  reply.end();
}

function* eventTexts(audioId: string): Generator<string> {
  const toText = (n: number, type: string, data: object) =>
    `id: ${audioId}:${n}\nevent: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;
  const info = { id: audioId, voice_id: voice.voiceId, voice_name: voice.name, method: 'streaming', format: 'wav' };
  const more = { content_type: 'audio/wav', sample_rate: 24_000, channels: 1, chunks: 1, chars: 5 };
  yield toText(0, 'speech.audio.info', { ...info, ...more });
  for (let n = 1; n <= pieceCount; n++) {
    const audio = Buffer.from(piece).toString('base64');
    const type = 'speech.audio.delta';
    yield `id: ${audioId}:${n}\nevent: ${type}\ndata: {"type":"${type}","chunk_index":0,"audio":"${audio}"}\n\n`;
  }
  yield toText(pieceCount + 1, 'speech.chunk.done', { chunk_index: 0, chars: 5, start: 0, end: 2 });
  const usage = { characters: 5, audio_seconds: 2 };
  const done = { id: audioId, status: 'success', chars: 5, duration: 2, bytes: pieceCount * piece.length };
  yield toText(pieceCount + 2, 'speech.audio.done', { ...done, audio_url: null, usage });
}

async function write(to: Writable, bytes: Uint8Array | string): Promise<void> {
  if (!to.write(bytes, 'latin1')) await once(to, 'drain');
}

const spoken = { voiceId: voice.voiceId, voiceName: voice.name, sampleRate: 24_000 };
const about = { voiceId: voice.voiceId, name: voice.name, description: voice.description, labels: voice.labels };
const saidWhole = { ...spoken, audio: { case: 'audioBytes' as const, value: sound } };

function* events(): Generator<MessageInitShape<typeof StreamSpeechResponseSchema>> {
  yield { event: { case: 'info', value: spoken } };
  for (let n = 0; n < pieceCount; n++) yield { event: { case: 'audio', value: { audio: piece } } };
  yield { event: { case: 'chunkDone', value: { end: 2 } } };
  yield { event: { case: 'done', value: { bytes: BigInt(pieceCount * piece.length) } } };
}

const encode = <D extends DescMessage>(type: D, message: MessageInitShape<D>) => toBinary(type, create(type, message));

export function openRawHttp2(): Promise<number> {
  const server = createHttp2Server();
  server.on('stream', (stream, headers) => void answerGrpc(stream, headers[':path']!));
  return portOf(server);
}

async function answerGrpc(stream: ServerHttp2Stream, path: string): Promise<void> {
  const parts: Buffer[] = [];
  for await (const part of stream) parts.push(part);
  const request = Buffer.concat(parts).subarray(5);
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
  stream.respond({ ':status': 200, 'content-type': 'application/grpc+proto' }, { waitForTrailers: true });
  if (path.endsWith(getVoice.name)) {
    fromBinary(getVoice.input, request);
    stream.write(toFrame(encode(getVoice.output, { voice: about })));
  } else if (path.endsWith(synthesizeSpeech.name)) {
    fromBinary(synthesizeSpeech.input, request);
    await write(stream, toFrame(encode(synthesizeSpeech.output, saidWhole)));
  } else {
    fromBinary(streamSpeech.input, request);
    for (const event of events()) await write(stream, toFrame(encode(streamSpeech.output, event)));
  }
  stream.end();
}

/** Length-prefixed message (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md). */
export function toFrame(message: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(5 + message.length);
  frame.writeUInt8(0);
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, 5);
  return frame;
}

export async function openGrpcJs(): Promise<number> {
  const server = new grpc.Server();
  const unary = (reply: object) => (_call: unknown, callback: grpc.sendUnaryData<object>) => callback(null, reply);
  server.addService(definitionOf(getVoice), { [getVoice.name]: unary({ voice: about }) });
  server.addService(definitionOf(synthesizeSpeech), { [synthesizeSpeech.name]: unary(saidWhole) });
  server.addService(definitionOf(streamSpeech), {
    async [streamSpeech.name](call: grpc.ServerWritableStream<object, object>) {
      for (const event of events()) await write(call, event as Uint8Array);
      call.end();
    },
  });
  const bind = Promise.withResolvers<number>();
  server.bindAsync(`${host}:0`, grpc.ServerCredentials.createInsecure(), (error, port) =>
    error ? bind.reject(error) : bind.resolve(port),
  );
  return bind.promise;
}

type Method = typeof getVoice | typeof synthesizeSpeech | typeof streamSpeech;

const definitionOf = ({ name, parent, input, output, methodKind }: Method): grpc.ServiceDefinition => ({
  [name]: {
    path: `/${parent.typeName}/${name}`,
    requestStream: false,
    responseStream: methodKind === 'server_streaming',
    requestSerialize: (message: object) => Buffer.from(encode(input, message)),
    requestDeserialize: (bytes: Buffer) => fromBinary(input, bytes),
    responseSerialize: (message: object) => Buffer.from(encode(output, message)),
    responseDeserialize: (bytes: Buffer) => fromBinary(output, bytes),
  },
});
