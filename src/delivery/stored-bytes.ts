// Counts the stored audio of each account: the clips in the index, and what is being stored (reserved). The index is summed
// at the start, and again from time to time, because other replicas store and remove clips too; in between, the changes
// that this process makes are added.
import type { ClipRows } from '../store/clip-rows.ts';

/** Beside its bytes each clip counts this much: its row, its captions, and the rest of its last block on the disk. */
export const bytesPerClip = 4096;
const countAgainMsMin = 30_000;
/** Counting takes at most this share of the time. */
const countingShareMax = 0.001;

/** Bytes that a clip may take until it is stored. */
export interface Reserved {
  accountId: string;
  bytes: number;
  /** The part that the store has taken. */
  written: number;
}

export interface StoredBytes {
  /** Of all accounts, or of one: stored and reserved. */
  held(accountId?: string): number;
  stored(): number;
  /** Reserved, and not written yet. */
  outstanding(): number;
  /** Those that hold more than so much, most first. */
  accountsAbove(bytes: number): string[];
  reserve(accountId: string, bytes: number): Reserved;
  grow(reserved: Reserved, bytes: number): void;
  release(reserved: Reserved): void;
  note(accountId: string, bytes: number, clips: number): void;
  /** Sums the index again where that was long ago. */
  refresh(): Promise<void>;
}

export type StoredBytesOptions = Pick<ClipRows, 'sumStored'>;

export function createStoredBytes(index: StoredBytesOptions): StoredBytes {
  let stored = new Map<string, number>();
  let storedSum = 0;
  const reservedOf = new Map<string, number>();
  const reservations = new Set<Reserved>();
  let countAgainAtMs = 0;
  let counting: Promise<void> | undefined;

  const noteReserved = (accountId: string, bytes: number) => {
    const next = (reservedOf.get(accountId) ?? 0) + bytes;
    if (next > 0) reservedOf.set(accountId, next);
    else reservedOf.delete(accountId);
  };

  const count = async () => {
    const begunMs = performance.now();
    const sums = await index.sumStored();
    stored = new Map(sums.map(({ accountId, bytes, clips }) => [accountId, bytes + clips * bytesPerClip]));
    storedSum = [...stored.values()].reduce((sum, bytes) => sum + bytes, 0);
    const tookMs = performance.now() - begunMs;
    countAgainAtMs = Date.now() + Math.max(countAgainMsMin, tookMs / countingShareMax);
  };

  const held = (accountId: string) => (stored.get(accountId) ?? 0) + (reservedOf.get(accountId) ?? 0);
  return {
    held(accountId) {
      if (accountId !== undefined) return held(accountId);
      return [...reservedOf.values()].reduce((sum, bytes) => sum + bytes, storedSum);
    },
    stored: () => storedSum,
    outstanding: () => [...reservations].reduce((sum, { bytes, written }) => sum + Math.max(0, bytes - written), 0),
    accountsAbove: (bytes) =>
      [...stored.keys()].filter((each) => held(each) > bytes).sort((one, other) => held(other) - held(one)),
    reserve(accountId, bytes) {
      const reserved = { accountId, bytes, written: 0 };
      reservations.add(reserved);
      noteReserved(accountId, bytes);
      return reserved;
    },
    grow(reserved, bytes) {
      if (!reservations.has(reserved)) return;
      noteReserved(reserved.accountId, bytes - reserved.bytes);
      reserved.bytes = bytes;
    },
    release(reserved) {
      if (reservations.delete(reserved)) noteReserved(reserved.accountId, -reserved.bytes);
    },
    note(accountId, bytes, clips) {
      const change = bytes + clips * bytesPerClip;
      const next = Math.max(0, (stored.get(accountId) ?? 0) + change);
      storedSum += next - (stored.get(accountId) ?? 0);
      if (next > 0) stored.set(accountId, next);
      else stored.delete(accountId);
    },
    async refresh() {
      if (Date.now() < countAgainAtMs) return;
      counting ??= count().finally(() => {
        counting = undefined;
      });
      await counting;
    },
  };
}
