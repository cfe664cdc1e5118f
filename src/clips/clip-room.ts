// Makes room for stored audio, within a quota per account, a total quota, and the free space of the file system. A clip
// that would not fit is refused before it is spoken. Expired clips are removed first, then the oldest clips of the
// account or, above the total quota, of the largest account. Clips without a link never displace clips with a link. A
// clip whose link was returned within the last minute stays, and so do the chapters of a job that has not ended.
import { Failure } from '../platform/errors.ts';
import { freeBytesMin } from '../platform/runtime/files.ts';
import { createMetrics, type Metrics } from '../platform/telemetry/prometheus.ts';
import { type ClipRemover, type ClipRemoverOptions, createClipRemover, keptMsMin } from './clip-remover.ts';
import type { ClipRows, StoredClipRow } from './clip-rows.ts';
import type { ClipStore, Disk } from './stores/clip-store.ts';

/** Time for which the measured size of the file system stays valid. */
const diskMs = 1_000;
/** Share of the file system for audio if no quota is set, and the share of that space for one account. */
const diskShareMax = 0.5;
const accountShareMax = 0.25;

/** Largest room that a clip requests ahead while it grows. */
const growBytesMax = 1 << 20;
/** Safety factor for the expected size of a clip, which is a rough estimate. */
const margin = 1.5;

export interface RoomLimits {
  /** Maximum size of all stored audio, and of the audio of an account. 0 means the default. */
  bytesMax: number;
  accountBytesMax: number;
}

/** Reserved room for one clip. */
export interface Reservation {
  /** Must be called when the clip has `bytes` bytes in total. Makes more room if the clip is larger than expected. */
  grow(bytes: number): Promise<void>;
  /** Must be called when the clip is in the index. */
  keep(bytes: number): void;
  /** Releases the room. Does nothing after `keep`. */
  release(): void;
}

export interface RoomState {
  storedBytes: number;
  /** The quotas; undefined if there is no quota. */
  bytesMax: number | undefined;
  accountBytesMax: number | undefined;
  /** Bytes that can be stored without removing a clip; undefined if there is no limit. */
  freeBytes: number | undefined;
  removedClips: number;
}

interface RoomRequest {
  accountId: string;
  bytes: number;
  isLinked: boolean;
}

interface ExpectedRoom extends RoomRequest {
  /** Whether the bytes are not an estimate. */
  isExact?: boolean;
}

export type ClipRoom = ReturnType<typeof createClipRoom>;

export interface ClipRoomOptions extends Pick<ClipRemoverOptions, 'onFault'> {
  clips: ClipRemoverOptions['clips'] & Pick<ClipStore, 'disk'>;
  index: ClipRemoverOptions['index'] & StoredBytesOptions;
  limits: RoomLimits;
  metrics?: Metrics | undefined;
}

