// Reads a zip archive by its directory, files and folders only, stored or deflated, ZIP64 included. At its end:
//     0x06054b50 ... | entries 2 at 10 | directory's bytes 4, place 4 | comment
// Each entry of the directory:
//     0x02014b50 | made by 2 | version 2 | flags 2 | method 2 | time 4 | CRC 4 | packed 4 | bytes 4 | lengths of name 2,
//     extra 2, comment 2 | disk 2 | attributes 2 | external attributes 4 | place 4 | name | extra | comment
import type { FileHandle } from 'node:fs/promises';
import { pipeline } from 'node:stream';
import { crc32, createInflateRaw } from 'node:zlib';
import type { ArchiveEntry } from './archive-entry.ts';
import { ArchiveFault } from './archive-fault.ts';
import { contentLimits, tooLarge } from './entry-rules.ts';

const endBytes = 22;
const endSearchedBytes = endBytes + 65_535;
const directoryBytesMax = 4 * 2 ** 20;
const unknown32 = 0xffffffff;
const madeByUnix = 3;
const fileTypes = { mask: 0o170000, file: 0o100000, folder: 0o040000, none: 0 };

const damaged = () => new ArchiveFault('is damaged: its directory cannot be read');

interface Row {
  name: string;
  kind: 'file' | 'folder';
  method: number;
  checksum: number;
  packedBytes: number;
  bytes: number;
  at: number;
}

export async function* readZip(file: FileHandle): AsyncGenerator<ArchiveEntry> {
  const { size } = await file.stat();
  const rows = readDirectory(await findDirectory(file, size));
  for (const row of rows) {
    const from = row.kind === 'folder' ? 0 : await findContent(file, row, size);
    yield { name: row.name, kind: row.kind, bytes: row.bytes, content: readContent(file, row, from) };
  }
}

async function readAt(file: FileHandle, at: number, bytes: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(bytes), 0, bytes, at);
  if (bytesRead < bytes) throw damaged();
  return buffer;
}

async function findDirectory(file: FileHandle, size: number): Promise<Buffer> {
  const tail = await readAt(file, Math.max(0, size - endSearchedBytes), Math.min(size, endSearchedBytes));
  const end = tail.lastIndexOf(Buffer.from([0x50, 0x4b, 5, 6]));
  if (end < 0 || end + endBytes > tail.length) throw new ArchiveFault('ends in the middle: it is cut short');
  let bytes = tail.readUInt32LE(end + 12);
  let at = tail.readUInt32LE(end + 16);
  if (at === unknown32 || bytes === unknown32) {
    const locator = tail.subarray(end - 20, end);
    if (locator.length < 20 || locator.readUInt32LE(0) !== 0x07064b50) throw damaged();
    const wide = await readAt(file, Number(locator.readBigUInt64LE(8)), 56);
    if (wide.readUInt32LE(0) !== 0x06064b50) throw damaged();
    bytes = Number(wide.readBigUInt64LE(40));
    at = Number(wide.readBigUInt64LE(48));
  }
  if (bytes > directoryBytesMax) throw new ArchiveFault(tooLarge);
  if (at + bytes > size) throw damaged();
  return readAt(file, at, bytes);
}

function readDirectory(directory: Buffer): Row[] {
  const rows: Row[] = [];
  for (let at = 0; at < directory.length; ) {
    if (at + 46 > directory.length || directory.readUInt32LE(at) !== 0x02014b50) throw damaged();
    const [name, extra, comment] = [28, 30, 32].map((place) => directory.readUInt16LE(at + place));
    const end = at + 46 + name! + extra! + comment!;
    if (end > directory.length) throw damaged();
    rows.push(readRow(directory.subarray(at, end), name!, extra!));
    if (rows.length > contentLimits.files) throw new ArchiveFault(tooLarge);
    at = end;
  }
  checkApart(rows);
  return rows;
}

function readRow(entry: Buffer, nameBytes: number, extraBytes: number): Row {
  const name = entry.toString('utf8', 46, 46 + nameBytes);
  const flags = entry.readUInt16LE(8);
  const method = entry.readUInt16LE(10);
  if ((flags & 1) !== 0) throw new ArchiveFault('is encrypted');
  if (method !== 0 && method !== 8) throw new ArchiveFault('is compressed in a way that is not read here');
  const type = entry[5] === madeByUnix ? (entry.readUInt32LE(38) >>> 16) & fileTypes.mask : 0;
  if (!Object.values(fileTypes).includes(type) || type === fileTypes.mask)
    throw new ArchiveFault('has links or devices in it; a model has files and folders only');
  const kind = type === fileTypes.folder || name.endsWith('/') ? 'folder' : 'file';
  const wide = findWide(entry.subarray(46 + nameBytes, 46 + nameBytes + extraBytes));
  const number = (place: number): number => {
    const value = entry.readUInt32LE(place);
    if (value !== unknown32) return value;
    if (wide.length < 8) throw damaged();
    const found = Number(wide.readBigUInt64LE(0));
    wide.copy(wide, 0, 8);
    return found;
  };
  const bytes = number(24);
  const packedBytes = number(20);
  return { name, kind, method, checksum: entry.readUInt32LE(16), packedBytes, bytes, at: number(42) };
}

/** The numbers of ZIP64 that take the place of those that are too large: bytes, packed bytes, place. */
function findWide(extra: Buffer): Buffer {
  for (let at = 0; at + 4 <= extra.length; ) {
    const end = at + 4 + extra.readUInt16LE(at + 2);
    if (extra.readUInt16LE(at) === 1) return Buffer.from(extra.subarray(at + 4, end));
    at = end;
  }
  return Buffer.alloc(0);
}

/** Entries that share their bytes are how a small archive becomes endless. */
function checkApart(rows: readonly Row[]): void {
  let end = 0;
  for (const { at, packedBytes } of [...rows].sort((one, other) => one.at - other.at)) {
    if (at < end) throw new ArchiveFault('has files in it that overlap');
    end = at + 30 + packedBytes;
  }
}

async function findContent(file: FileHandle, { at, packedBytes }: Row, size: number): Promise<number> {
  const header = await readAt(file, at, 30);
  if (header.readUInt32LE(0) !== 0x04034b50) throw damaged();
  const from = at + 30 + header.readUInt16LE(26) + header.readUInt16LE(28);
  if (from + packedBytes > size) throw damaged();
  return from;
}

async function* readContent(file: FileHandle, row: Row, from: number): AsyncGenerator<Uint8Array> {
  if (row.kind === 'folder') return;
  let checksum = 0;
  let bytes = 0;
  for await (const chunk of row.packedBytes === 0 ? [] : unpacked(file, row, from)) {
    checksum = crc32(chunk, checksum);
    bytes += chunk.length;
    if (bytes > row.bytes) throw damaged();
    yield chunk;
  }
  if (bytes !== row.bytes || checksum !== row.checksum) throw damaged();
}

function unpacked(file: FileHandle, { method, packedBytes }: Row, start: number): AsyncIterable<Uint8Array> {
  const packed = file.createReadStream({ start, end: start + packedBytes - 1, autoClose: false });
  if (method === 0) return packed;
  const inflate = createInflateRaw();
  // Its fault reaches who reads the stream.
  pipeline(packed, inflate, () => {});
  return inflate;
}
