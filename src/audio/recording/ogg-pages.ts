// Splits a file into Ogg pages (RFC 3533) and checks each page. Numbers are little-endian:
//      0 "OggS" | 0: version | flags: 1 continued, 2 first, 4 last | 8: position | 4: stream | 4: page
//     22 4: CRC-32 of the page with this field zero, polynomial 0x04C11DB7, not reflected
//     26 1: number of sizes | sizes of 1 byte | as many bytes as the sum of the sizes
// Only complete pages are decoded, because a decoder would produce noise from a truncated page.
import { unreadable } from './track.ts';

export const pageHeadBytes = 27;
const continuedFlag = 1;
const firstFlag = 2;

/** Yields the pages of a file. Fails if the file contains more than one stream. */
export function* oggPages(file: Buffer): Generator<Buffer> {
  let stream: number | undefined;
  for (let at = 0; at < file.length; ) {
    const page = wholePage(file.subarray(at));
    const isFirst = (page[5]! & firstFlag) !== 0;
    const pageStream = page.readUInt32LE(14);
    stream ??= pageStream;
    if (isFirst !== (at === 0) || pageStream !== stream) throw unreadable('contains more than one audio stream');
    if (page.readUInt32LE(22) !== crcOf(page)) throw unreadable('is damaged: a checksum is wrong');
    yield page;
    at += page.length;
  }
}

/** The bytes of the page after its header. */
export const pageBody = (page: Buffer): Buffer => page.subarray(pageHeadBytes + page[26]!);

/**
 * The packets that end on a page, and the parts of a packet that continues on the next page. `begun` contains these
 * parts from the pages before. A packet ends with a size below 255.
 */
export function packetsOf(page: Buffer, begun: Buffer[]): { packets: Buffer[]; rest: Buffer[] } {
  const isContinued = (page[5]! & continuedFlag) !== 0;
  const packets: Buffer[] = [];
  const isCut = isContinued && begun.length === 0;
  let parts = isContinued ? begun : [];
  let at = pageHeadBytes + page[26]!;
  for (const size of page.subarray(pageHeadBytes, at)) {
    parts.push(page.subarray(at, at + size));
    at += size;
    if (size === 255) continue;
    packets.push(Buffer.concat(parts));
    parts = [];
  }
  // A packet whose beginning is missing cannot be decoded.
  if (isCut) packets.shift();
  return { packets, rest: parts };
}

/** Length of the page that begins at this offset; undefined if more bytes are needed. */
export function pageLengthAt(bytes: Buffer, at: number): number | undefined {
  const sizesAt = at + pageHeadBytes;
  if (sizesAt > bytes.length || sizesAt + bytes[sizesAt - 1]! > bytes.length) return undefined;
  const sizes = bytes.subarray(sizesAt, sizesAt + bytes[sizesAt - 1]!);
  return sizes.reduce((sum, size) => sum + size, pageHeadBytes + sizes.length);
}

function wholePage(rest: Buffer): Buffer {
  const length = pageLengthAt(rest, 0);
  if (length === undefined || length > rest.length) throw unreadable('ends too early');
  if (rest.toString('latin1', 0, 5) !== 'OggS\0') throw unreadable('is damaged: an Ogg page is missing');
  return rest.subarray(0, length);
}

const crcTable = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 24;
  for (let bit = 0; bit < 8; bit++) crc = (crc << 1) ^ (crc < 0 ? 0x04c1_1db7 : 0);
  return crc;
});

export function crcOf(page: Buffer): number {
  let crc = 0;
  for (let i = 0; i < page.length; i++) {
    const byte = i >= 22 && i < 26 ? 0 : page[i]!;
    crc = (crc << 8) ^ crcTable[(crc >>> 24) ^ byte]!;
  }
  return crc >>> 0;
}
