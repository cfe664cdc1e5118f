// Bits, the highest of each byte first, out of a stream of bytes. What is read in one go must be in `bytes` before: `need`
// fetches that much, or to the end of the stream, after which there are zeros.

const paddingBytes = 8;

export class BitReader {
  bytes = new Uint8Array(0);
  /** The place of the next bit in `bytes`. */
  at = 0;
  #filled = 0;
  #source: AsyncIterator<Uint8Array>;
  #isEnded = false;

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  /** Whether more was read than there is. */
  get isPastEnd(): boolean {
    return this.at > 8 * this.#filled;
  }

  /** Whether there is nothing more after the byte begun last. */
  get isAtEnd(): boolean {
    return this.#isEnded && this.at + 7 >= 8 * this.#filled;
  }

  async need(byteCount: number): Promise<void> {
    while (!this.#isEnded && this.#filled - (this.at >>> 3) < byteCount) {
      const { value, done } = await this.#source.next();
      if (done) this.#isEnded = true;
      else this.#append(value, byteCount);
    }
  }

  #append(chunk: Uint8Array, byteCount: number): void {
    if (this.#filled + chunk.length + paddingBytes > this.bytes.length) {
      const rest = this.bytes.subarray(this.at >>> 3, this.#filled);
      const moved = new Uint8Array(
        Math.max(this.bytes.length, 3 * byteCount, rest.length + 3 * chunk.length) + paddingBytes,
      );
      moved.set(rest);
      this.bytes = moved;
      this.#filled = rest.length;
      this.at &= 7;
    }
    this.bytes.set(chunk, this.#filled);
    this.#filled += chunk.length;
  }

  /** 1 to 24 bits. */
  bits(count: number): number {
    const { bytes, at } = this;
    const byte = at >>> 3;
    const word = (bytes[byte]! << 24) | (bytes[byte + 1]! << 16) | (bytes[byte + 2]! << 8) | bytes[byte + 3]!;
    this.at += count;
    return (word << (at & 7)) >>> (32 - count);
  }

  skipToByte(): void {
    this.at = (this.at + 7) & ~7;
  }
}
