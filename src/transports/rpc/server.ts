// The HTTP/2 server (RFC 9113) for gRPC, Connect and gRPC-Web, with or without TLS. It limits clients and detects dead
// connections. When drained, it accepts no new calls, gives running calls time to finish, and then ends them.
import type { ServerResponse } from 'node:http';
import {
  constants,
  createSecureServer,
  createServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { UniversalServerRequest, UniversalServerResponse } from '@connectrpc/connect/protocol';
import { setTrailerStatus } from '@connectrpc/connect/protocol-grpc';
import { universalRequestFromNodeRequest, universalResponseToNodeResponse } from '@connectrpc/connect-node';
import { Failure } from '../../platform/errors.ts';
import { clientAddressOf } from '../../platform/net/client-addresses.ts';
import {
  farewellMs,
  handshakeMs,
  headerBytesMax,
  headersMax,
  readerStallMs,
} from '../../platform/net/request-limits.ts';
import { type Connections, createConnections } from '../net/connections.ts';
import { apiVersion, toRequestId } from '../net/headers.ts';
import { type ListenAddress, openListener } from '../net/listen.ts';
import { allClosed, keep } from '../net/open-sockets.ts';
import { setAddress } from '../net/request-body.ts';
import { Http2Response } from '../net/unread-replies.ts';
import { type Handler, toContextValues } from './bodies.ts';
import { toStatus } from './calls.ts';
import type { Services } from './services.ts';
import { shorten, toPlainAnswer } from './status.ts';

export const streamsPerConnectionMax = 100;
/**
 * Number of calls that a connection may cancel at once, and then per second. A connection that cancels more calls is
 * closed.
 */
const resetBurst = 200;
const resetsPerSecond = 33;
/**
 * Largest header list that Node accepts, which resets a stream with more and sends no status. It is larger than
 * `headerBytesMax`, so that a request above that limit gets a status. nghttp2 closes the connection above 64 KiB.
 */
const headerListBytesMax = 64 * 1024;
/** How long the server discards the rest of a request after the response. */
const dropMs = 250;
/** Memory of a connection, including audio that waits to be read. */
const connectionMemoryMiB = 64;
/** A connection is pinged at this interval, and closed if no answer arrives in time. */
const usualPings = { pingEveryMs: 20_000, pingAnswerMs: 10_000 };

export interface RpcServerOptions {
  services: Services;
  /** Address to listen on. Without an address, only sockets handed to `accept` are served. */
  address?: ListenAddress;
  /** Counts the connections of all listeners. Default: only this listener's connections. */
  connections?: Connections;
  isBehindProxy?: boolean;
  /** Certificate and private key in PEM format. */
  tls?: { cert: string; key: string };
  /** Called with faults that are not reported to a caller. */
  onFault(fault: unknown): void;
}

type Server = ReturnType<typeof createServer> | ReturnType<typeof createSecureServer>;

export async function openRpcServer(options: RpcServerOptions) {
  const { services, address, tls, isBehindProxy = false, onFault } = options;
  const { connections = createConnections({ perAddressMax: Infinity }) } = options;
  const server = createHttp2Server(tls, createListener({ services, connections, isBehindProxy, onFault }));
  const sockets = new Set<Socket>();
  const sessions = new Set<ServerHttp2Session>();
  const streams = new Set<ServerHttp2Stream>();
  let isDraining = false;
  const isStalled = (session: ServerHttp2Session) =>
    streams.values().some((stream) => stream.session === session && stream.writableLength > 0);
  server.on('connection', (socket: Socket) => keep(sockets, socket));
  server.on('stream', (stream) => {
    keep(streams, stream);
    const { socket } = stream.session ?? {};
    if (socket) stream.once('close', connections.use(socket));
  });
  server.on('session', (session) => {
    keep(sessions, session);
    watchSession(session, { isStalled: () => isStalled(session) });
    if (isDraining) session.close();
  });
  server.on('error', onFault);
  const accept = (socket: Socket) => void server.emit('connection', socket);
  const listener = address && (await openListener({ address, what: 'gRPC', connections, accept, onFault }));

  const drain = async (timeoutMs: number) => {
    isDraining = true;
    services.health.close();
    listener?.close();
    // Sends GOAWAY, so that clients send new calls elsewhere.
    for (const session of sessions) session.close();
    const late = setTimeout(() => services.stop(), timeoutMs);
    await Promise.race([allClosed(streams), sleep(timeoutMs + farewellMs, undefined, { ref: false })]);
    clearTimeout(late);
    await Promise.race([allClosed(sockets), sleep(farewellMs, undefined, { ref: false })]);
    for (const socket of sockets) socket.destroy();
  };

  let drained: Promise<void> | undefined;
  return {
    /** The port of the server; 0 if the server does not listen. */
    port: listener?.port ?? 0,
    /** Serves a connection that another listener has accepted. */
    accept,
    /** Lets running calls finish within `timeoutMs`, then ends them with `overloaded` and closes. */
    drain: (timeoutMs: number): Promise<void> => (drained ??= drain(timeoutMs)),
  };
}

function createHttp2Server(tls: RpcServerOptions['tls'], listener: Listener): Server {
  const options = {
    maxHeaderListPairs: headersMax,
    maxSessionMemory: connectionMemoryMiB,
    streamResetBurst: resetBurst,
    streamResetRate: resetsPerSecond,
    Http2ServerResponse: Http2Response,
    settings: { maxConcurrentStreams: streamsPerConnectionMax, maxHeaderListSize: headerListBytesMax },
  };
  return tls
    ? createSecureServer({ ...options, ...tls, handshakeTimeout: handshakeMs }, listener)
    : createServer(options, listener);
}

type Listener = (request: Http2ServerRequest, response: Http2ServerResponse) => void;

type ListenerOptions = Required<Pick<RpcServerOptions, 'services' | 'connections' | 'isBehindProxy' | 'onFault'>>;

/** Answers requests with Connect's handlers. connectNodeAdapter would print twenty lines per disconnected client. */
function createListener({ services, connections, isBehindProxy, onFault }: ListenerOptions): Listener {
  const byPath = new Map(services.createHandlers({ grpc: true }).map((handler) => [handler.requestPath, handler]));
  const drop = ({ stream }: Http2ServerRequest) => {
    // A proxy's connection also carries calls of other clients, so only the stream is closed.
    if (isBehindProxy) stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    else stream.session?.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM);
  };
  return (request, response) => {
    const { stream } = request;
    // An error also closes the stream, which ends the call.
    request.on('error', ignore);
    response.on('error', ignore);
    const handler = byPath.get(request.url?.split('?', 1)[0] ?? '');
    const address = clientAddressOf(request, isBehindProxy);
    setAddress(request, address);
    const isOpen = handler !== undefined && services.isOpen(handler);
    // Refusals do not stop a client that needs no key, so calls from a barred address are dropped.
    const isUnwanted = () => isOpen && services.isBarred(address);
    if (isUnwanted()) return drop(request);
    // The answer is deferred, so that a call that is cancelled in the same packet causes no further work.
    const isTaken = connections.turns.take(address, () => {
      if (stream.destroyed) return;
      // Earlier calls in the same packet may have exceeded the limit of refusals.
      if (isUnwanted()) return drop(request);
      answer(handler, { request, response, address }).catch((fault) => {
        if (stream.destroyed) return;
        onFault(fault);
        stream.close(constants.NGHTTP2_INTERNAL_ERROR);
      });
    });
    if (isTaken) return;
    if (isOpen) drop(request);
    // With this code, clients may send the call again.
    else stream.close(constants.NGHTTP2_REFUSED_STREAM);
  };
}

