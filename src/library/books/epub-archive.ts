// Finds the files of an EPUB by path, even if the stated path is percent-encoded or has the wrong letter case or
// folder. Size, compression ratio and total size are checked before and during unpacking.
import { crc32, inflateRawSync } from 'node:zlib';
import { ArchiveFault } from '../../platform/archives/entry-rules.ts';
import { findZipContent, readZipDirectory, type ZipRow, type ZipSource } from '../../platform/archives/zip.ts';
import {
  BookFault,
  bookFileBytesMax,
  bookFilesMax,
  bookUnpackedBytesMax,
  packingRatioMax,
  unratedFileBytes,
} from './book.ts';

const megabytes = (bytes: number): string => `${bytes >> 20} MiB`;

export class BookArchive {
  /** All paths in the order of the archive. */
  readonly paths: readonly string[];
  #source: ZipSource;
  #rows: ReadonlyMap<string, ZipRow>;
  #plain = new Map<string, string>();
  #byName = new Map<string, string | undefined>();
  #unpackedBytes = 0;

  static async open(bytes: Buffer): Promise<BookArchive> {
    const source: ZipSource = {
      bytes: bytes.length,
      read: async (at, count) => bytes.subarray(at, at + count),
    };
    try {
      const tooLarge = `contains more than ${bookFilesMax} files`;
      const rows = await readZipDirectory(source, { filesMax: bookFilesMax, tooLarge });
      return new BookArchive(source, rows);
    } catch (error) {
      throw toBookFault(error);
    }
  }

  constructor(source: ZipSource, rows: readonly ZipRow[]) {
    this.#source = source;
    const files = rows.filter(({ kind }) => kind === 'file');
    this.#rows = new Map(files.map((row) => [row.name, row]));
    this.paths = [...this.#rows.keys()];
    for (const path of this.paths) {
      const plain = toPlain(path);
      if (!this.#plain.has(plain)) this.#plain.set(plain, path);
      const name = nameOf(plain);
      this.#byName.set(name, this.#byName.has(name) ? undefined : path);
    }
  }

  /** Finds the actual path for a stated path; undefined if there is no such file. */
  find(path: string): string | undefined {
    if (this.#rows.has(path)) return path;
    const plain = toPlain(path);
    return this.#plain.get(plain) ?? this.#byName.get(nameOf(plain));
  }

  bytesOf(path: string): number {
    return this.#rows.get(path)!.bytes;
  }

  async read(path: string): Promise<Buffer> {
    const row = this.#rows.get(path)!;
    const shown = showPath(path);
    if (row.bytes > bookFileBytesMax)
      throw new BookFault('too_large', `contains ${shown}, which is larger than ${megabytes(bookFileBytesMax)}`);
    if (row.bytes > unratedFileBytes && row.bytes > packingRatioMax * row.packedBytes)
      throw new BookFault(
        'too_large',
        `contains ${shown}, which unpacks to more than ${packingRatioMax} times its size`,
      );
    this.#unpackedBytes += row.bytes;
    if (this.#unpackedBytes > bookUnpackedBytesMax)
      throw new BookFault('too_large', `unpacks to more than ${megabytes(bookUnpackedBytesMax)}`);
    try {
      const content = await this.#unpack(row);
      if (content.length === row.bytes && crc32(content) === row.checksum) return content;
    } catch (error) {
      if (!isUnpackingFault(error)) throw error;
    }
    throw new BookFault('damaged', `is damaged: its file ${shown} cannot be unpacked`);
  }

  async #unpack(row: ZipRow): Promise<Buffer> {
    const from = await findZipContent(this.#source, row);
    const packed = await this.#source.read(from, row.packedBytes);
    if (row.method === 0) return packed;
    return inflateRawSync(packed, { maxOutputLength: Math.max(1, row.bytes) });
  }
}

/** The path for messages, without characters that could control a terminal. */
export const showPath = (path: string): string => path.slice(-80).replace(/[^\p{L}\p{N}\p{P}\p{S} ]/gu, '?');

const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

const toPlain = (path: string): string =>
  decodePercent(path).replaceAll('\\', '/').normalize('NFC').toLowerCase().replace(/^\/+/, '');

/** Decodes percent encoding. Invalid encoding is left unchanged. */
function decodePercent(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

const isUnpackingFault = (error: unknown): boolean =>
  error instanceof ArchiveFault || /^(Z_|ERR_BUFFER_TOO_LARGE)/.test((error as NodeJS.ErrnoException).code ?? '');

const toBookFault = (error: unknown): unknown => {
  if (!(error instanceof ArchiveFault)) return error;
  return new BookFault(error.message === 'is encrypted' ? 'encrypted' : 'damaged', error.message);
};

export interface EpubReference {
  path: string;
  fragment: string;
}

/** Resolves `href` in the file with the path `from`; undefined if `href` is a URL with a scheme. */
export function resolveReference(from: string, href: string): EpubReference | undefined {
  const [, target = '', fragment = ''] = /^([^#]*)(?:#(.*))?$/s.exec(href.trim()) ?? [];
  if (/^[a-z][a-z0-9+.-]*:/i.test(target)) return undefined;
  const plain = target.replace(/\?.*$/, '').replaceAll('\\', '/');
  const folder = plain.startsWith('/') ? [] : from.split('/').slice(0, -1);
  if (plain === '') return { path: from, fragment: decodePercent(fragment) };
  const parts = [...folder];
  for (const part of plain.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '.' && part !== '') parts.push(part);
  }
  return { path: parts.join('/'), fragment: decodePercent(fragment) };
}
