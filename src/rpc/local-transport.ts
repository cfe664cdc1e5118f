// A Connect transport into this very process: the gateway's way to the services. A call passes the same gate, the same
// interceptors and the same code as one from the wire, its context values go with it, and no message is serialized.
// Whoever stops reading a stream must abort the call's signal, as with any Connect client.
import {
  create,
  type DescMessage,
  type DescMethod,
  type MessageInitShape,
  type MessageShape,
} from '@bufbuild/protobuf';
import {
  Code,
  ConnectError,
  type ContextValues,
  createHandlerContext,
  createServiceImplSpec,
  type HandlerContext,
  type Interceptor,
  type MethodImplSpec,
  type StreamRequest,
  type StreamResponse,
  type Transport,
  type UnaryRequest,
} from '@connectrpc/connect';
import type { Gate } from './gate.ts';
import { deadlineMsMax } from './limits.ts';
import type { ServedService } from './served-service.ts';

/** What every call passes, on the wire as here: the gate, then the interceptors, the first of them outermost. */
export interface Line {
  gate: Gate;
  interceptors: Interceptor[];
  shutdownSignal: AbortSignal;
}

type Call = Parameters<Interceptor>[0];

/** Why the signal of a call that is done is aborted; a reason of its own saves making one for each. */
const over = new ConnectError('the call is over', Code.Canceled);

export function createLocalTransport(services: readonly ServedService[], line: Line): Transport {
  const specs = new Map<DescMethod, MethodImplSpec>(
    services
      .map(({ service, implementation }) => createServiceImplSpec(service, implementation))
      .flatMap((spec) => Object.values(spec.methods))
      .map((spec) => [spec.method, spec]),
  );
  const pass = (call: Call): Call => line.interceptors.reduceRight((next, interceptor) => interceptor(next), call);

  const unary: Transport['unary'] = async (method, signal, timeoutMs, header, input, values) => {
    const spec = specs.get(method);
    if (spec?.kind !== 'unary') throw unimplemented(method);
    const context = createContext({ method, signal, timeoutMs, header, values, line });
    try {
      await line.gate(context);
      const call = pass(async (request) => {
        const output = await spec.impl((request as UnaryRequest).message, contextOf(context, request));
        return { ...replyOf(context), stream: false, method, message: create(spec.method.output, output) };
      });
      const message = create(method.input, input);
      return (await call({ ...requestOf(context), stream: false, method, message })) as never;
    } finally {
      context.abort(over);
    }
  };

  const stream: Transport['stream'] = async (method, signal, timeoutMs, header, input, values) => {
    const spec = specs.get(method);
    if (spec?.kind !== 'server_streaming' && spec?.kind !== 'bidi_streaming') throw unimplemented(method);
    const context = createContext({ method, signal, timeoutMs, header, values, line });
    try {
      await line.gate(context);
      const call = pass(async (request) => {
        const messages = (request as StreamRequest).message;
        const handlerContext = contextOf(context, request);
        const outputs =
          spec.kind === 'bidi_streaming'
            ? spec.impl(messages, handlerContext)
            : spec.impl(await first(messages), handlerContext);
        return { ...replyOf(context), stream: true, method, message: created(spec.method.output, outputs) };
      });
      const message = created(method.input, input);
      const response = (await call({ ...requestOf(context), stream: true, method, message })) as StreamResponse;
      return { ...response, message: untilOver(response.message, () => context.abort(over)) } as never;
    } catch (error) {
      context.abort(over);
      throw error;
    }
  };

  return { unary, stream };
}

interface Begin {
  method: DescMethod;
  signal: AbortSignal | undefined;
  timeoutMs: number | undefined;
  header: ConstructorParameters<typeof Headers>[0];
  values: ContextValues | undefined;
  line: Line;
}

const createContext = ({ method, signal, timeoutMs, header, values, line }: Begin) =>
  createHandlerContext({
    service: method.parent,
    method,
    protocolName: 'local',
    requestMethod: 'POST',
    url: `local:/${method.parent.typeName}/${method.name}`,
    shutdownSignal: line.shutdownSignal,
    ...(signal && { requestSignal: signal }),
    ...(timeoutMs !== undefined && { timeoutMs: Math.min(timeoutMs, deadlineMsMax) }),
    ...(header && { requestHeader: header }),
    ...(values && { contextValues: values }),
  });

const unimplemented = ({ parent, name }: DescMethod) =>
  new ConnectError(`${parent.typeName}/${name} is not served here`, Code.Unimplemented);

const requestOf = ({ service, requestMethod, url, signal, requestHeader: header, values }: HandlerContext) => ({
  service,
  requestMethod,
  url,
  signal,
  header,
  contextValues: values,
});

const replyOf = ({ service, responseHeader: header, responseTrailer: trailer }: HandlerContext) => ({
  service,
  header,
  trailer,
});

/** The context as the interceptors have left it. */
const contextOf = (context: HandlerContext, { header, signal, contextValues }: UnaryRequest | StreamRequest) => ({
  ...context,
  requestHeader: header,
  signal,
  values: contextValues,
});

async function first<T>(messages: AsyncIterable<T>): Promise<T> {
  for await (const message of messages) return message;
  throw new ConnectError('there is no request message', Code.Unimplemented);
}

async function* created<D extends DescMessage>(
  schema: D,
  messages: AsyncIterable<MessageInitShape<D>>,
): AsyncGenerator<MessageShape<D>> {
  for await (const message of messages) yield create(schema, message);
}

async function* untilOver<T>(messages: AsyncIterable<T>, end: () => void): AsyncGenerator<T> {
  try {
    yield* messages;
  } finally {
    end();
  }
}
