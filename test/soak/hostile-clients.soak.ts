// Clients that mean harm, at both doors, while honest ones go on asking: the service stays up, the others are served, and
// its memory keeps within bounds.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type ClientHttp2Session, connect as connectHttp2, constants } from 'node:http2';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { create, toBinary } from '@bufbuild/protobuf';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { SynthesizeSpeechRequestSchema } from '../../gen/sonant/v1/speech_pb.ts';
import { envelope, synthesizePath } from '../rpc/raw-grpc.ts';
import { cpuMsOf, medianAndWorst, mib, openService, rssOf, type Service, watchRss } from './open-service.ts';
import { frame, hpack, openRaw, preface, type Raw } from './raw-connection.ts';

const { ATTACK_SECONDS = '8' } = process.env;
const attackMs = Number(ATTACK_SECONDS) * 1000;
/** How much more memory an attack may take than there was before. */
const grownBytesMax = 256 << 20;
const attackers = 50;
const gigabyte = 1e9;
const callsAtOnce = 50;

let service: Service;
let stopHonest: () => Promise<void>;
let times: number[] = [];

beforeAll(async () => {
  service = await openService({ settings: { SONANT_LOG_LEVEL: 'error' } });
  const honest = spawn(
    process.execPath,
    [join(import.meta.dirname, 'steady-caller.ts'), service.url, `127.0.0.1:${service.grpcPort}`, service.key],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  honest.stdout.setEncoding('utf8').on('data', (lines: string) => times.push(...lines.trim().split('\n').map(Number)));
  stopHonest = async () => {
    expect(honest.exitCode, 'none was refused').toBeNull();
    honest.kill();
    await once(honest, 'exit');
  };
  await sleep(3000);
});
afterAll(() => service.close());

/** What attackers do until it is over; they answer what came of it, in words. */
type Attack = (isOver: () => boolean) => Promise<string>;

async function attack(name: string, act: Attack): Promise<void> {
  times = [];
  const [before, cpuMs, mostRss] = [rssOf(service), cpuMsOf(service), watchRss(service)];
  const start = performance.now();
  const outcome = await act(() => performance.now() - start > attackMs);
  const took = performance.now() - start;
  const servedMeanwhile = times.length;
  const { median, worst } = medianAndWorst(times);
  const most = mostRss();
  // Whoever was asking when it ended is served as well.
  while (times.length < servedMeanwhile + 2 && service.isUp()) await sleep(50);
  expect(service.isUp()).toBe(true);
  expect(servedMeanwhile, 'others are served meanwhile').toBeGreaterThan(0);
  expect(most - before).toBeLessThan(grownBytesMax);
  expect(service.said()).toBe('');
  console.log(
    `${name}: ${outcome}; ${servedMeanwhile} pairs of honest requests served, median ${median.toFixed(0)} ms, worst ` +
      `${worst.toFixed(0)} ms; RSS ${mib(before)}, at most ${mib(most)}; CPU ${Math.round((100 * (cpuMsOf(service) - cpuMs)) / took)} %`,
  );
}

const statusOf = ({ answered, isClosed }: Raw) =>
  /^HTTP\/1.1 (\d+)/.exec(answered())?.[1] ?? (isClosed() ? 'cut' : 'nothing');

function tally(words: readonly string[]): string {
  const counts = Map.groupBy(words, (word) => word);
  return [...counts].map(([word, all]) => `${all.length} x ${word}`).join(', ');
}

const ports = () => ({ HTTP: service.httpPort, gRPC: service.grpcPort });
const bothPorts = (act: (port: number) => Attack) => async (name: string) => {
  for (const [door, port] of Object.entries(ports())) await attack(`${name}, ${door} door`, act(port));
};

test('a lone byte', () =>
  bothPorts((port) => async () => {
    const raws = ['P', 'G', '\0', '\x16'].flatMap((byte) =>
      Array.from({ length: attackers }, () => {
        const raw = openRaw(port);
        raw.socket.write(byte);
        return raw;
      }),
    );
    await sleep(22_000);
    const ends = raws.map(statusOf);
    for (const { socket } of raws) socket.destroy();
    expect(ends).not.toContain('nothing');
    return `${raws.length} connections, after 22 s: ${tally(ends)}`;
  })('A lone byte'));

test('a header at a time', () =>
  attack('A header at a time, HTTP door', async () => {
    const raws = Array.from({ length: attackers }, () => openRaw(service.httpPort));
    const start = performance.now();
    const drip = async (raw: Raw) => {
      await raw.write('POST /api/audio/speech HTTP/1.1\r\n');
      for (let n = 0; await raw.write(`x-${n}: ${n}\r\n`); n++) {
        await sleep(300);
        if (performance.now() - start > 40_000) return 'never ended';
      }
      return `${statusOf(raw)} within ${Math.ceil((performance.now() - start) / 5000) * 5} s`;
    };
    const ends = await Promise.all(raws.map(drip));
    expect(ends).not.toContain('never ended');
    return tally(ends);
  }));

test('a body of 1 GB', async () => {
  const piece = Buffer.alloc(1 << 20, ' ');
  const post = (headers: readonly string[], toChunk: (bytes: Buffer) => Buffer): Attack =>
    async function send() {
      const raw = openRaw(service.httpPort);
      const head = ['POST /api/audio/speech HTTP/1.1', 'Host: a', 'Content-Type: application/json', ...headers, '', ''];
      await raw.write(head.join('\r\n'));
      let sent = 0;
      while (sent < gigabyte && (await raw.write(toChunk(piece)))) sent += piece.length;
      const status = statusOf(raw);
      raw.socket.destroy();
      expect(status).toMatch(/^4/);
      expect(sent, 'it is not all taken').toBeLessThan(gigabyte / 2);
      await sleep(2000);
      return `answered ${status} and cut after ${mib(sent)}`;
    };
  const key = `X-API-Key: ${service.key}`;
  const same = (bytes: Buffer) => bytes;
  const chunk = (bytes: Buffer) =>
    Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);
  await attack('1 GB announced', post([key, `Content-Length: ${gigabyte}`], same));
  await attack('1 GB in chunks', post([key, 'Transfer-Encoding: chunked'], chunk));
  await attack('1 GB without a key', post([`Content-Length: ${gigabyte}`], same));
  await attack('1 GB over gRPC', async () => {
    const session = openSession();
    const stream = openCall(session);
    let status: unknown;
    stream.on('trailers', (trailers) => (status = trailers['grpc-status']));
    stream.on('response', (head) => (status = head['grpc-status'] ?? status));
    stream.resume();
    let sent = 0;
    while (sent < gigabyte && stream.writable) {
      sent += piece.length;
      if (!stream.write(piece)) await Promise.race([once(stream, 'drain'), once(stream, 'close')]).catch(() => {});
    }
    session.destroy();
    expect(sent).toBeLessThan(gigabyte / 2);
    expect(status).toBe('3');
    await sleep(2000);
    return `grpc-status ${status} after ${mib(sent)}`;
  });
});

