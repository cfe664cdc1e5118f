// The HTTP/1.1 listener (RFC 9112), with or without TLS. It stays up whatever a client does: headers, bodies and idle
// connections have limits of size and time; malformed requests get a 400.
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { Socket } from 'node:net';
import { Failure } from '../../errors.ts';
import { HttpResponse } from '../../net/http-response.ts';
import { connectionsMax, handshakeMs, headerBytesMax, headersMax } from '../../net/limits.ts';
import type { Tls } from '../../net/listen.ts';
import { apiVersion, toRequestId } from '../../net/request-id.ts';
import { toFailureReply } from './failure-reply.ts';
import {
  headersArrivalMs,
  keepAliveMs,
  lingerBytesMax,
  lingerCheckMs,
  lingerMs,
  requestArrivalMs,
  slowRequestCheckMs,
} from './limits.ts';
import { isWebSocketUpgrade, takeUpgrades } from './web-socket.ts';

export function createHttpServer(listener: RequestListener, tls: Tls | undefined): Server {
  const options = {
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
  server.maxConnections = connectionsMax;
  server.maxHeadersCount = headersMax;
  const take = (request: IncomingMessage, response: ServerResponse) => {
    response.once('finish', () => linger(request));
    listener(request, response);
  };
  server.on('request', take);
  // The route sends 100 Continue when it reads the body.
  server.on('checkContinue', take);
  takeUpgrades(server, take);
  server.on('clientError', refuse);
  return server;
}

/**
 * A client that is answered before it has sent its whole body would lose the reply if the connection were closed at once.
 * The rest of the body is discarded for a while; if it ends in time, the connection stays open.
 */
function linger(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return;
  request.resume();
  const { socket } = request;
  const lastMs = Date.now() + lingerMs;
  const lastByte = socket.bytesRead + lingerBytesMax;
  const watch = setInterval(() => {
    if (Date.now() > lastMs || socket.bytesRead > lastByte) socket.destroy();
    // A request need not emit 'close' when its connection is destroyed.
    if (socket.destroyed) clearInterval(watch);
  }, lingerCheckMs);
  request.once('close', () => clearInterval(watch));
}

/** Answers a request that Node could not parse, or that did not arrive in time. */
function refuse(error: NodeJS.ErrnoException, socket: Socket): void {
  // In the middle of a reply, the bytes would be taken for a part of it.
  const { _httpMessage: answer } = socket as Socket & { _httpMessage?: ServerResponse };
  if (error.code === 'ECONNRESET' || !socket.writable || answer?.headersSent) {
    socket.destroy();
    return;
  }
  const requestId = toRequestId(undefined);
  const failure = new Failure('invalid_request', { message: whyUnreadable(error.code) });
  const { status, headers, body } = toFailureReply(failure, { requestId, accept: undefined });
  const all = {
    ...headers,
    'x-request-id': requestId,
    'x-api-version': apiVersion,
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} Bad Request\r\n${lines.join('')}\r\n${body}`);
  setTimeout(() => socket.destroy(), lingerMs).unref();
}

function whyUnreadable(code: string | undefined): string {
  if (code === 'HPE_HEADER_OVERFLOW') return `The headers are larger than ${headerBytesMax} bytes.`;
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'The request did not arrive in time.';
  return 'This is not a valid HTTP request.';
}
