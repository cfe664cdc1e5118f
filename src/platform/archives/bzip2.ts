// Decompresses bzip2, including concatenated streams, and checks every checksum. Written in plain JavaScript because
// every bzip2 package is unmaintained, slower, or needs the complete file in memory. Format of a stream:
//     "BZh" | level "1" to "9" | blocks: 0x314159265359 ... | 0x177245385090 | checksum 32 | padding to a whole byte
import { ArchiveFault } from './entry-rules.ts';

const levelBytes = 100_000;
/** Maximum size of a compressed block: the size of a block with the longest codes and all tables. */
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

const cutShort = () => new ArchiveFault('is incomplete: it ends too early');

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

/** The current block. It is read completely, then returned in chunks. */
class Block {
  checksum = 0;
  #sorted = new Uint32Array(0);
  #left = 0;
  #link = 0;
  #last = -1;
  /** Length of the current run of equal bytes, up to four, and the remaining repetitions of the last byte. */
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

const groupSymbols = 50;
const codeBitsMax = 20;
const lookupBits = 11;
const tablesMax = 6;
/** Number of selectors that a block can use. Encoders may write further selectors, which are ignored. */
const selectorsMax = 18_002;

const damaged = (): ArchiveFault => new ArchiveFault('is damaged: its compressed data cannot be read');

interface CodeTable {
  /** Entry for the next 11 bits: symbol << 5 | length, or 0 if the code is longer. */
  lookup: Int32Array;
  /** By code length: the last code, and the number to subtract from a code to get its index in `symbols`. */
  lastCode: Int32Array;
  offset: Int32Array;
  symbols: Uint16Array;
}

interface BlockHeader {
  checksum: number;
  origin: number;
  /** Bytes that occur in the block, in ascending order. */
  used: Uint8Array;
  selectors: Uint8Array;
  tables: readonly CodeTable[];
}

function readBlockHeader(reader: BitReader): BlockHeader {
  const checksum = ((reader.bits(16) << 16) | reader.bits(16)) >>> 0;
  // Only bzip2 before 0.9.5 (1999) wrote randomized blocks.
  if (reader.bits(1) === 1) throw new ArchiveFault('is compressed in an obsolete form of bzip2');
  const origin = reader.bits(24);
  const used = readUsed(reader);
  const tableCount = reader.bits(3);
  const selectorCount = reader.bits(15);
  if (used.length === 0 || tableCount < 2 || tableCount > tablesMax || selectorCount === 0) throw damaged();
  const selectors = readSelectors(reader, tableCount, selectorCount);
  const tables = Array.from({ length: tableCount }, () => readTable(reader, used.length + 2));
  return { checksum, origin, used, selectors, tables };
}

function readUsed(reader: BitReader): Uint8Array {
  const groups = reader.bits(16);
  const used: number[] = [];
  for (let group = 0; group < 16; group++) {
    if (((groups >>> (15 - group)) & 1) === 0) continue;
    const members = reader.bits(16);
    for (let n = 0; n < 16; n++) if (((members >>> (15 - n)) & 1) === 1) used.push(16 * group + n);
  }
  return Uint8Array.from(used);
}

function readSelectors(reader: BitReader, tableCount: number, count: number): Uint8Array {
  const recent = Array.from({ length: tableCount }, (_, n) => n);
  const selectors = new Uint8Array(Math.min(count, selectorsMax));
  for (let n = 0; n < count; n++) {
    let place = 0;
    while (reader.bits(1) === 1) if (++place >= tableCount) throw damaged();
    recent.unshift(...recent.splice(place, 1));
    if (n < selectors.length) selectors[n] = recent[0]!;
  }
  return selectors;
}

function readTable(reader: BitReader, symbolCount: number): CodeTable {
  const lengths = new Uint8Array(symbolCount);
  let length = reader.bits(5);
  for (let symbol = 0; symbol < symbolCount; symbol++) {
    while (reader.bits(1) === 1) length += reader.bits(1) === 0 ? 1 : -1;
    if (length < 1 || length > codeBitsMax) throw damaged();
    lengths[symbol] = length;
  }
  return createTable(lengths);
}

/** Builds a table of codes, which are numbered by length, then by symbol. */
function createTable(lengths: Uint8Array): CodeTable {
  const lookup = new Int32Array(1 << lookupBits);
  const lastCode = new Int32Array(codeBitsMax + 1).fill(-1);
  const offset = new Int32Array(codeBitsMax + 1);
  const symbols = new Uint16Array(lengths.length);
  let code = 0;
  let place = 0;
  for (let length = 1; length <= codeBitsMax; length++) {
    offset[length] = code - place;
    for (let symbol = 0; symbol < lengths.length; symbol++) {
      if (lengths[symbol] !== length) continue;
      if (code >= 1 << length) throw damaged();
      if (length <= lookupBits) {
        const from = code << (lookupBits - length);
        lookup.fill((symbol << 5) | length, from, from + (1 << (lookupBits - length)));
      }
      symbols[place++] = symbol;
      lastCode[length] = code++;
    }
    code <<= 1;
  }
  return { lookup, lastCode, offset, symbols };
}

/** Reads the symbols of a block into `sorted`, one byte each, and returns their number. `counts` counts each byte. */
function readSymbols(
  reader: BitReader,
  { used, selectors, tables }: BlockHeader,
  sorted: Uint32Array,
  counts: Int32Array,
): number {
  const recent = Uint8Array.from(used);
  const endSymbol = used.length + 1;
  const { bytes } = reader;
  let at = reader.at;
  let length = 0;
  let run = 0;
  let runUnit = 1;
  for (let group = 0; group < selectors.length; group++) {
    const { lookup, lastCode, offset, symbols } = tables[selectors[group]!]!;
    for (let n = 0; n < groupSymbols; n++) {
      const byte = at >>> 3;
      const word = (bytes[byte]! << 24) | (bytes[byte + 1]! << 16) | (bytes[byte + 2]! << 8) | bytes[byte + 3]!;
      const next = (word << (at & 7)) >>> 12;
      const found = lookup[next >>> (codeBitsMax - lookupBits)]!;
      let symbol = found >>> 5;
      if (found !== 0) at += found & 31;
      else {
        let bits = lookupBits + 1;
        while (bits <= codeBitsMax && next >>> (codeBitsMax - bits) > lastCode[bits]!) bits++;
        if (bits > codeBitsMax) throw damaged();
        symbol = symbols[(next >>> (codeBitsMax - bits)) - offset[bits]!]!;
        at += bits;
      }
      if (symbol < 2) {
        run += runUnit << symbol;
        runUnit <<= 1;
        if (run > sorted.length) throw damaged();
        continue;
      }
      if (run > 0) {
        if (length + run > sorted.length) throw damaged();
        sorted.fill(recent[0]!, length, length + run);
        counts[recent[0]!]! += run;
        length += run;
        run = 0;
        runUnit = 1;
      }
      if (symbol === endSymbol) {
        reader.at = at;
        return length;
      }
      const value = recent[symbol - 1]!;
      if (symbol > 16) recent.copyWithin(1, 0, symbol - 1);
      else for (let place = symbol - 1; place > 0; place--) recent[place] = recent[place - 1]!;
      recent[0] = value;
      if (length >= sorted.length) throw damaged();
      sorted[length++] = value;
      counts[value]!++;
    }
  }
  throw damaged();
}

/** Links each byte in `sorted` to the next byte: index << 8 | byte. */
function linkSorted(sorted: Uint32Array, length: number, counts: Int32Array): void {
  const places = new Int32Array(256);
  for (let value = 1; value < 256; value++) places[value] = places[value - 1]! + counts[value - 1]!;
  for (let n = 0; n < length; n++) {
    const place = places[sorted[n]! & 255]!++;
    sorted[place]! |= n << 8;
  }
}

const paddingBytes = 8;

class BitReader {
  bytes = new Uint8Array(0);
  /** Position of the next bit in `bytes`. */
  at = 0;
  #filled = 0;
  #source: AsyncIterator<Uint8Array>;
  #isEnded = false;

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  /** Whether more bits were read than exist. */
  get isPastEnd(): boolean {
    return this.at > 8 * this.#filled;
  }

  /** Whether nothing follows the current byte. */
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

  /** Reads 1 to 24 bits. */
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