export function createClipRoom({ clips, index, limits, metrics = createMetrics(), onFault }: ClipRoomOptions) {
  const bytes = createStoredBytes(index);
  const disk = createDiskWatch(clips);
  const quota = createQuota(limits, bytes, disk);
  const noteRemoved = ({ accountId, byteCount }: Pick<StoredClipRow, 'accountId' | 'byteCount'>) => {
    bytes.note(accountId, -byteCount, -1);
    disk.forget();
  };
  const remover = createClipRemover({ clips, index, onFault, onRemoved: noteRemoved });
  const remove = createRemove(remover, disk);
  /** Makes room for one clip at a time. */
  const inTurn = createTurns();
  const refresh = () => Promise.all([bytes.refresh(), disk.refresh()]);
  const state = (): RoomState => ({
    ...quota.state(),
    storedBytes: bytes.stored(),
    removedClips: remover.removedClips,
  });
  watchRoom(metrics, state);

  const makeRoom = async ({ accountId, bytes: added, isLinked }: RoomRequest): Promise<void> => {
    await refresh();
    if (!quota.canFit(added)) throw tooFull();
    for (;;) {
      const own = quota.excessOf(accountId, added);
      const all = quota.excess(added);
      if (own <= 0 && all <= 0) return;
      const larger = () => bytes.accountsAbove(bytes.held(accountId) + added);
      const freed = await (own > 0
        ? remove(own, { accounts: [accountId], isLinked, expiredOf: accountId })
        : remove(all, { accounts: [...larger(), accountId], isLinked }));
      if (freed === 0)
        throw tooFull(
          own > 0
            ? 'The stored audio of this account has reached its limit. Delete audio, or wait until some expires.'
            : undefined,
        );
    }
  };

  const toReservation = (reserved: Reserved, isLinked: boolean): Reservation => ({
    async grow(written) {
      reserved.written = written;
      if (written + bytesPerClip <= reserved.bytes) return;
      // Requests more room than needed, so that not every write has to make room.
      const needed = written + bytesPerClip;
      const next = Math.min(quota.withMargin(needed), needed + growBytesMax);
      await inTurn(async () => {
        await makeRoom({ accountId: reserved.accountId, bytes: next - reserved.bytes, isLinked });
        bytes.grow(reserved, next);
      });
    },
    keep(byteCount) {
      bytes.release(reserved);
      bytes.note(reserved.accountId, byteCount, 1);
    },
    release: () => bytes.release(reserved),
  });

  return {
    /** Makes room for the expected bytes, or throws `storage_full`. */
    reserve: ({ accountId, bytes: expected, isExact, isLinked }: ExpectedRoom): Promise<Reservation> =>
      inTurn(async () => {
        await refresh();
        const needed = expected + bytesPerClip;
        const added = isExact ? needed : quota.withMargin(needed);
        await makeRoom({ accountId, bytes: added, isLinked });
        return toReservation(bytes.reserve(accountId, added), isLinked);
      }),
    /** Must be called when a clip and its file have been removed. */
    noteRemoved,
    /** Removes clips until the file system has the minimum free space. Returns false if this is impossible. */
    restore: (): Promise<boolean> =>
      inTurn(async () => {
        await refresh();
        for (let missing = -quota.spareOnDisk(); missing > 0; missing = -quota.spareOnDisk())
          if ((await remove(missing, { accounts: bytes.accountsAbove(0), isLinked: true })) === 0) return false;
        return true;
      }),
    /** The last known state. */
    state,
  };
}

function watchRoom(metrics: Metrics, state: () => RoomState): void {
  const gauge = (name: string, help: string, read: (state: RoomState) => number | undefined) =>
    metrics.gauge(name, help, () => [read(state())].flatMap((value) => (value === undefined ? [] : [[{}, value]])));
  gauge('sonant_audio_stored_bytes', 'Stored audio.', ({ storedBytes }) => storedBytes);
  gauge('sonant_audio_quota_bytes', 'Quota of all stored audio; absent if there is none.', ({ bytesMax }) => bytesMax);
  const accountHelp = 'Quota of an account: a key and the keys derived from it.';
  gauge('sonant_audio_key_quota_bytes', accountHelp, ({ accountBytesMax }) => accountBytesMax);
  gauge('sonant_audio_free_bytes', 'Bytes that can be stored without removing audio.', ({ freeBytes }) => freeBytes);
  metrics.total('sonant_audio_removed_total', 'Clips removed before they expired.', () => state().removedClips);
}

/**
 * The clips that may be removed: expired clips of `expiredOf` or of all accounts, then the oldest clips of the first
 * account that has any.
 */
interface Removal {
  accounts: readonly string[];
  /** Whether clips with links may be removed. */
  isLinked: boolean;
  expiredOf?: string;
}

const createRemove =
  (remover: ClipRemover, disk: Pick<DiskWatch, 'refresh'>) =>
  async (amount: number, { accounts, isLinked, expiredOf }: Removal): Promise<number> => {
    let freed = await remover.removeExpired(amount, expiredOf);
    for (const each of accounts) {
      freed ||= await remover.removeOldest(each, amount, 'unlinked');
      if (isLinked) freed ||= await remover.removeOldest(each, amount, 'linked');
    }
    await disk.refresh();
    return freed;
  };

/** Runs one task after another. */
function createTurns() {
  let last: Promise<unknown> = Promise.resolve();
  return <Result>(work: () => Promise<Result>): Promise<Result> => {
    const done = last.then(work);
    last = done.catch(() => {});
    return done;
  };
}

