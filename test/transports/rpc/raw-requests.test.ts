// Tests raw requests: requests that are not calls are answered, nothing is printed, and a refused caller cannot send
// the rest of its request.

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect as connectSocket, type Socket } from 'node:net';
import grpc from '@grpc/grpc-js';
import { describe, expect, onTestFinished, test } from 'vitest';
import { SpeechService } from '../../../gen/sonant/v1/speech_pb.ts';
import { openRpcServer } from '../../../src/transports/rpc/server.ts';
import { goodKey, openTestServices } from './open-services.ts';
import { openSession, rawCall, request, speechMessage, streamPath, synthesizePath } from './raw-grpc.ts';

/** Collects the output that Node would print during a test. */
function listenForNoise(): string[] {
  const noise: string[] = [];
  const methods = ['log', 'info', 'warn', 'error', 'debug', 'trace'] as const;
  for (const method of methods) {
    const original = console[method];
    console[method] = (...args: unknown[]) => void noise.push(args.join(' '));
    onTestFinished(() => {
      console[method] = original;
    });
  }
  const warn = (warning: Error) => void noise.push(warning.message);
  process.on('warning', warn);
  onTestFinished(() => void process.off('warning', warn));
  return noise;
}

/** Sends a request over HTTP/2. Returns the headers and the body of its answer. */
async function ask(target: string, headers: Record<string, string>, sent?: string) {
  const session = await openSession(target);
  const stream = request(session, synthesizePath, headers);
  stream.end(sent);
  const [told] = await once(stream, 'response');
  const body = Buffer.concat(await stream.toArray()).toString();
  session.destroy();
  return { told, body };
}

describe('requests that are not calls', () => {
  test('an unknown method is UNIMPLEMENTED to a gRPC client, in its own terms', async () => {
    const { target } = await openTestServices();
    for (const path of ['/sonant.v1.SpeechService/Sing', '/a.B/C'])
      expect(await rawCall(target, path, [speechMessage('x')], { 'x-request-id': 'mine' })).toMatchObject({
        httpStatus: 200,
        grpcStatus: String(grpc.status.UNIMPLEMENTED),
        message: 'Method not found.',
        reason: 'METHOD_NOT_ALLOWED',
        requestId: 'mine',
        apiVersion: '1.0.0',
      });
  });

  test.each([
    ['an unknown path', 'POST', '/nothing', 'application/json', 404, 'not_found'],
    ['a path that is no path', 'POST', '//', 'application/json', 404, 'not_found'],
    ['GET', 'GET', synthesizePath, 'application/json', 405, 'method_not_allowed'],
    ['another content type', 'POST', synthesizePath, 'text/plain', 415, 'unsupported_media_type'],
    ['gRPC where it is not served', 'POST', synthesizePath, 'application/grpc', 415, 'unsupported_media_type'],
    ['a stream in both directions', 'POST', livePath, 'application/connect+json', 505, 'invalid_request'],
  ])('%s', async (_, method, path, contentType, status, error) => {
    const { webUrl } = await openTestServices();
    const headers = { 'x-api-key': 'good', 'content-type': contentType, 'x-request-id': 'mine' };
    const response = await fetch(webUrl + path, { method, headers, ...(method === 'POST' && { body: '{}' }) });
    expect([response.status, await response.json()]).toEqual([status, flat(error, status)]);
    const told = ['x-request-id', 'x-api-version', 'allow'].map((name) => response.headers.get(name));
    expect(told).toEqual(['mine', '1.0.0', status === 405 ? 'POST' : null]);
  });

  test.each([
    ['an unknown path', { ':method': 'GET', ':path': '/healthz', 'content-type': 'text/plain' }, 404, 'not_found'],
    ['GET', { ':method': 'GET' }, 405, 'method_not_allowed'],
    ['HEAD', { ':method': 'HEAD' }, 405, undefined],
    [
      'HEAD of an unknown path',
      { ':method': 'HEAD', ':path': '/healthz', 'content-type': 'text/plain' },
      404,
      undefined,
    ],
    ['another content type', { 'content-type': 'text/plain' }, 415, 'unsupported_media_type'],
    ['a type of gRPC that is none', { 'content-type': 'application/grpc+xml' }, 415, 'unsupported_media_type'],
    ['an authority that is none', { ':authority': 'a:b', 'content-type': 'application/json' }, 400, 'invalid_request'],
  ])('over HTTP/2: %s', async (_, headers, status, error) => {
    const { target, faults } = await openTestServices();
    for (const requestId of ['mine', 'not a good one']) {
      const { told, body } = await ask(target, { ...headers, 'x-request-id': requestId });
      const id = requestId === 'mine' ? 'mine' : expect.stringMatching(/^req_/);
      expect(told).toMatchObject({ ':status': status, 'x-request-id': id, 'x-api-version': '1.0.0' });
      if (error) expect(JSON.parse(body)).toEqual({ ...flat(error, status), request_id: told['x-request-id'] });
      else expect(body).toBe('');
    }
    expect(faults).toEqual([]);
  });

  test('headers of 60 kB get a status', async () => {
    const { target } = await openTestServices();
    const headers = { 'x-large': randomBytes(45_000).toString('base64') };
    const answer = await rawCall(target, synthesizePath, [speechMessage('x')], headers);
    expect(answer).toMatchObject({ httpStatus: 200, reason: 'INVALID_REQUEST' });
  });

  test('a path of the REST API over HTTP/2 is told where that API is', async () => {
    const { target } = await openTestServices();
    const get = { ':method': 'GET', ':path': '/api/voices', 'content-type': 'application/json' };
    const { told, body } = await ask(target, get);
    expect([told[':status'], JSON.parse(body).message]).toEqual([404, expect.stringContaining('over HTTP/1.1')]);
  });

  test('a charset in quotes is one without', async () => {
    const { target, webUrl } = await openTestServices();
    const body = '{"voiceId":"ada","text":"x"}';
    const type = { 'content-type': 'application/json; charset="utf-8"' };
    const answer = await fetch(webUrl + synthesizePath, {
      method: 'POST',
      headers: { ...type, 'x-api-key': 'good' },
      body,
    });
    expect([answer.status, await answer.json()]).toMatchObject([200, { chars: 1 }]);
    const { told, body: answered } = await ask(target, type, body);
    expect([told[':status'], JSON.parse(answered)]).toMatchObject([200, { chars: 1 }]);
  });

  test('a request without a host', async () => {
    const { webUrl } = await openTestServices();
    const { socket, text } = openSocket(webUrl);
    socket.end(`POST ${synthesizePath} HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}`);
    expect(await text).toMatch(/^HTTP\/1\.1 400 /);
  });
});

