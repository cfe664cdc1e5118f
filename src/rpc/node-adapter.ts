// Serves Connect's handlers on Node's HTTP/2 server. It replaces connect-node's adapter, which prints twenty lines for each
// client that leaves while its response waits to be read. Here a client that leaves only ends its call, and audio is
// produced as fast as it is read.
import type { ServerResponse } from 'node:http';
import {
  constants,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2';
import type { UniversalServerRequest, UniversalServerResponse } from '@connectrpc/connect/protocol';
import { setTrailerStatus } from '@connectrpc/connect/protocol-grpc';
import { universalRequestFromNodeRequest } from '@connectrpc/connect-node';
import { Failure } from '../errors.ts';
import { clientAddressOf } from '../net/client-address.ts';
import type { Turns } from '../net/connections.ts';
import { apiVersion, toRequestId } from '../net/request-id.ts';
import { type Handler, toContextValues } from './bounded-handler.ts';
import { callerLeft } from './caller-left.ts';
import { dismissSender } from './dismiss-sender.ts';
import { answerCall, type DirectMethod, isDirect } from './grpc-call.ts';
import { toPlainAnswer } from './plain-answer.ts';
import { toStatus } from './run-calls.ts';
import type { Services } from './services.ts';
import { toTrailers } from './trailers.ts';

export type NodeAdapter = (request: Http2ServerRequest, response: Http2ServerResponse) => void;

export interface NodeAdapterOptions {
  handlers: readonly Handler[];
  callsOf: Pick<Services, 'isOpen' | 'isBarred'>;
  turns: Turns;
  /** Trust the X-Forwarded-For of the proxy in front. */
  isBehindProxy: boolean;
  /** Called with unexpected errors; each fails one request only. */
  onFault(fault: unknown): void;
}

export function createNodeAdapter(options: NodeAdapterOptions): NodeAdapter {
  const { handlers, callsOf, turns, isBehindProxy, onFault } = options;
  const byPath = new Map(handlers.map((handler) => [handler.requestPath, handler]));
  const drop = ({ stream }: Http2ServerRequest) => {
    // The connection of a proxy has other callers.
    if (isBehindProxy) stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    else stream.session?.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM);
  };
  return (request, response) => {
    // An error also closes the stream, which is handled below.
    request.on('error', ignore);
    response.on('error', ignore);
    const handler = byPath.get(request.url?.split('?', 1)[0] ?? '');
    const address = clientAddressOf(request, isBehindProxy);
    const isOpen = handler !== undefined && callsOf.isOpen(handler);
    // Its caller goes on though it is refused.
    const isUnwanted = () => isOpen && callsOf.isBarred(address);
    if (isUnwanted()) return drop(request);
    // A call that is cancelled in the same packet costs no more than this.
    const isTaken = turns.take(address, () => {
      if (response.stream?.destroyed ?? true) return;
      // Those before it in the same packet may have been too many.
      if (isUnwanted()) return drop(request);
      answer(handler, request, response, address).catch((fault) => {
        onFault(fault);
        response.stream?.close(constants.NGHTTP2_INTERNAL_ERROR);
      });
    });
    if (isTaken) return;
    if (isOpen) drop(request);
    // Clients may send such a call again.
    else request.stream.close(constants.NGHTTP2_REFUSED_STREAM);
  };
}

/** Answers a stream, or is false where its call is none that is answered directly. */
export type DirectAdapter = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => boolean;

export interface DirectAdapterOptions extends Pick<NodeAdapterOptions, 'turns' | 'isBehindProxy' | 'onFault'> {
  direct: Pick<Services, 'directMethods' | 'runner'>;
}

export function createDirectAdapter({ direct, turns, isBehindProxy, onFault }: DirectAdapterOptions): DirectAdapter {
  const { directMethods, runner } = direct;
  const byPath = new Map<string, DirectMethod>(
    directMethods.map((each) => [`/${each.method.parent.typeName}/${each.method.name}`, each]),
  );
  return (stream, headers) => {
    const method = byPath.get(headers[':path'] ?? '');
    if (!method || !isDirect(headers)) return false;
    // An error also closes the stream, which ends its call.
    stream.on('error', ignore);
    const { socket } = stream.session ?? {};
    const address = clientAddressOf({ headers, socket }, isBehindProxy);
    // A call that is cancelled in the same packet costs no more than this.
    const isTaken = turns.take(address, () => {
      if (stream.destroyed) return;
      answerCall({ direct: method, runner, address }, stream, headers).catch((fault) => {
        onFault(fault);
        stream.close(constants.NGHTTP2_INTERNAL_ERROR);
      });
    });
    // Clients may send such a call again.
    if (!isTaken) stream.close(constants.NGHTTP2_REFUSED_STREAM);
    return true;
  };
}

const ignore = () => {};

async function answer(
  handler: Handler | undefined,
  request: Http2ServerRequest,
  response: Http2ServerResponse,
  address: string,
): Promise<void> {
  const left = new AbortController();
  response.once('close', () => left.abort(callerLeft()));
  const universal = handler && toUniversalRequest(request, address);
  const answer = universal ? await handler({ ...universal, signal: left.signal }) : refuse(handler, request);
  await send(answer, request, response, left.signal);
}

/** Undefined if the request names no host or its path is malformed. */
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
  const pieces = request.method === 'HEAD' ? undefined : answer.body?.[Symbol.asyncIterator]();
  try {
    // The headers wait for the first piece, so that a handler can still set some.
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

/** Of an unknown method, gRPC clients get the status UNIMPLEMENTED, others a 404. */
function refuse(handler: Handler | undefined, { headers }: Http2ServerRequest): UniversalServerResponse {
  const requestId = toRequestId(headers['x-request-id']);
  const recipient = { requestId, accept: headers.accept };
  if (handler) {
    const message = 'The request must name a host, and its path must be well-formed.';
    return toPlainAnswer(new Failure('invalid_request', { message }), recipient);
  }
  const isGrpc = /^application\/grpc(\+|;|$)/.test(headers['content-type'] ?? '');
  if (!isGrpc) return toPlainAnswer(new Failure('not_found'), recipient);
  const status = toStatus(
    new Failure('method_not_allowed', { message: 'There is no such method.' }),
    'grpc',
    requestId,
  );
  const header = new Headers({ 'content-type': 'application/grpc', 'x-request-id': requestId });
  return { status: 200, header, trailer: setTrailerStatus(new Headers(), status) };
}

function writeHead(
  request: Http2ServerRequest,
  response: Http2ServerResponse,
  status: number,
  headers: Record<string, string>,
): void {
  const requestId = headers['x-request-id'] ?? toRequestId(request.headers['x-request-id']);
  response.writeHead(status, { 'x-api-version': apiVersion, ...headers, 'x-request-id': requestId });
  const { stream } = request;
  stream.once('wantTrailers', () => {
    if (!request.complete) dismissSender(stream);
  });
}

/** The response accepts bytes; its types declare only strings. */
const write = (response: Http2ServerResponse, bytes: Uint8Array): boolean =>
  (response as unknown as ServerResponse).write(bytes);

/** Resolves when there is room to write, or the caller has left. */
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
