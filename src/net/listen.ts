// Opens a listener, which hands on the connections that there is room for; its errors are readable sentences. The servers of
// HTTP and gRPC do not listen themselves.
import { createServer, type Server, type Socket } from 'node:net';
import type { Connections } from './connections.ts';

export interface ListenAddress {
  host: string;
  /** 0 is any free port. */
  port: number;
}

/** PEM. */
export interface Tls {
  cert: string;
  key: string;
}

const explanations: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program listens there already',
  EADDRNOTAVAIL: 'this machine does not have that address',
  EACCES: 'this user may not listen there',
  ENOTFOUND: 'there is no host of that name',
};

export interface Listener {
  readonly port: number;
  /** Accepts no more connections. */
  close(): void;
}

export interface ListenerOptions {
  address: ListenAddress;
  /** The name of the protocol, such as "HTTP". */
  what: string;
  connections: Connections;
  accept(socket: Socket): void;
  /** Called with errors of accepting connections, such as too many open files. */
  onFault(fault: unknown): void;
}

export async function openListener(options: ListenerOptions): Promise<Listener> {
  const { address, what, connections, accept, onFault } = options;
  const server = createServer({ noDelay: true }, (socket) => {
    if (connections.admit(socket)) accept(socket);
  });
  const port = await listen(server, address, what);
  server.on('error', onFault);
  return { port, close: () => void server.close() };
}

/** Has the server listen; returns the port. */
export function listen(server: Server, { host, port }: ListenAddress, what: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const onError = (cause: NodeJS.ErrnoException) => {
      const reason = explanations[cause.code ?? ''] ?? cause.message;
      reject(new Error(`cannot listen for ${what} on ${host}:${port}: ${reason}`, { cause }));
    };
    server.once('error', onError);
    server.listen(port, host, () => {
      server.off('error', onError);
      resolve((server.address() as { port: number }).port);
    });
  });
}
