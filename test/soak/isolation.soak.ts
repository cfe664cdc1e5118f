// Tests how callers affect each other: a short request beside a long stream, the cost after a disconnect, and how fast
// bad input is refused without reaching the engine. Latencies are printed, not asserted.

import { Agent, type IncomingMessage, request } from 'node:http';
import { connect as connectHttp2 } from 'node:http2';
import { setTimeout as sleep } from 'node:timers/promises';
import { create, toBinary } from '@bufbuild/protobuf';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { StreamSpeechRequestSchema } from '../../gen/sonant/v1/speech_pb.ts';
import { envelope, streamPath } from '../rpc/raw-grpc.ts';
import { chunksOf, textOf } from './long-text.ts';
import {
  cpuMsOf,
  engineMsMin,
  engineMsOf,
  medianAndWorst,
  openService,
  type Service,
  settled,
} from './open-service.ts';

const { ROUNDS = '40' } = process.env;
const rounds = Number(ROUNDS);
const hangUps = 4;
/** 40 000 characters. */
const longChunks = () => chunksOf(8);

let service: Service;
beforeAll(async () => {
  service = await openService({ settings: { SONANT_SPEAKING_MAX: '4', SONANT_WAITING_MAX: '0' } });
  // Warms up: every thread speaks.
  await Promise.all([0, 1, 2].map(() => longStream(chunksOf(1))));
});
afterAll(() => service.close());

async function longStream(chunks: readonly string[], signal?: AbortSignal): Promise<number> {
  const body = { method: 'streaming', text_chunks: chunks };
  const answer = await service.speak(body, signal ? { signal } : {});
  expect(answer.status).toBe(200);
  let bytes = 0;
  for await (const piece of answer.body!) bytes += piece.length;
  return bytes;
}

async function timeShort(): Promise<number> {
  const since = performance.now();
  const body = { text: textOf(60), return_format: 'buffer' };
  const answer = await service.speak(body, { headers: { 'Cache-Control': 'no-cache' } });
  const { byteLength } = await answer.arrayBuffer();
  expect([answer.status, byteLength > 100_000]).toEqual([200, true]);
  return performance.now() - since;
}

test('a short request beside a stream of 40 000 characters', async () => {
  const solo: number[] = [];
  for (let n = 0; n < rounds; n++) solo.push(await timeShort());
  const leaving = new AbortController();
  let isOver = false;
  const long = (async () => {
    while (!isOver) await longStream(longChunks(), leaving.signal);
  })();
  long.catch(() => {});
  await sleep(1000);
  const beside: number[] = [];
  for (let n = 0; n < rounds; n++) {
    beside.push(await timeShort());
    await sleep(Math.random() * 50);
  }
  isOver = true;
  leaving.abort();
  await long.catch(() => {});
  const [alone, together] = [medianAndWorst(solo), medianAndWorst(beside)];
  console.log(
    `A short request, ${rounds} times: alone median ${alone.median.toFixed(1)} ms, worst ${alone.worst.toFixed(1)} ms; ` +
      `beside a long stream median ${together.median.toFixed(1)} ms, worst ${together.worst.toFixed(1)} ms: ` +
      `${(together.median / alone.median).toFixed(2)} and at worst ${(together.worst / alone.median).toFixed(2)} times its median alone`,
  );
});

/** Begins a long stream and returns a function that disconnects. */
type Begin = (chunks: readonly string[]) => () => void;

const begins: Record<string, Begin> = {
  REST: (chunks) => {
    const leaving = new AbortController();
    longStream(chunks, leaving.signal).catch(() => {});
    return () => leaving.abort();
  },
  SSE: (chunks) => {
    const leaving = new AbortController();
    const body = { voice_id: 'arthur', text_chunks: chunks };
    const read = async () => {
      const answer = await service.ask('/api/audio/speech/sse', { body, signal: leaving.signal });
      for await (const _ of answer.body!);
    };
    read().catch(() => {});
    return () => leaving.abort();
  },
  'a reset over gRPC': (chunks) => {
    const session = connectHttp2(`http://127.0.0.1:${service.grpcPort}`);
    session.on('error', () => {});
    const message = create(StreamSpeechRequestSchema, { voiceId: 'arthur', textChunks: [...chunks] });
    const stream = session.request({
      ':method': 'POST',
      ':path': streamPath,
      'content-type': 'application/grpc',
      te: 'trailers',
      'x-api-key': service.key,
    });
    stream.on('error', () => {});
    stream.resume().end(envelope(toBinary(StreamSpeechRequestSchema, message)));
    stream.once('close', () => session.destroy());
    return () => stream.close(8);
  },
  'a whole text over REST': () => {
    const leaving = new AbortController();
    const body = { voice_id: 'arthur', text: textOf(5000), return_format: 'buffer' };
    service.ask('/api/audio/speech', { body, signal: leaving.signal }).catch(() => {});
    return () => leaving.abort();
  },
};

test('a hang-up', async () => {
  const idle = () => settled(() => cpuMsOf(service), 1000, 30_000);
  await idle();
  const before = cpuMsOf(service);
  const bytes = await longStream(longChunks());
  await idle();
  const jobMs = cpuMsOf(service) - before;
  console.log(`A stream of 40 000 characters: ${(bytes / 1e6).toFixed(0)} MB, ${(jobMs / 1000).toFixed(1)} s of CPU`);
  for (const [name, begin] of Object.entries(begins)) {
    const after: number[] = [];
    for (let n = 0; n < hangUps; n++) {
      const hangUp = begin(longChunks());
      await sleep(300 + Math.random() * 1200);
      hangUp();
      const cpuMs = cpuMsOf(service);
      // An event stream continues for ten seconds without its reader, within a limit.
      if (name === 'SSE') await sleep(10_500);
      expect(await idle(), 'it comes to rest').toBeDefined();
      after.push(cpuMsOf(service) - cpuMs);
    }
    // All slots must be free: requests cannot wait, so a taken slot would cause a refusal.
    await Promise.all(Array.from({ length: 4 }, timeShort));
    const { median, worst } = medianAndWorst(after);
    const share = (ms: number) => `${ms} ms (${((100 * ms) / jobMs).toFixed(2)} %)`;
    console.log(`CPU after hanging up on ${name}: median ${share(median)}, worst ${share(worst)} of the whole job`);
  }
});

