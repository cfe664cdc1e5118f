// HTTP and gRPC on one port: the first bytes of a connection decide. HTTP/2 without TLS begins with a preface (RFC 9113,
// section 3.4); everything else is HTTP/1.1:
//
//     PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n
//
// With TLS, ALPN (RFC 7301) decides: a client that offers both gets HTTP/1.1, which serves REST; gRPC clients offer only
// HTTP/2. A connection that sends nothing is closed after a while.
import type { Socket } from 'node:net';
import { createServer as createSecureServer, type TLSSocket } from 'node:tls';
import type { Connections } from './connections.ts';
import { handshakeMs } from './limits.ts';
import { type ListenAddress, type Listener, openListener, type Tls } from './listen.ts';

export interface SharedPortOptions {
  address: ListenAddress;
  tls?: Tls | undefined;
  connections: Connections;
  toHttp1(socket: Socket): void;
  toHttp2(socket: Socket): void;
  onFault(fault: unknown): void;
}

const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
/** PRI is not a method of HTTP/1.1, so three bytes decide. */
const decidingBytes = 3;

/** Closed, it also closes the connections whose protocol is not known yet. */
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
    undecided.add(socket);
    socket.once('close', () => undecided.delete(socket));
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
  // Bytes are collected here until they decide; unshifted earlier, they would be read again at once.
  const read = () => {
    const bytes: Buffer | null = socket.read();
    if (!bytes) return;
    head = Buffer.concat([head, bytes]);
    const isHttp2 = preface.subarray(0, decidingBytes).equals(head.subarray(0, decidingBytes));
    if (head.length < decidingBytes && preface.subarray(0, head.length).equals(head)) return;
    clearTimeout(silent);
    socket.off('readable', read);
    socket.off('error', giveUp);
    socket.off('close', giveUp);
    socket.unshift(head);
    take(socket, isHttp2);
  };
  socket.on('readable', read);
  socket.on('error', giveUp);
  socket.on('close', giveUp);
}