/** Computes the limits from the stored bytes and the file system. */
function createQuota(limits: RoomLimits, bytes: StoredBytes, disk: Pick<DiskWatch, 'known'>) {
  const bytesMax = () => limits.bytesMax || diskShareMax * (disk.known()?.sizeBytes ?? Infinity);
  const accountBytesMax = () => limits.accountBytesMax || accountShareMax * bytesMax();
  /** Free space on the file system beyond the minimum. */
  const spareOnDisk = () => {
    const known = disk.known();
    return known ? known.freeBytes - freeBytesMin(known) : Infinity;
  };
  /** Number of bytes that are missing for `added` more bytes. */
  const excess = (added: number) =>
    Math.max(bytes.held() + added - bytesMax(), bytes.outstanding() + added - spareOnDisk());
  const limit = (max: number) => (max === Infinity ? undefined : Math.floor(max));
  return {
    spareOnDisk,
    excess,
    excessOf: (accountId: string, added: number) => bytes.held(accountId) + added - accountBytesMax(),
    /** Adds the margin to the expected size, but not beyond the quotas. */
    withMargin: (expected: number) =>
      Math.max(expected, Math.min(Math.ceil(margin * expected), Math.floor(accountBytesMax()), Math.floor(bytesMax()))),
    /** Whether `added` bytes would fit if all stored audio were removed. */
    canFit: (added: number) =>
      added <= accountBytesMax() && added <= bytesMax() && added <= spareOnDisk() + bytes.stored(),
    state: () => ({
      bytesMax: limit(bytesMax()),
      accountBytesMax: limit(accountBytesMax()),
      freeBytes: limit(Math.max(0, -excess(0))),
    }),
  };
}

type DiskWatch = ReturnType<typeof createDiskWatch>;

const tooFull = (message?: string) =>
  new Failure('storage_full', { ...(message && { message }), retryAfterSeconds: keptMsMin / 1000 });

function createDiskWatch(clips: Pick<ClipStore, 'disk'>) {
  let known: Disk | undefined;
  let knownUntilMs = 0;
  return {
    known: () => known,
    forget() {
      knownUntilMs = 0;
    },
    async refresh(): Promise<void> {
      if (Date.now() < knownUntilMs) return;
      known = await clips.disk();
      knownUntilMs = Date.now() + diskMs;
    },
  };
}

/** Overhead per clip: its row, its captions and receipt, and the unused rest of its last disk block. */
const bytesPerClip = 4096;
const countAgainMsMin = 30_000;
/** Largest share of time that is spent on counting. */
const countingShareMax = 0.001;

/** Bytes reserved for a clip until it is stored. */
interface Reserved {
  accountId: string;
  bytes: number;
  /** The part that the store has already received. */
  written: number;
}

type StoredBytes = ReturnType<typeof createStoredBytes>;

type StoredBytesOptions = Pick<ClipRows, 'sumStored'>;

function createStoredBytes(index: StoredBytesOptions) {
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
    /** Stored and reserved bytes of an account, or of all accounts. */
    held(accountId?: string): number {
      if (accountId !== undefined) return held(accountId);
      return [...reservedOf.values()].reduce((sum, bytes) => sum + bytes, storedSum);
    },
    stored: (): number => storedSum,
    /** Reserved bytes that have not been written yet. */
    outstanding: (): number =>
      [...reservations].reduce((sum, { bytes, written }) => sum + Math.max(0, bytes - written), 0),
    /** Accounts with more than `bytes` bytes, largest first. */
    accountsAbove: (bytes: number): string[] =>
      [...stored.keys()].filter((each) => held(each) > bytes).sort((one, other) => held(other) - held(one)),
    reserve(accountId: string, bytes: number): Reserved {
      const reserved = { accountId, bytes, written: 0 };
      reservations.add(reserved);
      noteReserved(accountId, bytes);
      return reserved;
    },
    grow(reserved: Reserved, bytes: number): void {
      if (!reservations.has(reserved)) return;
      noteReserved(reserved.accountId, bytes - reserved.bytes);
      reserved.bytes = bytes;
    },
    release(reserved: Reserved): void {
      if (reservations.delete(reserved)) noteReserved(reserved.accountId, -reserved.bytes);
    },
    note(accountId: string, bytes: number, clips: number): void {
      const change = bytes + clips * bytesPerClip;
      const next = Math.max(0, (stored.get(accountId) ?? 0) + change);
      storedSum += next - (stored.get(accountId) ?? 0);
      if (next > 0) stored.set(accountId, next);
      else stored.delete(accountId);
    },
    /** Sums the index again if the last sum is old. */
    async refresh(): Promise<void> {
      if (Date.now() < countAgainAtMs) return;
      counting ??= count().finally(() => {
        counting = undefined;
      });
      await counting;
    },
  };
}
