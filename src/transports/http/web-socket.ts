// WebSocket (RFC 6455) on the routes of the gateway. An upgrade passes the hooks of its route like any request, so a
// refusal is an ordinary HTTP error. Messages are read as fast as they are handled, and client addresses take turns. A
// peer that answers no ping, or sends without reading, is disconnected. Compression is off.
import type { IncomingMessage, RequestListener, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { callerLeft } from '../../api.ts';
import { type Fields, isObject } from '../../contract.ts';
import { Failure, type FieldViolation } from '../../platform/errors.ts';
import { Pace } from '../../platform/pace.ts';
import { PushQueue } from '../../platform/runtime/push-queue.ts';
import { ownerOf } from '../net/request-body.ts';
import { parseStrictJsonInSteps } from '../net/strict-json.ts';
import { countUnread, HttpResponse } from '../net/unread-replies.ts';
import {
  lingerMs,
  messageChunksMax,
  messageFragmentsMax,
  messageMsMax,
  messagesPerRequest,
  socketCheckMs,
  socketPingMs,
  socketSilentMsMax,
  socketUnreadBytesMax,
  socketWaitMsMin,
} from './http-limits.ts';

interface PeerLimits {
  messageBytesMax: number;
  /** How long a message may wait for the peer to read it. */
  readerStallMs: number;
  /** How long the peer may leave pings unanswered. */
  silentMsMax?: number;
}

export interface WebSocketPeer {
  /** Messages in order of arrival; text messages are strings. Ends when the connection closes. */
  messages: AsyncGenerator<string | Buffer, void>;
  /** Resolves when the socket accepts the next message. */
  send(message: string | Uint8Array): Promise<void>;
  /** Closes the connection with a status code from RFC 6455, section 7.4. A long reason is cut. */
  close(code: number, reason?: string): void;
}

/** Room for the reason in a close frame (RFC 6455, section 5.5). */
const reasonBytesMax = 123;
/** The status code of a connection whose message or caller is refused. */
const refusedCode = 1008;

/** Each message counts as at least this many bytes, since a short message takes memory too. */
const messageBytesMin = 1024;

/** Runs the work when it is the turn of the client's address. Returns false if too much work waits for the address. */
type TakeTurn = (work: () => void) => boolean;

const upgrades = new WeakMap<IncomingMessage, { socket: Duplex; head: Buffer; takeTurn: TakeTurn }>();

export const isWebSocketUpgrade = ({ headers }: IncomingMessage): boolean =>
  headers.upgrade?.toLowerCase() === 'websocket';

/**
 * Parses a message that must be a JSON object. A large message is parsed in pieces, so that other clients get their
 * turns. `pieceOf` names a field whose text may begin or end in the middle of a character.
 */
export async function fieldsOfMessage(message: string | Buffer, pieceOf: string): Promise<Fields> {
  const given =
    typeof message === 'string' ? await parseStrictJsonInSteps(Buffer.from(message), { pieceOf }) : undefined;
  if (isObject(given)) return given;
  throw new Failure('invalid_request', { message: 'A message must be a JSON object in a text frame.' });
}

/** Hands upgrades to the request listener. The connection is closed after the reply, unless the route accepts it. */
export function takeUpgrades(
  server: Server,
  listener: RequestListener,
  takeTurn: (request: IncomingMessage, work: () => void) => boolean,
): void {
  server.on('upgrade', (request, socket, head) => {
    upgrades.set(request, { socket, head, takeTurn: (work) => takeTurn(request, work) });
    socket.on('error', () => socket.destroy());
    const begin = () => {
      // A client may have read the previous response before Node detaches it from the socket. A client that does not
      // wait for that response is cut off, because Node no longer drains the socket for it.
      const earlier = (socket as Duplex & { _httpMessage?: HttpResponse | null })._httpMessage;
      if (earlier?.writableEnded) return void earlier.once('close', begin);
      if (earlier || socket.destroyed) return void socket.destroy();
      const response = new HttpResponse(request);
      response.shouldKeepAlive = false;
      response.assignSocket(socket as never);
      response.once('finish', () => socket.end());
      listener(request, response);
    };
    begin();
  });
}

/** Throws a Failure if this is not a WebSocket request, or if it comes from a page with a foreign origin. */
export function checkUpgrade(
  { raw, protocol, host }: FastifyRequest,
  reply: FastifyReply,
  isAllowed: (origin: string) => boolean,
): void {
  if (!upgrades.has(raw)) {
    throw new Failure('invalid_request', { message: 'This path needs a WebSocket upgrade request (RFC 6455).' });
  }
  const details = handshakeFaults(raw);
  if (details.length > 0) {
    reply.header('Sec-WebSocket-Version', socketVersion);
    throw new Failure('invalid_request', { details });
  }
  const { origin } = raw.headers;
  if (origin === undefined || isAllowed(origin) || origin === URL.parse(`${protocol}://${host}`)?.origin) return;
  throw new Failure('access_denied', {
    message: 'Pages of this origin may not connect. The operator can allow it in SONANT_CORS_ORIGINS.',
  });
}

const socketVersion = '13';
const token = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
const protocols = new RegExp(`^${token}([ \\t]*,[ \\t]*${token})*$`);

/** Finds the faults that the `ws` library would otherwise report in its own format. */
function handshakeFaults({ headers }: IncomingMessage): FieldViolation[] {
  const { 'sec-websocket-version': version, 'sec-websocket-key': key, 'sec-websocket-protocol': protocol } = headers;
  const faults: FieldViolation[] = [];
  if (version !== socketVersion)
    faults.push({ field: 'Sec-WebSocket-Version', reason: 'enum', message: `must be ${socketVersion}` });
  if (!/^[+/0-9A-Za-z]{22}==$/.test(key ?? ''))
    faults.push({ field: 'Sec-WebSocket-Key', reason: 'format', message: 'must be 16 bytes in base64' });
  const names = protocol?.split(',').map((name) => name.trim()) ?? [];
  if (protocol !== undefined && !(protocols.test(protocol) && new Set(names).size === names.length))
    faults.push({ field: 'Sec-WebSocket-Protocol', reason: 'format', message: 'must be tokens without duplicates' });
  return faults;
}

/** Completes the handshake. After that, the connection belongs to the socket. Its caller may be admitted later. */
export async function acceptWebSocket(
  admitted: FastifyRequest,
  reply: FastifyReply,
  { messageBytesMax, readerStallMs, silentMsMax = socketSilentMsMax }: PeerLimits,
): Promise<WebSocketPeer> {
  const request = admitted.raw;
  const { socket, head, takeTurn } = upgrades.get(request)!;
  const { WebSocketServer } = await import('ws');
  const server = new WebSocketServer({
    noServer: true,
    maxPayload: messageBytesMax,
    maxFragments: messageFragmentsMax,
    maxBufferedChunks: messageChunksMax,
    // The library handles at most one message or ping per socket and turn of the event loop.
    allowSynchronousEvents: false,
    perMessageDeflate: false,
  });
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
    const charge = async () => admitted.call?.admitAgain();
    server.handleUpgrade(request, socket, head, (peer) =>
      resolve(toPeer(peer, { owner: () => ownerOf(request), readerStallMs, silentMsMax, takeTurn, charge })),
    );
  });
}

