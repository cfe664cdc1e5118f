// Opens a listener and passes the connections that the limits admit to the HTTP and gRPC servers, which do not listen
// themselves. Error messages are readable sentences.

import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createSecureServer, type TLSSocket } from 'node:tls';
import { handshakeMs } from '../../platform/net/request-limits.ts';
import { reasonOf } from '../../platform/runtime/system-errors.ts';
import type { Connections } from './connections.ts';
import { keep } from './open-sockets.ts';

export interface ListenAddress {
  host: string;
  /** The port; 0 means any free port. */
  port: number;
}

/** The certificate and its key as PEM strings. */
export interface Tls {
  cert: string;
  key: string;
}

const explanations: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the port is in use by another program',
  EADDRNOTAVAIL: 'this machine does not have this address',
  EACCES: 'this user may not use this port or address',
};

export interface Listener {
  readonly port: number;
  /** Stops accepting connections. */
  close(): void;
}

interface ListenerOptions {
  address: ListenAddress;
  /** Name of the protocol, such as "HTTP". */
  what: string;
  connections: Connections;
  accept(socket: Socket): void;
  /** Called with errors from accepting connections, such as too many open files. */
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

export function listen(server: Server, { host, port }: ListenAddress, what: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const onError = (cause: NodeJS.ErrnoException) => {
      const reason = explanations[cause.code ?? ''] ?? reasonOf(cause);
      reject(new Error(`cannot listen for ${what} on ${host}:${port}: ${reason}`, { cause }));
    };
    server.once('error', onError);
    server.listen(port, host, () => {
      server.off('error', onError);
      resolve((server.address() as { port: number }).port);
    });
  });
}

interface SharedPortOptions {
  address: ListenAddress;
  tls?: Tls | undefined;
  connections: Connections;
  toHttp1(socket: Socket): void;
  toHttp2(socket: Socket): void;
  onFault(fault: unknown): void;
}

/** The first bytes of HTTP/2; no method of HTTP/1.1 begins with them. */
const http2Start = 'PRI';

/** Opens a port for HTTP/1.1 and HTTP/2. `close` also closes connections whose protocol is still unknown. */
export async function openSharedPort(options: SharedPortOptions): Promise<Listener> {
  const { address, tls, connections, toHttp1, toHttp2, onFault } = options;
  const undecided = new Set<Socket>();
  const take = (socket: Socket, isHttp2: boolean) => {
    undecided.delete(socket);
    if (isHttp2) toHttp2(socket);
    else toHttp1(socket);
  };
  const secure =
    tls &&
    createSecureServer({ ...tls, handshakeTimeout: handshakeMs, ALPNCallback: chooseProtocol }, (socket: TLSSocket) =>
      take(socket, socket.alpnProtocol === 'h2'),
    );
  const accept = (socket: Socket) => {
    if (secure) return void secure.emit('connection', socket);
    keep(undecided, socket);
    detectProtocol(socket, take);
  };
  const listener = await openListener({ address, what: 'HTTP and gRPC', connections, accept, onFault });
  return {
    port: listener.port,
    close() {
      listener.close();
      for (const socket of undecided) socket.destroy();
    },
  };
}

const chooseProtocol = ({ protocols }: { protocols: string[] }): string | undefined =>
  ['http/1.1', 'h2'].find((name) => protocols.includes(name));

function detectProtocol(socket: Socket, take: (socket: Socket, isHttp2: boolean) => void): void {
  let head = Buffer.alloc(0);
  const silent = setTimeout(() => socket.destroy(), handshakeMs);
  const giveUp = () => clearTimeout(silent);
  // Bytes are collected until the protocol is known. Bytes that are unshifted earlier would be read again at once.
  const read = () => {
    const bytes: Buffer | null = socket.read();
    if (!bytes) return;
    head = Buffer.concat([head, bytes]);
    const start = head.toString('latin1', 0, http2Start.length);
    if (start !== http2Start && http2Start.startsWith(start)) return;
    clearTimeout(silent);
    socket.off('readable', read);
    socket.off('error', giveUp);
    socket.off('close', giveUp);
    socket.unshift(head);
    take(socket, start === http2Start);
  };
  socket.on('readable', read);
  socket.on('error', giveUp);
  socket.on('close', giveUp);
}
