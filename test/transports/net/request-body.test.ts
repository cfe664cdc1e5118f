// Tests the body of a request: complete or refused; in pieces of any size; within its time limit.
import { type EventEmitter, once } from 'node:events';
import { createServer as createHttp1Server, request as requestHttp1 } from 'node:http';
import { connect, createServer } from 'node:http2';
import { connect as connectSocket } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import { toFailure } from '../../../src/platform/errors.ts';
import { bodyPaceBytes, bodyPaceMs, bodySlotsMax, slotlessBytesMax } from '../../../src/platform/net/request-limits.ts';
import { type BodyLimits, readBody, setOwner } from '../../../src/transports/net/request-body.ts';
import { listen } from '../../free-port.ts';

const limits: BodyLimits = { bytesMax: 100_000, arrivalMs: 60_000 };

/** Listens, reads one body, and returns its length or the reason for its refusal. */
async function open(limits: BodyLimits, httpVersion: '1.1' | '2', before = async (_: EventEmitter) => {}) {
  const read: Promise<number | string>[] = [];
  const answer = (request: Parameters<typeof readBody>[0], response: { end(): void }) => {
    request.on('error', () => {});
    const body = before(request).then(() => Array.fromAsync(readBody(request, limits)));
    read.push(
      body
        .then(
          ([bytes]) => bytes!.length,
          (error) => toFailure(error).reason,
        )
        .finally(() => response.end()),
    );
  };
  const server = httpVersion === '2' ? createServer(answer) : createHttp1Server(answer);
  const port = await listen(server);
  onTestFinished(() => void server.close());
  const outcome = async () => {
    await expect.poll(() => read.length).toBe(1);
    return read[0];
  };
  return { port, outcome };
}

const closed = (request: EventEmitter) => new Promise<void>((resolve) => request.once('close', resolve));

async function openStream(port: number) {
  const session = connect(`http://127.0.0.1:${port}`);
  session.on('error', () => {});
  onTestFinished(() => session.destroy());
  const stream = session.request({ ':method': 'POST' });
  stream.on('error', () => {}).resume();
  return stream;
}

test.each([0, 1, 4096, 4097, 100_000])('%d bytes arrive whole', async (bytes) => {
  const { port, outcome } = await open(limits, '2');
  (await openStream(port)).end(Buffer.alloc(bytes));
  expect(await outcome()).toBe(bytes);
});

test('a byte at a time is one body', async () => {
  const { port, outcome } = await open(limits, '2');
  const stream = await openStream(port);
  for (let i = 0; i < 2000; i++) stream.write('x');
  stream.end();
  expect(await outcome()).toBe(2000);
});

test('one byte more than allowed is too many', async () => {
  const { port, outcome } = await open(limits, '2');
  (await openStream(port)).end(Buffer.alloc(100_001));
  expect(await outcome()).toBe('payload_too_large');
});

test('a body that does not arrive in time is not waited for', async () => {
  const { port, outcome } = await open({ ...limits, arrivalMs: 50 }, '2');
  (await openStream(port)).write('x');
  expect(await outcome()).toBe('request_timeout');
});

test.each(['1.1', '2'] as const)('a body slower than 1 KiB/s for 5 s is refused over HTTP/%s', async (version) => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const arrived = Promise.withResolvers<EventEmitter>();
  const { port, outcome } = await open(limits, version, async (request) => arrived.resolve(request));
  const sent = version === '2' ? await openStream(port) : requestHttp1({ port, method: 'POST' }).on('error', () => {});
  if ('flushHeaders' in sent) sent.flushHeaders();
  const request = await arrived.promise;
  await expect.poll(() => request.listenerCount('data')).toBe(1);
  const refused = outcome();
  const sendAndWait = async (bytes: number) => {
    const received = once(request, 'data');
    sent.write(Buffer.alloc(bytes));
    await received;
    vi.advanceTimersByTime(bodyPaceMs);
    await new Promise(setImmediate);
  };
  await sendAndWait(bodyPaceBytes);
  await sendAndWait(bodyPaceBytes);
  expect(request.listenerCount('data')).toBe(1);
  await sendAndWait(300);
  expect(request.listenerCount('data')).toBe(0);
  expect(await refused).toBe('request_timeout');
});

/** A server whose requests belong to the account in their path. Resolves with the outcomes of the bodies by path. */
async function openOwned() {
  const outcomes: string[] = [];
  const server = createHttp1Server((request, response) => {
    const account = request.url!.split('/')[1]!;
    setOwner(request, account);
    Array.fromAsync(readBody(request, { ...limits, bytesMax: 1 << 20 }))
      .then(
        ([bytes]) => `${account}: ${bytes!.length}`,
        (error) => `${account}: ${toFailure(error).reason}`,
      )
      .then((outcome) => {
        outcomes.push(outcome);
        response.end();
      });
  });
  const port = await listen(server);
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  /** Sends the beginning of a body. Returns the function that sends the rest. */
  const begin = (account: string, bytes: number) => {
    const sent = requestHttp1({ port, method: 'POST', path: `/${account}` }).on('error', () => {});
    sent.write(Buffer.alloc(bytes));
    return () => void sent.end('x');
  };
  return { begin, outcomes };
}

test('unfinished bodies of one account delay neither its small bodies nor the bodies of others', async () => {
  const { begin, outcomes } = await openOwned();
  const large = slotlessBytesMax + 1;
  const finish = Array.from({ length: bodySlotsMax + 1 }, () => begin('one', large));
  begin('one', 300)();
  begin('other', large)();
  await expect.poll(() => outcomes.toSorted()).toEqual(['one: 301', `other: ${large + 1}`]);
  for (const end of finish) end();
  await expect.poll(() => outcomes.length).toBe(finish.length + 2);
  expect(new Set(outcomes.slice(2))).toEqual(new Set([`one: ${large + 1}`]));
});

test('a caller who leaves half-way has sent no request', async () => {
  const { port, outcome } = await open(limits, '2');
  const stream = await openStream(port);
  stream.write('x', () => setTimeout(() => stream.destroy(), 20));
  expect(await outcome()).toBe('invalid_request');
});

test.each(['1.1', '2'] as const)(
  'a caller who left before anyone read is not waited for over HTTP/%s',
  async (version) => {
    const { port, outcome } = await open(limits, version, closed);
    if (version === '2') {
      const stream = await openStream(port);
      stream.write('x', () => setTimeout(() => stream.destroy(), 20));
    } else {
      const socket = connectSocket(port, '127.0.0.1');
      socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf', () =>
        setTimeout(() => socket.destroy(), 20),
      );
    }
    expect(await outcome()).toBe('invalid_request');
  },
);

test('the same over HTTP/1.1', async () => {
  const whole = await open(limits, '1.1');
  requestHttp1({ port: whole.port, method: 'POST' }).end(Buffer.alloc(5000));
  expect(await whole.outcome()).toBe(5000);

  const cut = await open(limits, '1.1');
  const socket = connectSocket(cut.port, '127.0.0.1');
  socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf', () =>
    setTimeout(() => socket.destroy(), 20),
  );
  expect(await cut.outcome()).toBe('invalid_request');
});
