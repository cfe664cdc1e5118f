// Reads the files and folders of a zip archive in the order of its central directory.
import type { FileHandle } from 'node:fs/promises';
import { pipeline, Readable } from 'node:stream';
import { crc32, createInflateRaw } from 'node:zlib';
import { type ArchiveEntry, ArchiveFault, contentLimits, tooLarge } from './entry-rules.ts';

export async function* readZip(file: FileHandle): AsyncGenerator<ArchiveEntry> {
  const { size } = await file.stat();
  const source: ZipSource = {
    bytes: size,
    async read(at, count) {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(count), 0, count, at);
      return buffer.subarray(0, bytesRead);
    },
  };
  for (const row of await readZipDirectory(source, { filesMax: contentLimits.files, tooLarge })) {
    const from = row.kind === 'folder' ? 0 : await findZipContent(source, row);
    yield { name: row.name, kind: row.kind, bytes: row.bytes, content: readContent(file, row, from) };
  }
}

async function* readContent(file: FileHandle, row: ZipRow, from: number): AsyncGenerator<Uint8Array> {
  if (row.kind === 'folder') return;
  let checksum = 0;
  let bytes = 0;
  for await (const chunk of row.packedBytes === 0 ? [] : unpacked(file, row, from)) {
    checksum = crc32(chunk, checksum);
    bytes += chunk.length;
    if (bytes > row.bytes) throw damagedDirectory();
    yield chunk;
  }
  if (bytes !== row.bytes || checksum !== row.checksum) throw damagedDirectory();
}

function unpacked(file: FileHandle, { method, packedBytes }: ZipRow, start: number): AsyncIterable<Uint8Array> {
  const packed = readRange(file, start, packedBytes);
  if (method === 0) return packed;
  const inflate = createInflateRaw();
  // Errors are ignored here, because the reader of the stream also receives them.
  pipeline(Readable.from(packed), inflate, () => {});
  return inflate;
}

/** Each stream of the file handle itself would leave a listener on it. */
async function* readRange(file: FileHandle, start: number, count: number): AsyncGenerator<Uint8Array> {
  for (let at = start; at < start + count; ) {
    const length = Math.min(readBytes, start + count - at);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, at);
    if (bytesRead === 0) return;
    yield buffer.subarray(0, bytesRead);
    at += bytesRead;
  }
}

const readBytes = 65_536;
const endBytes = 22;
const endSearchedBytes = endBytes + 65_535;
const directoryBytesMax = 4 * 2 ** 20;
const unknown32 = 0xffffffff;
const madeByUnix = 3;
const fileTypes = { mask: 0o170000, file: 0o100000, folder: 0o040000, none: 0 };

const damagedDirectory = () => new ArchiveFault('is damaged: its directory cannot be read');

/** Reads the bytes of an archive at given positions. */
export interface ZipSource {
  bytes: number;
  /** Returns `count` bytes from `at`; fewer only at the end of the archive. */
  read(at: number, count: number): Promise<Buffer>;
}

export interface ZipRow {
  name: string;
  kind: 'file' | 'folder';
  method: number;
  checksum: number;
  packedBytes: number;
  bytes: number;
  at: number;
}

interface ZipRules {
  filesMax: number;
  /** Error message for an archive with more than `filesMax` files. */
  tooLarge: string;
}

export const readZipDirectory = async (source: ZipSource, rules: ZipRules): Promise<ZipRow[]> =>
  readDirectory(await findDirectory(source, rules), rules);

async function readAt(source: ZipSource, at: number, count: number): Promise<Buffer> {
  if (at < 0 || at + count > source.bytes) throw damagedDirectory();
  const read = await source.read(at, count);
  if (read.length < count) throw damagedDirectory();
  return read;
}

