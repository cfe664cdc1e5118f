// The body of an S3 object as a stream with back-pressure. A body that ends early, or stalls while the reader waits for
// bytes, destroys the stream with `storage_unavailable`.
import { Readable } from 'node:stream';
import { Failure } from '../../errors.ts';

/** The buffer for a slow reader, besides that of the connection. */
const readBytes = 128 * 1024;

export class S3Body extends Readable {
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
    // It may fail before its reader has attached; the reader gets the error when it does.
    this.on('error', () => undefined);
    source.on('data', (bytes: Uint8Array) => this.#push(bytes));
    source.pause();
    source.once('end', () => this.#end());
    source.on('error', (error) => this.#fail(error));
    source.once('close', () => this.#end());
  }

  override _read(): void {
    clearTimeout(this.#stallTimer);
    this.#stallTimer = setTimeout(() => this.#fail(new Error(`nothing for ${this.#stallMs} ms`)), this.#stallMs);
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
    if (!this.push(bytes)) this.#source.pause();
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