test('10 000 headers', async () => {
  await attack('10 000 headers, HTTP door', async (isOver) => {
    const ends: string[] = [];
    const lines = Array.from({ length: 10_000 }, (_, n) => `x${n}: 1\r\n`).join('');
    while (!isOver()) {
      const raw = openRaw(service.httpPort);
      await raw.write(`GET /api/voices HTTP/1.1\r\nHost: a\r\n${lines}\r\n`);
      if (!raw.isClosed()) await once(raw.socket, 'close').catch(() => {});
      ends.push(statusOf(raw));
    }
    for (const end of new Set(ends)) expect(['400', '431', 'cut']).toContain(end);
    return tally(ends);
  });
  await attack('10 000 headers, gRPC door', async (isOver) => {
    const ends: string[] = [];
    while (!isOver()) {
      const session = openSession({ maxSendHeaderBlockLength: 1 << 20 });
      const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, n) => [`x${n}`, '1']));
      const stream = openCall(session, many);
      let status = 'reset';
      stream.on('response', (head) => (status = `status ${head[':status']}`));
      stream.resume().end();
      await once(stream, 'close').catch(() => {});
      session.destroy();
      ends.push(`${status} ${stream.rstCode}`);
    }
    expect(ends).not.toContain('status 200 0');
    return tally(ends);
  });
});

