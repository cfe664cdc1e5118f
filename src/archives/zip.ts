// Reads the files and folders of a zip archive, in the order of its directory.
import type { FileHandle } from 'node:fs/promises';
import { pipeline } from 'node:stream';
import { crc32, createInflateRaw } from 'node:zlib';
import type { ArchiveEntry } from './archive-entry.ts';
import { contentLimits, tooLarge } from './entry-rules.ts';
import { damagedDirectory, findZipContent, readZipDirectory, type ZipRow, type ZipSource } from './zip-directory.ts';

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
  const packed = file.createReadStream({ start, end: start + packedBytes - 1, autoClose: false });
  if (method === 0) return packed;
  const inflate = createInflateRaw();
  // Its fault reaches who reads the stream.
  pipeline(packed, inflate, () => {});
  return inflate;
}
