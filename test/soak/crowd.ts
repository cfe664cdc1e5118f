// Runs as a process that holds connections of one kind open, reopens each a second after it was closed, and reports
// every second how many connections and streams are open and how many were closed: node crowd.ts '{"kind":"watch over
// gRPC","connections":450,"streams":100,"address":"127.0.0.2",...}'
import { writeSync } from 'node:fs';
import { connect as connectHttp2 } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { create, toBinary } from '@bufbuild/protobuf';
import { ServerReflectionRequestSchema } from '../../gen/grpc/reflection/v1/reflection_pb.ts';
import { HealthCheckRequestSchema } from '../../gen/health/v1/health_pb.ts';
import { StreamSpeechRequestSchema } from '../../gen/sonant/v1/speech_pb.ts';
import { envelope, streamPath } from '../transports/rpc/raw-grpc.ts';
import { chunksOf } from './long-text.ts';
import { preface } from './raw-connection.ts';

export interface CrowdTask {
  kind: keyof typeof kinds;
  connections: number;
  /** Streams on each HTTP/2 connection. */
  streams: number;
  httpPort: number;
  grpcPort: number;
  /** Address of the connections. */
  address: string;
  key: string;
  /** Path of a link. */
  path: string;
}

const task: CrowdTask = JSON.parse(process.argv[2]!);
const { kind, connections, streams, httpPort, grpcPort, address, key, path } = task;
const againMs = 1000;
const questions = 50;
const tally = { connections: 0, streams: 0, closed: 0 };

const open = (port: number): Socket => connect({ port, host: '127.0.0.1', localAddress: address });

/** Makes calls over HTTP/2 and does not read their answers. */
function openCalls(target: string, contentType: string, messages: readonly Uint8Array[], isLast: boolean): Socket {
  const socket = open(grpcPort);
  const session = connectHttp2('http://sonant.test', { createConnection: () => socket });
  session.on('error', () => {});
  for (let n = 0; n < streams; n++) {
    const stream = session.request({
      ':method': 'POST',
      ':path': target,
      'content-type': contentType,
      te: 'trailers',
      'x-api-key': key,
    });
    let isOpen = false;
    stream.on('error', () => {});
    stream.on('response', (headers) => {
      isOpen = headers[':status'] === 200 && headers['grpc-status'] === undefined;
      if (isOpen) tally.streams++;
    });
    stream.on('close', () => {
      if (isOpen) tally.streams--;
    });
    for (const message of messages) stream.write(message);
    if (isLast) stream.end();
  }
  return socket;
}

/** Sends an HTTP/1.1 request, and reads only the headers of the reply. */
function openRequest(target: string, contentType: string, body: Uint8Array | string, method = 'POST'): Socket {
  const socket = open(httpPort);
  let isOpen = false;
  socket.once('data', (bytes) => {
    isOpen = bytes.toString('latin1').startsWith('HTTP/1.1 200');
    if (isOpen) tally.streams++;
    socket.pause();
  });
  socket.on('close', () => {
    if (isOpen) tally.streams--;
  });
  const head = [
    `${method} ${target} HTTP/1.1`,
    'Host: sonant.test',
    `X-API-Key: ${key}`,
    `Content-Type: ${contentType}`,
    'Connect-Protocol-Version: 1',
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  socket.write(Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), Buffer.from(body)]));
  return socket;
}

const watch = envelope(toBinary(HealthCheckRequestSchema, create(HealthCheckRequestSchema, {})));
const question = create(ServerReflectionRequestSchema, {
  messageRequest: { case: 'fileContainingSymbol', value: 'sonant.v1.SpeechService' },
});
const asked = Array<Uint8Array>(questions).fill(envelope(toBinary(ServerReflectionRequestSchema, question)));
const speech = { voiceId: 'arthur', textChunks: [...chunksOf(2)] };
const spoken = envelope(toBinary(StreamSpeechRequestSchema, create(StreamSpeechRequestSchema, speech)));
const watchPath = '/grpc.health.v1.Health/Watch';
const reflectionPath = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo';

const kinds = {
  'watch over gRPC': () => openCalls(watchPath, 'application/grpc', [watch], true),
  'watch over Connect, HTTP/2': () => openCalls(watchPath, 'application/connect+proto', [watch], true),
  'watch over Connect, HTTP/1.1': () => openRequest(watchPath, 'application/connect+proto', watch),
  'watch over gRPC-Web': () => openRequest(watchPath, 'application/grpc-web+proto', watch),
  'reflection over gRPC': () => openCalls(reflectionPath, 'application/grpc', asked, false),
  'reflection over Connect': () => openCalls(reflectionPath, 'application/connect+proto', asked, false),
  'StreamSpeech over gRPC': () => openCalls(streamPath, 'application/grpc', [spoken], true),
  SSE: () =>
    openRequest(
      '/api/audio/speech/sse',
      'application/json',
      JSON.stringify({ voice_id: 'arthur', text_chunks: chunksOf(2) }),
    ),
  'link, unread': () => openRequest(path, 'text/plain', '', 'GET'),
  'idle, HTTP/1.1': () => open(httpPort),
  'idle after a request, HTTP/1.1': () => openRequest('/healthz', 'text/plain', '', 'GET'),
  'idle, HTTP/2': () => {
    const socket = open(grpcPort);
    socket.write(preface);
    return socket;
  },
} satisfies Record<string, () => Socket>;

function hold(): void {
  const socket = kinds[kind]();
  let isOpen = false;
  socket.on('error', () => {});
  socket.on('connect', () => {
    isOpen = true;
    tally.connections++;
  });
  socket.on('close', () => {
    if (isOpen) tally.connections--;
    tally.closed++;
    setTimeout(hold, againMs);
  });
  // A socket must be read to notice that it was closed.
  if (kind.startsWith('idle')) socket.resume();
}

setInterval(() => writeSync(1, `${JSON.stringify(tally)}\n`), 1000);
for (let n = 0; n < connections; n++) {
  hold();
  if (n % 10 === 0) await new Promise(setImmediate);
}
writeSync(1, `${JSON.stringify(tally)}\n`);
