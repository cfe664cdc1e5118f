// Tests two hundred readers that request ten minutes of audio and then read nothing, and two hundred more: the service
// produces only what the buffers hold, uses little memory for each, serves others, and recovers when they have gone.
// The cost of a reader is measured with the second group, since the first group also makes V8 and the C library
// allocate memory for many streams.
import { connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { create, toBinary } from '@bufbuild/protobuf';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { StreamSpeechRequestSchema } from '../../gen/sonant/v1/speech_pb.ts';
import { envelope, streamPath } from '../transports/rpc/raw-grpc.ts';
import { chunksOf } from './long-text.ts';
import {
  bytesUnread,
  cpuMsOf,
  engineMsMin,
  engineMsOf,
  mib,
  openService,
  rssOf,
  type Service,
  settled,
} from './open-service.ts';

const { READERS = '200' } = process.env;
const readers = Number(READERS);
const idleMs = 10_000;
const warmCount = 20;
const restBytesMax = 256 * 1024;

let service: Service;
beforeEach(async () => {
  service = await openService({ settings: { SONANT_SPEAKING_MAX: String(2 * readers + 1) } });
});
afterEach(() => service.close());

/** Disconnects the reader. */
type Reader = () => void;

function httpReader(path: string): Reader {
  const json = JSON.stringify({ voice_id: 'arthur', method: 'streaming', text_chunks: chunksOf(2) });
  const socket = connect(service.httpPort, '127.0.0.1').pause();
  socket.on('error', () => {});
  socket.write(
    [
      `POST ${path} HTTP/1.1`,
      'Host: sonant.test',
      `X-API-Key: ${service.key}`,
      'Content-Type: application/json',
      `Content-Length: ${Buffer.byteLength(json)}`,
      '',
      json,
    ].join('\r\n'),
  );
  return () => socket.destroy();
}

/** Streams on one connection that nobody reads. */
function grpcReaders(count: number): Reader {
  const session = connectHttp2(`http://127.0.0.1:${service.grpcPort}`);
  session.on('error', () => {});
  for (let n = 0; n < count; n++) {
    const request = create(StreamSpeechRequestSchema, { voiceId: 'arthur', textChunks: chunksOf(2) });
    const stream = session.request({
      ':method': 'POST',
      ':path': streamPath,
      'content-type': 'application/grpc',
      te: 'trailers',
      'x-api-key': service.key,
    });
    stream.on('error', () => {});
    stream.end(envelope(toBinary(StreamSpeechRequestSchema, request)));
  }
  return () => session.destroy();
}

const shortRequest = async () => {
  const answer = await service.speak({ text: 'Good morning.', return_format: 'buffer' });
  return [answer.status, (await answer.arrayBuffer()).byteLength > 10_000];
};

/** Makes every thread speak and all code run, with enough bytes to fill some buffers. */
async function warmUp(): Promise<void> {
  const body = { method: 'streaming', text_chunks: chunksOf(1, 600) };
  for (const headers of [{}, { Accept: 'text/event-stream' }])
    await Promise.all(
      Array.from({ length: warmCount }, () => service.speak(body, { headers }).then((answer) => answer.arrayBuffer())),
    );
  await settled(() => cpuMsOf(service), 1000, 60_000);
}

/** Waits until no engine thread has run for a while, so that production has stopped. */
async function untilAtRest(): Promise<void> {
  const spoken = () => Math.round(engineMsOf(service) / engineMsMin);
  expect(await settled(spoken, 5000, 8 * 60_000), 'production comes to a stop').toBeDefined();
}

async function stall(name: string, port: number, open: () => readonly Reader[]): Promise<number> {
  await warmUp();
  const warm = rssOf(service);
  const leave = [...open()];
  await untilAtRest();
  const before = rssOf(service);
  leave.push(...open());
  await untilAtRest();
  const engineMs = engineMsOf(service);
  const cpuMs = cpuMsOf(service);
  await sleep(idleMs);
  expect(engineMsOf(service) - engineMs, 'and does not go on').toBeLessThan(engineMsMin);
  const idleCpuMs = cpuMsOf(service) - cpuMs;
  const unread = bytesUnread(port);
  const grown = (rssOf(service) - before) / readers;
  expect(await shortRequest(), 'others are served').toEqual([200, true]);

  for (const one of leave) one();
  await settled(() => cpuMsOf(service), 1000, 60_000);
  const after = await Promise.all(Array.from({ length: 2 * readers + 1 }, shortRequest));
  expect(
    after.every(([status]) => status === 200),
    'every slot is free again',
  ).toBe(true);
  expect(service.said()).not.toContain('"level":"error"');
  console.log(
    `${name}: RSS ${mib(warm)} when warm, ${mib(before)} with ${readers} readers, and ${(grown / 1024).toFixed(0)} KiB for each of ` +
      `${readers} more; in the kernel ${mib(unread / (2 * readers))} each; ${idleCpuMs} ms of CPU in ${idleMs / 1000} s idle`,
  );
  return grown;
}

const each = (open: () => Reader) => () => Array.from({ length: readers }, open);
const perConnection = Math.min(100, readers);
const shared = () => Array.from({ length: Math.ceil(readers / perConnection) }, () => grpcReaders(perConnection));

test.each([
  ['REST', 'httpPort', each(() => httpReader('/api/audio/speech')), restBytesMax],
  ['SSE', 'httpPort', each(() => httpReader('/api/audio/speech/sse')), Infinity],
  ['gRPC, a connection each', 'grpcPort', each(() => grpcReaders(1)), Infinity],
  ['gRPC, as many on a connection as it may have', 'grpcPort', shared, Infinity],
] as const)('over %s', async (name, port, open, bytesMax) => {
  expect(await stall(name, service[port], open)).toBeLessThan(bytesMax);
});