async function findDirectory(source: ZipSource, { tooLarge }: ZipRules): Promise<Buffer> {
  const size = source.bytes;
  const tail = await readAt(source, Math.max(0, size - endSearchedBytes), Math.min(size, endSearchedBytes));
  const end = tail.lastIndexOf(Buffer.from([0x50, 0x4b, 5, 6]));
  if (end < 0 || end + endBytes > tail.length) throw new ArchiveFault('is incomplete: it ends too early');
  let bytes = tail.readUInt32LE(end + 12);
  let at = tail.readUInt32LE(end + 16);
  if (at === unknown32 || bytes === unknown32) {
    const locator = tail.subarray(end - 20, end);
    if (locator.length < 20 || locator.readUInt32LE(0) !== 0x07064b50) throw damagedDirectory();
    const zip64End = await readAt(source, Number(locator.readBigUInt64LE(8)), 56);
    if (zip64End.readUInt32LE(0) !== 0x06064b50) throw damagedDirectory();
    bytes = Number(zip64End.readBigUInt64LE(40));
    at = Number(zip64End.readBigUInt64LE(48));
  }
  if (bytes > directoryBytesMax) throw new ArchiveFault(tooLarge);
  if (at + bytes > size) throw damagedDirectory();
  return readAt(source, at, bytes);
}

function readDirectory(directory: Buffer, { filesMax, tooLarge }: ZipRules): ZipRow[] {
  const rows: ZipRow[] = [];
  for (let at = 0; at < directory.length; ) {
    if (at + 46 > directory.length || directory.readUInt32LE(at) !== 0x02014b50) throw damagedDirectory();
    const [name, extra, comment] = [28, 30, 32].map((offset) => directory.readUInt16LE(at + offset));
    const end = at + 46 + name! + extra! + comment!;
    if (end > directory.length) throw damagedDirectory();
    rows.push(readRow(directory.subarray(at, end), name!, extra!));
    if (rows.length > filesMax) throw new ArchiveFault(tooLarge);
    at = end;
  }
  rejectOverlaps(rows);
  return rows;
}

function readRow(entry: Buffer, nameBytes: number, extraBytes: number): ZipRow {
  const name = entry.toString('utf8', 46, 46 + nameBytes);
  const flags = entry.readUInt16LE(8);
  const method = entry.readUInt16LE(10);
  if ((flags & 1) !== 0) throw new ArchiveFault('is encrypted');
  if (method !== 0 && method !== 8) throw new ArchiveFault('is compressed with a method that is not supported');
  const type = entry[5] === madeByUnix ? (entry.readUInt32LE(38) >>> 16) & fileTypes.mask : 0;
  if (!Object.values(fileTypes).includes(type) || type === fileTypes.mask)
    throw new ArchiveFault('contains links or devices; only files and folders are allowed');
  const kind = type === fileTypes.folder || name.endsWith('/') ? 'folder' : 'file';
  const zip64 = findZip64Extra(entry.subarray(46 + nameBytes, 46 + nameBytes + extraBytes));
  const number = (offset: number): number => {
    const value = entry.readUInt32LE(offset);
    if (value !== unknown32) return value;
    if (zip64.length < 8) throw damagedDirectory();
    const found = Number(zip64.readBigUInt64LE(0));
    zip64.copy(zip64, 0, 8);
    return found;
  };
  const bytes = number(24);
  const packedBytes = number(20);
  return { name, kind, method, checksum: entry.readUInt32LE(16), packedBytes, bytes, at: number(42) };
}

/** Returns the ZIP64 values that replace fields too large for 32 bits, in the order: bytes, packed bytes, offset. */
function findZip64Extra(extra: Buffer): Buffer {
  for (let at = 0; at + 4 <= extra.length; ) {
    const end = at + 4 + extra.readUInt16LE(at + 2);
    if (extra.readUInt16LE(at) === 1) return Buffer.from(extra.subarray(at + 4, end));
    at = end;
  }
  return Buffer.alloc(0);
}

/** Rejects entries that share bytes, because they could form a zip bomb. */
function rejectOverlaps(rows: readonly ZipRow[]): void {
  let end = 0;
  for (const { at, packedBytes } of [...rows].sort((one, other) => one.at - other.at)) {
    if (at < end) throw new ArchiveFault('contains files that overlap');
    end = at + 30 + packedBytes;
  }
}

/** Start of the packed bytes of a file. */
export async function findZipContent(source: ZipSource, { at, packedBytes }: ZipRow): Promise<number> {
  const header = await readAt(source, at, 30);
  if (header.readUInt32LE(0) !== 0x04034b50) throw damagedDirectory();
  const from = at + 30 + header.readUInt16LE(26) + header.readUInt16LE(28);
  if (from + packedBytes > source.bytes) throw damagedDirectory();
  return from;
}
