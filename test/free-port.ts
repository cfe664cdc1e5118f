// Lets a server listen on a free port of loopback, and finds a free port for programs that cannot choose one themselves.
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';

export async function listen(server: Server): Promise<number> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return (server.address() as AddressInfo).port;
}

export async function freePort(): Promise<number> {
  const server = createServer();
  const port = await listen(server);
  await new Promise((resolve) => server.close(resolve));
  return port;
}
