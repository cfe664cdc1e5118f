// The listener of the Wyoming protocol (Home Assistant): JSON lines and audio over TCP. The protocol has no
// authentication: all clients use one key, and only this machine and the listed addresses may connect. When drained, it
// accepts no connections, closes idle ones, and gives running speech time to finish.
import { createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { createAddressCheck, loopbackBlocks } from '../../../platform/net/client-addresses.ts';
import { farewellMs } from '../../../platform/net/request-limits.ts';
import { type ListenAddress, listen } from '../../net/listen.ts';
import { type ConnectionOptions, WyomingConnection } from './connection.ts';
import { wyomingConnectionsMax } from './frames.ts';

export interface WyomingServerOptions extends ConnectionOptions {
  address: ListenAddress;
  /** Addresses and CIDR blocks, in addition to this machine. */
  allowed: readonly string[];
  onRefused(address: string): void;
  /** Called with faults that no client receives. */
  onFault(fault: unknown): void;
}

export async function openWyomingServer(options: WyomingServerOptions) {
  const { api, address, allowed, onRefused, onFault } = options;
  const { runner } = api;
  const isAllowed = createAddressCheck([...loopbackBlocks, ...allowed]);
  const open = new Map<Socket, Promise<void>>();
  const serve = async (socket: Socket) => {
    try {
      await new WyomingConnection(socket, options).serve();
    } catch (error) {
      if (!isLoss(error)) onFault(error);
    }
    open.delete(socket);
  };
  // A client that has sent everything may close its sending side, and still receives the answer.
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    const { remoteAddress = '' } = socket;
    // The connection handles the event 'close', which follows 'error'.
    socket.on('error', () => socket.destroy());
    if (isAllowed(remoteAddress)) open.set(socket, serve(socket));
    else {
      socket.destroy();
      onRefused(remoteAddress);
    }
  });
  server.maxConnections = wyomingConnectionsMax;
  const port = await listen(server, address, 'Wyoming');
  server.on('error', onFault);

  const drain = async (timeoutMs: number) => {
    server.close();
    runner.leave();
    const late = setTimeout(() => runner.stop(), timeoutMs);
    const ended = Promise.all(open.values());
    await Promise.race([ended, sleep(timeoutMs + farewellMs, undefined, { ref: false })]);
    clearTimeout(late);
    for (const socket of open.keys()) socket.destroy();
    await ended;
  };

  let drained: Promise<void> | undefined;
  return {
    port,
    /** Lets running speech finish within `timeoutMs`, then ends it and closes. */
    drain: (timeoutMs: number): Promise<void> => (drained ??= drain(timeoutMs)),
  };
}

/** Whether the connection broke, or was closed before the client had ended it. */
const isLoss = (error: unknown): boolean =>
  ['ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ERR_STREAM_PREMATURE_CLOSE'].includes(
    (error as NodeJS.ErrnoException | undefined)?.code ?? '',
  );
