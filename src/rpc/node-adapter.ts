// Connect's handlers on Node's HTTP servers, 1.1 and 2, in place of Connect's own adapter: that one prints twenty lines
// for each client who leaves while its answer waits to be read. Here a client who leaves makes no noise and ends the
// call; sound is produced as fast as it is read; and what is wrong with a request is answered to the one who sent it.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { constants, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import type { DescService } from '@bufbuild/protobuf';
import { Code, ConnectError, type ConnectRouter, createContextValues } from '@connectrpc/connect';
import type { UniversalServerRequest, UniversalServerResponse } from '@connectrpc/connect/protocol';
import { universalRequestFromNodeRequest } from '@connectrpc/connect-node';
import { bodyArrivalMs, deadlineMsMax } from './limits.ts';
import { readBody } from './request-body.ts';

type Request = IncomingMessage | Http2ServerRequest;
type Response = ServerResponse | Http2ServerResponse;

export interface NodeAdapter {
  (request: Request, response: Response): void;
  /** The paths that it answers: "/sonant.v1.SpeechService/StreamSpeech" and so on. */
  readonly paths: readonly string[];
}

type Handler = ConnectRouter['handlers'][number];
type Headers = UniversalServerRequest['header'];

export interface NodeAdapterOptions {
  handlers: readonly Handler[];
  requestBytesMaxOf(service: DescService): number;
  /** Hears of what should not happen; whatever it is, one request fails and no more. */
  onFault(fault: unknown): void;
}

/** What may stand beside the message: its envelope. */
const envelopeBytesMax = 1024;
const theyLeft = new ConnectError('the caller has left', Code.Canceled);

export function createNodeAdapter({ handlers, requestBytesMaxOf, onFault }: NodeAdapterOptions): NodeAdapter {
  const byPath = new Map(handlers.map((handler) => [handler.requestPath, handler]));
  const adapter = (request: Request, response: Response): void => {
    // What goes wrong with either also closes it, and is dealt with there.
    request.on('error', ignore);
    response.on('error', ignore);
    const handler = byPath.get(request.url?.split('?', 1)[0] ?? '');
    const answered = handler
      ? answer(handler, request, response, requestBytesMaxOf(handler.service) + envelopeBytesMax)
      : refuse(request, response);
    answered.catch((fault) => {
      onFault(fault);
      reset(response);
    });
  };
  return Object.assign(adapter, { paths: [...byPath.keys()] });
}

const ignore = () => {};

async function answer(handler: Handler, request: Request, response: Response, bytesMax: number): Promise<void> {
  const left = new AbortController();
  response.once('close', () => left.abort(theyLeft));
  const universal = toUniversalRequest(request, response);
  if (!universal) return end(request, response, 400, {});
  const { methodKind } = handler.method;
  const holdsOneMessage = methodKind === 'unary' || methodKind === 'server_streaming';
  const body = holdsOneMessage ? readBody(request, { bytesMax, arrivalMs: bodyArrivalMs }) : universal.body;
  shortenDeadline(universal.header);
  await send(await handler({ ...universal, body, signal: left.signal }), request, response, left.signal);
}

/** Undefined for one that names no host, or whose address is none. */
function toUniversalRequest(request: Request, response: Response): UniversalServerRequest | undefined {
  try {
    return universalRequestFromNodeRequest(request, response as ServerResponse, undefined, createContextValues());
  } catch {
    return undefined;
  }
}

async function send(
  answer: UniversalServerResponse,
  request: Request,
  response: Response,
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

async function end(
  request: Request,
  response: Response,
  status: number,
  headers: Record<string, string>,
): Promise<void> {
  writeHead(request, response, status, headers);
  response.end();
}

/** gRPC clients are told in their own terms that there is no such method. */
async function refuse(request: Request, response: Response): Promise<void> {
  const isGrpc = /^application\/grpc(\+|;|$)/.test(request.headers['content-type'] ?? '');
  if (!isGrpc || !('stream' in response)) return end(request, response, 404, {});
  writeHead(request, response, 200, { 'content-type': 'application/grpc' });
  response.addTrailers({ 'grpc-status': String(Code.Unimplemented), 'grpc-message': 'There is no such method.' });
  response.end();
}

/** Whoever is answered before having sent everything is told to stop. */
function writeHead(request: Request, response: Response, status: number, headers: Record<string, string>): void {
  if ('stream' in request) {
    (response as Http2ServerResponse).writeHead(status, headers);
    const { stream } = request;
    const stop = () => {
      if (!request.complete) stream.close(constants.NGHTTP2_NO_ERROR);
    };
    // By then the trailers, with the status in them, are on their way.
    stream.once('wantTrailers', () => setImmediate(stop));
  } else {
    (response as ServerResponse).writeHead(status, request.complete ? headers : { ...headers, connection: 'close' });
  }
}

const write = (response: Response, bytes: Uint8Array): boolean => (response as ServerResponse).write(bytes);

/** Resolves when there is room to write again, or nobody to write to. */
function drained(response: Response, left: AbortSignal): Promise<void> {
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

function reset(response: Response): void {
  if ('stream' in response) response.stream?.close(constants.NGHTTP2_INTERNAL_ERROR);
  else response.destroy();
}

/** A timer that is set to more than it can hold goes off at once. */
function shortenDeadline(headers: Headers): void {
  const millisecondsOf: Record<string, number> = { H: 3_600_000, M: 60_000, S: 1000 };
  const [, count, unit] = /^(\d{1,8})([HMS])$/.exec(headers.get('grpc-timeout') ?? '') ?? [];
  if (unit && Number(count) * millisecondsOf[unit]! > deadlineMsMax) {
    headers.set('grpc-timeout', `${Math.floor(deadlineMsMax / 1000)}S`);
  }
  const connectMs = headers.get('connect-timeout-ms');
  if (connectMs !== null && /^\d{1,10}$/.test(connectMs) && Number(connectMs) > deadlineMsMax) {
    headers.set('connect-timeout-ms', String(deadlineMsMax));
  }
}
