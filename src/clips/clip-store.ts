// Where finished sound is kept: bytes under a key, written once, read often. A clip is there when its draft is
// committed, whole and on the disk, and not a moment sooner: whoever dies in the middle leaves nothing to be seen.
// A key is an id, a prefix and upper-case letters and digits ("aud_01JD..."), so it can never lead anywhere else; what
// is not of that form has no clip. Errors are `storage_unavailable`, or `storage_full` where there is no room.
import type { Readable } from 'node:stream';

export interface ClipStore {
  /** A new clip, for as long as it is written. `contentType` goes where the store itself serves clips. */
  create(key: string, contentType: string): Promise<ClipDraft>;
  /** The clip, or undefined if there is none. */
  open(key: string, range?: ByteRange): Promise<StoredClip | undefined>;
  /** Removes the clip if it is there. Who is reading it reads on to its end. */
  remove(key: string): Promise<void>;
  /**
   * Removes what crashes have left: drafts that nobody writes any more, and old clips that `isKnown` does not know,
   * because the crash came between the clip and its row. Answers how many.
   */
  sweep(isKnown: (key: string) => Promise<boolean>): Promise<number>;
  /** Discards the drafts that are open. */
  close(): Promise<void>;
}

export interface ClipDraft {
  /** Settles when the store has the bytes: the writer waits for it, and so goes no faster than the store. */
  write(bytes: Uint8Array): Promise<void>;
  /**
   * Makes it a clip, in place of one with the same key. `head` replaces the first bytes that were written, where they
   * had to wait for the last: a WAV header has its sizes in front.
   */
  commit(head?: Uint8Array): Promise<void>;
  /** Leaves nothing behind. Does nothing after `commit`. */
  discard(): Promise<void>;
}

/** The first and the last byte, both included, as in RFC 9110's ranges. What lies behind the end is left out. */
export interface ByteRange {
  first: number;
  last: number;
}

export interface StoredClip {
  /** Of the whole clip, whatever the range. */
  byteCount: number;
  /** The bytes asked for. To be read to its end or destroyed. */
  body: Readable;
}

export const isClipKey = (text: string): boolean => /^[a-z]{2,8}_[0-9A-Z]{20,80}$/.test(text);
