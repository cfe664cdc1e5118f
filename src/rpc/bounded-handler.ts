// Wraps Connect's handlers with limits: the body of a request with one message is read whole, within limits of size and
// time; deadlines are capped at what a timer can hold; and a client that leaves ends the call. Listeners put Node's own
// request into the context, since only that can be rejected without closing its connection.
import type { DescMethod } from '@bufbuild/protobuf';
import {
  Code,
  ConnectError,
  type ConnectRouter,
  type ContextValues,
  createContextKey,
  createContextValues,
} from '@connectrpc/connect';
import type { UniversalServerRequest } from '@connectrpc/connect/protocol';
import { toFailure } from '../errors.ts';
import { type BodyLimits, type NodeRequest, readBody } from '../net/request-body.ts';
import { addressKey, connectionKey } from './call-context.ts';
import { deadlineMsMax } from './limits.ts';
import { toConnectError } from './status.ts';

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

export function boundHandler(handler: Handler, limitsOf: (method: DescMethod) => BodyLimits): Handler {
  const limits = { ...limitsOf(handler.method), slackBytes: envelopeBytesMax };
  const { methodKind } = handler.method;
  const holdsOneMessage = methodKind === 'unary' || methodKind === 'server_streaming';
  const guarded = (call: UniversalServerRequest) => {
    const request = holdsOneMessage ? call.contextValues?.get(nodeRequestKey) : undefined;
    const body = request ? bodyOf(request, limits) : call.body;
    shortenDeadline(call.header);
    return handler({ ...call, body, signal: toLeaving(call.signal) });
  };
  // A handler is a function with properties, which are copied.
  return Object.assign(guarded, { ...handler });
}

/** Connect reports an error of a body only if it is a ConnectError. */
async function* bodyOf(request: NodeRequest, limits: BodyLimits): AsyncGenerator<Uint8Array> {
  try {
    yield* readBody(request, limits);
  } catch (error) {
    throw toConnectError(toFailure(error));
  }
}

/** Shared by all calls, since every call would create one at its end. */
const callerLeft = new ConnectError('the caller has left', Code.Canceled);

/** Whatever the reason for which the connection closed, the caller has left. */
function toLeaving(closed: AbortSignal): AbortSignal {
  const left = new AbortController();
  const leave = () => left.abort(callerLeft);
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
