// Opens an HTTP proxy on loopback for HTTPS: it answers CONNECT, and leads each tunnel to a TLS server before a mirror,
// whatever host and port are requested.
import { createServer } from 'node:http';
import { connect, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { listen } from '../../free-port.ts';
import { testCertificate } from '../../transports/rpc/test-certificate.ts';

export interface ConnectProxy extends AsyncDisposable {
  port: number;
  /** The targets of all CONNECTs, each with its Proxy-Authorization header. */
  asked: string[];
  /** The status with which CONNECT is refused; undefined for a tunnel. */
  refusal: number | undefined;
}

export async function openConnectProxy(mirrorUrl: string): Promise<ConnectProxy> {
  const { port: mirrorPort } = new URL(mirrorUrl);
  const sockets = new Set<Socket>();
  const join = (one: Socket, other: Socket) => {
    for (const socket of [one, other]) sockets.add(socket.on('error', () => {}));
    one.pipe(other).pipe(one);
    one.once('close', () => other.destroy());
    other.once('close', () => one.destroy());
  };
  const secure = createTlsServer(testCertificate, (socket) => join(socket, connect(Number(mirrorPort), '127.0.0.1')));
  secure.on('tlsClientError', () => {});
  const tlsPort = await listen(secure);
  const proxy = createServer((_, response) => void response.writeHead(400).end());
  const opened: ConnectProxy = {
    port: await listen(proxy),
    asked: [],
    refusal: undefined,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      proxy.closeAllConnections();
      for (const server of [secure, proxy]) await new Promise((resolve) => server.close(resolve));
    },
  };
  proxy.on('connect', ({ url, headers }, socket: Socket) => {
    opened.asked.push(`${url} ${headers['proxy-authorization'] ?? ''}`.trim());
    if (opened.refusal !== undefined)
      return void socket.end(`HTTP/1.1 ${opened.refusal} No\r\nContent-Length: 0\r\n\r\n`);
    const tunnel = connect(tlsPort, '127.0.0.1', () => socket.write('HTTP/1.1 200 Connection established\r\n\r\n'));
    join(socket, tunnel);
  });
  return opened;
}
