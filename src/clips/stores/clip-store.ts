// The interface of a store for finished audio: bytes under a key, written once and read often. A clip exists only once
// its draft is committed, and is then complete and durable. A key is a prefix, an underscore, and upper-case letters
// and digits ("aud_01JD..."), so a key cannot be a path. Errors are `storage_unavailable`, or `storage_full` if there
// is no room.
import type { Readable } from 'node:stream';
import { measured } from '../../platform/telemetry/trace.ts';

export interface ClipStore {
  /** Whether receipts, which contain the text, are stored beside audio. */
  hasReceipts: boolean;
  /** Opens a draft of a new clip. `contentType` is stored if the store itself serves clips. */
  create(key: string, contentType: string): Promise<ClipDraft>;
  /** Opens the clip. Undefined if the clip does not exist. */
  open(key: string, range?: ByteRange): Promise<StoredClip | undefined>;
  /** Removes the clip if it exists. A reader that has opened the clip can still read it to the end. */
  remove(key: string): Promise<void>;
  /**
   * Removes leftovers of crashes: abandoned drafts, and old clips that `isKnown` rejects because their row was never
   * written. Returns the number of removed drafts and clips.
   */
  sweep(isKnown: (key: string) => Promise<boolean>): Promise<number>;
  /** The file system of the clips; undefined if the size of the store is unknown. */
  disk(): Promise<Disk | undefined>;
  /** Discards the open drafts. */
  close(): Promise<void>;
}

export interface Disk {
  sizeBytes: number;
  /** Bytes that this process may still write. */
  freeBytes: number;
}

export interface ClipDraft {
  /** Resolves when the store has accepted the bytes, which gives back-pressure. */
  write(bytes: Uint8Array): Promise<void>;
  /**
   * Turns the draft into a clip, which replaces any clip with the same key. `head` overwrites the first bytes, because
   * some headers depend on the complete audio, such as the sizes in a WAV.
   */
  commit(head?: Uint8Array): Promise<void>;
  /** Removes the draft. Does nothing after `commit`. */
  discard(): Promise<void>;
}

/** First and last byte, both inclusive, as in RFC 9110. Bytes past the end of the clip are ignored. */
export interface ByteRange {
  first: number;
  last: number;
}

export interface StoredClip {
  /** Size of the complete clip, regardless of the range. */
  byteCount: number;
  /** The bytes of the range. The stream must be read to its end or destroyed. */
  body: Readable;
}

/** Whether the store has the clip. A row may exist without it, for example after a restored backup. */
export async function isStored(clips: Pick<ClipStore, 'open'>, key: string): Promise<boolean> {
  const stored = await clips.open(key, { first: 0, last: 0 });
  stored?.body.destroy();
  return stored !== undefined;
}

export const isClipKey = (text: string): boolean => /^[a-z]{2,8}_[0-9A-Z]{20,80}$/.test(text);

/** Wraps a clip store so that its calls are spans. */
export function traceClips(clips: ClipStore, system: string): ClipStore {
  const span = (operation: string, key?: string) => ({
    name: `${system} ${operation}`,
    kind: 'client' as const,
    attributes: { 'rpc.system.name': system, 'sonant.clip_id': key },
  });
  return {
    hasReceipts: clips.hasReceipts,
    create: (key, contentType) =>
      measured(span('create', key), async () => {
        const draft = await clips.create(key, contentType);
        const commit = (head?: Uint8Array) => measured(span('commit', key), () => draft.commit(head));
        return { write: (bytes) => draft.write(bytes), commit, discard: () => draft.discard() };
      }),
    open: (key, range) => measured(span('open', key), () => clips.open(key, range)),
    remove: (key) => measured(span('remove', key), () => clips.remove(key)),
    sweep: (isKnown) => clips.sweep(isKnown),
    disk: () => clips.disk(),
    close: () => clips.close(),
  };
}
