// What the doors are measured against: servers that do nothing but read the request, and write the same answer to it.
// Over HTTP/1.1 by node:http, and gRPC by node:http2 alone and by grpc-js. None asks who is calling.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttp2Server, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo, Server } from 'node:net';
import type { Writable } from 'node:stream';
import { create, type DescMessage, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import grpc from '@grpc/grpc-js';
import { SpeechService, type StreamSpeechResponseSchema } from '../../gen/sonant/v1/speech_pb.ts';
import { VoiceService } from '../../gen/sonant/v1/voice_pb.ts';
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
  if (request.method === 'GET') return sendWhole(reply, 'application/json', Buffer.from(JSON.stringify(voice)));
  const fields = JSON.parse(Buffer.concat(parts).toString());
  if (fields.return_format === 'buffer') return sendWhole(reply, 'audio/wav', sound);
  const isEvents = request.url!.endsWith('/sse');
  reply.writeHead(200, { 'content-type': isEvents ? 'text/event-stream' : 'audio/wav' });
  for (let n = 0; n < pieceCount; n++) await write(reply, isEvents ? toEvent(n) : piece);
  reply.end();
}

function sendWhole(reply: ServerResponse, contentType: string, body: Uint8Array): void {
  reply.writeHead(200, { 'content-type': contentType, 'content-length': body.length }).end(body);
}

function toEvent(n: number): string {
  const audio = Buffer.from(piece).toString('base64');
  const type = 'speech.audio.delta';
  return `id: ${n}\nevent: ${type}\ndata: {"type":"${type}","chunk_index":0,"audio":"${audio}"}\n\n`;
}

async function write(to: Writable, bytes: Uint8Array | string): Promise<void> {
  if (!to.write(bytes, 'latin1')) await once(to, 'drain');
}

const spoken = { voiceId: voice.voiceId, voiceName: voice.name, sampleRateHz: 24_000 };
const about = { voiceId: voice.voiceId, name: voice.name, description: voice.description, labels: voice.labels };
const saidWhole = { ...spoken, audio: { case: 'audioBytes' as const, value: sound } };

function* events(): Generator<MessageInitShape<typeof StreamSpeechResponseSchema>> {
  yield { event: { case: 'info', value: spoken } };
  for (let n = 0; n < pieceCount; n++) yield { event: { case: 'audio', value: { audioBytes: piece } } };
  yield { event: { case: 'chunkDone', value: { endSeconds: 2 } } };
  yield { event: { case: 'done', value: { byteCount: BigInt(pieceCount * piece.length) } } };
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
