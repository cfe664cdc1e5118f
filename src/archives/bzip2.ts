// Decompresses bzip2, streams one after the other included, and checks every checksum. In plain JavaScript, since each of the
// packages for it is unmaintained, or slower, or wants the whole file in memory. One stream:
//     "BZh" | level "1" to "9" | blocks: 0x314159265359 ... | 0x177245385090 | checksum of all blocks 32 | to the next byte
import { ArchiveFault } from './archive-fault.ts';
import { BitReader } from './bit-reader.ts';
import { damaged, linkSorted, readBlockHeader, readSymbols } from './bzip2-block.ts';

const levelBytes = 100_000;
/** A block of the longest codes, with all its tables. */
const packedBlockBytesMax = 2_500_000;
const pieceBytes = 1 << 20;

export async function* bunzip2(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = new BitReader(source);
  const block = new Block();
  let isFirst = true;
  while (true) {
    await reader.need(packedBlockBytesMax);
    if (!isFirst && reader.isAtEnd) return;
    const level = readLevel(reader, isFirst);
    isFirst = false;
    let checksum = 0;
    while (true) {
      await reader.need(packedBlockBytesMax);
      const magic = [reader.bits(24), reader.bits(24)];
      if (magic[0] === 0x177245 && magic[1] === 0x385090) break;
      if (magic[0] !== 0x314159 || magic[1] !== 0x265359) throw reader.isPastEnd ? cutShort() : damaged();
      block.read(reader, level * levelBytes);
      if (reader.isPastEnd) throw cutShort();
      for (let piece = block.next(); piece; piece = block.next()) yield piece;
      checksum = ((checksum << 1) | (checksum >>> 31)) ^ block.checksum;
    }
    const stated = (reader.bits(16) << 16) | reader.bits(16);
    if (reader.isPastEnd) throw cutShort();
    if (stated !== (checksum | 0)) throw damaged();
    reader.skipToByte();
  }
}

const cutShort = () => new ArchiveFault('ends in the middle: it is cut short');

function readLevel(reader: BitReader, isFirst: boolean): number {
  const magic = reader.bits(24);
  const level = reader.bits(8) - 0x30;
  if (magic === 0x425a68 && level >= 1 && level <= 9) return level;
  throw isFirst ? new ArchiveFault('is not in the bzip2 format') : damaged();
}

const checksumTable = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte << 24;
  for (let bit = 0; bit < 8; bit++) value = value < 0 ? (value << 1) ^ 0x04c11db7 : value << 1;
  return value;
});

/** The block being decompressed: read whole, then given out in pieces. */
class Block {
  checksum = 0;
  #sorted = new Uint32Array(0);
  #left = 0;
  #link = 0;
  #last = -1;
  /** Equal bytes in a row so far, up to four; then how often the last is still repeated. */
  #alike = 0;
  #repeats = 0;
  #sum = -1;

  read(reader: BitReader, bytesMax: number): void {
    if (this.#sorted.length !== bytesMax) this.#sorted = new Uint32Array(bytesMax);
    const counts = new Int32Array(256);
    const header = readBlockHeader(reader);
    const length = readSymbols(reader, header, this.#sorted, counts);
    if (header.origin >= length) throw damaged();
    linkSorted(this.#sorted, length, counts);
    this.checksum = header.checksum;
    this.#left = length;
    this.#link = this.#sorted[header.origin]! >>> 8;
    this.#last = -1;
    this.#alike = 0;
    this.#repeats = 0;
    this.#sum = -1;
  }

  next(): Uint8Array | undefined {
    if (this.#left === 0 && this.#repeats === 0) {
      if (~this.#sum >>> 0 !== this.checksum) throw damaged();
      return undefined;
    }
    const piece = new Uint8Array(pieceBytes);
    return piece.subarray(0, this.#fill(piece));
  }

  #fill(piece: Uint8Array): number {
    const sorted = this.#sorted;
    let [left, link, last, alike, repeats, sum] = [
      this.#left,
      this.#link,
      this.#last,
      this.#alike,
      this.#repeats,
      this.#sum,
    ];
    let length = 0;
    while (length < piece.length) {
      if (repeats > 0) {
        repeats--;
        piece[length++] = last;
        sum = (sum << 8) ^ checksumTable[(sum >>> 24) ^ last]!;
        continue;
      }
      if (left === 0) break;
      left--;
      const entry = sorted[link]!;
      const value = entry & 255;
      link = entry >>> 8;
      if (alike === 4) {
        repeats = value;
        alike = 0;
        continue;
      }
      alike = value === last ? alike + 1 : 1;
      last = value;
      piece[length++] = value;
      sum = (sum << 8) ^ checksumTable[(sum >>> 24) ^ value]!;
    }
    this.#left = left;
    this.#link = link;
    this.#last = last;
    this.#alike = alike;
    this.#repeats = repeats;
    this.#sum = sum;
    return length;
  }
}
