// Sees every call from its headers to its last message, refused and unreadable ones included: gives it an id, ends it
// exactly once, with one EndedCall for the log and the metrics, and turns whatever was thrown into a status. A caller
// who left has cancelled, which is no failure; what is no Failure is `internal_error`, its cause kept for the log.
import {
  Code,
  ConnectError,
  type ContextKey,
  createContextKey,
  type HandlerContext,
  type Interceptor,
} from '@connectrpc/connect';
import { Failure, failureTable, toFailure } from '../errors.ts';
import { requestBytesMax } from '../net/limits.ts';
import { apiVersion, toRequestId } from '../net/request-id.ts';
import { admittedKey, doorKey } from './call.ts';
import type { Gate } from './gate.ts';
import { toConnectError, toStatusName } from './status.ts';

export interface EndedCall {
  requestId: string;
  /** Such as "sonant.v1.SpeechService/StreamSpeech". */
  method: string;
  /** Such as "grpc", "connect", "rest". */
  door: string;
  callerId: string | undefined;
  /** The name of the gRPC status: "OK", "CANCELLED" where the caller left, or that of the failure. */
  status: string;
  /** Its cause belongs into the log, and nowhere else. */
  failure: Failure | undefined;
  durationMs: number;
  messageCount: number;
}

/** Must not throw. */
export type OnCallEnd = (call: EndedCall) => void;

const requestIdHeader = 'x-request-id';

const callKey: ContextKey<Call | undefined> = createContextKey(undefined, { description: 'call' });

export interface Observe {
  /** The gate, and with it the beginning of the call. */
  watchGate(gate: Gate): Gate;
  /** Must be the outermost. */
  interceptor: Interceptor;
}

export function createObserve(onCallEnd: OnCallEnd): Observe {
  const watchGate =
    (gate: Gate): Gate =>
    async (context) => {
      const call = new Call(context, onCallEnd);
      context.values.set(callKey, call);
      try {
        await gate(context);
      } catch (error) {
        throw call.fail(error);
      }
    };

  const interceptor: Interceptor = (next) => async (request) => {
    const call = request.contextValues.get(callKey)!;
    try {
      const response = await next(request);
      if (response.stream) return { ...response, message: call.watch(response.message) };
      call.messageCount = 1;
      call.end({ status: 'OK' });
      return response;
    } catch (error) {
      throw call.fail(error);
    }
  };
  return { watchGate, interceptor };
}

/** How a call has ended, and what its caller is told where that is no failure of ours. */
type Ending = { status: string } & ({ failure: Failure } | { failure?: never; error: ConnectError });

class Call {
  readonly #context: HandlerContext;
  readonly #onCallEnd: OnCallEnd;
  readonly #requestId: string;
  readonly #begunMs = performance.now();
  #ended = false;
  messageCount = 0;

  constructor(context: HandlerContext, onCallEnd: OnCallEnd) {
    this.#context = context;
    this.#onCallEnd = onCallEnd;
    this.#requestId = toRequestId(context.requestHeader.get(requestIdHeader));
    context.responseHeader.set(requestIdHeader, this.#requestId);
    context.responseHeader.set('x-api-version', apiVersion);
    context.signal.addEventListener('abort', () => this.#abort(context.signal.reason), { once: true });
  }

  end({ status, failure }: { status: string; failure?: Failure }): void {
    if (this.#ended) return;
    this.#ended = true;
    const { method, values, protocolName } = this.#context;
    this.#onCallEnd({
      requestId: this.#requestId,
      method: `${method.parent.typeName}/${method.name}`,
      door: values.get(doorKey) ?? protocolName,
      callerId: values.get(admittedKey)?.caller.callerId,
      status,
      failure,
      durationMs: performance.now() - this.#begunMs,
      messageCount: this.messageCount,
    });
  }

  /** Ends the call, and answers what its caller is to be told. */
  fail(error: unknown): ConnectError {
    const { signal, protocolName } = this.#context;
    const ending = signal.aborted ? endingOfAbort(signal.reason) : endingOf(error);
    this.end(ending);
    const told = ending.failure ? toConnectError(ending.failure) : ending.error;
    // Clients of gRPC see the trailers of a call that failed; elsewhere the id is in the headers.
    if (protocolName.startsWith('grpc')) told.metadata.set(requestIdHeader, this.#requestId);
    return told;
  }

  async *watch<T>(messages: AsyncIterable<T>): AsyncGenerator<T> {
    try {
      for await (const message of messages) {
        this.messageCount++;
        yield message;
      }
      this.end({ status: 'OK' });
    } catch (error) {
      throw this.fail(error);
    } finally {
      if (!this.#ended) this.end(cancelled());
    }
  }

  /**
   * The caller left, time is up, or the service stops; or the request could not be read: such an error reaches no
   * interceptor, but Connect aborts the context with it before writing it out. So it is made one of ours here, in place.
   */
  #abort(reason: unknown): void {
    if (this.#ended) return;
    const told = this.fail(reason);
    if (!(reason instanceof ConnectError) || told.code === Code.Canceled) return;
    const { code, rawMessage, message, details, cause } = told;
    Object.assign(reason, { code, rawMessage, message, details, cause });
    for (const [name, value] of told.metadata) reason.metadata.set(name, value);
  }
}

const cancelled = (): Ending => ({
  status: 'CANCELLED',
  error: new ConnectError('the caller has left', Code.Canceled),
});

/** Connect and doors in this process abort with a ConnectError where it is not the caller who left. */
const endingOfAbort = (reason: unknown): Ending =>
  reason instanceof ConnectError || reason instanceof Failure ? endingOf(reason) : cancelled();

/** How Connect begins to say that it cannot read a request, though it calls the fault internal. */
const theirFault = /^(parse |received |decompression )/;

const unreadable = (error: ConnectError) => new Failure('invalid_request', { message: error.rawMessage }, error);

function endingOf(error: unknown): Ending {
  if (!(error instanceof ConnectError)) return endingOfFailure(toFailure(error));
  if (error.cause instanceof Failure) return endingOfFailure(error.cause);
  switch (error.code) {
    case Code.Canceled:
      return cancelled();
    case Code.ResourceExhausted:
      return endingOfFailure(new Failure('payload_too_large', { limit: requestBytesMax }, error));
    case Code.DeadlineExceeded:
      return endingOfFailure(
        new Failure('engine_timeout', { message: 'The call was not done by its deadline.' }, error),
      );
    case Code.InvalidArgument:
      return endingOfFailure(unreadable(error));
    case Code.Internal:
      return endingOfFailure(theirFault.test(error.rawMessage) ? unreadable(error) : toFailure(error));
    default:
      return { status: toStatusName(error.code), error };
  }
}

const endingOfFailure = (failure: Failure): Ending => ({ status: failureTable[failure.reason].code, failure });
