// Rules for the content of a model archive: files and folders under plain relative paths, without duplicates, within
// limits on number and size. All rules are checked before the affected bytes are written.

import { constants, copyFile, mkdir, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Failure } from '../errors.ts';

/** A file or folder in an archive. Its content must be read before the next entry. */
export interface ArchiveEntry {
  name: string;
  kind: 'file' | 'folder';
  bytes: number;
  content: AsyncIterable<Uint8Array>;
}

export class ArchiveFault extends Error {}

/** Limits on an archive and on a copied folder. */
export const contentLimits = { files: 5_000, bytes: 8 * 2 ** 30, depth: 8 } as const;
const nameBytesMax = 255;
/** Maximum compression ratio. Model weights compress at most tenfold, zeros a thousandfold or more. */
const ratioMax = 200;
const unratedBytes = 64 * 2 ** 20;

export const tooLarge = `has more than ${contentLimits.files} files or ${contentLimits.bytes / 2 ** 30} GiB, which is too much for a model`;

export class EntryRules {
  /** Kinds of entries by lower-case path, because names that differ only in case collide on some file systems. */
  #kinds = new Map<string, 'file' | 'folder'>();
  #bytes = 0;
  #packedBytes: number;

  constructor(packedBytes: number) {
    this.#packedBytes = packedBytes;
  }

  /** Checks an entry and returns its normalized path; undefined if the entry is the root folder. */
  accept(name: string, kind: 'file' | 'folder', bytes: number): string | undefined {
    const parts = parsePath(name);
    if (parts.length === 0 && kind === 'folder') return undefined;
    if (parts.length === 0) throw new ArchiveFault('has a file without a name');
    if (parts.length > contentLimits.depth)
      throw new ArchiveFault(`has folders nested ${parts.length} deep, which is too deep for a model`);
    for (let depth = 1; depth < parts.length; depth++) this.#add(parts.slice(0, depth), 'folder');
    this.#add(parts, kind);
    if (!(bytes >= 0) || bytes > contentLimits.bytes) throw new ArchiveFault(tooLarge);
    return parts.join('/');
  }

  #add(parts: readonly string[], kind: 'file' | 'folder'): void {
    const path = parts.join('/');
    const key = path.normalize('NFC').toLowerCase();
    const known = this.#kinds.get(key);
    if (known === 'file' || (known && kind === 'file')) throw new ArchiveFault(`contains ${quote(path)} twice`);
    this.#kinds.set(key, kind);
    if (this.#kinds.size > contentLimits.files) throw new ArchiveFault(tooLarge);
  }

  /** Counts decompressed bytes. Must be called before the bytes are written. */
  count(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes > contentLimits.bytes) throw new ArchiveFault(tooLarge);
    if (this.#bytes > unratedBytes && this.#bytes > ratioMax * this.#packedBytes)
      throw new ArchiveFault(`unpacks to more than ${ratioMax} times its size, which is too much for a model`);
  }
}

function parsePath(name: string): string[] {
  const shown = quote(name);
  if (/[\p{Cc}\p{Cf}\u2028\u2029\ufffd]/u.test(name))
    throw new ArchiveFault(`has a name with control characters: ${shown}`);
  if (/^\/|^[a-z]:|\\/i.test(name)) throw new ArchiveFault(`would write outside its folder: ${shown}`);
  const parts = name.split('/').filter((part) => part !== '' && part !== '.');
  if (parts.includes('..')) throw new ArchiveFault(`would write outside its folder: ${shown}`);
  const isLong = parts.some((part) => Buffer.byteLength(part) > nameBytesMax);
  if (isLong) throw new ArchiveFault(`has a name that is too long: ${shown}`);
  return parts;
}

const shownChars = 80;

/** The name for messages, with escapes for characters that could control a terminal. */
const quote = (name: string): string => JSON.stringify(name.slice(0, shownChars)).replace(/[^\x20-\x7e]/g, toEscape);
const toEscape = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** Copies a folder. Links are followed, because the folder belongs to the operator. */
export async function copyFolder(from: string, to: string, signal: AbortSignal): Promise<void> {
  const left = { files: contentLimits.files as number, bytes: contentLimits.bytes as number };
  const refuse = (what: string) => new Failure('invalid_request', { message: `${from} ${what}` });
  const copy = async (source: string, target: string, depth: number): Promise<void> => {
    if (depth > contentLimits.depth) throw refuse(`has folders nested ${depth} deep, which is too deep for a model`);
    await mkdir(target);
    for (const name of await readdir(source)) {
      signal.throwIfAborted();
      const found = await stat(join(source, name));
      if (found.isDirectory()) await copy(join(source, name), join(target, name), depth + 1);
      if (!found.isFile()) continue;
      left.files--;
      left.bytes -= found.size;
      if (left.files < 0 || left.bytes < 0) throw refuse(tooLarge);
      await copyFile(join(source, name), join(target, name), constants.COPYFILE_FICLONE);
    }
  };
  await copy(from, to, 0);
}
