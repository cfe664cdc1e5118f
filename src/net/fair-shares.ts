// Places that addresses share: so many in all, so many for each address. When all are taken, a newcomer displaces a member
// of the address that has the most, never of one that has fewer than its own. Which members may be displaced, each owner of
// such places says; the one that may be for the longest time goes first. All addresses of an IPv6 /64 network count as one.
import { networkOf } from './client-address.ts';

export interface FairSharesOptions<Member> {
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
