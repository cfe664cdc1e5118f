// The body of an object as its reader gets it: no more is taken from the store than the reader wants, all of it comes or
// the reader is destroyed, and a store that falls silent while it is waited for is given up.
import { Readable } from 'node:stream';
import { Failure } from '../errors.ts';

/** What waits for a reader that is slow, besides what the connection holds. */
const readBytes = 128 * 1024;

export class S3Body extends Readable {
  readonly #source: Readable;
  readonly #stallMs: number;
  #left: number;
  #silence: NodeJS.Timeout | undefined;
  #isWhole = false;

  constructor(source: Readable, { byteCount, stallMs }: { byteCount: number; stallMs: number }) {
    super({ highWaterMark: readBytes });
    this.#source = source;
    this.#left = byteCount;
    this.#stallMs = stallMs;
    // It may break before its reader has begun, who hears of it then.
    this.on('error', () => undefined);
    source.on('data', (bytes: Uint8Array) => this.#take(bytes));
    source.pause();
    source.once('end', () => this.#end());
    source.on('error', (error) => this.#break(error));
    source.once('close', () => this.#end());
  }

  override _read(): void {
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => this.#break(new Error(`nothing for ${this.#stallMs} ms`)), this.#stallMs);
    this.#source.resume();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    clearTimeout(this.#silence);
    this.#source.destroy();
    done(error);
  }

  #take(bytes: Uint8Array): void {
    clearTimeout(this.#silence);
    this.#left -= bytes.length;
    if (!this.push(bytes)) this.#source.pause();
  }

  #end(): void {
    clearTimeout(this.#silence);
    if (this.#isWhole || this.destroyed) return;
    this.#isWhole = this.#left === 0;
    if (this.#isWhole) this.push(null);
    else this.#break(new Error(`${this.#left} bytes are missing`));
  }

  #break(cause: Error): void {
    this.destroy(new Failure('storage_unavailable', { retryAfterSeconds: 1 }, cause));
  }
}