function openSession(options: object = {}): ClientHttp2Session {
  const session = connectHttp2(`http://127.0.0.1:${service.grpcPort}`, options);
  session.on('error', () => {});
  return session;
}

function openCall(session: ClientHttp2Session, headers: Record<string, string> = {}) {
  const stream = session.request({
    ...headers,
    ':method': 'POST',
    ':path': synthesizePath,
    'content-type': 'application/grpc',
    te: 'trailers',
    'x-api-key': service.key,
  });
  stream.on('error', () => {});
  return stream;
}

test('HTTP/2 resets in a loop', async () => {
  const speech = create(SynthesizeSpeechRequestSchema, { voiceId: 'arthur', text: 'A long sentence. '.repeat(250) });
  const body = envelope(toBinary(SynthesizeSpeechRequestSchema, speech));
  const head = hpack({
    ':method': 'POST',
    ':scheme': 'http',
    ':path': synthesizePath,
    ':authority': 'sonant.test',
    'content-type': 'application/grpc',
    te: 'trailers',
    'x-api-key': service.key,
  });
  const cancel = Buffer.from([0, 0, 0, constants.NGHTTP2_CANCEL]);
  const resets = (bytes: Buffer | undefined): Attack =>
    async function reset(isOver) {
      let [calls, connections] = [0, 0];
      const toCall = (id: number) => [
        frame(1, bytes ? 4 : 5, id, head),
        ...(bytes ? [frame(0, 1, id, bytes)] : []),
        frame(3, 0, id, cancel),
      ];
      const loop = async () => {
        while (!isOver()) {
          const raw = openRaw(service.grpcPort);
          connections++;
          await raw.write(preface);
          for (let id = 1; !isOver(); id += 2 * callsAtOnce) {
            const frames = Array.from({ length: callsAtOnce }, (_, n) => toCall(id + 2 * n)).flat();
            if (!(await raw.write(Buffer.concat(frames)))) break;
            calls += callsAtOnce;
            await sleep(1);
          }
          raw.socket.destroy();
        }
      };
      await Promise.all(Array.from({ length: 4 }, loop));
      return `${calls} calls begun and reset on ${connections} connections`;
    };
  await attack('Resets of empty calls', resets(undefined));
  await attack('Resets of calls with a text', resets(body));
});

test('frames of HTTP/2 without end', async () => {
  const pieces = (one: Buffer) => Buffer.concat(Array.from({ length: 1000 }, () => one));
  // Of HPACK: an indexed header, `:method: GET`, again and again.
  const block = Buffer.alloc(1000, 0x82);
  const floods: Record<string, { first?: Buffer; more: Buffer }> = {
    continuations: { first: frame(1, 0, 1, block), more: pieces(frame(9, 0, 1, block)) },
    'empty continuations': { first: frame(1, 0, 1, block), more: pieces(frame(9, 0, 1, Buffer.alloc(0))) },
    pings: { more: pieces(frame(6, 0, 0, Buffer.alloc(8))) },
    settings: { more: pieces(frame(4, 0, 0, Buffer.alloc(0))) },
    'empty data': {
      first: frame(1, 4, 1, Buffer.from([0x83, 0x86, 0x84])),
      more: pieces(frame(0, 0, 1, Buffer.alloc(0))),
    },
  };
  for (const [name, { first, more }] of Object.entries(floods))
    await attack(`A flood of ${name}`, async (isOver) => {
      let [connections, bytes] = [0, 0];
      while (!isOver()) {
        const raw = openRaw(service.grpcPort);
        // Nothing is read either.
        raw.socket.pause();
        connections++;
        await raw.write(Buffer.concat([preface, first ?? Buffer.alloc(0)]));
        while (!isOver()) {
          const taken = await Promise.race([raw.write(more), sleep(attackMs, false)]);
          if (!taken) break;
          bytes += more.length;
        }
        raw.socket.destroy();
      }
      return `${mib(bytes)} on ${connections} connections`;
    });
});

test('all honest requests were served', async () => {
  await stopHonest();
  expect(service.isUp()).toBe(true);
});
