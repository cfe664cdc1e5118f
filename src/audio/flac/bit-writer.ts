// Writes bit fields, most significant bit first, into a growing buffer, and computes the CRCs of FLAC frames (RFC 9639,
// sections 9.1.8 and 9.3).

/** Maximum number of bits per call. Up to seven more bits may be pending in the 32-bit number. */
const widthMax = 24;

export class BitWriter {
  #bytes = new Uint8Array(1024);
  #length = 0;
  #waiting = 0;
  #waitingBits = 0;

  /** Writes the lowest `width` bits of `value`, 0 to 24. */
  put(value: number, width: number): void {
    this.#waiting = (this.#waiting << width) | (value & ((1 << width) - 1));
    this.#waitingBits += width;
    while (this.#waitingBits >= 8) {
      this.#waitingBits -= 8;
      this.#push(this.#waiting >>> this.#waitingBits);
    }
  }

  /** Writes a Rice code: floor(value / 2^parameter) zeros, a one, and the remainder in `parameter` bits. */
  putRice(value: number, parameter: number): void {
    const zeros = value >>> parameter;
    const rest = (1 << parameter) | (value & ((1 << parameter) - 1));
    const width = zeros + 1 + parameter;
    const isShort = width <= widthMax;
    for (let left = isShort ? 0 : zeros; left > 0; left -= widthMax) this.put(0, Math.min(left, widthMax));
    this.put(rest, isShort ? width : parameter + 1);
  }

  /** Fills the last byte with zeros. */
  align(): void {
    if (this.#waitingBits > 0) this.put(0, 8 - this.#waitingBits);
  }

  /** Returns the bytes written so far. The last byte must be complete. */
  bytes(): Uint8Array<ArrayBuffer> {
    return this.#bytes.slice(0, this.#length);
  }

  #push(byte: number): void {
    if (this.#length === this.#bytes.length) {
      const grown = new Uint8Array(this.#length * 2);
      grown.set(this.#bytes);
      this.#bytes = grown;
    }
    this.#bytes[this.#length++] = byte;
  }
}

/** CRC-8 with the polynomial 0x07. */
export const crc8 = (bytes: Uint8Array): number => bytes.reduce((crc, byte) => crc8Table[crc ^ byte]!, 0);

/** CRC-16 with the polynomial 0x8005. */
export function crc16(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) crc = ((crc << 8) & 0xffff) ^ crc16Table[(crc >> 8) ^ byte]!;
  return crc;
}

const crc8Table = tableOf(8, 0x07);
const crc16Table = tableOf(16, 0x8005);

function tableOf(width: number, polynomial: number): Uint16Array {
  const highest = 1 << (width - 1);
  return Uint16Array.from({ length: 256 }, (_, byte) => {
    let crc = byte << (width - 8);
    for (let bit = 0; bit < 8; bit++) crc = crc & highest ? (crc << 1) ^ polynomial : crc << 1;
    return crc & (highest * 2 - 1);
  });
}
