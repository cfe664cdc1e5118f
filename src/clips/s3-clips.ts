// Clips in a bucket, of any maker's S3:
//
//     {prefix}X7/aud_01JD...X7     a clip, after the last two characters of its key: as in a folder (local-clips.ts)
//     an upload in parts           one that is being written, and seen by nobody
//
// Once the store has failed, it is asked whether it is there again before anything more is begun, so that nobody speaks
// for a store that is away. What crashes have left is swept after a day.
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { Failure } from '../errors.ts';
import { type ByteRange, type ClipDraft, type ClipStore, isClipKey, type StoredClip } from './clip-store.ts';
import { S3Body } from './s3-body.ts';
import type { S3Bucket, StoredObject } from './s3-bucket.ts';
import { S3Draft } from './s3-draft.ts';

export interface S3ClipsOptions {
  bucket: S3Bucket;
  /** Empty, or ending with a slash. */
  prefix: string;
  /** How long a body may pause that is waited for. */
  stallMs?: number;
  /** An upload that began so long ago has lost its writer, and a clip without a row its row. */
  abandonedAfterMs?: number;
}

/** A body of this size is fetched at once: its connection is free again, whatever becomes of the reader. */
const smallBytes = 16 * 1024;

/** Where a clip lies in the bucket. */
export const toS3Path = (prefix: string, key: string): string => `${prefix}${key.slice(-2)}/${key}`;

export class S3Clips implements ClipStore {
  readonly #bucket: S3Bucket;
  readonly #prefix: string;
  readonly #stallMs: number;
  readonly #abandonedAfterMs: number;
  readonly #drafts = new Set<S3Draft>();
  readonly #clearing = new Set<Promise<void>>();
  #isDoubtful = false;
  #check: Promise<void> | undefined;
  #closed = false;

  constructor({ bucket, prefix, stallMs = 15_000, abandonedAfterMs = 24 * 3_600_000 }: S3ClipsOptions) {
    this.#bucket = bucket;
    this.#prefix = prefix;
    this.#stallMs = stallMs;
    this.#abandonedAfterMs = abandonedAfterMs;
  }

  async create(key: string, contentType: string): Promise<ClipDraft> {
    if (!isClipKey(key)) throw new TypeError(`${JSON.stringify(key)} cannot be the key of a clip`);
    await this.#ensureThere();
    const draft: S3Draft = new S3Draft({
      bucket: this.#bucket,
      path: toS3Path(this.#prefix, key),
      contentType,
      onFault: (fault) => this.#doubt(fault),
      onOver: (clearing) => {
        this.#drafts.delete(draft);
        this.#clearing.add(clearing);
        clearing.finally(() => this.#clearing.delete(clearing));
      },
    });
    this.#drafts.add(draft);
    if (this.#closed) await draft.discard();
    return draft;
  }

  async open(key: string, range?: ByteRange): Promise<StoredClip | undefined> {
    if (!isClipKey(key)) return undefined;
    const path = toS3Path(this.#prefix, key);
    const isEmpty = range && range.last < range.first;
    const found = await (isEmpty ? this.#bucket.head(path) : this.#bucket.get(path, range));
    return found && { byteCount: found.byteCount, body: await this.#bodyOf(found) };
  }

  async remove(key: string): Promise<void> {
    if (isClipKey(key)) await this.#bucket.remove(toS3Path(this.#prefix, key));
  }

  async sweep(isKnown: (key: string) => Promise<boolean>): Promise<number> {
    let removed = 0;
    const isOld = (sinceMs: number) => !this.#closed && Date.now() - sinceMs >= this.#abandonedAfterMs;
    for await (const upload of this.#bucket.listUploads(this.#prefix)) {
      if (this.#keyOf(upload.path) === undefined || !isOld(upload.startedAtMs)) continue;
      await this.#bucket.abortUpload(upload);
      removed++;
    }
    for await (const { path, modifiedAtMs } of this.#bucket.list(this.#prefix)) {
      if (this.#closed) break;
      const key = this.#keyOf(path);
      if (key === undefined || !isOld(modifiedAtMs) || (await isKnown(key))) continue;
      await this.#bucket.remove(path);
      removed++;
    }
    return removed;
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const draft of this.#drafts) await draft.discard();
    await Promise.all(this.#clearing);
    this.#bucket.close();
  }

  async #bodyOf({ body }: StoredObject): Promise<Readable> {
    if (!body) return Readable.from([]);
    const { stream, byteCount } = body;
    const watched = new S3Body(stream, { byteCount, stallMs: this.#stallMs });
    return byteCount > smallBytes ? watched : Readable.from([await buffer(watched)]);
  }

  /** Undefined for what is none of ours. */
  #keyOf(path: string): string | undefined {
    const key = path.slice(path.lastIndexOf('/') + 1);
    return isClipKey(key) && path === toS3Path(this.#prefix, key) ? key : undefined;
  }

  #doubt(fault: unknown): void {
    if (fault instanceof Failure && fault.reason === 'storage_unavailable') this.#isDoubtful = true;
  }

  /** All who wait for the answer wait for the same one. */
  async #ensureThere(): Promise<void> {
    if (!this.#isDoubtful) return;
    this.#check ??= this.#bucket.check().finally(() => {
      this.#check = undefined;
    });
    await this.#check;
    this.#isDoubtful = false;
  }
}
