// Stores clips in a bucket of any S3-compatible service. A draft is a multipart upload, which readers cannot see. After
// a failure, the store is checked before the next draft is opened, so that nothing is synthesized while the store is
// down. Leftovers of crashes are removed after a day.
//     {prefix}X7/aud_01JD...X7     a clip, under the last two characters of its key, as in local-clips.ts
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { Failure, hasReason } from '../../platform/errors.ts';
import { type ByteRange, type ClipDraft, type ClipStore, isClipKey, type StoredClip } from './clip-store.ts';
import { type S3Bucket, type StoredObject, toS3Path, type Upload } from './s3-bucket.ts';

interface S3ClipsOptions {
  bucket: S3Bucket;
  /** Empty, or ends with a slash. */
  prefix: string;
  /** Longest time for which the store may send nothing while a reader waits. */
  stallMs?: number;
  /** Age at which an upload, or a clip without a row, counts as abandoned. */
  abandonedAfterMs?: number;
  hasReceipts?: boolean;
}

/** Bodies up to this size are fetched at once, so that a slow reader does not block a connection. */
const smallBytes = 16 * 1024;

export class S3Clips implements ClipStore {
  readonly hasReceipts: boolean;
  readonly #bucket: S3Bucket;
  readonly #prefix: string;
  readonly #stallMs: number;
  readonly #abandonedAfterMs: number;
  readonly #drafts = new Set<S3Draft>();
  readonly #clearing = new Set<Promise<void>>();
  #needsCheck = false;
  #check: Promise<void> | undefined;
  #closed = false;

  constructor(options: S3ClipsOptions) {
    const { bucket, prefix, stallMs = 15_000, abandonedAfterMs = 24 * 3_600_000, hasReceipts = true } = options;
    this.hasReceipts = hasReceipts;
    this.#bucket = bucket;
    this.#prefix = prefix;
    this.#stallMs = stallMs;
    this.#abandonedAfterMs = abandonedAfterMs;
  }

