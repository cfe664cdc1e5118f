// Calls the services in gen/ with @grpc/grpc-js, which shares no code with the server.
import {
  create,
  type DescMessage,
  type DescService,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import { anyUnpack } from '@bufbuild/protobuf/wkt';
import grpc from '@grpc/grpc-js';
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from '../../../gen/google/rpc/error_details_pb.ts';
import { StatusSchema } from '../../../gen/google/rpc/status_pb.ts';

type Methods<S extends DescService> = S['method'];
type Input<S extends DescService, M extends keyof Methods<S>> = MessageInitShape<Methods<S>[M]['input']>;
type Output<S extends DescService, M extends keyof Methods<S>> = MessageShape<Methods<S>[M]['output']>;

export interface GrpcCall {
  metadata?: Record<string, string>;
  timeoutMs?: number;
}

export interface GrpcClient<S extends DescService> {
  unary<M extends keyof Methods<S>>(method: M, input: Input<S, M>, call?: GrpcCall): Promise<Output<S, M>>;
  stream<M extends keyof Methods<S>>(
    method: M,
    input: Input<S, M>,
    call?: GrpcCall,
  ): grpc.ClientReadableStream<Output<S, M>>;
  bidi<M extends keyof Methods<S>>(method: M, call?: GrpcCall): grpc.ClientDuplexStream<Input<S, M>, Output<S, M>>;
  close(): void;
}

export function openGrpcClient<S extends DescService>(
  service: S,
  target: string,
  {
    credentials = grpc.credentials.createInsecure(),
    ...options
  }: grpc.ClientOptions & { credentials?: grpc.ChannelCredentials } = {},
): GrpcClient<S> {
  const client = new grpc.Client(target, credentials, options);
  const prepare = (name: keyof Methods<S>, { metadata = {}, timeoutMs }: GrpcCall = {}) => {
    const method = service.method[name as string]!;
    const path = `/${service.typeName}/${method.name}`;
    const sent = new grpc.Metadata();
    for (const [key, value] of Object.entries(metadata)) sent.set(key, value);
    const write = (input: unknown) =>
      Buffer.from(toBinary(method.input, create(method.input, input as MessageInitShape<DescMessage>)));
    const read = (bytes: Buffer) => fromBinary(method.output, bytes);
    const options: grpc.CallOptions = timeoutMs === undefined ? {} : { deadline: Date.now() + timeoutMs };
    return { path, write, read, sent, options };
  };
  return {
    unary(name, input, call) {
      const { path, write, read, sent, options } = prepare(name, call);
      return new Promise((resolve, reject) => {
        client.makeUnaryRequest(path, write, read, input, sent, options, (error, output) =>
          error ? reject(error) : resolve(output as never),
        );
      });
    },
    stream(name, input, call) {
      const { path, write, read, sent, options } = prepare(name, call);
      return client.makeServerStreamRequest(path, write, read, input, sent, options) as never;
    },
    bidi(name, call) {
      const { path, write, read, sent, options } = prepare(name, call);
      return client.makeBidiStreamRequest(path, write, read, sent, options) as never;
    },
    close: () => client.close(),
  };
}

/** The details of a failed call, as any gRPC client can read them. */
export function explain(error: unknown) {
  const { code, details: message, metadata } = error as grpc.ServiceError;
  const [bytes] = metadata.get('grpc-status-details-bin');
  const details = bytes ? fromBinary(StatusSchema, bytes as Buffer).details : [];
  const find = <D extends DescMessage>(schema: D) => details.map((any) => anyUnpack(any, schema)).find(Boolean);
  return {
    code: grpc.status[code],
    message,
    info: find(ErrorInfoSchema),
    violations: find(BadRequestSchema)?.fieldViolations.map(({ field, reason, description }) => ({
      field,
      reason,
      description,
    })),
    retry: find(RetryInfoSchema)?.retryDelay,
    metadata: metadata.getMap(),
  };
}

/** The failure of a call that must fail. */
export const failureOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => {
      throw new Error('the call has not failed');
    },
    (error: unknown) => error,
  );
