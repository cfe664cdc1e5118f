// Tests malicious clients over HTTP and gRPC beside honest clients: the service stays up, others are served, and its
// memory stays within limits.
import { once } from 'node:events';
import { constants } from 'node:http2';
import { setTimeout as sleep } from 'node:timers/promises';
import { create, toBinary } from '@bufbuild/protobuf';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { SynthesizeSpeechRequestSchema } from '../../gen/sonant/v1/speech_pb.ts';
import { envelope, synthesizePath } from '../transports/rpc/raw-grpc.ts';
import {
  type Attack,
  type Attacked,
  attackerAddress,
  attackMs,
  openAttacked,
  openCall,
  openingMs,
  openSession,
  statusOf,
  tally,
} from './attacks.ts';
import { mib, type Service } from './open-service.ts';
import { frame, hpack, openRaw as openRawAt, preface, type Raw } from './raw-connection.ts';

const attackers = 50;
const gigabyte = 1e9;
const callsAtOnce = 50;

let attacked: Attacked;
let service: Service;
let key: string;

beforeAll(async () => {
  attacked = await openAttacked();
  service = attacked.service;
  key = attacked.attackersKey;
}, openingMs);
afterAll(() => attacked.end(), openingMs);

const attack = (name: string, act: Attack) => attacked.attack(name, act);
const openRaw = (port: number) => openRawAt(port, attackerAddress);

const ports = () => ({ HTTP: service.httpPort, gRPC: service.grpcPort });
const bothPorts = (act: (port: number) => Attack) => async (name: string) => {
  for (const [api, port] of Object.entries(ports())) await attack(`${name}, over ${api}`, act(port));
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
  attack('A header at a time, over HTTP', async () => {
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
  const withKey = `X-API-Key: ${key}`;
  const same = (bytes: Buffer) => bytes;
  const chunk = (bytes: Buffer) =>
    Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);
  await attack('1 GB announced', post([withKey, `Content-Length: ${gigabyte}`], same));
  await attack('1 GB in chunks', post([withKey, 'Transfer-Encoding: chunked'], chunk));
  await attack('1 GB without a key', post([`Content-Length: ${gigabyte}`], same));
  await attack('1 GB over gRPC', async () => {
    const session = openSession(service);
    const stream = openCall(session, key);
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
  await attack('10 000 headers, over HTTP', async (isOver) => {
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
  await attack('10 000 headers, over gRPC', async (isOver) => {
    const ends: string[] = [];
    while (!isOver()) {
      const session = openSession(service, { maxSendHeaderBlockLength: 1 << 20 });
      const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, n) => [`x${n}`, '1']));
      const stream = openCall(session, key, many);
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
    'x-api-key': key,
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
  // HPACK: an indexed header, `:method: GET`, repeated.
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
        // The client does not read either.
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