interface PeerOptions extends Required<Omit<PeerLimits, 'messageBytesMax'>> {
  /** Returns the owner of the unread bytes, who changes when the caller is admitted. */
  owner(): string;
  takeTurn: TakeTurn;
  /** Charges a request to the key of the connection. */
  charge(): Promise<void>;
}

function toPeer(peer: import('ws').WebSocket, options: PeerOptions): WebSocketPeer {
  const { owner, readerStallMs, silentMsMax, takeTurn, charge } = options;
  const cut = () => peer.terminate();
  let countedFor = owner();
  const countOutput = () => {
    const now = owner();
    if (now !== countedFor) countUnread(countedFor, peer, 0, cut);
    countedFor = now;
    countUnread(now, peer, peer.readyState === peer.CLOSED ? 0 : peer.bufferedAmount, cut);
  };
  const close = (code: number, reason = '') => {
    const bytes = Buffer.alloc(reasonBytesMax);
    peer.close(code, bytes.subarray(0, new TextEncoder().encodeInto(reason, bytes).written));
    // A refused peer has this long to answer the close frame.
    if (code === refusedCode) setTimeout(cut, lingerMs).unref();
  };
  const queue = new PushQueue<string | Buffer>();
  const pace = new Pace();
  const unwatch = pace.after(readerStallMs, cut);
  /** Number of messages that wait for the peer to read. */
  let unsent = 0;
  let heardMs = performance.now();
  const hear = () => {
    heardMs = performance.now();
  };
  const pings = setInterval(() => {
    if (performance.now() - heardMs > silentMsMax) peer.terminate();
    else peer.ping();
  }, socketPingMs);
  /** Number of bytes in messages that have been received but not yet handled. */
  let waitingBytes = 0;
  const sizeOf = (message: string | Buffer) => Math.max(messageBytesMin, message.length);
  let unfinishedSinceMs: number | undefined;
  const checks = setInterval(() => {
    unfinishedSinceMs = waitingBytes === 0 && holdsPartOf(peer) ? (unfinishedSinceMs ?? performance.now()) : undefined;
    if (unfinishedSinceMs === undefined || performance.now() - unfinishedSinceMs < messageMsMax) return;
    close(refusedCode, 'unfinished message');
  }, socketCheckMs);
  let received = 0;
  const count = () => {
    // The limit is checked before each message, since each message may have an answer.
    if (Math.max(peer.bufferedAmount, waitingBytes) > socketUnreadBytesMax) peer.terminate();
    countOutput();
    if (++received % messagesPerRequest === 0) charge().catch((error: unknown) => queue.abort(error));
  };
  peer.on('pong', hear);
  for (const event of ['ping', 'pong', 'message'] as const) peer.on(event, count);
  peer.on('message', (data: Buffer, isBinary) => {
    hear();
    unfinishedSinceMs = undefined;
    const message = isBinary ? data : data.toString();
    waitingBytes += sizeOf(message);
    // After the last message that is handled, reading continues, because the close frame must still be read.
    if (!queue.isEnded) peer.pause();
    queue.push(message);
  });
  // The error needs no handling, because 'close' is emitted after 'error'.
  peer.on('error', () => {});
  peer.on('close', () => {
    clearInterval(pings);
    clearInterval(checks);
    unwatch();
    countOutput();
    queue.end();
  });
  async function* takeMessages() {
    try {
      for await (const message of queue.pull()) {
        await inTurn();
        yield message;
        waitingBytes -= sizeOf(message);
        if (waitingBytes === 0) peer.resume();
      }
    } finally {
      peer.resume();
    }
  }
  const inTurn = () =>
    new Promise<void>((resolve) => {
      if (takeTurn(resolve)) return;
      peer.terminate();
      resolve();
    });
  return {
    messages: takeMessages(),
    send: (message) =>
      new Promise((resolve) => {
        const sentMs = performance.now();
        if (unsent++ === 0) pace.given();
        peer.send(message, () => {
          if (--unsent > 0) pace.given();
          else pace.taken();
          countOutput();
          // A peer that reads at playback speed receives pings late; a slow send therefore counts as a sign of life.
          if (performance.now() - sentMs > socketWaitMsMin) hear();
          resolve();
        });
        countOutput();
      }),
    close,
  };
}

/** Whether the library has received only part of a message. The library emits no event for this state. */
function holdsPartOf(peer: import('ws').WebSocket): boolean {
  const { _receiver: receiver } = peer as unknown as { _receiver: { _fragmented: number; _state: number } };
  return receiver._fragmented > 0 || receiver._state > 0;
}
