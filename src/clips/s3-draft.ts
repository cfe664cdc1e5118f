// A clip on its way into a bucket. What fits into one part is put as an object when it is committed. What does not goes up
// in parts of 5 MiB as they fill: the second first, and the first last of all, as its beginning may still be replaced.
// The object is there when the upload is finished, and not before. In memory are at most three parts: the first, the one
// that fills, and the one that is on its way.
import { Failure } from '../errors.ts';
import type { ClipDraft } from './clip-store.ts';
import type { S3Bucket, Upload } from './s3-bucket.ts';

/** The least that a part may have which is not the last. */
const partBytes = 5 << 20;
/** What the first part has room for at first: most clips are short. */
const shortBytes = 64 * 1024;

export interface S3DraftOptions {
  bucket: S3Bucket;
  path: string;
  contentType: string;
  /** Hears what the store has refused. */
  onFault(fault: unknown): void;
  onOver(clearing: Promise<void>): void;
}

export class S3Draft implements ClipDraft {
  readonly #options: S3DraftOptions;
  readonly #leaving = new AbortController();
  /** Everything asked for so far, in order; once something has failed, so has all that follows. */
  #done: Promise<void> = Promise.resolve();
  readonly #first = new Part(shortBytes);
  #filling = new Part(partBytes);
  #upload: Promise<Upload> | undefined;
  /** ETags, from the second part on. */
  readonly #sent: Promise<string>[] = [];
  #fault: unknown;
  #isOver = false;

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
      if (!this.#isOver) this.#options.onFault(fault);
      throw fault;
    } finally {
      await this.discard();
    }
  }

  /** What has gone up is cleared away while the caller goes on; what cannot be now, the sweep finds. */
  async discard(): Promise<void> {
    if (this.#isOver) return;
    this.#leaving.abort();
    this.#end(this.#clear());
  }

  async #finish(): Promise<void> {
    const { bucket, path, contentType } = this.#options;
    const { signal } = this.#leaving;
    if (this.#filling.length > 0) await this.#send();
    if (!this.#upload) return bucket.put(path, this.#first.bytes, contentType, signal);
    const upload = await this.#upload;
    const first = bucket.putPart(upload, 1, this.#first.bytes, signal);
    await bucket.finishUpload(upload, await Promise.all([first, ...this.#sent]));
  }

  /** Sends what has been filled as soon as the part before it is there, and does not wait for it. */
  async #send(): Promise<void> {
    const { bucket, path, contentType } = this.#options;
    const { bytes } = this.#filling;
    await this.#sent.at(-1);
    this.#upload ??= bucket.startUpload(path, contentType);
    const number = this.#sent.length + 2;
    const sent = this.#upload.then((upload) => bucket.putPart(upload, number, bytes, this.#leaving.signal));
    sent.catch((fault) => {
      this.#fault ??= fault;
      if (!this.#isOver) this.#options.onFault(fault);
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
      if (this.#isOver) throw new Failure('storage_unavailable', {}, new Error('the draft is over'));
      return work();
    });
    return this.#done;
  }

  #end(clearing: Promise<void>): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#options.onOver(clearing);
  }
}

/** Bytes of a part, copied: who wrote them may use theirs again. */
class Part {
  readonly #roomMin: number;
  #room = Buffer.alloc(0);
  length = 0;

  constructor(roomMin: number) {
    this.#roomMin = roomMin;
  }

  get bytes(): Uint8Array {
    return this.#room.subarray(0, this.length);
  }

  get isFull(): boolean {
    return this.length === partBytes;
  }

  /** Takes what there is room for, and answers the rest. */
  take(bytes: Uint8Array): Uint8Array {
    const taken = bytes.subarray(0, partBytes - this.length);
    this.#grow(this.length + taken.length);
    this.#room.set(taken, this.length);
    this.length += taken.length;
    return bytes.subarray(taken.length);
  }

  overwrite(head: Uint8Array): void {
    this.#grow(head.length);
    this.#room.set(head);
    this.length = Math.max(this.length, head.length);
  }

  #grow(length: number): void {
    if (length <= this.#room.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.min(partBytes, Math.max(this.#roomMin, length, 2 * this.#room.length)));
    grown.set(this.bytes);
    this.#room = grown;
  }
}
