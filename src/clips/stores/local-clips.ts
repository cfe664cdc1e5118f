// Stores clips in a folder. A commit syncs the draft to disk, renames it and syncs the folder; renaming is atomic, so a
// clip is complete or does not exist. Old drafts are removed when the folder is opened. A removed folder is created
// again on demand.
//     drafts/aud_01JD...X7.3f9c2a61   a draft; the random suffix makes it unique
//     X7/aud_01JD...X7                a clip, in the folder of the last two characters of its key
import { randomBytes } from 'node:crypto';
import { type FileHandle, open, readdir, rename, rm, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { Failure } from '../../platform/errors.ts';
import { makeFolder } from '../../platform/runtime/files.ts';
import { SlotQueue } from '../../platform/runtime/slot-queue.ts';
import { type ByteRange, type ClipDraft, type ClipStore, type Disk, isClipKey, type StoredClip } from './clip-store.ts';

/** Age at which a draft that has not changed, or a clip without a row, counts as abandoned. */
const abandonedAfterMs = 60 * 60 * 1000;

export async function openLocalClips(options: { dir: string; hasReceipts?: boolean }): Promise<ClipStore> {
  const clips = new LocalClips(options);
  await withStorageFailures(async () => {
    makeFolder(clips.draftsDir, 0o700);
    await clips.sweepDrafts();
  });
  return clips;
}

class LocalClips implements ClipStore {
  readonly hasReceipts: boolean;
  readonly #dir: string;
  readonly draftsDir: string;
  readonly #drafts = new Set<LocalDraft>();
  readonly #reads = new SlotQueue({ slotsMax: readsMax });
  #closed = false;

  constructor({ dir, hasReceipts = true }: { dir: string; hasReceipts?: boolean }) {
    this.hasReceipts = hasReceipts;
    this.#dir = dir;
    this.draftsDir = join(dir, 'drafts');
  }

  #pathOf(key: string): string {
    return join(this.#dir, key.slice(-2), key);
  }

  async create(key: string): Promise<ClipDraft> {
    if (!isClipKey(key)) throw new TypeError(`${JSON.stringify(key)} cannot be the key of a clip`);
    const path = join(this.draftsDir, `${key}.${randomBytes(4).toString('hex')}`);
    const file = await withStorageFailures(() => inFolder(this.draftsDir, () => open(path, 'wx', 0o600)));
    const draft = new LocalDraft({ file, path, target: this.#pathOf(key), onEnd: () => this.#drafts.delete(draft) });
    this.#drafts.add(draft);
    if (this.#closed) await draft.discard();
    return draft;
  }

  async open(key: string, range?: ByteRange): Promise<StoredClip | undefined> {
    if (!isClipKey(key)) return undefined;
    const file = await withStorageFailures(() => ifThere(open(this.#pathOf(key), 'r')));
    if (!file) return undefined;
    try {
      const { size } = await file.stat();
      const { first, last } = range ?? { first: 0, last: size - 1 };
      return { byteCount: size, body: new FileBody(file, { first, last: Math.min(last, size - 1) }, this.#reads) };
    } catch (error) {
      await file.close();
      throw toStorageFailure(error);
    }
  }

  async remove(key: string): Promise<void> {
    if (isClipKey(key)) await withStorageFailures(() => rm(this.#pathOf(key), { force: true }));
  }

  sweep(isKnown: (key: string) => Promise<boolean>): Promise<number> {
    return withStorageFailures(async () => {
      let removed = await this.sweepDrafts();
      for (const folder of await namesIn(this.#dir)) {
        if (folder.length !== 2) continue;
        for (const key of await namesIn(join(this.#dir, folder))) {
          if (isClipKey(key) && !(await isKnown(key)) && (await removeAbandoned(this.#pathOf(key)))) removed++;
        }
      }
      return removed;
    });
  }

  async sweepDrafts(): Promise<number> {
    let removed = 0;
    for (const name of await namesIn(this.draftsDir)) {
      if (await removeAbandoned(join(this.draftsDir, name))) removed++;
    }
    return removed;
  }

  disk(): Promise<Disk> {
    return withStorageFailures(async () => {
      const { bsize, blocks, bavail } = await inFolder(this.draftsDir, () => statfs(this.#dir));
      return { sizeBytes: blocks * bsize, freeBytes: bavail * bsize };
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const draft of this.#drafts) await draft.discard();
  }
}

/** Runs `work`. If the folder is missing, creates it again and repeats `work`. */
async function inFolder<Result>(folder: string, work: () => Promise<Result>): Promise<Result> {
  const done = await ifThere(work());
  if (done !== undefined) return done;
  makeFolder(folder, 0o700);
  return work();
}

/** Returns undefined if there is no such file or folder. */
const ifThere = <Result>(work: Promise<Result>): Promise<Result | undefined> =>
  work.catch((error: unknown) => {
    if (codeOf(error) !== 'ENOENT') throw error;
    return undefined;
  });

const namesIn = async (folder: string): Promise<string[]> => (await ifThere(readdir(folder))) ?? [];

class LocalDraft implements ClipDraft {
  readonly #file: FileHandle;
  readonly #path: string;
  readonly #target: string;
  readonly #onEnd: () => void;
  /** The chain of all writes so far. After a failure, every later write fails too. */
  #done: Promise<void> = Promise.resolve();
  #isEnded = false;

  constructor({ file, path, target, onEnd }: { file: FileHandle; path: string; target: string; onEnd: () => void }) {
    this.#file = file;
    this.#path = path;
    this.#target = target;
    this.#onEnd = onEnd;
  }

  write(bytes: Uint8Array): Promise<void> {
    return this.#next(() => this.#file.writeFile(bytes));
  }

  async commit(head?: Uint8Array): Promise<void> {
    try {
      await this.#next(async () => {
        if (head) await overwrite(this.#file, head);
        await this.#file.sync();
        await this.#file.close();
        await moveInto(this.#path, this.#target);
        this.#end();
      });
    } finally {
      await this.discard();
    }
  }

  async discard(): Promise<void> {
    if (this.#isEnded) return;
    this.#end();
    await this.#done.catch(() => {});
    await withStorageFailures(async () => {
      await this.#file.close();
      await rm(this.#path, { force: true });
    });
  }

  #next(work: () => Promise<void>): Promise<void> {
    this.#done = this.#done.then(() => {
      if (this.#isEnded) throw new Failure('storage_unavailable', {}, new Error('the draft has ended'));
      return withStorageFailures(work);
    });
    return this.#done;
  }

  #end(): void {
    this.#isEnded = true;
    this.#onEnd();
  }
}

async function overwrite(file: FileHandle, head: Uint8Array): Promise<void> {
  const { bytesWritten } = await file.write(head, 0, head.length, 0);
  if (bytesWritten < head.length) throw new Error('the head was not written');
}

async function moveInto(from: string, to: string): Promise<void> {
  const folder = join(to, '..');
  try {
    await rename(from, to);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
    makeFolder(folder, 0o700);
    await syncFolder(join(folder, '..'));
    await rename(from, to);
  }
  await syncFolder(folder);
}

/** Syncs a folder to disk, because a power failure could otherwise undo a rename. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

async function removeAbandoned(path: string): Promise<boolean> {
  const found = await ifThere(stat(path));
  if (!found || Date.now() - found.mtimeMs < abandonedAfterMs) return false;
  // The writer or another sweep may have removed the file by now.
  return (await ifThere(rm(path).then(() => true))) ?? false;
}

const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code;

async function withStorageFailures<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw toStorageFailure(error);
  }
}

/** Converts file system errors to Failures. Other errors are bugs and are returned unchanged. */
function toStorageFailure(error: unknown): unknown {
  const code = codeOf(error);
  if (error instanceof Failure || code === undefined) return error;
  return ['ENOSPC', 'EDQUOT'].includes(code)
    ? new Failure('storage_full', {}, error)
    : new Failure('storage_unavailable', { retryAfterSeconds: 1 }, error);
}

const pieceBytes = 32 * 1024;
const readsMax = 16;

/** The bytes of a range, which may be empty. Closes the file. */
class FileBody extends Readable {
  readonly #file: FileHandle;
  readonly #slots: SlotQueue;
  readonly #ending = new AbortController();
  /** Range of the bytes that are still to be read; both ends are inclusive. */
  #at: number;
  readonly #last: number;

  constructor(file: FileHandle, { first, last }: ByteRange, slots: SlotQueue) {
    super({ highWaterMark: pieceBytes });
    this.#file = file;
    this.#slots = slots;
    this.#at = first;
    this.#last = last;
  }

  override _read(): void {
    this.#next().then(
      (piece) => this.push(piece),
      (error) => this.destroy(error),
    );
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#ending.abort();
    this.#file.close().then(() => done(error), done);
  }

  /** Returns null at the end. */
  async #next(): Promise<Uint8Array | null> {
    const length = Math.min(pieceBytes, this.#last + 1 - this.#at);
    if (length <= 0) return null;
    const release = await this.#slots.take({ signal: this.#ending.signal });
    try {
      const { bytesRead, buffer } = await this.#file.read(Buffer.allocUnsafeSlow(length), 0, length, this.#at);
      if (bytesRead === 0) throw new Error('the file has become shorter');
      this.#at += bytesRead;
      return buffer.subarray(0, bytesRead);
    } finally {
      release();
    }
  }
}