interface BadRequest {
  status: number;
  body: string | Buffer;
  headers?: Record<string, string>;
  path?: string;
}

const mebibyte = 1 << 20;
const speech = (fields: object) => JSON.stringify({ voice_id: 'arthur', ...fields });
const filled = (begin: string, unit: string, end: string) =>
  begin + unit.repeat(Math.floor((mebibyte - begin.length - end.length) / unit.length)) + end;

const badRequests: Record<string, BadRequest> = {
  'no text': { status: 400, body: speech({}) },
  'every field wrong': {
    status: 400,
    body: speech({ voice_id: 5, text: 7, sample_rate: '24000', output_format: 'ogg' }),
  },
  'unknown voice': { status: 404, body: speech({ voice_id: 'nobody', text: 'Hello.' }) },
  'text of 5001': { status: 400, body: speech({ text: 'a'.repeat(5001) }) },
  'not JSON': { status: 400, body: '{"voice_id":' },
  'no key': { status: 401, body: speech({ text: 'Hello.' }), headers: { 'X-API-Key': '' } },
  'malformed key': { status: 401, body: speech({ text: 'Hello.' }), headers: { 'X-API-Key': 'snt_1' } },
  'no such route': { status: 404, body: speech({ text: 'Hello.' }), path: '/api/speak' },
  XML: { status: 415, body: '<speak/>', headers: { 'Content-Type': 'application/xml' } },
  'a script that cannot be spoken': { status: 400, body: speech({ text: 'これは日本語の文章です。'.repeat(400) }) },
  '1 MiB of text': { status: 400, body: filled('{"voice_id":"arthur","text":"', 'word ', '"}') },
  '1 MiB of escapes': { status: 400, body: filled('{"voice_id":"arthur","text":"', '\\u0041', '"}') },
  '1 MiB of emoji': {
    status: 400,
    body: Buffer.from(filled('{"voice_id":"arthur","text":"', '😀', '"}')).subarray(0, mebibyte),
  },
  '1 MiB of chunks': {
    status: 400,
    body: filled('{"voice_id":"arthur","method":"streaming","text_chunks":["a"', ',"a"', ']}'),
  },
  '1 MiB of members': {
    status: 400,
    body: `{"voice_id":"arthur"${Array.from({ length: 80_000 }, (_, n) => `,"x${n}":1`)
      .join('')
      .slice(0, mebibyte - 100)}`,
  },
  '1 MiB of brackets': { status: 400, body: '['.repeat(mebibyte) },
  '1 MiB of a member twice': { status: 400, body: filled('{"voice_id":"arthur"', ',"text":"Hello."', '}') },
  '1 MiB of spaces, then no text': { status: 400, body: filled('{"voice_id":"arthur"', ' ', '}') },
  '1 MiB of zeros': { status: 400, body: Buffer.alloc(mebibyte) },
  'a byte over 1 MiB': { status: 413, body: `${filled('{"voice_id":"arthur","text":"', 'a', '"}')} ` },
};

function post(
  agent: Agent,
  { body, headers, path = '/api/audio/speech' }: BadRequest,
): Promise<{ status: number; ms: number }> {
  return new Promise((resolve, reject) => {
    const since = performance.now();
    const sent = request({
      agent,
      host: '127.0.0.1',
      port: service.httpPort,
      path,
      method: 'POST',
      headers: {
        'X-API-Key': service.key,
        'Content-Type': 'application/json',
        'Content-Length': Buffer.byteLength(body),
        ...headers,
      },
    });
    sent.on('error', reject);
    sent.on('response', (answer: IncomingMessage) => {
      answer.resume().on('end', () => resolve({ status: answer.statusCode!, ms: performance.now() - since }));
    });
    sent.end(body);
  });
}

test('bad input', async () => {
  await settled(() => cpuMsOf(service), 1000, 30_000);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const bodies = Object.entries(badRequests).map(
    ([name, bad]) => [name, { ...bad, body: Buffer.from(bad.body) }] as const,
  );
  for (const [, bad] of bodies) for (let n = 0; n < 10; n++) await post(agent, bad);
  const engineMs = engineMsOf(service);
  expect(engineMs).toBeGreaterThan(0);
  const lines: string[] = [];
  for (const [name, bad] of bodies) {
    const times: number[] = [];
    for (let n = 0; n < rounds; n++) {
      const { status, ms } = await post(agent, bad);
      expect([name, status]).toEqual([name, bad.status]);
      times.push(ms);
    }
    const { median, worst } = medianAndWorst(times);
    lines.push(`  ${name}: ${bad.status}, median ${median.toFixed(2)} ms, worst ${worst.toFixed(2)} ms`);
  }
  expect(engineMsOf(service) - engineMs, 'the engine was not asked').toBeLessThan(engineMsMin);
  await timeShort();
  expect(engineMsOf(service) - engineMs).toBeGreaterThan(engineMsMin);
  agent.destroy();
  console.log(
    `Bad input, ${rounds} times each, from the first byte sent to the last byte of the answer:\n${lines.join('\n')}`,
  );
});