const livePath = '/sonant.v1.SpeechService/LiveSpeech';
const flat = (error: string, status: number) => ({ error, message: expect.any(String), status, request_id: 'mine' });

function openSocket(webUrl: string) {
  const socket: Socket = connectSocket(Number(new URL(webUrl).port), '127.0.0.1');
  const pieces: Buffer[] = [];
  socket.on('data', (piece) => pieces.push(piece)).on('error', () => {});
  const text = new Promise<string>((resolve) => socket.on('close', () => resolve(Buffer.concat(pieces).toString())));
  return { socket, text };
}

describe('over HTTP/1.1', () => {
  const head = (key: string, length: number) =>
    `POST ${synthesizePath} HTTP/1.1\r\nHost: x\r\nX-API-Key: ${key}\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`;

  test.each([
    ['without a key', 'wrong', 401],
    ['with a key', 'good', 400],
  ])('1 GB %s is refused and not read', async (_, key, status) => {
    const { webUrl, fakeSpeech } = await openTestServices();
    const { socket, text } = openSocket(webUrl);
    socket.write(head(key, 1e9));
    const block = Buffer.alloc(1 << 20, 'x');
    const send = () => {
      while (!socket.destroyed && socket.bytesWritten < 1e9 && socket.write(block));
    };
    socket.on('drain', send);
    send();
    const answer = await text;
    // The connection may be cut before the answer is read, since the caller was still sending.
    if (answer !== '') expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(socket.bytesWritten).toBeLessThan(1e8);
    expect(fakeSpeech.counts.begun).toBe(0);
  });

  test('a connection is kept for the next call', async () => {
    const { webUrl } = await openTestServices();
    const { socket, text } = openSocket(webUrl);
    const body = '{"voiceId":"ada","text":"x"}';
    socket.write(head('good', body.length) + body);
    await once(socket, 'data');
    socket.end(head('good', body.length) + body);
    expect((await text).match(/HTTP\/1\.1 200/g)).toHaveLength(2);
  });
});

