// Limits the open connections of the listeners in total and per address. A connection is idle while no request on it is
// being served. At a limit, a new connection replaces the connection that has been idle longest. At the limit per
// address, it replaces one from its own address; at the total limit, one from the address with the most connections.
import type { Socket } from 'node:net';
import { networkOf } from '../../platform/net/client-addresses.ts';
import {
  connectionsDisplacedPerSecond,
  connectionsMax,
  requestsPerTurn,
  requestsWaitingPerAddressMax,
} from '../../platform/net/request-limits.ts';

export type Connections = ReturnType<typeof createConnections>;

/** Members shared by the TCP, TLS and HTTP/2 sockets of a connection. */
type Endpoints = Pick<Socket, 'remoteAddress' | 'remotePort' | 'localPort'>;

interface ConnectionsOptions {
  inAllMax?: number;
  /** Largest number of connections per address; Infinity if all connections come from a proxy. */
  perAddressMax: number;
  displacedPerSecond?: number;
}

interface Connection {
  socket: Socket;
  uses: number;
}

export function createConnections(options: ConnectionsOptions) {
  const { inAllMax = connectionsMax, perAddressMax } = options;
  const { displacedPerSecond: ownDisplacedPerSecond = connectionsDisplacedPerSecond } = options;
  const byEndpoints = new Map<string, Connection>();
  const shares = new FairShares<Connection>({
    inAllMax,
    perAddressMax,
    ownDisplacedPerSecond,
    displace: ({ socket }) => socket.destroy(),
  });
  return {
    /** Distributes the requests on the connections over event loop turns. */
    turns: createTurns({ atOnce: requestsPerTurn, waitingPerAddressMax: requestsWaitingPerAddressMax }),
    /** Counts a new connection. Returns false and closes the connection if there is no room. */
    admit(socket: Socket): boolean {
      const connection = { socket, uses: 0 };
      // A connection may be closed before it is accepted.
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
    /** Marks the connection as in use, for a request or another reason. Returns the function that ends this use. */
    use(socket: Endpoints): () => void {
      const connection = byEndpoints.get(toName(socket));
      if (!connection) return () => {};
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

export type Turns = ReturnType<typeof createTurns>;

interface TurnsOptions {
  /** Number of tasks started in one turn of the event loop. */
  atOnce: number;
  waitingPerAddressMax: number;
}

export function createTurns({ atOnce, waitingPerAddressMax }: TurnsOptions) {
  /** Waiting work by address. The first address is next. */
  const lines = new Map<string, (() => void)[]>();
  let [waiting, scheduled] = [0, 0];
  const schedule = () => {
    scheduled++;
    // Each task has its own immediate, so that work started by one task runs before the next task.
    setImmediate(startNext);
  };
  const startNext = () => {
    scheduled--;
    const [next] = lines;
    if (!next) return;
    const [address, line] = next;
    lines.delete(address);
    const work = line.shift()!;
    waiting--;
    if (line.length > 0) lines.set(address, line);
    // An immediate that is set during an immediate runs in the next turn of the event loop.
    if (waiting > scheduled) schedule();
    work();
  };
  return {
    /** Starts the work in a later turn of the event loop. Returns false if too much work waits for this address. */
    take(address: string, work: () => void): boolean {
      const line = lines.get(address) ?? [];
      if (line.length >= waitingPerAddressMax) return false;
      line.push(work);
      lines.set(address, line);
      waiting++;
      if (scheduled < atOnce) schedule();
      return true;
    },
  };
}

interface FairSharesOptions<Member> {
  inAllMax: number;
  perAddressMax: number;
  /** Number of members of an address that newcomers of the same address may displace per second. */
  ownDisplacedPerSecond: number;
  displace(member: Member): void;
}

interface Share<Member> {
  network: string;
  count: number;
  /** Members that may be displaced, in the order in which this became possible. */
  displaceable: Set<Member>;
  /** A second, and the number of members that newcomers of the same address displaced in this second. */
  second: number;
  displaced: number;
}

export class FairShares<Member extends object> {
  readonly #options: FairSharesOptions<Member>;
  readonly #shares = new Map<string, Share<Member>>();
  readonly #shareOf = new Map<Member, Share<Member>>();

  constructor(options: FairSharesOptions<Member>) {
    this.#options = options;
  }

  get size(): number {
    return this.#shareOf.size;
  }

  countOf(address: string): number {
    return this.#shares.get(networkOf(address))?.count ?? 0;
  }

  /** Adds the newcomer, which cannot be displaced at first. Returns false if there is no room. */
  add(member: Member, address: string): boolean {
    const { inAllMax, perAddressMax } = this.#options;
    const network = networkOf(address);
    const share = this.#shares.get(network) ?? toShare<Member>(network);
    if (share.count >= perAddressMax && !this.#displaceOwn(share)) return false;
    if (this.size >= inAllMax && !this.#displaceOther(share) && !this.#displaceOwn(share)) return false;
    share.count++;
    this.#shares.set(network, share);
    this.#shareOf.set(member, share);
    return true;
  }

  setDisplaceable(member: Member, mayBe: boolean): void {
    const displaceable = this.#shareOf.get(member)?.displaceable;
    displaceable?.delete(member);
    if (mayBe) displaceable?.add(member);
  }

  remove(member: Member): void {
    const share = this.#shareOf.get(member);
    if (!share) return;
    this.#shareOf.delete(member);
    share.displaceable.delete(member);
    share.count--;
    if (share.count === 0) this.#shares.delete(share.network);
  }

  #displaceOwn(share: Share<Member>): boolean {
    const second = Math.floor(performance.now() / 1000);
    if (share.second !== second) Object.assign(share, { second, displaced: 0 });
    if (share.displaced >= this.#options.ownDisplacedPerSecond) return false;
    if (!this.#displaceFrom(share)) return false;
    share.displaced++;
    return true;
  }

  /** Displaces a member of the address with the most members, if it has more members than the newcomer's address. */
  #displaceOther({ count }: Share<Member>): boolean {
    let largest: Share<Member> | undefined;
    for (const share of this.#shares.values()) {
      if (share.displaceable.size > 0 && share.count > (largest?.count ?? count)) largest = share;
    }
    return largest !== undefined && this.#displaceFrom(largest);
  }

  #displaceFrom(share: Share<Member>): boolean {
    const [longest] = share.displaceable;
    if (!longest) return false;
    this.remove(longest);
    this.#options.displace(longest);
    return true;
  }
}

const toShare = <Member>(network: string): Share<Member> => ({
  network,
  count: 0,
  displaceable: new Set(),
  second: 0,
  displaced: 0,
});
