// Renews the leases of this process's concurrency slots in Redis while their syntheses run. A renewal also reports the
// characters that are in the usage ledger. Slots that ended during an outage are dropped when Redis is reachable again;
// the owner's count of the month is then read from the ledger again.
import type { Redis } from '../store/redis.ts';
import type { Chain, RedisAccounts, Slot } from './redis-account.ts';

interface OwnerSlots {
  chain: Chain;
  held: Set<Slot>;
  /** Slots that were released in this process, but not yet in Redis. */
  dropped: Set<Slot>;
}

/** Interval between renewals: a third of the duration of a lease. */
const renewEveryMs = 10_000;
/** Number of slots per round trip, so that no round trip takes long. */
const slotsAtOnce = 500;
const ownersAtOnce = 20;

/** The first owner identifies the chain, because its ancestors never change. */
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
      // The next run repeats calls that fail now.
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

  /** Releases a slot that may or may not still exist in Redis. */
  const drop = (chain: Chain, slot: Slot) => {
    const { held, dropped } = slotsOf(chain);
    held.delete(slot);
    // Further slots are not dropped, because their leases expire. One dropped slot is enough to trigger a new count of
    // the month.
    if (dropped.size < slotsAtOnce) dropped.add(slot);
  };

  return {
    /** Renews the lease of the slot from now on. */
    hold: (chain: Chain, slot: Slot) => void slotsOf(chain).held.add(slot),
    /** Stops renewing the lease. */
    release: (chain: Chain, slot: Slot) => void slotsOf(chain).held.delete(slot),
    drop,
    /** Resolves when Redis has released the slot or is unreachable. */
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
    /** Resolves when Redis has released all ended slots. */
    async close() {
      clearInterval(timer);
      await Promise.all(pending);
    },
  };
}

async function synchronize(accounts: RedisAccounts, { chain, held, dropped }: OwnerSlots): Promise<void> {
  const heldNow = [...held];
  for (let from = 0; from < heldNow.length; from += slotsAtOnce) {
    // A slot that has ended in the meantime must not be taken again.
    const slots = heldNow.slice(from, from + slotsAtOnce).filter((slot) => held.has(slot));
    if (slots.length > 0) await accounts.renewSlots(chain, slots);
  }
  // Renewals come first, because the drop causes a new read of the ledger. Redis must have the recorded characters of
  // the running syntheses before this read.
  const droppedNow = [...dropped];
  if (droppedNow.length > 0) await accounts.dropSlots(chain, droppedNow);
  for (const slot of droppedNow) dropped.delete(slot);
}