test('callers that abort an unread stream log nothing and stop the synthesis', async () => {
  const noise = listenForNoise();
  const { target, webUrl, fakeSpeech, faults, calls } = await openTestServices();
  for (let i = 0; i < 6; i++) {
    const session = await openSession(target);
    const stream = request(session, streamPath);
    stream.end(speechMessage('pieces=100000 bytes=8192'));
    await once(stream, 'response');
    if (i % 2) stream.close(8);
    session.destroy();
    const { socket } = openSocket(webUrl);
    socket.pause();
    const body = '{"voiceId":"ada","textChunks":["pieces=100000 bytes=8192"]}';
    const enveloped = Buffer.concat([Buffer.from([0, 0, 0, 0, body.length]), Buffer.from(body)]);
    socket.write(
      `POST ${streamPath} HTTP/1.1\r\nHost: x\r\nX-API-Key: good\r\nContent-Type: application/connect+json\r\nContent-Length: ${enveloped.length}\r\n\r\n`,
    );
    socket.write(enveloped);
    await once(socket.resume(), 'data');
    socket.pause();
    socket.resetAndDestroy();
  }
  await expect.poll(() => calls.length).toBe(12);
  await expect.poll(() => fakeSpeech.counts.running).toBe(0);
  expect(calls.every(({ status }) => status === 'CANCELLED')).toBe(true);
  expect({ noise, faults }).toEqual({ noise: [], faults: [] });
});

test('a fault ends one request and is reported, and no more', async () => {
  const faults: unknown[] = [];
  const handler = Object.assign(async () => Promise.reject(new Error('a bug')), {
    requestPath: '/bug',
    method: SpeechService.method.streamSpeech,
    service: SpeechService,
  });
  const onFault = (fault: unknown) => void faults.push(fault);
  const { services } = await openTestServices();
  const faulty = { ...services, createHandlers: () => [handler as never] };
  const server = await openRpcServer({ services: faulty, address: { host: '127.0.0.1', port: 0 }, onFault });
  const session = await openSession(`127.0.0.1:${server.port}`);
  onTestFinished(async () => {
    session.destroy();
    await server.drain(0);
  });
  const statusOf = async (path: string) => {
    const stream = session.request({ ':method': 'POST', ':path': path });
    stream.end('{}');
    const [headers] = await once(stream, 'response');
    return headers[':status'];
  };
  await expect(statusOf('/bug')).rejects.toThrow('NGHTTP2_INTERNAL_ERROR');
  expect(faults).toMatchObject([{ message: 'a bug' }]);
  expect(await statusOf('/other')).toBe(404);
});

test('sound is made as fast as it is read, and no faster', async () => {
  const { target, fakeSpeech } = await openTestServices();
  const session = await openSession(target);
  for (let i = 0; i < 50; i++) request(session, streamPath).end(speechMessage('pieces=100000 bytes=8192'));
  await expect.poll(() => fakeSpeech.counts.running).toBe(50);
  let made = -1;
  await expect
    .poll(() => {
      const isStill = made === fakeSpeech.counts.pieces;
      made = fakeSpeech.counts.pieces;
      return isStill;
    })
    .toBe(true);
  expect(made / 50).toBeLessThan(20);
  session.destroy();
  await expect.poll(() => fakeSpeech.counts.running).toBe(0);
});

test('a caller who does not want gzip gets none, and one who does gets none either', async () => {
  const { target, speech } = await openTestServices();
  const session = await openSession(target);
  const stream = request(session, synthesizePath, { 'grpc-accept-encoding': 'gzip' });
  stream.end(speechMessage('x'));
  const [first] = (await once(stream, 'data')) as [Buffer];
  expect(first[0]).toBe(0);
  session.destroy();
  expect((await speech.unary('synthesizeSpeech', { voiceId: 'ada', text: 'x' }, goodKey)).chars).toBe(1);
});
