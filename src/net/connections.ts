// The open connections of the listeners, within limits in all and for each address. A connection is idle while no request
// on it is served, from its first moment on. At the limit, the connection that has been idle for the longest time is closed
// for a new one: of the same address at the limit of an address, of the address with the most at the limit in all.
import type { Socket } from 'node:net';
import { FairShares } from './fair-shares.ts';
import {
  connectionsDisplacedPerSecond,
  connectionsMax,
  requestsPerTurn,
  requestsWaitingPerAddressMax,
} from './limits.ts';
import { createTurns, type Turns } from './turns.ts';

export interface Connections {
  /** Counts a new connection. False if there is no room: it is closed. */
  admit(socket: Socket): boolean;
  /** A request on the connection begins, or something else that keeps it from being idle. Returns what ends it. */
  use(socket: Endpoints): () => void;
  /** Of the requests on them. */
  readonly turns: Turns;
}

/** What the sockets of a connection have in common: that of TCP, that of TLS and that of HTTP/2. */
type Endpoints = Pick<Socket, 'remoteAddress' | 'remotePort' | 'localPort'>;

export interface ConnectionsOptions {
  inAllMax?: number;
  /** Infinity where all connections are of a proxy. */
  perAddressMax: number;
  displacedPerSecond?: number;
}

interface Connection {
  socket: Socket;
  uses: number;
}

export function createConnections(options: ConnectionsOptions): Connections {
  const { inAllMax = connectionsMax, perAddressMax } = options;
  const { displacedPerSecond: ownDisplacedPerSecond = connectionsDisplacedPerSecond } = options;
  const byEndpoints = new Map<string, Connection>();
  const known = new WeakMap<Endpoints, Connection>();
  const shares = new FairShares<Connection>({
    inAllMax,
    perAddressMax,
    ownDisplacedPerSecond,
    displace: ({ socket }) => socket.destroy(),
  });
  return {
    turns: createTurns({ atOnce: requestsPerTurn, waitingPerAddressMax: requestsWaitingPerAddressMax }),
    admit(socket) {
      const connection = { socket, uses: 0 };
      // A connection may be gone before it is accepted.
      if (socket.remoteAddress === undefined || !shares.add(connection, socket.remoteAddress)) {
        socket.destroy();
        return false;
      }
      shares.setDisplaceable(connection, true);
      const name = toName(socket);
      byEndpoints.set(name, connection);
      socket.once('close', () => {
        shares.remove(connection);
        if (byEndpoints.get(name) === connection) byEndpoints.delete(name);
      });
      return true;
    },
    use(socket) {
      let connection = known.get(socket);
      if (!connection) {
        connection = byEndpoints.get(toName(socket));
        if (!connection) return () => {};
        known.set(socket, connection);
      }
      if (connection.uses++ === 0) shares.setDisplaceable(connection, false);
      let isOver = false;
      return () => {
        if (!isOver && --connection.uses === 0) shares.setDisplaceable(connection, true);
        isOver = true;
      };
    },
  };
}

const toName = ({ remoteAddress, remotePort, localPort }: Endpoints) => `${remoteAddress} ${remotePort} ${localPort}`;
