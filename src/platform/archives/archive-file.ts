// Opens an archive: tar (plain, gzip or bzip2) or zip. The first bytes decide the format, not the file's name.
import { type FileHandle, open } from 'node:fs/promises';
import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { bunzip2 } from './bzip2.ts';
import { type ArchiveEntry, ArchiveFault } from './entry-rules.ts';
import { readTar } from './tar.ts';
import { readZip } from './zip.ts';

/** Usual file extensions of archives. */
export const archiveEnding = /\.(tar|tar\.gz|tgz|tar\.bz2|tbz2?|zip)$/i;

const readBytes = 2 ** 20;
const tarMark = { at: 257, bytes: Buffer.from('ustar') };

interface ArchiveFile extends AsyncDisposable {
  packedBytes: number;
  entries: AsyncIterable<ArchiveEntry>;
}

/** Opens an archive. `onRead` receives the number of archive bytes read so far. */
export async function openArchive(path: string, onRead: (bytes: number) => void): Promise<ArchiveFile> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    const entries = findEntries(file, await readStart(file), size, onRead);
    return { packedBytes: size, entries, [Symbol.asyncDispose]: () => file.close() };
  } catch (error) {
    await file.close();
    throw error;
  }
}

async function readStart(file: FileHandle): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(512), 0, 512, 0);
  return buffer.subarray(0, bytesRead);
}

function findEntries(file: FileHandle, start: Buffer, size: number, onRead: (bytes: number) => void) {
  const begins = (text: string) => start.subarray(0, text.length).equals(Buffer.from(text, 'latin1'));
  if (begins('PK\x03\x04') || begins('PK\x05\x06')) return tellAtEnd(readZip(file), () => onRead(size));
  const bytes = readFile(file, onRead);
  if (begins('\x1f\x8b')) return readTar(gunzip(bytes));
  if (begins('BZh')) return readTar(bunzip2(bytes));
  const { at, bytes: mark } = tarMark;
  if (start.subarray(at, at + mark.length).equals(mark)) return readTar(bytes);
  throw new ArchiveFault('is not a tar, gzip, bzip2 or zip archive');
}

async function* readFile(file: FileHandle, onRead: (bytes: number) => void): AsyncGenerator<Uint8Array> {
  for (let at = 0; ; ) {
    const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(readBytes), 0, readBytes, at);
    if (bytesRead === 0) return;
    at += bytesRead;
    onRead(at);
    yield buffer.subarray(0, bytesRead);
  }
}

async function* gunzip(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const stream = createGunzip({ chunkSize: readBytes });
  // Errors are ignored here, because the reader of the stream also receives them.
  pipeline(Readable.from(bytes), stream, () => {});
  yield* stream;
}

async function* tellAtEnd(entries: AsyncIterable<ArchiveEntry>, tell: () => void): AsyncGenerator<ArchiveEntry> {
  yield* entries;
  tell();
}
