// The HTTP/1.1 server (RFC 9112) for connections that a listener passes on, with or without TLS. Headers, bodies and
// idle connections have limits on size and time, and malformed requests get status 400.
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { Socket } from 'node:net';
import { Failure } from '../../platform/errors.ts';
import { clientAddressOf } from '../../platform/net/client-addresses.ts';
import { handshakeMs, headerBytesMax, headersMax } from '../../platform/net/request-limits.ts';
import type { Connections } from '../net/connections.ts';
import { toFailureReply } from '../net/failure-reply.ts';
import { apiVersion, toRequestId } from '../net/headers.ts';
import type { Tls } from '../net/listen.ts';
import { setAddress } from '../net/request-body.ts';
import { HttpResponse } from '../net/unread-replies.ts';
import {
  headersArrivalMs,
  keepAliveMs,
  lingerBytesMax,
  lingerCheckMs,
  lingerMs,
  pipelinedMax,
  requestArrivalMs,
  slowRequestCheckMs,
} from './http-limits.ts';
import { isWebSocketUpgrade, takeUpgrades } from './web-socket.ts';

interface HttpServerOptions {
  listener: RequestListener;
  tls?: Tls | undefined;
  /** The open connections, counted by the listener. */
  connections: Connections;
  isBehindProxy?: boolean;
}

export function createHttpServer(given: HttpServerOptions): Server {
  const { listener, tls, connections, isBehindProxy = false } = given;
  const options = {
    // This server checks the Host header itself, so that the error has the format of the API's errors.
    requireHostHeader: false,
    maxHeaderSize: headerBytesMax,
    headersTimeout: headersArrivalMs,
    requestTimeout: requestArrivalMs,
    connectionsCheckingInterval: slowRequestCheckMs,
    keepAliveTimeout: keepAliveMs,
    noDelay: true,
    ServerResponse: HttpResponse,
    shouldUpgradeCallback: isWebSocketUpgrade,
  };
  const server = tls
    ? createSecureServer({ ...options, ...tls, handshakeTimeout: handshakeMs })
    : createServer(options);
  // Node's limit is switched off, because Node would silently drop the headers beyond it.
  server.maxHeadersCount = 0;
  const takeTurn = (request: IncomingMessage, work: () => void) => {
    const address = clientAddressOf(request, isBehindProxy);
    setAddress(request, address);
    return connections.turns.take(address, work);
  };
  const unanswered = new WeakMap<Socket, number>();
  const take = (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    const count = (unanswered.get(socket) ?? 0) + 1;
    unanswered.set(socket, count);
    if (count > pipelinedMax) return void socket.destroy();
    response.on('close', () => unanswered.set(socket, unanswered.get(socket)! - 1));
    response.on('finish', () => linger(request));
    response.on('close', connections.use(socket));
    const fault = faultOfHeaders(request);
    if (fault) return answerFault(request, response, 400, fault);
    const start = () => {
      if (!request.destroyed) listener(request, response);
    };
    if (!takeTurn(request, start)) request.destroy();
  };
  server.on('request', take);
  // The route sends 100 Continue when it reads the body.
  server.on('checkContinue', take);
  server.on('checkExpectation', (request, response) =>
    answerFault(request, response, 417, 'The only supported value of the header Expect is 100-continue.'),
  );
  takeUpgrades(server, take, takeTurn);
  server.on('clientError', refuse);
  return server;
}

/** Returns the function that hands a connection to the server. The server itself does not listen. */
export function createAccept(server: Server): (socket: Socket) => void {
  // Node enforces its request timeouts only after this event.
  server.emit('listening');
  return (socket) => void server.emit('connection', socket);
}

/**
 * Discards the rest of the body after an early reply. Closing the connection at once could lose the reply; if the body
 * ends in time, the connection stays open.
 */
function linger(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return;
  request.resume();
  const { socket } = request;
  const lastMs = Date.now() + lingerMs;
  const lastByte = socket.bytesRead + lingerBytesMax;
  const watch = setInterval(() => {
    if (Date.now() > lastMs || socket.bytesRead > lastByte) socket.destroy();
    // A request does not always emit 'close' when its connection is destroyed.
    if (socket.destroyed) clearInterval(watch);
  }, lingerCheckMs);
  request.once('close', () => clearInterval(watch));
}

/** RFC 9112 section 3.2: a request has at most one Host header, and exactly one in HTTP/1.1. */
function faultOfHeaders({ rawHeaders, httpVersionMinor }: IncomingMessage): string | undefined {
  if (rawHeaders.length > 2 * headersMax) return `The request has more than ${headersMax} headers.`;
  let hosts = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!;
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++;
  }
  if (hosts > 1) return 'The request has more than one Host header.';
  return hosts === 0 && httpVersionMinor > 0 ? 'The request has no Host header.' : undefined;
}

/** Answers a rejected request and closes its connection. */
function answerFault({ headers }: IncomingMessage, response: ServerResponse, status: number, message: string): void {
  const reply = toFaultReply(message, status, headers['x-request-id'], headers.accept);
  response.writeHead(status, reply.headers).end(reply.body);
}

function toFaultReply(message: string, status: number, theirId?: unknown, accept?: string) {
  const requestId = toRequestId(theirId);
  const failure = new Failure('invalid_request', { message });
  const { headers, body } = toFailureReply(failure, { requestId, accept }, status);
  const all: Record<string, string> = {
    ...headers,
    'x-request-id': requestId,
    'x-api-version': apiVersion,
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
  };
  return { headers: all, body };
}

const refused = new WeakSet<Socket>();

/** Answers a request that Node could not parse, or that did not arrive in time. */
function refuse(error: NodeJS.ErrnoException, socket: Socket): void {
  // Discards further data until the client has read the reply and closes the connection.
  if (refused.has(socket) && error.code !== 'ECONNRESET' && socket.bytesRead < lingerBytesMax) return;
  // After the start of another reply, nothing is sent: the client would read the error as part of that reply.
  const { _httpMessage: answer } = socket as Socket & { _httpMessage?: ServerResponse };
  if (error.code === 'ECONNRESET' || !socket.writable || answer?.headersSent) {
    socket.destroy();
    return;
  }
  refused.add(socket);
  const { headers, body } = toFaultReply(whyUnreadable(error.code), 400);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 400 Bad Request\r\n${lines.join('')}\r\n${body}`);
  setTimeout(() => socket.destroy(), lingerMs).unref();
}

function whyUnreadable(code: string | undefined): string {
  if (code === 'HPE_HEADER_OVERFLOW') return `The headers are larger than ${headerBytesMax} bytes.`;
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'The request did not arrive in time.';
  return 'This is not a valid HTTP request.';
}
