// Reads files for many readers at once. A piece is read when its reader asks for it, and only so many reads run at the same
// time: slow readers hold one piece each, and a crowd of readers leaves the event loop and the threads of the process free
// for other work.
import type { FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { SlotQueue } from '../../runtime/slot-queue.ts';
import type { ByteRange } from './clip-store.ts';

const pieceBytes = 32 * 1024;
const readsMax = 16;

export interface FileReads {
  /** The bytes of the range; none where it is empty. The file is closed at the end. */
  open(file: FileHandle, range: ByteRange): Readable;
}

export function createFileReads(): FileReads {
  const slots = new SlotQueue({ slotsMax: readsMax });
  return { open: (file, range) => new FileBody(file, range, slots) };
}

class FileBody extends Readable {
  readonly #file: FileHandle;
  readonly #slots: SlotQueue;
  readonly #ending = new AbortController();
  /** The bytes that are still to be read begin and end here; the last is included. */
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

  /** Null at the end. */
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
