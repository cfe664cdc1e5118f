// Runs every RPC through the runner of operations, including rejected and malformed RPCs. The gate admits a call before
// a byte of its body is read, and the interceptor runs the call. Failures become statuses here, and Connect errors
// become failures.
import type { DescMessage, DescMethod, DescService, Message } from '@bufbuild/protobuf';
import {
  Code,
  ConnectError,
  type ContextKey,
  createContextKey,
  type HandlerContext,
  type Interceptor,
  type ServiceImpl,
} from '@connectrpc/connect';
import { type Api, type Call, callerLeft, type Runner, type RunningCall } from '../../api.ts';
import { nameUnknown, type UnknownField, unknownFieldsMax } from '../../contract.ts';
import { Failure, shorten, toFailure } from '../../platform/errors.ts';
import { mapped } from '../../platform/runtime/mapped.ts';
import { apiVersion, headerText, toRateLimitHeaders, toRequestId } from '../net/headers.ts';
import { setOwner } from '../net/request-body.ts';
import { addressKey, connectionKey, ignoredMembersKey, limitsOf, nodeRequestKey, openServices } from './bodies.ts';
import { reasonOfCode, toConnectError } from './status.ts';

const apiKeyHeader = 'x-api-key';
const requestIdHeader = 'x-request-id';
/** Maximum size of a response message: the default limit of common gRPC clients. */
export const messageBytesMax = 4 << 20;

const runningCallKey: ContextKey<RunningCall | undefined> = createContextKey(undefined, {
  description: 'running call',
});
export const callKey: ContextKey<Call | undefined> = createContextKey(undefined, { description: 'call' });

export function callOf({ values, method }: Pick<HandlerContext, 'values' | 'method'>): Call {
  const call = values.get(callKey);
  if (!call) throw new Error(`${method.name} was called past the runner`);
  return call;
}

export interface ServedService {
  service: DescService;
  implementation: Partial<ServiceImpl<DescService>>;
}

export const serve = <S extends DescService>(service: S, implementation: ServiceImpl<S>): ServedService => ({
  service,
  implementation: implementation as ServedService['implementation'],
});

/** Serves a service with the same handlers as the REST API. */
export function serveHandlers(service: DescService, callRpc: Api['callRpc']): ServedService {
  const implementation = Object.fromEntries(
    service.methods.map((method: DescMethod) => {
      const serveCall = (message: Message, context: HandlerContext) =>
        callRpc(method, message, callOf(context), receivedOf(message));
      const serveStream = (...asked: Parameters<typeof serveCall>) =>
        mapped<Message, Message>(() => serveCall(...asked), { convert: (answer) => answer });
      return [method.localName, method.methodKind === 'server_streaming' ? serveStream : serveCall];
    }),
  );
  return { service, implementation: implementation as unknown as ServedService['implementation'] };
}

const receivedOf = (message: Message) => ({
  mask: (message as Message & { updateMask?: { paths: string[] } }).updateMask?.paths,
});

export function createCallRunner(runner: Runner) {
  const gate = async (context: HandlerContext) => {
    const { method, values, requestHeader, responseHeader, protocolName, signal } = context;
    const requestId = toRequestId(requestHeader.get(requestIdHeader));
    responseHeader.set(requestIdHeader, requestId);
    responseHeader.set('x-api-version', apiVersion);
    const write = (failure: Failure | typeof callerLeft) =>
      toStatus(failure instanceof Failure ? withField(failure, method.input) : failure, protocolName, requestId);
    const read = (error: unknown) => fromCallError(error, limitsOf(method).bytesMax);
    const running = runner.begin({
      api: protocolName,
      requestId,
      address: values.get(addressKey),
      connection: values.get(connectionKey),
      deadlineMs: toDeadline(context.timeoutMs()),
      readTrace: () => ({
        traceparent: requestHeader.get('traceparent') ?? undefined,
        tracestate: requestHeader.get('tracestate') ?? undefined,
      }),
      reportLimits(status) {
        for (const [name, value] of Object.entries(toRateLimitHeaders(status))) responseHeader.set(name, value);
      },
      errors: { read, write },
    });
    values.set(runningCallKey, running);
    signal.addEventListener('abort', () => abort(running, method, signal.reason, { read, write }), { once: true });
    const refuse = (error: unknown) => {
      throw write(running.fail(error, method));
    };
    if (openServices.includes(method.parent)) {
      try {
        return running.admitAnyone(method);
      } catch (error) {
        return refuse(error);
      }
    }
    const key = requestHeader.get(apiKeyHeader) ?? undefined;
    const authorization = requestHeader.get('authorization') ?? undefined;
    await running.admit({ key, authorization }, method).catch(refuse);
    setOwner(values.get(nodeRequestKey), running.caller.accountId);
  };

  const interceptor: Interceptor = (proceed) => async (request) => {
    const { contextValues, method } = request;
    const running = contextValues.get(runningCallKey)!;
    const ignored = contextValues.get(ignoredMembersKey);
    const answer = async (call: Call) => {
      contextValues.set(callKey, call);
      const next = proceed({ ...request, signal: call.signal });
      const response = await next.catch((error: unknown) => {
        throw nameUnknown(error, ignored);
      });
      reportIgnored(request, response, ignored);
      return response;
    };
    if (!request.stream) return running.run(method, answer);
    try {
      const response = await answer(running.startStream(method));
      if (!response.stream) return response;
      return { ...response, message: running.streamFrom(() => checkAnswers(response.message, ignored)) };
    } catch (error) {
      throw running.thrown(error);
    }
  };
  return {
    gate,
    /** Must be the outermost interceptor. */
    interceptor,
  };
}

