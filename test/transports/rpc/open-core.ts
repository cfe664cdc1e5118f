// Opens a gRPC listener for a test with the services of a gateway, and clients of it.
import type { DescService } from '@bufbuild/protobuf';
import { onTestFinished } from 'vitest';
import { openRpcServer } from '../../../src/transports/rpc/server.ts';
import type { TestGateway } from '../http/open-gateway.ts';
import { type GrpcClient, openGrpcClient } from './grpc-client.ts';

export async function openCore(
  { services }: Pick<TestGateway, 'services'>,
  onClose: (close: () => Promise<void>) => void = onTestFinished,
) {
  const server = await openRpcServer({ services, address: { host: '127.0.0.1', port: 0 }, onFault() {} });
  const target = `127.0.0.1:${server.port}`;
  const clients: Pick<GrpcClient<DescService>, 'close'>[] = [];
  onClose(async () => {
    for (const client of clients) client.close();
    await server.drain(0);
  });
  const clientOf = <S extends DescService>(service: S, options = {}): GrpcClient<S> => {
    const client = openGrpcClient(service, target, options);
    clients.push(client);
    return client;
  };
  return { target, clientOf };
}
