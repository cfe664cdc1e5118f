// Connect's handlers on Node's HTTP/2 server, in place of connect-node's own adapter: that one prints twenty lines for
// each client who leaves while its answer waits to be read. Here a client who leaves makes no noise and ends the call;
// sound is produced as fast as it is read; and what is wrong with a request is answered to the one who sent it.
import type { ServerResponse } from 'node:http';
import { constants, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import { Code, ConnectError } from '@connectrpc/connect';
import type { UniversalServerRequest, UniversalServerResponse } from '@connectrpc/connect/protocol';
import { universalRequestFromNodeRequest } from '@connectrpc/connect-node';
import { clientAddressOf } from '../net/client-address.ts';
import { type Handler, toContextValues } from './bounded-handler.ts';

export type NodeAdapter = (request: Http2ServerRequest, response: Http2ServerResponse) => void;

export interface NodeAdapterOptions {
  handlers: readonly Handler[];
  /** Believe what the proxy in front says of where calls come from. */
  isBehindProxy: boolean;
  /** Hears of what should not happen; whatever it is, one request fails and no more. */
  onFault(fault: unknown): void;
}

const theyLeft = new ConnectError('the caller has left', Code.Canceled);

export function createNodeAdapter({ handlers, isBehindProxy, onFault }: NodeAdapterOptions): NodeAdapter {
  const byPath = new Map(handlers.map((handler) => [handler.requestPath, handler]));
  return (request, response) => {
    // What goes wrong with either also closes it, and is dealt with there.
    request.on('error', ignore);
    response.on('error', ignore);
    // A call that was taken back with the very bytes that brought it costs no more than this.
    setImmediate(() => {
      if (response.stream?.destroyed ?? true) return;
      const handler = byPath.get(request.url?.split('?', 1)[0] ?? '');
      const answered = handler ? answer(handler, request, response, isBehindProxy) : refuse(request, response);
      answered.catch((fault) => {
        onFault(fault);
        response.stream?.close(constants.NGHTTP2_INTERNAL_ERROR);
      });
    });
  };
}

const ignore = () => {};

async function answer(
  handler: Handler,
  request: Http2ServerRequest,
  response: Http2ServerResponse,
  isBehindProxy: boolean,
): Promise<void> {
  const left = new AbortController();
  response.once('close', () => left.abort(theyLeft));
  const universal = toUniversalRequest(request, clientAddressOf(request, isBehindProxy));
  if (!universal) return end(request, response, 400);
  await send(await handler({ ...universal, signal: left.signal }), request, response, left.signal);
}

/** Undefined for one that names no host, or whose address is none. */
function toUniversalRequest(request: Http2ServerRequest, address: string): UniversalServerRequest | undefined {
  try {
    return universalRequestFromNodeRequest(request, undefined, toContextValues(request, address));
  } catch {
    return undefined;
  }
}

async function send(
  answer: UniversalServerResponse,
  request: Http2ServerRequest,
  response: Http2ServerResponse,
  left: AbortSignal,
): Promise<void> {
  const pieces = answer.body?.[Symbol.asyncIterator]();
  try {
    // The first piece is awaited before the headers go, so that a handler may still set some.
    let piece = await pieces?.next();
    if (left.aborted) return;
    writeHead(request, response, answer.status, Object.fromEntries(answer.header ?? []));
    for (; piece && !piece.done; piece = await pieces?.next()) {
      if (!left.aborted && !write(response, piece.value)) await drained(response, left);
      if (left.aborted) return;
    }
    if (answer.trailer) response.addTrailers(toTrailers(answer.trailer));
    response.end();
  } finally {
    pieces?.return?.()?.catch(ignore);
  }
}

/** Connect escapes more of a message than gRPC does, and some clients take back only what gRPC escapes. */
function toTrailers(trailer: Headers): Record<string, string> {
  const trailers = Object.fromEntries(trailer);
  const message = trailers['grpc-message'];
  if (message) {
    const bytes = Buffer.from(decodeURIComponent(message)).toString('latin1');
    const escaped = (byte: string) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;
    trailers['grpc-message'] = bytes.replace(/[^ -$&-~]/g, escaped);
  }
  return trailers;
}

async function end(request: Http2ServerRequest, response: Http2ServerResponse, status: number): Promise<void> {
  writeHead(request, response, status, {});
  response.end();
}

/** gRPC clients are told in their own terms that there is no such method. */
async function refuse(request: Http2ServerRequest, response: Http2ServerResponse): Promise<void> {
  const isGrpc = /^application\/grpc(\+|;|$)/.test(request.headers['content-type'] ?? '');
  if (!isGrpc) return end(request, response, 404);
  writeHead(request, response, 200, { 'content-type': 'application/grpc' });
  response.addTrailers({ 'grpc-status': String(Code.Unimplemented), 'grpc-message': 'There is no such method.' });
  response.end();
}

/** Whoever is answered before having sent everything is told to stop. */
function writeHead(
  request: Http2ServerRequest,
  response: Http2ServerResponse,
  status: number,
  headers: Record<string, string>,
): void {
  response.writeHead(status, headers);
  const { stream } = request;
  const stop = () => {
    if (!request.complete) stream.close(constants.NGHTTP2_NO_ERROR);
  };
  // By then the trailers, with the status in them, are on their way.
  stream.once('wantTrailers', () => setImmediate(stop));
}

/** The compatible response takes bytes as every stream does; its types know only of text. */
const write = (response: Http2ServerResponse, bytes: Uint8Array): boolean =>
  (response as unknown as ServerResponse).write(bytes);

/** Resolves when there is room to write again, or nobody to write to. */
function drained(response: Http2ServerResponse, left: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      response.off('drain', done);
      left.removeEventListener('abort', done);
      resolve();
    };
    response.on('drain', done);
    left.addEventListener('abort', done);
    if (left.aborted) done();
  });
}
