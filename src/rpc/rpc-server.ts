// The HTTP/2 server (RFC 9113) for gRPC, Connect and gRPC-Web, with or without TLS. It stays up whatever a client does,
// and detects dead connections. Drained, it accepts no new calls, lets running calls finish for a while, and then ends
// them.
import { createSecureServer, createServer, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { type Connections, createConnections } from '../net/connections.ts';
import { farewellMs, handshakeMs, headerBytesMax, headersMax } from '../net/limits.ts';
import { type ListenAddress, openListener } from '../net/listen.ts';
import { connectionMemoryMiB, resetBurst, resetsPerSecond, streamsPerConnectionMax } from './limits.ts';
import { createDirectAdapter, createNodeAdapter, type DirectAdapter, type NodeAdapter } from './node-adapter.ts';
import type { Services } from './services.ts';
import { watchSession } from './watch-session.ts';

export interface RpcServerOptions {
  services: Services;
  /** Where to listen. Without it, only sockets handed to `accept` are served. */
  address?: ListenAddress;
  /** Those that listeners count; by default, those of this one alone. */
  connections?: Connections;
  isBehindProxy?: boolean;
  /** PEM. */
  tls?: { cert: string; key: string };
  /** Called with faults that are not reported to a caller. */
  onFault(fault: unknown): void;
}

export interface RpcServer {
  /** 0 where it does not listen. */
  readonly port: number;
  /** Serves a connection that another listener has taken. */
  accept(socket: Socket): void;
  /** Lets the calls that run finish within `timeoutMs`, then ends them with `overloaded`, and closes. */
  drain(timeoutMs: number): Promise<void>;
}

type Server = ReturnType<typeof createServer> | ReturnType<typeof createSecureServer>;

export async function openRpcServer(options: RpcServerOptions): Promise<RpcServer> {
  const { services, address, tls, isBehindProxy = false, onFault } = options;
  const { connections = createConnections({ perAddressMax: Infinity }) } = options;
  const handlers = services.createHandlers({ grpc: true });
  const common = { turns: connections.turns, isBehindProxy, onFault };
  const adapter = createNodeAdapter({ handlers, callsOf: services, ...common });
  const server = createHttp2Server(tls, { direct: createDirectAdapter({ direct: services, ...common }), adapter });
  const sockets = new Set<Socket>();
  const sessions = new Set<ServerHttp2Session>();
  const streams = new Set<ServerHttp2Stream>();
  let isDraining = false;
  const isStalled = (session: ServerHttp2Session) =>
    streams.values().some((stream) => stream.session === session && stream.writableLength > 0);
  server.on('connection', (socket: Socket) => keep(sockets, socket));
  server.on('stream', (stream) => {
    keep(streams, stream);
    const { socket } = stream.session ?? {};
    if (socket) stream.once('close', connections.use(socket));
  });
  server.on('session', (session) => {
    keep(sessions, session);
    watchSession(session, { isStalled: () => isStalled(session) });
    if (isDraining) session.close();
  });
  server.on('error', onFault);
  const accept = (socket: Socket) => void server.emit('connection', socket);
  const listener = address && (await openListener({ address, what: 'gRPC', connections, accept, onFault }));

  const drain = async (timeoutMs: number) => {
    isDraining = true;
    services.health.close();
    listener?.close();
    // Sends GOAWAY, so that clients send new calls elsewhere.
    for (const session of sessions) session.close();
    const late = setTimeout(() => services.stop(), timeoutMs);
    await within(timeoutMs + farewellMs, allClosed(streams));
    clearTimeout(late);
    await within(farewellMs, allClosed(sockets));
    for (const socket of sockets) socket.destroy();
  };

  let drained: Promise<void> | undefined;
  return {
    port: listener?.port ?? 0,
    accept,
    drain: (timeoutMs) => (drained ??= drain(timeoutMs)),
  };
}

function createHttp2Server(
  tls: RpcServerOptions['tls'],
  { direct, adapter }: { direct: DirectAdapter; adapter: NodeAdapter },
): Server {
  const options = {
    maxHeaderListPairs: headersMax,
    maxSessionMemory: connectionMemoryMiB,
    streamResetBurst: resetBurst,
    streamResetRate: resetsPerSecond,
    settings: { maxConcurrentStreams: streamsPerConnectionMax, maxHeaderListSize: headerBytesMax },
  };
  const server = tls
    ? createSecureServer({ ...options, ...tls, handshakeTimeout: handshakeMs })
    : createServer(options);
  // Never listens: it makes of a stream what the adapter takes, as a server of Node's with a listener of requests does.
  const compatible = createServer(adapter);
  server.on('stream', (stream, headers, ...more) => {
    if (!direct(stream, headers)) compatible.emit('stream', stream, headers, ...more);
  });
  return server;
}

type Closing = Socket | ServerHttp2Session | ServerHttp2Stream;

function keep<T extends Closing>(set: Set<T>, one: T): void {
  set.add(one);
  one.once('close', () => set.delete(one));
}

const allClosed = (all: Iterable<Closing>): Promise<unknown> =>
  Promise.all(Array.from(all, (one) => new Promise<void>((resolve) => one.once('close', resolve))));

/** Waits for the promise, at most that long. */
async function within(timeoutMs: number, promise: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, timeoutMs);
  });
  await Promise.race([promise, late]);
  clearTimeout(timer);
}
