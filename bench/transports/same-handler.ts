// Opens a grpc-js server in front of the service's own handlers. Calls are admitted, run, limited and metered as in the
// service, so only the transport differs.
import { once } from 'node:events';
import {
  create,
  type DescMessage,
  type DescMethod,
  fromBinary,
  type MessageInitShape,
  toBinary,
} from '@bufbuild/protobuf';
import { createContextValues, type HandlerContext } from '@connectrpc/connect';
import grpc from '@grpc/grpc-js';
import type { Call } from '../../src/api/call.ts';
import type { Runner } from '../../src/api/runner.ts';
import { createId } from '../../src/platform/runtime/id.ts';
import { callKey, type ServedService } from '../../src/transports/rpc/calls.ts';

interface Serving {
  runner: Runner;
  served: readonly ServedService[];
}

interface ServedMethod {
  method: DescMethod;
  handle(message: unknown, context: HandlerContext): Promise<Shape> | AsyncIterable<Shape>;
}
type Shape = MessageInitShape<DescMessage>;

export function openSameHandler({ runner, served }: Serving): Promise<number> {
  const server = new grpc.Server();
  const methods = served.flatMap(({ service, implementation }) =>
    service.methods
      .filter(({ methodKind }) => methodKind === 'unary' || methodKind === 'server_streaming')
      .map((method) => ({ method, handle: implementation[method.localName] as unknown as ServedMethod['handle'] })),
  );
  for (const called of methods) {
    const { method } = called;
    const handle = method.methodKind === 'unary' ? toUnary(called, runner) : toStream(called, runner);
    server.addService(definitionOf(called), { [method.name]: handle as grpc.UntypedHandleCall });
  }
  const bind = Promise.withResolvers<number>();
  server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (error, port) =>
    error ? bind.reject(error) : bind.resolve(port),
  );
  return bind.promise;
}

const begin = async ({ method }: ServedMethod, runner: Serving['runner'], metadata: grpc.Metadata) => {
  const reportLimits = () => {};
  const running = runner.begin({ api: 'grpc', requestId: createId('req'), address: '127.0.0.1', reportLimits });
  await running.admit({ key: metadata.get('x-api-key')[0]?.toString() }, method);
  return running;
};

const contextOf = ({ method }: ServedMethod, call: Call, metadata: grpc.Metadata): HandlerContext => {
  const requestHeader = { get: (name: string) => metadata.get(name)[0] ?? null };
  const values = createContextValues().set(callKey, call);
  return { method, values, requestHeader, responseHeader: new Headers() } as unknown as HandlerContext;
};

const toUnary =
  (called: ServedMethod, runner: Serving['runner']) =>
  async ({ request, metadata }: grpc.ServerUnaryCall<Shape, Shape>, callback: grpc.sendUnaryData<Shape>) => {
    const running = await begin(called, runner, metadata);
    const work = (call: Call) => called.handle(request, contextOf(called, call, metadata)) as Promise<Shape>;
    callback(null, await running.run(called.method, work));
  };

const toStream =
  (called: ServedMethod, runner: Serving['runner']) => async (stream: grpc.ServerWritableStream<Shape, Shape>) => {
    const { request, metadata } = stream;
    const running = await begin(called, runner, metadata);
    const call = running.startStream(called.method);
    const open = () => called.handle(request, contextOf(called, call, metadata)) as AsyncIterable<Shape>;
    for await (const message of running.streamFrom(open)) if (!stream.write(message)) await once(stream, 'drain');
    stream.end();
  };

const definitionOf = ({
  method: { name, parent, input, output, methodKind },
}: ServedMethod): grpc.ServiceDefinition => ({
  [name]: {
    path: `/${parent.typeName}/${name}`,
    requestStream: false,
    responseStream: methodKind === 'server_streaming',
    requestSerialize: (message: Shape) => Buffer.from(toBinary(input, create(input, message))),
    requestDeserialize: (bytes: Buffer) => fromBinary(input, bytes),
    responseSerialize: (message: Shape) => Buffer.from(toBinary(output, create(output, message))),
    responseDeserialize: (bytes: Buffer) => fromBinary(output, bytes),
  },
});