const ignore = () => {};

interface Exchange {
  request: Http2ServerRequest;
  response: Http2ServerResponse;
  address: string;
}

async function answer(handler: Handler | undefined, { request, response, address }: Exchange): Promise<void> {
  const { stream } = request;
  const hasLargeHeaders = sizeOf(request.rawHeaders) > headerBytesMax;
  const call = handler && !hasLargeHeaders ? toCall(request, address) : undefined;
  const reply = handler && call ? await handler(call) : refuse(handler, request, hasLargeHeaders);
  // The client has disconnected, so the source of the response is closed.
  if (stream.destroyed) return void reply.body?.[Symbol.asyncIterator]().return?.().catch(ignore);
  stream.once('wantTrailers', () => {
    if (!request.complete) dismissSender(stream);
  });
  const { status, header, body, trailer } = reply;
  const sent: UniversalServerResponse = { status };
  if (header) sent.header = header;
  if (body && request.method !== 'HEAD') sent.body = body;
  // Connect sets the trailer while it writes the body.
  if (trailer) Object.defineProperty(sent, 'trailer', { get: () => escapeMessage(trailer) });
  await universalResponseToNodeResponse(sent, response as unknown as ServerResponse);
}

const sizeOf = (rawHeaders: readonly string[]): number => rawHeaders.reduce((sum, { length }) => sum + length, 0);

