// A server of grpc-js in front of the very handlers of the service: calls are admitted, run, limited and metered as they are
// there, so that what differs is the transport alone.
import { once } from 'node:events';
import { create, type DescMessage, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { createContextValues, type HandlerContext } from '@connectrpc/connect';
import grpc from '@grpc/grpc-js';
import type { Call } from '../../src/api/call.ts';
import { operationOf } from '../../src/api/operation.ts';
import { callKey } from '../../src/rpc/call-context.ts';
import type { DirectMethod } from '../../src/rpc/grpc-call.ts';
import type { Services } from '../../src/rpc/services.ts';
import { createId } from '../../src/runtime/id.ts';

type Serving = Pick<Services, 'directMethods' | 'runner'>;
type Shape = MessageInitShape<DescMessage>;

export function openSameHandler({ directMethods, runner }: Serving): Promise<number> {
  const server = new grpc.Server();
  for (const direct of directMethods) {
    const { method } = direct;
    const handle = method.methodKind === 'unary' ? toUnary(direct, runner) : toStream(direct, runner);
    server.addService(definitionOf(direct), { [method.name]: handle as grpc.UntypedHandleCall });
  }
  const bind = Promise.withResolvers<number>();
  server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (error, port) =>
    error ? bind.reject(error) : bind.resolve(port),
  );
  return bind.promise;
}

const begin = async ({ method }: DirectMethod, runner: Serving['runner'], metadata: grpc.Metadata) => {
  const reportLimits = () => {};
  const running = runner.begin({ door: 'grpc', requestId: createId('req'), address: '127.0.0.1', reportLimits });
  await running.admit({ key: metadata.get('x-api-key')[0]?.toString() }, operationOf(method));
  return running;
};

const contextOf = ({ method }: DirectMethod, call: Call, metadata: grpc.Metadata): HandlerContext => {
  const requestHeader = { get: (name: string) => metadata.get(name)[0] ?? null };
  return { method, values: createContextValues().set(callKey, call), requestHeader } as unknown as HandlerContext;
};

const toUnary =
  (direct: DirectMethod, runner: Serving['runner']) =>
  async ({ request, metadata }: grpc.ServerUnaryCall<Shape, Shape>, callback: grpc.sendUnaryData<Shape>) => {
    const running = await begin(direct, runner, metadata);
    const work = (call: Call) => direct.handle(request, contextOf(direct, call, metadata)) as Promise<Shape>;
    callback(null, await running.run(operationOf(direct.method), work));
  };

const toStream =
  (direct: DirectMethod, runner: Serving['runner']) => async (stream: grpc.ServerWritableStream<Shape, Shape>) => {
    const { request, metadata } = stream;
    const running = await begin(direct, runner, metadata);
    const call = running.startStream(operationOf(direct.method));
    const open = () => direct.handle(request, contextOf(direct, call, metadata)) as AsyncIterable<Shape>;
    for await (const message of running.streamFrom(open)) if (!stream.write(message)) await once(stream, 'drain');
    stream.end();
  };

const definitionOf = ({
  method: { name, parent, input, output, methodKind },
}: DirectMethod): grpc.ServiceDefinition => ({
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
