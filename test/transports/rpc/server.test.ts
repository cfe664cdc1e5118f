// Tests that the listener drains gracefully, says clearly why it cannot listen, and survives whatever one client does.
import { once } from 'node:events';
import { connect as connectSocket, createServer, type Socket } from 'node:net';
import { type ConnectError, createClient } from '@connectrpc/connect';
import grpc from '@grpc/grpc-js';
import { describe, expect, onTestFinished, test } from 'vitest';
import { SpeechService, type StreamSpeechResponse } from '../../../gen/sonant/v1/speech_pb.ts';
import { openRpcServer } from '../../../src/transports/rpc/server.ts';
import { listen } from '../../free-port.ts';
import { frame, preface } from '../../soak/raw-connection.ts';
import { explain, failureOf, openGrpcClient } from './grpc-client.ts';
import { goodKey, openTestServices } from './open-services.ts';
import { openSession, request, speechMessage, streamPath, synthesizePath } from './raw-grpc.ts';
import { fromConnectError } from './received-failure.ts';
import { testCertificate } from './test-certificate.ts';

type TestServices = Awaited<ReturnType<typeof openTestServices>>;
const hello = { voiceId: 'ada', text: 'hello' };
const synthesize = (services: TestServices) => services.speech.unary('synthesizeSpeech', hello, goodKey);

const streamOf = ({ speech }: TestServices, text: string) => {
  const stream = speech.stream('streamSpeech', { voiceId: 'ada', textChunks: [text] }, goodKey);
  const seen: string[] = [];
  stream.on('data', ({ event }: StreamSpeechResponse) => seen.push(event.case!));
  const ended = new Promise((resolve) => stream.on('end', () => resolve('OK')).on('error', resolve));
  return { seen, ended };
};

