// Caches stored audio in memory. A clip is cached on its second read, and dropped after half a minute or when the clip
// is removed. The total size is limited. A clip that is being read counts until its reader is done, so that slow
// readers cannot exceed the limit.
import type { ByteRange, ClipStore } from './stores/clip-store.ts';

/** Maximum size of all clips that are cached or being read. */
const heldBytesMaxDefault = 64 << 20;
/** Larger clips are always read from the store. */
const clipBytesMax = 4 << 20;
const heldClipsMax = 4_096;
/** Time for which a clip may still be served from memory after another process or a person has removed it. */
const heldMsMaxDefault = 30_000;
/** Maximum number of remembered clips that were read once. The next read caches such a clip. */
const readOnceMax = 4_096;
/** Maximum size of a piece. A reader that stalls keeps its piece in memory. */
const pieceBytes = 256 * 1024;

export type ClipPieces = Iterable<Uint8Array> | AsyncIterable<Uint8Array>;

export interface ReadClip {
  /** The audio, which must be read to the end or closed. */
  pieces: ClipPieces;
  close(): void;
}

export type ClipMemory = ReturnType<typeof createClipMemory>;

interface HeldClip {
  pieces: readonly Buffer[];
  byteCount: number;
  readers: number;
  isHeld: boolean;
}

export interface ClipMemoryOptions {
  heldBytesMax?: number;
  heldMsMax?: number;
}

export function createClipMemory(store: ClipStore, options: ClipMemoryOptions = {}) {
  const { heldBytesMax = heldBytesMaxDefault, heldMsMax = heldMsMaxDefault } = options;
  const held = createHeldClips(heldBytesMax);
  const loading = new Map<string, Promise<HeldClip | undefined>>();
  const readOnce = new Set<string>();
  const forget = (clipId: string) => {
    loading.delete(clipId);
    readOnce.delete(clipId);
    held.drop(clipId);
  };

  /** Concurrent requests for a clip share one load. A clip removed during the load is not cached. */
  const load = (clipId: string, byteCount: number): Promise<HeldClip | undefined> => {
    const release = held.reserve(byteCount);
    const readAll = async () => {
      const stored = await store.open(clipId);
      const pieces = stored && (await readPieces(stored.body, byteCount));
      return pieces && { pieces, byteCount, readers: 0, isHeld: false };
    };
    const mine: Promise<HeldClip | undefined> = readAll()
      .finally(release)
      .then((clip) => {
        if (!clip || loading.get(clipId) !== mine) return clip;
        held.enter(clipId, clip);
        setTimeout(() => held.drop(clipId, clip), heldMsMax).unref();
        return clip;
      })
      .finally(() => loading.get(clipId) === mine && loading.delete(clipId));
    loading.set(clipId, mine);
    return mine;
  };

  const findOrLoad = (clipId: string, byteCount: number): HeldClip | Promise<HeldClip | undefined> | undefined => {
    const found = held.find(clipId) ?? loading.get(clipId);
    if (found || byteCount > clipBytesMax) return found;
    if (readOnce.delete(clipId) && held.hasRoom(byteCount)) return load(clipId, byteCount);
    if (readOnce.size >= readOnceMax) readOnce.delete(readOnce.values().next().value!);
    readOnce.add(clipId);
    return undefined;
  };

  return {
    /** The clip store. Clips that are removed through this object are also dropped from memory. */
    clips: withRemoval(store, forget),
    isHeld: held.has,
    /** Reads the audio of a clip from memory or from the store. Undefined if the clip does not exist. */
    async read(
      { clipId, byteCount }: { clipId: string; byteCount: number },
      range?: ByteRange,
    ): Promise<ReadClip | undefined> {
      const clip = await findOrLoad(clipId, byteCount);
      // A clip that was dropped between its load and this read is no longer counted, so the store is read instead.
      if (clip?.isHeld) return { pieces: piecesOf(clip, range, held.giveBack), close() {} };
      const stored = await store.open(clipId, range);
      return stored && { pieces: stored.body, close: () => void stored.body.destroy() };
    },
    /** Drops all clips from memory. */
    clear(): void {
      loading.clear();
      readOnce.clear();
      held.clear();
    },
  };
}