  async create(key: string, contentType: string): Promise<ClipDraft> {
    if (!isClipKey(key)) throw new TypeError(`${JSON.stringify(key)} cannot be the key of a clip`);
    await this.#ensureAvailable();
    const draft: S3Draft = new S3Draft({
      bucket: this.#bucket,
      path: toS3Path(this.#prefix, key),
      contentType,
      onFault: (fault) => this.#noteFault(fault),
      onEnd: (clearing) => {
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

  async disk(): Promise<undefined> {}

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

  /** Undefined for objects that are not clips. */
  #keyOf(path: string): string | undefined {
    const key = path.slice(path.lastIndexOf('/') + 1);
    return isClipKey(key) && path === toS3Path(this.#prefix, key) ? key : undefined;
  }

  #noteFault(fault: unknown): void {
    if (hasReason(fault, 'storage_unavailable')) this.#needsCheck = true;
  }

  /** Concurrent callers share one check. */
  async #ensureAvailable(): Promise<void> {
    if (!this.#needsCheck) return;
    this.#check ??= this.#bucket.check().finally(() => {
      this.#check = undefined;
    });
    await this.#check;
    this.#needsCheck = false;
  }
}

/** Size of the read buffer for a slow reader, in addition to the buffer of the connection. */
const readBytes = 128 * 1024;

class S3Body extends Readable {
  readonly #source: Readable;
  readonly #stallMs: number;
  #missingBytes: number;
  #stallTimer: NodeJS.Timeout | undefined;
  #isComplete = false;

  constructor(source: Readable, { byteCount, stallMs }: { byteCount: number; stallMs: number }) {
    super({ highWaterMark: readBytes });
    this.#source = source;
    this.#missingBytes = byteCount;
    this.#stallMs = stallMs;
    // Prevents an uncaught error if the stream fails before a reader listens. The reader still receives the error.
    this.on('error', () => undefined);
    source.on('data', (bytes: Uint8Array) => this.#push(bytes));
    source.pause();
    source.once('end', () => this.#end());
    source.on('error', (error) => this.#fail(error));
    source.once('close', () => this.#end());
  }

  override _read(): void {
    clearTimeout(this.#stallTimer);
    this.#stallTimer = setTimeout(() => this.#fail(new Error(`no data for ${this.#stallMs} ms`)), this.#stallMs);
    this.#source.resume();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    clearTimeout(this.#stallTimer);
    this.#source.destroy();
    done(error);
  }

  #push(bytes: Uint8Array): void {
    clearTimeout(this.#stallTimer);
    this.#missingBytes -= bytes.length;
    // Without Content-Length, the store could send bytes without end.
    if (this.#missingBytes < 0) this.#fail(new Error('the store sent more bytes than it stated'));
    else if (!this.push(bytes)) this.#source.pause();
  }

  #end(): void {
    clearTimeout(this.#stallTimer);
    if (this.#isComplete || this.destroyed) return;
    this.#isComplete = this.#missingBytes === 0;
    if (this.#isComplete) this.push(null);
    else this.#fail(new Error(`${this.#missingBytes} bytes are missing`));
  }

  #fail(cause: Error): void {
    this.destroy(new Failure('storage_unavailable', { retryAfterSeconds: 1 }, cause));
  }
}

/** The smallest size that S3 allows for all parts except the last part. */
const partBytes = 5 << 20;
/** Initial buffer size of the first part. It is small because most clips are short. */
const shortBytes = 64 * 1024;

interface S3DraftOptions {
  bucket: S3Bucket;
  path: string;
  contentType: string;
  /** Called with store failures. */
  onFault(fault: unknown): void;
  onEnd(clearing: Promise<void>): void;
}

class S3Draft implements ClipDraft {
  readonly #options: S3DraftOptions;
  readonly #discarded = new AbortController();
  /** The chain of all writes so far. After a failure, every later write fails too. */
  #done: Promise<void> = Promise.resolve();
  readonly #first = new Part(shortBytes);
  #filling = new Part(partBytes);
  #upload: Promise<Upload> | undefined;
  /** The ETags of the parts, from the second part on. */
  readonly #sent: Promise<string>[] = [];
  #fault: unknown;
  #isEnded = false;

  constructor(options: S3DraftOptions) {
    this.#options = options;
  }

  write(bytes: Uint8Array): Promise<void> {
    return this.#next(async () => {
      let rest = this.#first.take(bytes);
      while (rest.length > 0) {
        rest = this.#filling.take(rest);
        if (this.#filling.isFull) await this.#send();
      }
      if (this.#fault !== undefined) throw this.#fault;
    });
  }

  async commit(head?: Uint8Array): Promise<void> {
    try {
      await this.#next(async () => {
        if (head) this.#first.overwrite(head);
        await this.#finish();
        this.#end(Promise.resolve());
      });
    } catch (fault) {
      if (!this.#isEnded) this.#options.onFault(fault);
      throw fault;
    } finally {
      await this.discard();
    }
  }

  /** Uploaded parts are removed in the background. Parts that cannot be removed now are left to the next sweep. */
  async discard(): Promise<void> {
    if (this.#isEnded) return;
    this.#discarded.abort();
    this.#end(this.#clear());
  }

  async #finish(): Promise<void> {
    const { bucket, path, contentType } = this.#options;
    const { signal } = this.#discarded;
    if (this.#filling.length > 0) await this.#send();
    if (!this.#upload) return bucket.put(path, this.#first.bytes, contentType, signal);
    const upload = await this.#upload;
    const first = bucket.putPart(upload, 1, this.#first.bytes, signal);
    await bucket.finishUpload(upload, await Promise.all([first, ...this.#sent]));
  }

  /** Starts to send the filled part once the previous part has arrived. */
  async #send(): Promise<void> {
    const { bucket, path, contentType } = this.#options;
    const { bytes } = this.#filling;
    await this.#sent.at(-1);
    this.#upload ??= bucket.startUpload(path, contentType);
    const number = this.#sent.length + 2;
    const sent = this.#upload.then((upload) => bucket.putPart(upload, number, bytes, this.#discarded.signal));
    sent.catch((fault) => {
      this.#fault ??= fault;
      if (!this.#isEnded) this.#options.onFault(fault);
    });
    this.#sent.push(sent);
    this.#filling = new Part(partBytes);
  }

  async #clear(): Promise<void> {
    await this.#done.catch(() => undefined);
    await Promise.allSettled(this.#sent);
    const upload = await this.#upload?.catch(() => undefined);
    if (upload) await this.#options.bucket.abortUpload(upload).catch(() => undefined);
  }

  #next(work: () => Promise<void>): Promise<void> {
    this.#done = this.#done.then(() => {
      if (this.#isEnded) throw new Failure('storage_unavailable', {}, new Error('the draft has ended'));
      return work();
    });
    return this.#done;
  }

  #end(clearing: Promise<void>): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#options.onEnd(clearing);
  }
}

/** A copy of the bytes of a part, so that the caller may reuse its buffer. */
class Part {
  readonly #sizeMin: number;
  #buffer = Buffer.alloc(0);
  length = 0;

  constructor(sizeMin: number) {
    this.#sizeMin = sizeMin;
  }

  get bytes(): Uint8Array {
    return this.#buffer.subarray(0, this.length);
  }

  get isFull(): boolean {
    return this.length === partBytes;
  }

  /** Copies as many bytes as fit, and returns the rest. */
  take(bytes: Uint8Array): Uint8Array {
    const taken = bytes.subarray(0, partBytes - this.length);
    this.#grow(this.length + taken.length);
    this.#buffer.set(taken, this.length);
    this.length += taken.length;
    return bytes.subarray(taken.length);
  }

  overwrite(head: Uint8Array): void {
    this.#grow(head.length);
    this.#buffer.set(head);
    this.length = Math.max(this.length, head.length);
  }

  #grow(length: number): void {
    if (length <= this.#buffer.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.min(partBytes, Math.max(this.#sizeMin, length, 2 * this.#buffer.length)));
    grown.set(this.bytes);
    this.#buffer = grown;
  }
}
