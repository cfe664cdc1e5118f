// A call of gRPC (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md) with one message in its request, on
// Node's own HTTP/2 stream. Such calls are nearly all there are; Connect's handlers answer every other in the same way, at
// three times the cost: a dozen layers of generators around each message.
//     HEADERS   path, application/grpc+proto, x-api-key, grpc-timeout           <- request
//     DATA      1 byte flags, 4 bytes length, the message, in both directions
//     HEADERS   grpc-status, grpc-message, grpc-status-details-bin              -> trailers
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import { type DescMethod, fromBinary, type MessageInitShape } from '@bufbuild/protobuf';
import { Code, ConnectError, createContextValues, type HandlerContext } from '@connectrpc/connect';
import { setTrailerStatus } from '@connectrpc/connect/protocol-grpc';
import { toRateLimitHeaders } from '../access/rate-limit.ts';
import { type Call, callerLeft } from '../api/call.ts';
import { type Operation, operationOf } from '../api/operation.ts';
import type { Runner } from '../api/runner.ts';
import type { RunningCall } from '../api/running-call.ts';
import { Failure } from '../errors.ts';
import { pieceBytes } from '../net/json-steps.ts';
import { collectBody } from '../net/request-body.ts';
import { apiVersion, toRequestId } from '../net/request-id.ts';
import { inSteps } from '../runtime/steps.ts';
import { callKey } from './call-context.ts';
import { dismissSender } from './dismiss-sender.ts';
import { type Serialized, serialize } from './large-answers.ts';
import type { RequestLimits } from './large-requests.ts';
import { deadlineMsMax, messageBytesMax } from './limits.ts';
import { readMessage } from './message-steps.ts';
import { fromCallError, toStatus } from './run-calls.ts';
import { toTrailers } from './trailers.ts';

type Answer = MessageInitShape<DescMethod['output']>;

export interface DirectMethod {
  method: DescMethod;
  /** Of its request. */
  limits: RequestLimits;
  handle(message: unknown, context: HandlerContext): Promise<Answer> | AsyncIterable<Answer>;
}

const protocol = 'grpc';
const envelopeBytes = 5;
const slackBytes = 1024;
/** Less sound is copied behind its head, so that both are one write. */
const copiedBytesMax = 16 * 1024;
const timeoutShape = /^(\d{1,8})([HMSmun])$/;
const msOf: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 1e-3, n: 1e-6 };

/** Whether the headers are those of a call that is answered here; all others are Connect's. */
export const isDirect = (headers: IncomingHttpHeaders): boolean =>
  /^application\/grpc(\+proto)?$/i.test(headers['content-type'] ?? '') &&
  headers[':method'] === 'POST' &&
  /^[\w.:[\]-]+$/.test(headers[':authority'] ?? '') &&
  (headers['grpc-encoding'] ?? 'identity') === 'identity' &&
  headers.expect === undefined &&
  timeoutShape.test(String(headers['grpc-timeout'] ?? '1S'));

/** Resolves when it is answered, or its caller has left. */
export function answerCall(
  { direct, runner, address }: { direct: DirectMethod; runner: Runner; address: string },
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
): Promise<void> {
  return new GrpcCall(direct, stream, headers).answer(runner, address);
}

class GrpcCall {
  readonly #direct: DirectMethod;
  readonly #operation: Operation;
  readonly #stream: ServerHttp2Stream;
  readonly #headers: IncomingHttpHeaders;
  readonly #requestId: string;
  readonly #head: Record<string, string>;
  #running!: RunningCall;
  #deadline: NodeJS.Timeout | undefined;
  /** Of a call that failed after its headers were sent. */
  #trailers: Record<string, string> | undefined;
  /** Nothing more is to be written. */
  #isOver = false;

