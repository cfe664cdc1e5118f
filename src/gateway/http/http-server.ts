// The HTTP/1.1 listener (RFC 9112) of this door, without TLS or with it. It promises to stay up whatever a client does:
// headers, bodies and idle connections have their limits in bytes and in time; what is not HTTP is answered as such.
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

export function createHttpServer(listener: RequestListener, tls: Tls | undefined): Server {
  const options = {
    maxHeaderSize: headerBytesMax,
    headersTimeout: headersArrivalMs,
    requestTimeout: requestArrivalMs,
    connectionsCheckingInterval: slowRequestCheckMs,
    keepAliveTimeout: keepAliveMs,
    noDelay: true,
    ServerResponse: HttpResponse,
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
  // The body is asked for when it is wanted.
  server.on('checkContinue', take);
  server.on('clientError', refuse);
  return server;
}

/**
 * Who is answered before having sent everything would lose the answer if the connection were cut at once. What they
 * still send is thrown away for a while; if it comes to an end, the connection lives on.
 */
function linger(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return;
  request.resume();
  const { socket } = request;
  const lastMs = Date.now() + lingerMs;
  const lastByte = socket.bytesRead + lingerBytesMax;
  const watch = setInterval(() => {
    if (Date.now() > lastMs || socket.bytesRead > lastByte) socket.destroy();
    // The request of a connection that was cut need not close.
    if (socket.destroyed) clearInterval(watch);
  }, lingerCheckMs);
  request.once('close', () => clearInterval(watch));
}

/** What Node could not read as a request, or did not get in time. */
function refuse(error: NodeJS.ErrnoException, socket: Socket): void {
  // Bytes put into the middle of an answer would be taken for a part of it.
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
