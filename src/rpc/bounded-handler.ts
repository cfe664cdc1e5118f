// Connect's handlers as every door mounts them: a request that holds one message is read whole, so large and in so much
// time; no deadline is longer than a timer can hold; and a client who leaves ends the call, whatever closed first.
// A door puts Node's own request into the context, since only that can be read without being closed when it is refused.
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
import { addressKey } from './call-context.ts';
import { deadlineMsMax } from './limits.ts';
import { toConnectError } from './status.ts';

export type Handler = ConnectRouter['handlers'][number];

/** What may stand beside the message: its envelope. */
const envelopeBytesMax = 1024;
const nodeRequestKey = createContextKey<NodeRequest | undefined>(undefined);

/** The context of a call that came as this request, from that address. */
export const toContextValues = (request: NodeRequest, address: string): ContextValues =>
  createContextValues().set(nodeRequestKey, request).set(addressKey, address);

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
  // A function has a name of its own, and what else a handler is goes over to the guarded one.
  return Object.assign(guarded, { ...handler });
}

/** Connect writes out what a body fails with only where it is an error of its own. */
async function* bodyOf(request: NodeRequest, limits: BodyLimits): AsyncGenerator<Uint8Array> {
  try {
    yield* readBody(request, limits);
  } catch (error) {
    throw toConnectError(toFailure(error));
  }
}

/** One for all calls saves making one at the end of each. */
const callerLeft = new ConnectError('the caller has left', Code.Canceled);

/** Whatever the reason that a connection closed, to the call it is that its caller has left. */
function toLeaving(closed: AbortSignal): AbortSignal {
  const left = new AbortController();
  const leave = () => left.abort(callerLeft);
  if (closed.aborted) leave();
  else closed.addEventListener('abort', leave, { once: true });
  return left.signal;
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
