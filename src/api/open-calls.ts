// Limits the number of running calls that need no key, per connection, per address and in total. An address with too
// many refusals is barred: transports drop its calls unanswered.

import { Failure } from '../platform/errors.ts';
import { networkOf } from '../platform/net/client-addresses.ts';
import { type Rate, takeOne } from '../platform/rate.ts';

export interface OpenCallLimits {
  perConnectionMax: number;
  perAddressMax: number;
  inAllMax: number;
  unaryMs: number;
  streamMs: number;
  /** How long a stream waits for a client that reads nothing. */
  stallMs: number;
  /** Rate of refusals per address; an address that exceeds it is barred. */
  refusals: Rate;
}

interface OpenCall {
  /** IP address of the client. */
  address: string;
  /** Identifies the connection; undefined if it is unknown. */
  connection?: object | undefined;
}

/** Number of addresses whose refusals are remembered. */
const addressesMax = 10_000;

export class OpenCalls {
  readonly #limits: OpenCallLimits;
  /** Number of running calls by network. */
  readonly #fromNetwork = new Map<string, number>();
  readonly #onConnection = new WeakMap<object, number>();
  /** By network: the time at which the network's full allowance of refusals is available again. */
  readonly #refusedUntilUs = new Map<string, number>();
  #inAll = 0;

  constructor(limits: OpenCallLimits) {
    this.#limits = limits;
  }

  /** Counts the call until the returned function is called. Throws a Failure if the call is refused. */
  enter({ address, connection }: OpenCall): () => void {
    const { perConnectionMax, perAddressMax, inAllMax } = this.#limits;
    const network = networkOf(address);
    const near = this.#fromNetwork.get(network) ?? 0;
    const held = (connection && this.#onConnection.get(connection)) ?? 0;
    try {
      if (held >= perConnectionMax) throw tooMany('on this connection', perConnectionMax);
      if (near >= perAddressMax) throw tooMany('from this address', perAddressMax);
      if (this.#inAll >= inAllMax) throw noRoom();
    } catch (error) {
      this.#noteRefusal(network);
      throw error;
    }
    this.#fromNetwork.set(network, near + 1);
    this.#inAll++;
    if (connection) this.#onConnection.set(connection, held + 1);
    let hasLeft = false;
    return () => {
      if (hasLeft) return;
      hasLeft = true;
      this.#inAll--;
      const left = this.#fromNetwork.get(network)! - 1;
      if (left > 0) this.#fromNetwork.set(network, left);
      else this.#fromNetwork.delete(network);
      if (connection) this.#onConnection.set(connection, this.#onConnection.get(connection)! - 1);
    };
  }

  /** Whether calls from this address are dropped because it has had too many refusals. */
  isBarred(address: string): boolean {
    const untilUs = this.#refusedUntilUs.get(networkOf(address));
    return untilUs !== undefined && !takeOne(untilUs, nowUs(), this.#limits.refusals).isAllowed;
  }

  #noteRefusal(network: string): void {
    const { fullAtUs } = takeOne(this.#refusedUntilUs.get(network) ?? 0, nowUs(), this.#limits.refusals);
    this.#refusedUntilUs.delete(network);
    this.#refusedUntilUs.set(network, fullAtUs);
    if (this.#refusedUntilUs.size > addressesMax) {
      this.#refusedUntilUs.delete(this.#refusedUntilUs.keys().next().value!);
    }
  }
}

const nowUs = () => Math.round(performance.now() * 1000);

const tooMany = (where: string, limit: number) =>
  new Failure('rate_limit_exceeded', {
    message: `Too many calls without an API key are running ${where}.`,
    limit,
    limitReason: 'concurrency',
    retryAfterSeconds: 1,
  });

const noRoom = () =>
  new Failure('overloaded', { message: 'Too many calls without an API key are running. Try again later.' });
