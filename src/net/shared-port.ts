// Both doors on one port: a connection is told by how it begins. HTTP/2 without TLS begins with a preface (RFC 9113
// section 3.4), and what is not its beginning is HTTP/1.1:
//
//     PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n
//
// With TLS, ALPN (RFC 7301) has told already: who can speak both is served HTTP/1.1, since REST has that door, and clients
// of gRPC offer nothing but HTTP/2. Who says nothing for a while is let go.
import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createSecureServer, type TLSSocket } from 'node:tls';
import { connectionsMax, handshakeMs } from './limits.ts';
import { type ListenAddress, listen, type Tls } from './listen.ts';

export interface SharedPortOptions {
  address: ListenAddress;
  tls?: Tls | undefined;
  toHttp1(socket: Socket): void;
  toHttp2(socket: Socket): void;
}

export interface SharedPort {
  readonly port: number;
  /** Takes no further connection, and lets go of those that have not said what they speak. */
  close(): void;
}

const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
/** PRI is no method of HTTP/1.1, so three letters decide. */
const decidingBytes = 3;

export async function openSharedPort({ address, tls, toHttp1, toHttp2 }: SharedPortOptions): Promise<SharedPort> {
  const undecided = new Set<Socket>();
  const take = (socket: Socket, isHttp2: boolean) => {
    undecided.delete(socket);
    if (isHttp2) toHttp2(socket);
    else toHttp1(socket);
  };
  const server: Server = tls
    ? createSecureServer({ ...tls, handshakeTimeout: handshakeMs, ALPNCallback: chooseProtocol }, (socket: TLSSocket) =>
        take(socket, socket.alpnProtocol === 'h2'),
      )
    : createServer({ noDelay: true }, (socket) => {
        undecided.add(socket);
        socket.once('close', () => undecided.delete(socket));
        tellApart(socket, take);
      });
  server.maxConnections = connectionsMax;
  const port = await listen(server, address, 'HTTP and gRPC');
  return {
    port,
    close() {
      server.close();
      for (const socket of undecided) socket.destroy();
    },
  };
}

const chooseProtocol = ({ protocols }: { protocols: string[] }): string | undefined =>
  ['http/1.1', 'h2'].find((name) => protocols.includes(name));

function tellApart(socket: Socket, take: (socket: Socket, isHttp2: boolean) => void): void {
  let head = Buffer.alloc(0);
  const silent = setTimeout(() => socket.destroy(), handshakeMs);
  const giveUp = () => clearTimeout(silent);
  // What is read is kept here until it is decided: put back earlier, it would be read again for ever.
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
