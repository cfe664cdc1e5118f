// Tests connections whose peer answers no ping, with a raw client and Node's own HTTP/2 server.
import { once } from 'node:events';
import { connect as connectHttp2, createServer } from 'node:http2';
import { connect } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { type WatchOptions, watchSession } from '../../../src/transports/rpc/server.ts';
import { listen } from '../../free-port.ts';

const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0', 'latin1');
const quick = { pingEveryMs: 20, pingAnswerMs: 20, readerStallMs: 100 };

async function openWatched(options: WatchOptions): Promise<number> {
  const server = createServer().on('session', (session) => watchSession(session, { ...quick, ...options }));
  const serverPort = await listen(server);
  onTestFinished(() => void server.close());
  return serverPort;
}

/** Waits until the server closes the connection of a peer that reads but sends nothing. */
async function untilClosed(port: number): Promise<void> {
  const socket = connect(port, '127.0.0.1').on('error', () => {});
  socket.resume().write(preface);
  await once(socket, 'close');
}

test('a peer that answers no ping is gone', async () => {
  await untilClosed(await openWatched({ isStalled: () => false }));
});

test('a peer that answers stays', async () => {
  const port = await openWatched({ isStalled: () => true, pingAnswerMs: 10_000 });
  const session = connectHttp2(`http://127.0.0.1:${port}`);
  await once(session, 'connect');
  for (let pings = 0; pings < 3; pings++) await once(session, 'ping');
  expect(session.closed).toBe(false);
  session.destroy();
});

test('while audio waits to be written, a silent peer is waited for', async () => {
  const waits = [true, true, true, false];
  await untilClosed(await openWatched({ isStalled: () => waits.shift()! }));
  expect(waits).toEqual([]);
});

test('no longer than for any reader that stalls', async () => {
  let looks = 0;
  await untilClosed(await openWatched({ isStalled: () => looks++ >= 0 }));
  expect(looks).toBe(quick.readerStallMs / quick.pingAnswerMs);
});