/** The cached clips, and the total size of all clips that are cached, loaded or read. */
function createHeldClips(bytesMax: number) {
  /** The cached clips, the least recently read first. */
  const held = new Map<string, HeldClip>();
  let bytes = 0;
  const giveBack = (clip: HeldClip) => {
    if (!clip.isHeld && clip.readers === 0) bytes -= clip.byteCount;
  };
  const drop = (clipId: string, clip: HeldClip | undefined = held.get(clipId)) => {
    if (!clip || held.get(clipId) !== clip) return;
    held.delete(clipId);
    clip.isHeld = false;
    giveBack(clip);
  };
  return {
    has: (clipId: string) => held.has(clipId),
    find(clipId: string): HeldClip | undefined {
      const found = held.get(clipId);
      if (!found) return undefined;
      held.delete(clipId);
      held.set(clipId, found);
      return found;
    },
    enter(clipId: string, clip: HeldClip): void {
      drop(clipId);
      clip.isHeld = true;
      bytes += clip.byteCount;
      held.set(clipId, clip);
    },
    /** Counts `byteCount` bytes until the returned function is called. */
    reserve(byteCount: number): () => void {
      bytes += byteCount;
      return () => {
        bytes -= byteCount;
      };
    },
    /** Drops clips until `byteCount` bytes fit. Clips that are being read stay, because dropping them frees nothing. */
    hasRoom(byteCount: number): boolean {
      const isEnough = () => bytes + byteCount <= bytesMax && held.size < heldClipsMax;
      for (const [clipId, clip] of held) {
        if (isEnough()) return true;
        if (clip.readers === 0) drop(clipId, clip);
      }
      return isEnough();
    },
    giveBack,
    drop,
    clear() {
      for (const [clipId, clip] of held) drop(clipId, clip);
    },
  };
}

const withRemoval = (store: ClipStore, forget: (key: string) => void): ClipStore => ({
  hasReceipts: store.hasReceipts,
  create: (...asked) => store.create(...asked),
  open: (...asked) => store.open(...asked),
  async remove(key) {
    forget(key);
    await store.remove(key);
    // A concurrent reader may have added the clip again.
    forget(key);
  },
  sweep: (isKnown) => store.sweep(isKnown),
  disk: () => store.disk(),
  close: () => store.close(),
});

/**
 * Reads the body into separate buffers, so that a reader keeps only its current piece in memory. Undefined if the size
 * is unexpected.
 */
async function readPieces(body: AsyncIterable<Uint8Array>, byteCount: number): Promise<Buffer[] | undefined> {
  const pieces: Buffer[] = [];
  for (let at = 0; at < byteCount; at += pieceBytes)
    pieces.push(Buffer.allocUnsafeSlow(Math.min(pieceBytes, byteCount - at)));
  let at = 0;
  for await (const bytes of body) {
    if (at + bytes.length > byteCount) return undefined;
    for (let from = 0; from < bytes.length; ) {
      const piece = pieces[Math.floor(at / pieceBytes)]!;
      const rest = bytes.subarray(from, from + piece.length - (at % pieceBytes));
      piece.set(rest, at % pieceBytes);
      from += rest.length;
      at += rest.length;
    }
  }
  return at === byteCount ? pieces : undefined;
}

function* piecesOf(
  clip: HeldClip,
  { first, last }: ByteRange = { first: 0, last: clip.byteCount - 1 },
  giveBack: (clip: HeldClip) => void,
): Generator<Uint8Array, undefined> {
  // A clip that was dropped before its reader began is no longer counted.
  const isCounted = clip.isHeld;
  if (isCounted) clip.readers++;
  try {
    const end = Math.min(last + 1, clip.byteCount);
    for (let at = first - (first % pieceBytes); at < end; at += pieceBytes)
      yield clip.pieces[at / pieceBytes]!.subarray(Math.max(0, first - at), end - at);
  } finally {
    if (isCounted) {
      clip.readers--;
      giveBack(clip);
    }
  }
}
