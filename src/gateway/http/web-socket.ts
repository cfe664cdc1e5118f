// WebSocket (RFC 6455) on the routes of the gateway: an upgrade passes the hooks of its route as any request does, so that a
// refusal is an ordinary HTTP error; then the route accepts it. A peer that answers no ping is gone, and one that asks without
// reading is closed. Sound is not compressed.
import type { IncomingMessage, RequestListener, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { PushQueue } from '../../concurrency/push-queue.ts';
import { Failure, type FieldViolation } from '../../errors.ts';
import { HttpResponse } from '../../net/http-response.ts';
import { parseStrictJsonInSteps } from '../../net/strict-json.ts';
import { callerLeft } from '../../operations/call.ts';
import { type Fields, isObject } from './known-fields.ts';
import { socketPingMs, socketSilentMsMax, socketUnreadBytesMax, socketWaitMsMin } from './limits.ts';

interface PeerLimits {
  messageBytesMax: number;
  /** How long a message may wait to be read, whatever the peer sends meanwhile. */
  readerStallMs: number;
}

export interface WebSocketPeer {
  /** The messages as they arrive: text as a string. Ends when the connection does. */
  messages: AsyncIterable<string | Buffer>;
  /** Resolves when the message is on its way: the next one is to wait for that. */
  send(message: string | Uint8Array): Promise<void>;
  /** Closes the connection, with a code of RFC 6455, section 7.4. */
  close(code: number, reason?: string): void;
}

/** A short message takes memory too. */
const messageBytesMin = 1024;

const upgrades = new WeakMap<IncomingMessage, { socket: Duplex; head: Buffer }>();

export const isWebSocketUpgrade = ({ headers }: IncomingMessage): boolean =>
  headers.upgrade?.toLowerCase() === 'websocket';

/**
 * The members of a message that must be a JSON object; `pieceOf` may end or begin in the middle of a character. Others have
 * their turns while a large one is read.
 */
export async function fieldsOfMessage(message: string | Buffer, pieceOf: string): Promise<Fields> {
  const given =
    typeof message === 'string' ? await parseStrictJsonInSteps(Buffer.from(message), { pieceOf }) : undefined;
  if (isObject(given)) return given;
  throw new Failure('invalid_request', { message: 'A message must be a JSON object in a text frame.' });
}

/** Hands upgrades to the listener, as requests whose connection is closed after the reply. */
export function takeUpgrades(server: Server, listener: RequestListener): void {
  server.on('upgrade', (request, socket, head) => {
    upgrades.set(request, { socket, head });
    socket.on('error', () => socket.destroy());
    const response = new HttpResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(socket as never);
    response.once('finish', () => socket.end());
    listener(request, response);
  });
}

/** A Failure unless the request asks for a WebSocket, from a page that may: one of this service or of an allowed origin. */
export function checkUpgrade(
  { raw, host }: FastifyRequest,
  reply: FastifyReply,
  allowedOrigins: readonly string[],
): void {
  if (!upgrades.has(raw)) {
    throw new Failure('invalid_request', { message: 'This address is for WebSocket: send an upgrade (RFC 6455).' });
  }
  const details = handshakeFaults(raw);
  if (details.length > 0) {
    reply.header('Sec-WebSocket-Version', socketVersion);
    throw new Failure('invalid_request', { details });
  }
  const { origin } = raw.headers;
  if (origin === undefined || allowedOrigins.includes(origin)) return;
  if (URL.canParse(origin) && new URL(origin).host === host) return;
  throw new Failure('access_denied', { message: 'Pages of this origin may not connect here.' });
}

const socketVersion = '13';
const token = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
const protocols = new RegExp(`^${token}([ \\t]*,[ \\t]*${token})*$`);

/** What the library would answer in a form of its own. */
function handshakeFaults({ headers }: IncomingMessage): FieldViolation[] {
  const { 'sec-websocket-version': version, 'sec-websocket-key': key, 'sec-websocket-protocol': protocol } = headers;
  const faults: FieldViolation[] = [];
  if (version !== socketVersion)
    faults.push({ field: 'Sec-WebSocket-Version', reason: 'enum', message: `must be ${socketVersion}` });
  if (!/^[+/0-9A-Za-z]{22}==$/.test(key ?? ''))
    faults.push({ field: 'Sec-WebSocket-Key', reason: 'format', message: 'must be 16 bytes in base64' });
  const names = protocol?.split(',').map((name) => name.trim()) ?? [];
  if (protocol !== undefined && !(protocols.test(protocol) && new Set(names).size === names.length))
    faults.push({ field: 'Sec-WebSocket-Protocol', reason: 'format', message: 'must be different tokens' });
  return faults;
}

/** Completes the handshake; the reply is the connection's from here on. */
export async function acceptWebSocket(
  { raw: request }: FastifyRequest,
  reply: FastifyReply,
  { messageBytesMax, readerStallMs }: PeerLimits,
): Promise<WebSocketPeer> {
  const { socket, head } = upgrades.get(request)!;
  const { WebSocketServer } = await import('ws');
  const server = new WebSocketServer({ noServer: true, maxPayload: messageBytesMax, perMessageDeflate: false });
  reply.hijack();
  const { raw } = reply;
  raw.detachSocket(socket as never);
  raw.statusCode = 101;
  server.on('headers', (headers) => {
    for (const [name, value] of Object.entries(reply.getHeaders())) {
      if (name !== 'connection') headers.push(`${name}: ${value}`);
    }
  });
  socket.once('close', () => raw.emit('close'));
  return new Promise((resolve, reject) => {
    socket.once('close', () => reject(callerLeft));
    server.handleUpgrade(request, socket, head, (peer) => resolve(toPeer(peer, readerStallMs)));
  });
}

function toPeer(peer: import('ws').WebSocket, readerStallMs: number): WebSocketPeer {
  const queue = new PushQueue<string | Buffer>();
  let heardMs = performance.now();
  const hear = () => {
    heardMs = performance.now();
  };
  const pings = setInterval(() => {
    if (performance.now() - heardMs > socketSilentMsMax) peer.terminate();
    else peer.ping();
  }, socketPingMs);
  peer.on('pong', hear);
  /** Messages that have come and wait to be taken. */
  let waitingBytes = 0;
  const sizeOf = (message: string | Buffer) => Math.max(messageBytesMin, message.length);
  /** Each of its messages may have an answer. */
  const checkReads = () => {
    if (Math.max(peer.bufferedAmount, waitingBytes) > socketUnreadBytesMax) peer.terminate();
  };
  peer.on('ping', checkReads);
  peer.on('message', (data: Buffer, isBinary) => {
    hear();
    checkReads();
    const message = isBinary ? data : data.toString();
    waitingBytes += sizeOf(message);
    queue.push(message);
  });
  // 'close' follows.
  peer.on('error', () => {});
  peer.on('close', () => {
    clearInterval(pings);
    queue.end();
  });
  async function* takeMessages() {
    for await (const message of queue.pull()) {
      waitingBytes -= sizeOf(message);
      yield message;
    }
  }
  return {
    messages: takeMessages(),
    send: (message) =>
      new Promise((resolve) => {
        const sentMs = performance.now();
        const stalled = setTimeout(() => peer.terminate(), readerStallMs).unref();
        peer.send(message, () => {
          clearTimeout(stalled);
          // A peer that reads as fast as it plays gets a ping long after what was sent before it.
          if (performance.now() - sentMs > socketWaitMsMin) hear();
          resolve();
        });
      }),
    close: (code, reason) => peer.close(code, reason),
  };
}
