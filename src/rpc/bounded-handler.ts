// Wraps Connect's handlers with limits: the body of a request with one message is read whole, within limits of size, of time
// and of fields, and freed of unknown members of JSON; so is each message of a stream; deadlines are capped at what a timer
// can hold; a client that leaves ends the call; and a refusal that is empty gets a body. Listeners put Node's own request into
// the context, since only that can be rejected without closing its connection.
import type { DescMethod } from '@bufbuild/protobuf';
import {
  ConnectError,
  type ConnectRouter,
  type ContextValues,
  createContextKey,
  createContextValues,
} from '@connectrpc/connect';
import type { UniversalServerRequest, UniversalServerResponse } from '@connectrpc/connect/protocol';
import { Failure, toFailure } from '../errors.ts';
import { type BodyLimits, type NodeRequest, readBody } from '../net/request-body.ts';
import { toRequestId } from '../net/request-id.ts';
import { addressKey, connectionKey } from './call-context.ts';
import { callerLeft } from './caller-left.ts';
import { checkMessages, largeMessageKey, type RequestLimits, readLarge, shapeOf } from './large-requests.ts';
import { deadlineMsMax } from './limits.ts';
import { toPlainAnswer } from './plain-answer.ts';
import { toConnectError } from './status.ts';
import { ignoredMembersKey, rejectUnknown, withoutUnknown } from './unknown-members.ts';

export type Handler = ConnectRouter['handlers'][number];

/** For the envelope of the message. */
const envelopeBytesMax = 1024;
const nodeRequestKey = createContextKey<NodeRequest | undefined>(undefined);

/** The context of a call that came as this request, from that address. */
export const toContextValues = (request: NodeRequest, address: string): ContextValues =>
  createContextValues()
    .set(nodeRequestKey, request)
    .set(addressKey, address)
    .set(connectionKey, 'stream' in request ? request.stream.session : request.socket);

export interface Bounds {
  limitsOf(method: DescMethod): RequestLimits;
  /** Reject unknown members of JSON instead of ignoring and reporting them. */
  isStrict: boolean;
}

export function boundHandler(handler: Handler, { limitsOf, isStrict }: Bounds): Handler {
  const { method } = handler;
  const limits = limitsOf(method);
  const holdsOneMessage = method.methodKind === 'unary' || method.methodKind === 'server_streaming';
  const guarded = async (call: UniversalServerRequest) => {
    const request = holdsOneMessage ? call.contextValues?.get(nodeRequestKey) : undefined;
    const ignored: string[] = [];
    const contextValues = (call.contextValues ?? createContextValues()).set(ignoredMembersKey, ignored);
    const type = unquoteCharset(call.header);
    const shape = shapeOf(call.header, method, limits);
    const free = async (bytes: Uint8Array) => {
      const large = await readLarge(bytes, shape, ignored);
      contextValues.set(largeMessageKey, large.message);
      const known = withoutUnknown(large.body, type, method.input, ignored);
      if (isStrict) rejectUnknown(ignored, method.input);
      return known;
    };
    const body = request
      ? bodyOf(request, { ...limits, slackBytes: envelopeBytesMax }, free)
      : holdsOneMessage
        ? call.body
        : toReported(checkMessages(call.body as AsyncIterable<Uint8Array>, shape));
    // The library would compare it with what is left of the body; its size was checked when it was read.
    if (request) call.header.delete('content-length');
    shortenDeadline(call.header);
    const answer = await handler({ ...call, body, contextValues, signal: toLeaving(call.signal) });
    return answer.status < 400 || answer.body ? answer : fillRefusal(answer, call, handler);
  };
  // A handler is a function with properties, which are copied.
  return Object.assign(guarded, { ...handler });
}

/** Connect takes the charset of JSON only without quotes, which mean nothing. */
function unquoteCharset(headers: Headers): string {
  const type = headers.get('content-type') ?? '';
  const plain = type.replace(/;\s*charset\s*=\s*"(utf-?8)"\s*$/i, '; charset=$1');
  if (plain !== type) headers.set('content-type', plain);
  return plain;
}

/** Connect answers what is a call of no protocol with a status alone. */
function fillRefusal(
  { status, header }: UniversalServerResponse,
  call: UniversalServerRequest,
  { allowedMethods }: Handler,
): UniversalServerResponse {
  const requestId = toRequestId(call.header.get('x-request-id'));
  const recipient = { requestId, accept: call.header.get('accept') ?? undefined };
  if (status === 405) {
    const allow = allowedMethods.join(', ');
    return toPlainAnswer(new Failure('method_not_allowed'), recipient, status, { allow });
  }
  if (status === 415) return toPlainAnswer(new Failure('unsupported_media_type'), recipient, status);
  const message = 'This method streams in both directions, which needs HTTP/2.';
  return toPlainAnswer(new Failure('invalid_request', status === 505 ? { message } : {}), recipient, status, header);
}

async function* bodyOf(
  request: NodeRequest,
  limits: BodyLimits,
  free: (body: Uint8Array) => Promise<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const read = async function* () {
    for await (const bytes of readBody(request, limits)) yield await free(bytes);
  };
  yield* toReported(read());
}

/** Connect reports an error of a body only if it is a ConnectError. */
async function* toReported(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch (error) {
    throw error instanceof ConnectError ? error : toConnectError(toFailure(error));
  }
}

/** Whatever the reason for which the connection closed, the caller has left. */
function toLeaving(closed: AbortSignal): AbortSignal {
  const left = new AbortController();
  const leave = () => left.abort(callerLeft());
  if (closed.aborted) leave();
  else closed.addEventListener('abort', leave, { once: true });
  return left.signal;
}

/** A timer beyond its maximum would fire at once. */
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
