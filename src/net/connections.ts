// The open connections of the listeners, within limits in all and for each address. A connection is idle while no request
// on it is served, from its first moment on. At the limit, the connection that has been idle for the longest time is closed
// for a new one: of the same address at the limit of an address, of the address with the most at the limit in all.
import type { Socket } from 'node:net';
import { networkOf } from './client-addresses.ts';
import {
  connectionsDisplacedPerSecond,
  connectionsMax,
  requestsPerTurn,
  requestsWaitingPerAddressMax,
} from './request-limits.ts';

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

interface ConnectionsOptions {
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

export interface Turns {
  /** Starts the work in its turn; false if too much waits for that address already. */
  take(address: string, work: () => void): boolean;
}

interface TurnsOptions {
  /** Started in one turn of the event loop. */
  atOnce: number;
  waitingPerAddressMax: number;
}

export function createTurns({ atOnce, waitingPerAddressMax }: TurnsOptions): Turns {
  /** By address, whoever is next first. */
  const lines = new Map<string, (() => void)[]>();
  let [waiting, scheduled] = [0, 0];
  const schedule = () => {
    scheduled++;
    // Each has an immediate of its own: what it has started goes on before the next starts.
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
    // An immediate that an immediate sets runs in the next turn of the event loop.
    if (waiting > scheduled) schedule();
    work();
  };
  return {
    take(address, work) {
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
  /** How many members of its own address a newcomer may displace in a second, all newcomers of that address together. */
  ownDisplacedPerSecond: number;
  /** Called with a member that has lost its place. */
  displace(member: Member): void;
}

interface Share<Member> {
  network: string;
  count: number;
  /** Members that may be displaced, in the order in which they became so. */
  displaceable: Set<Member>;
  /** Those that were displaced by their own address in this second. */
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

  /** Gives the newcomer a place, which cannot be displaced at first. False if there is none. */
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

  /** Whether the member may be displaced from here on. */
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

  /** From the address that has the most of those that have more than the newcomer's. */
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
