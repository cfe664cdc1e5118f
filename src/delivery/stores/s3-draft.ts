// A draft of a clip in a bucket. A clip that fits into one part is put as one object at the commit. A larger one is uploaded
// in parts of 5 MiB as they fill; the first part goes last, because the commit may overwrite its first bytes. The object
// exists only when the upload is finished. Memory holds at most three parts: the first, the one that is being filled, and
// the one that is being sent.
import { Failure } from '../../errors.ts';
import type { ClipDraft } from './clip-store.ts';
import type { S3Bucket, Upload } from './s3-bucket.ts';

/** The smallest size that S3 allows for a part that is not the last. */
const partBytes = 5 << 20;
/** The initial buffer of the first part: most clips are short. */
const shortBytes = 64 * 1024;

export interface S3DraftOptions {
  bucket: S3Bucket;
  path: string;
  contentType: string;
  /** Receives failures of the store. */
  onFault(fault: unknown): void;
  onEnd(clearing: Promise<void>): void;
}

export class S3Draft implements ClipDraft {
  readonly #options: S3DraftOptions;
  readonly #discarded = new AbortController();
  /** The chain of all writes so far; after a failure, every later one fails too. */
  #done: Promise<void> = Promise.resolve();
  readonly #first = new Part(shortBytes);
  #filling = new Part(partBytes);
  #upload: Promise<Upload> | undefined;
  /** The ETags of the parts, from the second on. */
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

  /** Uploaded parts are removed in the background; those that cannot be removed now are left to the sweep. */
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

  /** Starts to send the filled part once the part before it has arrived. */
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

/** The bytes of a part, copied, so that the caller may reuse its buffer. */
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
