// The places that this process holds at Redis: renewed while their syntheses run, and given back when they end. What could
// not be told, because Redis was away, is told when it is back: first of all which places are held and which are not; and
// as of what was spoken meanwhile only the ledger knows, its owners' counts of the month are read from there again.
import type { Redis } from '../redis/redis.ts';
import type { Place, RedisAccounts } from './redis-account.ts';

export interface SlotLeases {
  /** From here on it is held. */
  hold(owner: string, place: Place): void;
  /** It is held no more, and nobody knows whether Redis thinks so. */
  drop(owner: string, place: Place): void;
  /** Settles when Redis knows, or is away. */
  end(owner: string, place: Place, spokenChars: number): Promise<void>;
  /** Settles when what has ended is told. */
  close(): Promise<void>;
}

interface Holding {
  held: Set<Place>;
  gone: Set<Place>;
}

/** A third of a lease. */
const renewEveryMs = 10_000;
/** So many are told in one trip, and of so many owners at once, that none of them takes long. */
const placesAtOnce = 500;
const ownersAtOnce = 20;

export function openSlotLeases(redis: Pick<Redis, 'onBack' | 'isAway'>, accounts: RedisAccounts): SlotLeases {
  const holdings = new Map<string, Holding>();
  const underWay = new Set<Promise<unknown>>();

  const holdingOf = (owner: string): Holding => {
    const known = holdings.get(owner);
    if (known) return known;
    const holding = { held: new Set<Place>(), gone: new Set<Place>() };
    holdings.set(owner, holding);
    return holding;
  };
  const forgetIdle = (owner: string) => {
    const holding = holdings.get(owner);
    if (holding && holding.held.size === 0 && holding.gone.size === 0) holdings.delete(owner);
  };

  const tell = async (owner: string, { held, gone }: Holding) => {
    const told = [...gone];
    if (told.length > 0) await accounts.forget(owner, told);
    for (const place of told) gone.delete(place);
    const places = [...held];
    for (let from = 0; from < places.length; from += placesAtOnce) {
      // What has ended since must not be held again.
      const still = places.slice(from, from + placesAtOnce).filter((place) => held.has(place));
      if (still.length > 0) await accounts.renew(owner, still);
    }
    forgetIdle(owner);
  };
  const tellAll = async () => {
    const all = [...holdings];
    for (let from = 0; from < all.length && !redis.isAway; from += ownersAtOnce) {
      const some = all.slice(from, from + ownersAtOnce);
      // What is not told now is told the next time.
      await Promise.allSettled(some.map(([owner, holding]) => tell(owner, holding)));
    }
  };
  const follow = (work: Promise<unknown>) => {
    const done = work.finally(() => underWay.delete(done));
    underWay.add(done);
  };

  const timer = setInterval(() => follow(tellAll()), renewEveryMs).unref();
  redis.onBack(() => follow(tellAll()));

  const drop = (owner: string, place: Place) => {
    const { held, gone } = holdingOf(owner);
    held.delete(place);
    // That there is one is enough to have the count read again; the others' leases end by themselves.
    if (gone.size < placesAtOnce) gone.add(place);
  };

  return {
    hold: (owner, place) => void holdingOf(owner).held.add(place),
    drop,
    end(owner, place, spokenChars) {
      if (redis.isAway) {
        drop(owner, place);
        return Promise.resolve();
      }
      holdingOf(owner).held.delete(place);
      forgetIdle(owner);
      const told = accounts.end(owner, place, spokenChars).then(
        () => {},
        () => drop(owner, place),
      );
      follow(told);
      return told;
    },
    async close() {
      clearInterval(timer);
      await Promise.all(underWay);
    },
  };
}
