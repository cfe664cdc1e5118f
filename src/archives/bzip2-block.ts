// One block of a bzip2 stream, up to 900,000 bytes before the first run-length coding:
//     checksum 32 | randomized 1 | origin 24 | which bytes occur 16 + 16 * 16 | tables 3 | selectors 15
//     a selector for every 50 symbols | the code lengths of each table | the symbols, up to the one for the end
// A symbol is a run of the most recent byte, the place of a byte in a list of the most recent ones, or the end. The bytes
// are then sorted back (Burrows and Wheeler), and runs of four are followed by their further length.
import { ArchiveFault } from './archive-fault.ts';
import type { BitReader } from './bit-reader.ts';

const groupSymbols = 50;
const codeBitsMax = 20;
const lookupBits = 11;
const tablesMax = 6;
/** More are in no block; encoders may write some more, which are never used. */
const selectorsMax = 18_002;

export const damaged = (): ArchiveFault => new ArchiveFault('is damaged: its compressed data cannot be read');

interface CodeTable {
  /** By the next 11 bits: symbol << 5 | length; 0 for longer codes. */
  lookup: Int32Array;
  /** By length: the last code, what to subtract from a code to get its place in `symbols`. */
  lastCode: Int32Array;
  offset: Int32Array;
  symbols: Uint16Array;
}

export interface BlockHeader {
  checksum: number;
  origin: number;
  /** Bytes that occur, in order. */
  used: Uint8Array;
  selectors: Uint8Array;
  tables: readonly CodeTable[];
}

export function readBlockHeader(reader: BitReader): BlockHeader {
  const checksum = ((reader.bits(16) << 16) | reader.bits(16)) >>> 0;
  // Only bzip2 before 0.9.5 of 1999 wrote it.
  if (reader.bits(1) === 1) throw new ArchiveFault('is compressed in a way that is no longer used');
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

/** Codes are numbered by length, then by symbol. */
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

/** Reads the symbols of a block into `sorted`, a byte each, and returns how many; `counts` counts each byte. */
export function readSymbols(
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

/** Links each byte in `sorted` to the one that follows it: place << 8 | byte. */
export function linkSorted(sorted: Uint32Array, length: number, counts: Int32Array): void {
  const places = new Int32Array(256);
  for (let value = 1; value < 256; value++) places[value] = places[value - 1]! + counts[value - 1]!;
  for (let n = 0; n < length; n++) {
    const place = places[sorted[n]! & 255]!++;
    sorted[place]! |= n << 8;
  }
}
