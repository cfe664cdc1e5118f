// Both doors on one port: a connection is told by how it begins. HTTP/2 without TLS begins with a preface (RFC 9113
// section 3.4), and what is not its beginning is HTTP/1.1:
//
//     PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n
//
// With TLS, ALPN (RFC 7301) has told already. Who says nothing for a while is let go.
import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createSecureServer, type TLSSocket } from 'node:tls';
import { listen, type Tls } from './http-server.ts';

export interface SharedPortOptions {
  address: { host: string; port: number };
  tls?: Tls | undefined;
  toHttp1(socket: Socket): void;
  toHttp2(socket: Socket): void;
}

export interface SharedPort {
  readonly port: number;
  /** Takes no further connection. */
  close(): void;
}

const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
/** PRI is no method of HTTP/1.1, so three letters decide. */
const decidingBytes = 3;
const silenceMs = 5_000;

export async function openSharedPort({ address, tls, toHttp1, toHttp2 }: SharedPortOptions): Promise<SharedPort> {
  const server: Server = tls
    ? createSecureServer({ ...tls, ALPNProtocols: ['h2', 'http/1.1'] }, (socket: TLSSocket) =>
        socket.alpnProtocol === 'h2' ? toHttp2(socket) : toHttp1(socket),
      )
    : createServer({ noDelay: true }, (socket) => tellApart(socket, toHttp1, toHttp2));
  await listen(server, address);
  const { port } = server.address() as { port: number };
  return { port, close: () => void server.close() };
}

function tellApart(socket: Socket, toHttp1: (socket: Socket) => void, toHttp2: (socket: Socket) => void): void {
  let head = Buffer.alloc(0);
  const silent = setTimeout(() => socket.destroy(), silenceMs);
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
    if (isHttp2) toHttp2(socket);
    else toHttp1(socket);
  };
  socket.on('readable', read);
  socket.on('error', giveUp);
  socket.on('close', giveUp);
}