/**
 * Passes on the responses of a stream, and adds the ignored members to its failure. Connect also refuses a response
 * above `writeMaxBytes`, but only after it has returned from the stream as if the client had disconnected. With this
 * function, the call ends with the failure.
 */
function checkAnswers(answers: AsyncIterable<Message>, ignored: readonly UnknownField[]): AsyncIterable<Message> {
  const check = (answer: Message): Message => {
    if (leastBytesOf(answer) > messageBytesMax) throw new Failure('payload_too_large', { limit: messageBytesMax });
    return answer;
  };
  return mapped(() => answers, { convert: check, toThrown: (error) => nameUnknown(error, ignored) });
}

const leastBytesOf = (value: unknown): number => {
  if (typeof value === 'string' || value instanceof Uint8Array) return value.length;
  if (typeof value !== 'object' || value === null) return 0;
  return Object.values(value).reduce((sum: number, member) => sum + leastBytesOf(member), 0);
};

const toDeadline = (leftMs: number | undefined) => (leftMs === undefined ? undefined : performance.now() + leftMs);

/** Sets a response header that lists ignored members and Idempotency-Key, which gRPC and Connect do not support. */
function reportIgnored(
  { header }: { header: Headers },
  answer: { header: Headers },
  ignored: readonly UnknownField[],
): void {
  const names = [...ignored.map(({ name }) => name), ...(header.has('idempotency-key') ? ['Idempotency-Key'] : [])];
  if (names.length > 0)
    answer.header.set('x-ignored-fields', names.slice(0, unknownFieldsMax).map(headerText).join(', '));
}

/**
 * Ends a call when the client has disconnected, its deadline has passed, or the request is malformed. Such an error
 * reaches no interceptor. Connect aborts the context with the error object before sending the error, so this function
 * writes Sonant's status into the object.
 */
function abort(
  running: RunningCall,
  method: DescMethod,
  reason: unknown,
  { read, write }: { read(error: unknown): unknown; write(failure: Failure | typeof callerLeft): ConnectError },
): void {
  if (running.hasEnded) return;
  // Connect aborts with its own error unless the client disconnected.
  const isOwn = reason instanceof ConnectError || reason instanceof Failure;
  const error = isOwn ? read(reason) : callerLeft;
  running.abort(error === callerLeft ? callerLeft : toFailure(error));
  const status = write(running.fail(error, method));
  if (!(reason instanceof ConnectError) || status.code === Code.Canceled) return;
  const { code, rawMessage, message, details, cause } = status;
  Object.assign(reason, { code, rawMessage, message, details, cause });
  for (const [name, value] of status.metadata) reason.metadata.set(name, value);
}

/** A failure about a resource also names the field with its id. */
function withField(failure: Failure, { fields }: DescMessage): Failure {
  const { reason, facts, message, cause } = failure;
  const name = { voice_not_found: /^voice_id$/, voice_not_ready: /^voice_id$/, not_found: /^(\w+_id|name)$/ };
  const pattern = name[reason as keyof typeof name];
  const field = facts.details ? undefined : fields.find((each) => pattern?.test(each.name));
  if (!field) return failure;
  return new Failure(reason, { ...facts, details: [{ field: field.name, reason, message }] }, cause);
}

/** The status that answers a failed call. */
export function toStatus(failure: Failure | typeof callerLeft, protocolName: string, requestId: string): ConnectError {
  const status = failure instanceof Failure ? toOwnStatus(failure) : new ConnectError(failure.message, Code.Canceled);
  // gRPC clients read the trailers of a failed call; other protocols have the id in the headers.
  if (protocolName.startsWith('grpc')) status.metadata.set(requestIdHeader, requestId);
  return status;
}

/** A Connect error without an equivalent Failure is thrown unchanged. */
const toOwnStatus = (failure: Failure): ConnectError =>
  failure.cause instanceof ConnectError && !ownCodes.has(failure.cause.code) ? failure.cause : toConnectError(failure);

/** Codes of the Connect errors that become a Failure. */
const ownCodes = new Set([
  Code.Canceled,
  Code.ResourceExhausted,
  Code.DeadlineExceeded,
  Code.InvalidArgument,
  Code.Internal,
]);

/** Connect's messages for malformed requests, which it reports as internal errors. */
const malformedRequest = /^(parse |received |decompression )/;

/**
 * The Failure for a Connect error, or `callerLeft`; other errors are returned unchanged. `bytesMax` is the size limit
 * of the request.
 */
function fromCallError(error: unknown, bytesMax: number): unknown {
  if (!(error instanceof ConnectError)) return error;
  if (error.cause instanceof Failure) return error.cause;
  switch (error.code) {
    case Code.Canceled:
      return callerLeft;
    case Code.ResourceExhausted:
      return new Failure('payload_too_large', { limit: bytesMax }, error);
    case Code.DeadlineExceeded:
      return new Failure('engine_timeout', { message: 'The call did not finish before its deadline.' }, error);
    case Code.InvalidArgument:
      return unreadable(error);
    case Code.Internal:
      return malformedRequest.test(error.rawMessage) ? unreadable(error) : error;
    default:
      return toLibraryFailure(error);
  }
}

/** The Failure for the log; the client receives Connect's own error. */
function toLibraryFailure(error: ConnectError): Failure {
  const reason = reasonOfCode[error.code] ?? 'internal_error';
  return new Failure(reason, reason === 'internal_error' ? {} : { message: error.rawMessage }, error);
}

/** Connect's messages end with the invalid input. */
const unreadable = (error: ConnectError) => {
  const { rawMessage } = error;
  return new Failure('invalid_request', { message: shorten(rawMessage, rawMessage.indexOf(':') + 100) }, error);
};