describe('drained', () => {
  test('it lets streams finish, takes no new call, and is gone', async () => {
    const services = await openTestServices();
    const stream = streamOf(services, 'pieces=20 wait=10');
    await expect.poll(() => stream.seen.length).toBeGreaterThan(0);
    const drained = services.server.drain(60_000);
    expect(services.server.drain(1)).toBe(drained);
    await drained;
    expect(await stream.ended).toBe('OK');
    expect(stream.seen.at(-1)).toBe('done');
    expect(explain(await failureOf(synthesize(services))).code).toBe('UNAVAILABLE');
    const socket = connectSocket(services.server.port, '127.0.0.1');
    await expect(once(socket, 'connect')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });

  test('it ends calls that take too long, with a retryable status', async () => {
    const services = await openTestServices();
    const streams = [1, 2].map(() => streamOf(services, 'pieces=100000 wait=10'));
    for (const { seen } of streams) await expect.poll(() => seen.length).toBeGreaterThan(0);
    const local = createClient(SpeechService, services.transport).synthesizeSpeech(
      { voiceId: 'ada', text: 'deaf wait=10000' },
      { headers: goodKey.metadata },
    );
    const refused = failureOf(local);
    await services.server.drain(50);
    const reported = (await Promise.all(streams.map(({ ended }) => ended))).map(explain);
    const ending = { code: 'UNAVAILABLE', info: { reason: 'OVERLOADED' }, metadata: { 'retry-after': '1' } };
    expect(reported).toMatchObject([ending, ending]);
    const ids = services.calls.flatMap(({ method, requestId }) =>
      method.endsWith('/StreamSpeech') ? [requestId] : [],
    );
    expect(reported.map(({ metadata }) => metadata['x-request-id']).sort()).toEqual(ids.sort());
    expect(fromConnectError((await refused) as ConnectError).reason).toBe('overloaded');
    expect(services.calls.map(({ status }) => status)).toEqual(Array(3).fill('UNAVAILABLE'));
  });

  test('it does not wait for idle connections', async () => {
    const services = await openTestServices();
    const silent = connectSocket({ port: services.server.port, host: '127.0.0.1', allowHalfOpen: true });
    await once(silent, 'connect');
    const session = await openSession(services.target);
    await services.server.drain(600_000);
    silent.destroy();
    session.destroy();
  });
});

test('it says why it cannot listen', async () => {
  const { server, services } = await openTestServices();
  const open = (host: string, port: number) => openRpcServer({ services, address: { host, port }, onFault() {} });
  const taken = `cannot listen for gRPC on 127.0.0.1:${server.port}: the port is in use by another program`;
  await expect(open('127.0.0.1', server.port)).rejects.toThrow(taken);
  await expect(open('192.0.2.1', 0)).rejects.toThrow('this machine does not have this address');
});

test('with a certificate it speaks TLS', async () => {
  const { target, server } = await openTestServices({ tls: testCertificate });
  const credentials = grpc.credentials.createSsl(Buffer.from(testCertificate.cert));
  const client = openGrpcClient(SpeechService, target.replace('127.0.0.1', 'localhost'), { credentials });
  expect((await client.unary('synthesizeSpeech', hello, goodKey)).chars).toBe(5);
  const plain = connectSocket(server.port, '127.0.0.1');
  plain.on('error', () => {}).write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
  await new Promise((resolve) => plain.resume().on('close', resolve));
  expect((await client.unary('synthesizeSpeech', hello, goodKey)).chars).toBe(5);
  client.close();
});

test('it serves connections that another listener took', async () => {
  const { services } = await openTestServices();
  const core = await openRpcServer({ services, onFault() {} });
  expect(core.port).toBe(0);
  const listener = createServer((socket) => core.accept(socket));
  const listenerPort = await listen(listener);
  const client = openGrpcClient(SpeechService, `127.0.0.1:${listenerPort}`);
  expect((await client.unary('synthesizeSpeech', hello, goodKey)).chars).toBe(5);
  client.close();
  listener.close();
  await core.drain(1000);
});

describe('it stays up for others against', () => {
  /** Lets a client attack, and checks that another client is served in the meantime and afterwards. */
  async function withstand(attack: (socket: Socket) => Promise<void> | void) {
    const services = await openTestServices();
    const socket = connectSocket(services.server.port, '127.0.0.1');
    socket.on('error', () => {}).resume();
    onTestFinished(() => void socket.destroy());
    await once(socket, 'connect');
    await attack(socket);
    expect((await synthesize(services)).chars).toBe(5);
    expect(services.faults).toEqual([]);
    return { services, socket };
  }

  /** Writes until the server has closed the connection or everything is written. */
  async function flood(socket: Socket, pieces: Iterable<Buffer>) {
    for (const piece of pieces) {
      if (socket.destroyed) return;
      if (!socket.write(piece)) await Promise.race([once(socket, 'drain'), once(socket, 'close')]);
    }
  }

  test('a lone byte', () => withstand((socket) => void socket.write('P')));

  test('noise, and HTTP/1.1', async () => {
    const { socket } = await withstand((socket) => void socket.write(Buffer.alloc(1000, 7)));
    if (!socket.destroyed) await once(socket, 'close');
    const other = await withstand((socket) => void socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'));
    if (!other.socket.destroyed) await once(other.socket, 'close');
  });

  test('half a frame', () =>
    withstand(
      (socket) => void socket.write(Buffer.concat([preface, frame(0, 0, 1, Buffer.alloc(100)).subarray(0, 50)])),
    ));

  test('floods of settings, of pings and of empty frames', async () => {
    for (const flooding of [
      frame(4, 0, 0),
      frame(6, 0, 0, Buffer.alloc(8)),
      frame(0, 0, 1),
      frame(2, 0, 1, Buffer.alloc(5)),
    ]) {
      const many = Buffer.concat(Array<Buffer>(1000).fill(flooding));
      await withstand((socket) => flood(socket, [preface, ...Array<Buffer>(20).fill(many)]));
    }
  });

  test('10 000 headers, and large ones', async () => {
    const services = await openTestServices();
    const session = await openSession(services.target);
    const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`x-${i}`, 'y']));
    const large = { 'x-large': 'y'.repeat(60_000) };
    for (const headers of [many, large]) {
      const stream = request(session, synthesizePath, headers);
      const status = new Promise((resolve) =>
        stream.on('trailers', (trailers) => resolve(trailers['grpc-status'])).on('close', () => resolve('refused')),
      );
      stream.resume().end(speechMessage('x'));
      expect(await status).toBe('refused');
    }
    session.destroy();
    expect((await synthesize(services)).chars).toBe(5);
    expect(services.fakeSpeech.counts.begun).toBe(1);
  });

  test('streams that are opened and reset in a loop', async () => {
    const services = await openTestServices();
    const session = await openSession(services.target);
    let reset = 0;
    while (!session.closed && !session.destroyed && reset < 5000) {
      const stream = request(session, streamPath);
      stream.close(8);
      if (++reset % 50 === 0) await new Promise(setImmediate);
    }
    expect(reset).toBeLessThan(5000);
    expect((await synthesize(services)).chars).toBe(5);
    await expect.poll(() => services.fakeSpeech.counts.running).toBe(0);
  });

  test('a thousand streams at once that nobody reads', async () => {
    const services = await openTestServices();
    const session = await openSession(services.target);
    for (let i = 0; i < 1000; i++) request(session, streamPath).end(speechMessage('pieces=1000 bytes=8192'));
    await expect.poll(() => services.fakeSpeech.counts.running).toBe(100);
    expect((await synthesize(services)).chars).toBe(5);
    expect(services.fakeSpeech.counts.running).toBe(100);
    session.destroy();
    await expect.poll(() => services.fakeSpeech.counts.running).toBe(0);
  });
});
