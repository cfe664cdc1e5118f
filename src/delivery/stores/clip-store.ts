// The contract of a store for finished sound: bytes under a key, written once, read often. A clip exists from the moment
// its draft is committed, complete and durable; a crash before that leaves nothing visible. A key is an id of a prefix and
// upper-case letters and digits ("aud_01JD..."), so it cannot be a path to anything else; any other key has no clip.
// Errors are `storage_unavailable`, or `storage_full` where there is no room.
import type { Readable } from 'node:stream';

export interface ClipStore {
  /** Opens a draft of a new clip. `contentType` is stored where the store itself serves clips. */
  create(key: string, contentType: string): Promise<ClipDraft>;
  /** The clip; undefined if there is none. */
  open(key: string, range?: ByteRange): Promise<StoredClip | undefined>;
  /** Removes the clip if it exists. A reader that has opened it still gets all of it. */
  remove(key: string): Promise<void>;
  /**
   * Removes what crashes left behind: abandoned drafts, and old clips that `isKnown` rejects because their row was never
   * written. Returns how many were removed.
   */
  sweep(isKnown: (key: string) => Promise<boolean>): Promise<number>;
  /** The file system that the clips are on; undefined where the size of the store is unknown. */
  disk(): Promise<Disk | undefined>;
  /** Discards the open drafts. */
  close(): Promise<void>;
}

export interface Disk {
  sizeBytes: number;
  /** What this process may still write. */
  freeBytes: number;
}

export interface ClipDraft {
  /** Resolves when the store has taken the bytes; awaiting it gives back-pressure. */
  write(bytes: Uint8Array): Promise<void>;
  /**
   * Turns the draft into a clip, which replaces one with the same key. `head` overwrites the first bytes, for formats
   * whose header depends on the whole sound, such as the sizes of a WAV.
   */
  commit(head?: Uint8Array): Promise<void>;
  /** Removes the draft. Does nothing after `commit`. */
  discard(): Promise<void>;
}

/** The first and the last byte, both inclusive, as in the ranges of RFC 9110. Bytes past the end are left out. */
export interface ByteRange {
  first: number;
  last: number;
}

export interface StoredClip {
  /** The size of the whole clip, whatever the range. */
  byteCount: number;
  /** The bytes of the range. Must be read to its end or destroyed. */
  body: Readable;
}

export const isClipKey = (text: string): boolean => /^[a-z]{2,8}_[0-9A-Z]{20,80}$/.test(text);
