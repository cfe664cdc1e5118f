// Tests the body of a request: complete or refused; in pieces of any size; within its time limit.
import { type EventEmitter, once } from 'node:events';
import { createServer as createHttp1Server, request as requestHttp1 } from 'node:http';
import { connect, createServer } from 'node:http2';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { toFailure } from '../../../src/platform/errors.ts';
import { bodyPaceBytes, bodyPaceMs, bodySlotsMax, slotlessBytesMax } from '../../../src/platform/net/request-limits.ts';
import { type BodyLimits, readBody, setOwner } from '../../../src/transports/net/request-body.ts';
import { listen } from '../../free-port.ts';

const limits: BodyLimits = { bytesMax: 100_000, arrivalMs: 60_000 };

/** Listens, reads one body, and returns its length or the reason for its refusal. */
async function open(limits: BodyLimits, httpVersion: HttpVersion, before = async (_: EventEmitter) => {}) {
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

type HttpVersion = '1.1' | '2';

/** Begins a request with a body of unknown length. */
async function begin(port: number, httpVersion: HttpVersion) {
  if (httpVersion === '1.1') {
    const sent = requestHttp1({ port, method: 'POST' }).on('error', () => {});
    sent.flushHeaders();
    return sent;
  }
  const session = connect(`http://127.0.0.1:${port}`).on('error', () => {});
  onTestFinished(() => session.destroy());
  const stream = session.request({ ':method': 'POST' });
  return stream.on('error', () => {}).resume();
}
type Sent = Awaited<ReturnType<typeof begin>>;
const sendWhole = (bytes: number) => (sent: Sent) => void sent.end(Buffer.alloc(bytes));
function sendBytes(sent: Sent): void {
  for (let i = 0; i < 2000; i++) sent.write('x');
  sent.end();
}
const leave = (sent: Sent) => void sent.write('x', () => setTimeout(() => sent.destroy(), 20));

describe.each(['1.1', '2'] as const)('over HTTP/%s', (httpVersion) => {
  test.each<[what: string, outcome: number | string, send: (sent: Sent) => void, limits?: BodyLimits]>([
    ['no byte', 0, sendWhole(0)],
    ['1 byte', 1, sendWhole(1)],
    ['4096 bytes', 4096, sendWhole(4096)],
    ['4097 bytes', 4097, sendWhole(4097)],
    ['as many bytes as allowed', 100_000, sendWhole(100_000)],
    ['one byte more', 'payload_too_large', sendWhole(100_001)],
    ['a byte at a time', 2000, sendBytes],
    ['what does not arrive in time', 'request_timeout', (sent) => void sent.write('x'), { ...limits, arrivalMs: 50 }],
    ['half of a body', 'invalid_request', leave],
  ])('%s: %s', async (_, expected, send, own = limits) => {
    const { port, outcome } = await open(own, httpVersion);
    send(await begin(port, httpVersion));
    expect(await outcome()).toBe(expected);
  });

  test('a caller who left before anyone read is not waited for', async () => {
    const { port, outcome } = await open(limits, httpVersion, closed);
    leave(await begin(port, httpVersion));
    expect(await outcome()).toBe('invalid_request');
  });

  test('a body slower than 1 KiB/s for 5 s is refused', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    const arrived = Promise.withResolvers<EventEmitter>();
    const { port, outcome } = await open(limits, httpVersion, async (request) => arrived.resolve(request));
    const sent = await begin(port, httpVersion);
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
