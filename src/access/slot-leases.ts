// The leases of the concurrency slots that this process holds in Redis: renewed while their syntheses run, together with how
// much of these the usage ledger has, and released when they end. Slots that ended while Redis was away are dropped when it is
// back. What those syntheses spoke is only in the usage ledger, so the owner's count of the month is then read from there again.
import type { Redis } from '../store/redis.ts';
import type { Chain, RedisAccounts, Slot } from './redis-account.ts';

interface OwnerSlots {
  chain: Chain;
  held: Set<Slot>;
  /** Freed here, but not yet in Redis. */
  dropped: Set<Slot>;
}

/** A third of a lease. */
const renewEveryMs = 10_000;
/** The size of a round trip, so that none takes long. */
const slotsAtOnce = 500;
const ownersAtOnce = 20;

/** The first owner of a chain stands for it: its ancestors never change. */
const nameOf = ({ ownerIds }: Chain) => ownerIds[0]!;

export type SlotLeases = ReturnType<typeof openSlotLeases>;

export function openSlotLeases(redis: Pick<Redis, 'onBack' | 'isAway'>, accounts: RedisAccounts) {
  const owners = new Map<string, OwnerSlots>();
  const pending = new Set<Promise<unknown>>();

  const slotsOf = (chain: Chain): OwnerSlots => {
    const known = owners.get(nameOf(chain));
    if (known) return known;
    const slots = { chain, held: new Set<Slot>(), dropped: new Set<Slot>() };
    owners.set(nameOf(chain), slots);
    return slots;
  };
  const removeIdle = (chain: Chain) => {
    const slots = owners.get(nameOf(chain));
    if (slots && slots.held.size === 0 && slots.dropped.size === 0) owners.delete(nameOf(chain));
  };

  const synchronizeAll = async () => {
    const all = [...owners.values()];
    for (let from = 0; from < all.length && !redis.isAway; from += ownersAtOnce) {
      const batch = all.slice(from, from + ownersAtOnce);
      // What fails now is repeated by the next run.
      await Promise.allSettled(
        batch.map(async (slots) => {
          await synchronize(accounts, slots);
          removeIdle(slots.chain);
        }),
      );
    }
  };
  const track = (work: Promise<unknown>) => {
    const done = work.finally(() => pending.delete(done));
    pending.add(done);
  };

  const timer = setInterval(() => track(synchronizeAll()), renewEveryMs).unref();
  redis.onBack(() => track(synchronizeAll()));

  /** Frees a slot of which it is unknown whether Redis holds it. */
  const drop = (chain: Chain, slot: Slot) => {
    const { held, dropped } = slotsOf(chain);
    held.delete(slot);
    // One slot is enough to have the count of the month read again; the leases of the others expire.
    if (dropped.size < slotsAtOnce) dropped.add(slot);
  };

  return {
    /** Renews the lease of the slot from now on. */
    hold: (chain: Chain, slot: Slot) => void slotsOf(chain).held.add(slot),
    /** Stops renewing it. */
    release: (chain: Chain, slot: Slot) => void slotsOf(chain).held.delete(slot),
    drop,
    /** Settles when Redis has freed the slot, or is away. */
    async end(chain: Chain, slot: Slot, spokenChars: number): Promise<void> {
      if (redis.isAway) return drop(chain, slot);
      slotsOf(chain).held.delete(slot);
      removeIdle(chain);
      const ended = accounts.endSlot(chain, slot, spokenChars).then(
        () => {},
        () => drop(chain, slot),
      );
      track(ended);
      await ended;
    },
    /** Settles when Redis has freed all slots that have ended. */
    async close() {
      clearInterval(timer);
      await Promise.all(pending);
    },
  };
}

async function synchronize(accounts: RedisAccounts, { chain, held, dropped }: OwnerSlots): Promise<void> {
  const heldNow = [...held];
  for (let from = 0; from < heldNow.length; from += slotsAtOnce) {
    // A slot that has ended since must not be taken again.
    const slots = heldNow.slice(from, from + slotsAtOnce).filter((slot) => held.has(slot));
    if (slots.length > 0) await accounts.renewSlots(chain, slots);
  }
  // Then the month is read again, and Redis must know what the ledger has of those that still run.
  const droppedNow = [...dropped];
  if (droppedNow.length > 0) await accounts.dropSlots(chain, droppedNow);
  for (const slot of droppedNow) dropped.delete(slot);
}