  constructor(direct: DirectMethod, stream: ServerHttp2Stream, headers: IncomingHttpHeaders) {
    this.#direct = direct;
    this.#operation = operationOf(direct.method);
    this.#stream = stream;
    this.#headers = headers;
    this.#requestId = toRequestId(headers['x-request-id']);
    this.#head = {
      'content-type': 'application/grpc+proto',
      ...(acceptsGzip(headers) && { 'grpc-encoding': 'gzip' }),
      'x-api-version': apiVersion,
      'x-request-id': this.#requestId,
    };
  }

  async answer(runner: Runner, address: string): Promise<void> {
    const { session } = this.#stream;
    this.#running = runner.begin({
      door: protocol,
      requestId: this.#requestId,
      address,
      connection: session,
      readTrace: () => {
        const { traceparent, tracestate } = this.#headers as Record<string, string | undefined>;
        return { traceparent, tracestate };
      },
      reportLimits: (status) => {
        Object.assign(this.#head, toRateLimitHeaders(status));
      },
      errors: { read: (error) => fromCallError(error, this.#direct.limits.bytesMax), write: (failure) => failure },
    });
    this.#stream.once('close', () => this.#leave());
    this.#startDeadline();
    try {
      const { 'x-api-key': key, authorization } = this.#headers as Record<string, string | undefined>;
      await this.#running.admit({ key, authorization }, this.#operation);
      if (this.#isOver) return;
      // An empty one may have ended before anybody read it.
      const limits = { ...this.#direct.limits, slackBytes };
      const body = this.#stream.readableEnded ? nothing : await collectBody(this.#stream, limits);
      if (this.#isOver) return;
      const message = await readRequest(this.#direct, body);
      if (this.#isOver) return;
      if (this.#direct.method.methodKind === 'unary') await this.#answerOnce(message);
      else await this.#answerStream(message);
    } catch (error) {
      this.#fail(error);
    }
  }

  async #answerOnce(message: unknown): Promise<void> {
    const work = (call: Call) => this.#direct.handle(message, this.#contextOf(call)) as Promise<Answer>;
    const answer = await this.#running.run(this.#operation, work);
    if (this.#isOver) return;
    const serialized = this.#serialize(answer);
    this.#begin(okTrailers);
    this.#write(serialized);
    this.#end();
  }

  async #answerStream(message: unknown): Promise<void> {
    const call = this.#running.startStream(this.#operation);
    const open = () => this.#direct.handle(message, this.#contextOf(call)) as AsyncIterable<Answer>;
    const answers = this.#running.streamFrom(open)[Symbol.asyncIterator]();
    // The headers wait for the first message, so that an earlier failure can still set some.
    for (let next = await answers.next(); !this.#isOver; next = await answers.next()) {
      if (!this.#stream.headersSent) this.#begin(okTrailers);
      if (next.done) return this.#end();
      if (!this.#write(this.#serialize(next.value))) await drained(this.#stream);
    }
  }

  #contextOf(call: Call): HandlerContext {
    const get = (name: string) => this.#headers[name] ?? null;
    const values = createContextValues().set(callKey, call);
    return { values, method: this.#direct.method, requestHeader: { get } } as unknown as HandlerContext;
  }

  #serialize(answer: Answer): Serialized {
    const serialized = serialize(this.#direct.method.output, answer);
    const length = lengthOf(serialized);
    if (length <= messageBytesMax) return serialized;
    const message = `message size ${length} is larger than configured writeMaxBytes ${messageBytesMax}`;
    throw new ConnectError(message, Code.ResourceExhausted);
  }

  /** Sends the headers of the answer; the trailers follow at its end. */
  #begin(trailers: Record<string, string>): void {
    const stream = this.#stream;
    // An Idempotency-Key is ignored: nothing is remembered under it here.
    if (trailers === okTrailers && 'idempotency-key' in this.#headers)
      this.#head['x-ignored-fields'] = 'Idempotency-Key';
    stream.respond(this.#head, { waitForTrailers: true });
    stream.once('wantTrailers', () => {
      stream.sendTrailers(this.#trailers ?? trailers);
      if (!stream.readableEnded) dismissSender(stream);
    });
  }
  /** False where the next is to wait. */
  #write(message: Serialized): boolean {
    const [first, sound] = message;
    const isWhole = sound === undefined || sound.length <= copiedBytesMax;
    const ownBytes = envelopeBytes + first.length;
    const head = Buffer.allocUnsafe(isWhole ? ownBytes + (sound?.length ?? 0) : ownBytes);
    head[0] = 0;
    head.writeUInt32BE(lengthOf(message), 1);
    head.set(first, envelopeBytes);
    if (isWhole) {
      if (sound) head.set(sound, ownBytes);
      return this.#stream.write(head);
    }
    this.#stream.cork();
    this.#stream.write(head);
    const hasRoom = this.#stream.write(sound);
    this.#stream.uncork();
    return hasRoom;
  }

  #end(): void {
    this.#isOver = true;
    clearTimeout(this.#deadline);
    this.#stream.end();
  }

  #fail(error: unknown): void {
    if (this.#isOver) return;
    // An answer that cannot be sent is none of the call's own failures.
    const isSent = this.#running.hasEnded && error instanceof ConnectError;
    const failure = this.#running.fail(error, this.#operation);
    // An answer that could not be sent: what makes the rest of it is ended too.
    this.#running.abort(failure);
    const status = isSent ? error : toStatus(failure, protocol, this.#requestId);
    const trailers = toTrailers(setTrailerStatus(new Headers(), status));
    this.#trailers = trailers;
    if (!this.#stream.destroyed && !this.#stream.headersSent) this.#begin(trailers);
    this.#end();
  }

  /** The caller is gone, if the call was not over. */
  #leave(): void {
    clearTimeout(this.#deadline);
    this.#isOver = true;
    if (this.#running.hasEnded) return;
    this.#running.abort(callerLeft);
    this.#running.fail(callerLeft, this.#operation);
  }

  #startDeadline(): void {
    const [, count, unit] = timeoutShape.exec(String(this.#headers['grpc-timeout'] ?? '')) ?? [];
    if (!unit) return;
    const end = () => {
      const failure = new Failure('engine_timeout', { message: 'The call was not done by its deadline.' });
      this.#running.abort(failure);
      this.#fail(failure);
    };
    this.#deadline = setTimeout(end, Math.min(deadlineMsMax, Number(count) * msOf[unit]!));
  }
}

const lengthOf = ([first, sound]: Serialized): number => first.length + (sound?.length ?? 0);

const nothing = Buffer.alloc(0);
const okTrailers = { 'grpc-status': '0' };

/** The encoding is named to those who accept it, though no message is compressed. */
const acceptsGzip = (headers: IncomingHttpHeaders): boolean =>
  String(headers['grpc-accept-encoding'] ?? '')
    .split(',')
    .some((name) => name.trim() === 'gzip');

/** The one message of the body. Errors are those of Connect. */
async function readRequest({ method: { input, methodKind }, limits }: DirectMethod, body: Buffer): Promise<unknown> {
  const kind = methodKind === 'unary' ? 'unary' : 'server-streaming';
  const refuse = (message: string, code: Code) => new ConnectError(message, code);
  if (body.length === 0) throw refuse(`protocol error: missing input message for ${kind} method`, Code.Unimplemented);
  const isCut = () => refuse('protocol error: incomplete envelope', Code.InvalidArgument);
  if (body.length < envelopeBytes) throw isCut();
  const length = body.readUInt32BE(1);
  const end = envelopeBytes + length;
  if (length > limits.bytesMax) throw new Failure('payload_too_large', { limit: limits.bytesMax });
  if (body.length < end) throw isCut();
  if (body[0]! & 1) throw refuse('received compressed envelope, but do not know how to decompress', Code.Internal);
  if (body.length > end)
    throw refuse(`protocol error: received extra input message for ${kind} method`, Code.Unimplemented);
  const bytes = body.subarray(envelopeBytes, end);
  return length > pieceBytes ? inSteps(readMessage(input, bytes, limits.valuesMax)) : parse(input, bytes);
}

function parse(input: DescMethod['input'], bytes: Uint8Array): unknown {
  try {
    return fromBinary(input, bytes);
  } catch (error) {
    const message = `parse binary: ${error instanceof Error ? error.message : String(error)}`;
    throw new ConnectError(message, Code.Internal);
  }
}

/** Resolves when there is room to write, or the caller has left. */
function drained(stream: ServerHttp2Stream): Promise<void> {
  if (stream.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      stream.off('drain', done).off('close', done);
      resolve();
    };
    stream.on('drain', done).on('close', done);
  });
}