/** Returns undefined if the request names no host or its path is malformed. */
function toCall(request: Http2ServerRequest, address: string): UniversalServerRequest | undefined {
  try {
    return universalRequestFromNodeRequest(request, undefined, toContextValues(request, address));
  } catch {
    return undefined;
  }
}

const notHere =
  'No RPC has this path. Over HTTP/2, only RPCs are served; call the REST API over HTTP/1.1, on the port of SONANT_HTTP_ADDR.';

/** For an unknown method, gRPC clients get the status UNIMPLEMENTED, and other clients get 404. */
function refuse(
  handler: Handler | undefined,
  { headers }: Http2ServerRequest,
  hasLargeHeaders: boolean,
): UniversalServerResponse {
  const requestId = toRequestId(headers['x-request-id']);
  const recipient = { requestId, accept: headers.accept };
  const isGrpc = /^application\/grpc(\+|;|$)/.test(headers['content-type'] ?? '');
  if (handler && !hasLargeHeaders) {
    const message = 'The request must name a host, and its path must be well-formed.';
    return toPlainAnswer(new Failure('invalid_request', { message }), recipient);
  }
  const message = `The headers are larger than ${headerBytesMax} bytes.`;
  const tooLarge = handler && new Failure('invalid_request', { message });
  if (!isGrpc) return toPlainAnswer(tooLarge ?? new Failure('not_found', { message: notHere }), recipient);
  const failure = tooLarge ?? new Failure('method_not_allowed', { message: 'Method not found.' });
  const header = new Headers({
    'content-type': 'application/grpc',
    'x-request-id': requestId,
    'x-api-version': apiVersion,
  });
  return { status: 200, header, trailer: setTrailerStatus(new Headers(), toStatus(failure, 'grpc', requestId)) };
}

/**
 * Re-encodes grpc-message. Connect escapes more characters than gRPC, and some clients decode only gRPC's escapes. Cuts
 * it too: Connect's own messages repeat a header of any length, and clients refuse long trailers.
 */
function escapeMessage(trailer: Headers): Headers {
  const message = trailer.get('grpc-message');
  if (message) {
    const bytes = Buffer.from(shorten(decodeURIComponent(message))).toString('latin1');
    const escaped = (byte: string) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;
    trailer.set('grpc-message', bytes.replace(/[^ -$&-~]/g, escaped));
  }
  return trailer;
}

/**
 * Ends the stream of a client that is still sending after the response. Before the reset, the rest of the request is
 * discarded for a moment, because an immediate reset could lose the response or its status. An unread stream would
 * never close, and would count against the limit of its connection.
 */
function dismissSender(stream: ServerHttp2Stream): void {
  stream.removeAllListeners('data').resume();
  const timer = setTimeout(() => stream.close(constants.NGHTTP2_NO_ERROR), dropMs).unref();
  stream.once('close', () => clearTimeout(timer));
}

export interface WatchOptions {
  /** Whether audio is waiting for the peer to read. */
  isStalled(): boolean;
  pingEveryMs?: number;
  pingAnswerMs?: number;
  readerStallMs?: number;
}

/**
 * Closes an HTTP/2 connection that does not start the protocol, or whose peer does not answer pings. A proxy that waits
 * for a slow reader might not read pings either. While audio is waiting to be sent, the peer therefore gets as much
 * time as readers of other protocols.
 */
export function watchSession(session: ServerHttp2Session, options: WatchOptions): void {
  const limits = { ...usualPings, readerStallMs, ...options };
  const silent = setTimeout(() => session.destroy(), handshakeMs);
  let next: NodeJS.Timeout;
  const later = (work: () => void, ms: number) => {
    next = setTimeout(work, ms);
  };
  const ping = () => {
    if (session.destroyed) return;
    let waitedMs = 0;
    const give = () => {
      waitedMs += limits.pingAnswerMs;
      if (limits.isStalled() && waitedMs < limits.readerStallMs) later(give, limits.pingAnswerMs);
      else session.destroy();
    };
    later(give, limits.pingAnswerMs);
    session.ping((error) => {
      clearTimeout(next);
      if (!error) later(ping, limits.pingEveryMs);
    });
  };
  later(ping, limits.pingEveryMs);
  session.once('remoteSettings', () => clearTimeout(silent));
  session.once('close', () => {
    clearTimeout(silent);
    clearTimeout(next);
  });
}
