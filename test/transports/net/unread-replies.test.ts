// Tests the limits on replies that wait for their clients, over real HTTP/1.1 and HTTP/2
// connections and WebSockets.
import { once } from 'node:events';
import { createServer as createHttp1Server, type RequestListener, type ServerResponse } from 'node:http';
import { type ClientHttp2Stream, connect as connectHttp2, createServer, type Http2ServerResponse } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import fastify from 'fastify';
import { expect, onTestFinished, test } from 'vitest';
import { WebSocket } from 'ws';
import {
  readerStallMs,
  unreadBytesInAllMax,
  unreadBytesPerOwnerMax,
} from '../../../src/platform/net/request-limits.ts';
import { acceptWebSocket, takeUpgrades } from '../../../src/transports/http/web-socket.ts';
import { setOwner } from '../../../src/transports/net/request-body.ts';
import { Http2Response, HttpResponse } from '../../../src/transports/net/unread-replies.ts';
import { listen } from '../../free-port.ts';

const replyBytes = 15 << 20;
const perOwner = Math.floor(unreadBytesPerOwnerMax / replyBytes);
const inAll = Math.floor(unreadBytesInAllMax / replyBytes);
const body = 'x'.repeat(replyBytes);

const isGone = (reply: ServerResponse | Http2ServerResponse): boolean =>
  'stream' in reply ? reply.stream.destroyed : reply.req.socket.destroyed;

interface Client {
  socket: Socket | ClientHttp2Stream;
  isCut(): boolean;
}

/** A server whose replies belong to the owner in their path. */
async function open(version: '1.1' | '2') {
  const replies: (ServerResponse | Http2ServerResponse)[] = [];
  const answer = (request: { url?: string | undefined }, reply: ServerResponse | Http2ServerResponse) => {
    setOwner(request, request.url!);
    replies.push(reply);
    reply.on('error', () => {});
    reply.end(body);
  };
  const server =
    version === '2'
      ? createServer({ Http2ServerResponse: Http2Response }, answer)
      : createHttp1Server({ ServerResponse: HttpResponse }, answer as unknown as RequestListener<never, never>);
  const port = await listen(server);
  const clients: Client[] = [];
  onTestFinished(async () => {
    for (const { socket } of clients) socket.destroy();
    await expect.poll(() => replies.every(isGone)).toBe(true);
    server.close();
  });
  /** Requests a reply and reads nothing of it. */
  const ask = async (owner: string): Promise<Client> => {
    const count = replies.length;
    const client = version === '2' ? askHttp2(port, owner) : askHttp1(port, owner);
    clients.push(client);
    await expect.poll(() => replies.length).toBe(count + 1);
    return client;
  };
  return { ask, replies, isCut: () => replies.map(isGone) };
}

function askHttp1(port: number, owner: string): Client {
  const socket = connect(port, '127.0.0.1')
    .pause()
    .on('error', () => {});
  socket.write(`GET ${owner} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
  return { socket, isCut: () => socket.destroyed };
}

function askHttp2(port: number, owner: string): Client {
  const session = connectHttp2(`http://127.0.0.1:${port}`).on('error', () => {});
  onTestFinished(() => session.destroy());
  const socket = session.request({ ':path': owner }).on('error', () => {});
  return { socket, isCut: () => socket.destroyed };
}

const countOf = (values: readonly boolean[]) => values.filter(Boolean).length;

test.each(['1.1', '2'] as const)(
  'above the limit of an owner, its oldest unread reply is cut, and no reply of another owner, over HTTP/%s',
  async (version) => {
    const { ask, isCut } = await open(version);
    await ask('/other');
    for (let n = 0; n < perOwner + 2; n++) await ask('/one');
    await expect.poll(() => countOf(isCut())).toBe(2);
    expect(isCut()).toEqual([false, true, true, ...Array(perOwner).fill(false)]);
  },
);

test('above the limit in total, the owner with the most unread bytes loses its oldest reply', async () => {
  const { ask, isCut } = await open('1.1');
  const owners = Array.from({ length: Math.ceil(inAll / perOwner) }, (_, n) => `/${n}`);
  for (const owner of owners) for (let n = 0; n < perOwner - (owner === '/0' ? 0 : 1); n++) await ask(owner);
  const before = isCut().length;
  for (let n = before; n < inAll; n++) await ask(`/more-${n}`);
  expect(countOf(isCut())).toBe(0);
  await ask('/last');
  await expect.poll(() => countOf(isCut())).toBe(1);
  expect(isCut()[0]).toBe(true);
});

test.each(['1.1', '2'] as const)(
  'a reply that is read is complete and no longer counts, over HTTP/%s',
  async (version) => {
    const { ask } = await open(version);
    for (let n = 0; n < perOwner + 2; n++) {
      const { socket } = await ask('/one');
      expect((await buffer(socket)).length).toBeGreaterThanOrEqual(replyBytes);
    }
  },
);

test('a connection has a time limit while its reply is unread', async () => {
  const { ask, replies } = await open('1.1');
  const { socket } = await ask('/one');
  const { socket: served } = replies[0]!.req;
  expect(served.timeout).toBe(readerStallMs);
  await buffer(socket as Socket);
  await expect.poll(() => served.timeout).not.toBe(readerStallMs);
});

test('WebSockets share the limit of their owner', async () => {
  const closed: string[] = [];
  const app = fastify({
    serverFactory(listener) {
      const server = createHttp1Server(listener);
      takeUpgrades(server, listener, (_, work) => {
        setImmediate(work);
        return true;
      });
      return server;
    },
  });
  app.get('*', async (request, reply) => {
    setOwner(request.raw, request.url);
    const peer = await acceptWebSocket(request, reply, { messageBytesMax: 1000, readerStallMs });
    void peer.send(Buffer.alloc(replyBytes));
    for await (const _ of peer.messages);
    closed.push(request.url);
    return reply;
  });
  const url = await app.listen({ port: 0, host: '127.0.0.1' });
  const clients: WebSocket[] = [];
  onTestFinished(async () => {
    for (const client of clients) client.terminate();
    await app.close();
  });
  const ask = async (owner: string) => {
    const client = new WebSocket(`${url.replace('http', 'ws')}${owner}`).on('error', () => {});
    clients.push(client);
    await once(client, 'upgrade');
    client.pause();
  };
  await ask('/other');
  for (let n = 0; n < perOwner + 2; n++) await ask('/one');
  await expect.poll(() => closed).toEqual(['/one', '/one']);
});
