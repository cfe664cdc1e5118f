// Creates folders, writes a file once, hashes files, opens the temporary folders of a process, and computes the space
// that large files leave free.

import { createHash, randomBytes } from 'node:crypto';
import { createReadStream, mkdirSync } from 'node:fs';
import { link, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname } from 'node:path';
import { type LockedFolder, openLockedFolder, removeLeftFolders } from './locks.ts';

/**
 * Creates a folder and its parents, one at a time. Node's recursive mkdir loops forever if a file system reports ENOENT
 * for an existing parent, as /proc does.
 */
export function makeFolder(path: string, mode?: number): void {
  const make = () => mkdirSync(path, mode);
  try {
    make();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') return;
    if (code !== 'ENOENT' || dirname(path) === path) throw error;
    makeFolder(dirname(path), mode);
    make();
  }
}

const prefix = 'sonant-process-';

export const openTemporaryFolder = (): Promise<LockedFolder> => openLockedFolder(tmpdir(), prefix);

/** Removes the temporary folders of killed processes. */
export const removeLeftTemporaryFolders = (): Promise<void> => removeLeftFolders(tmpdir(), prefix);

/** Writes a file atomically, with fsync and mode 0600. Returns false, and changes nothing, if the file exists. */
export async function writeOnce(file: string, text: string): Promise<boolean> {
  const draft = `${file}.${randomBytes(4).toString('hex')}`;
  const handle = await open(draft, 'wx', 0o600);
  try {
    await handle.writeFile(`${text}\n`);
    await handle.sync();
    await link(draft, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    await handle.close();
    await rm(draft);
  }
}

const readBytes = 2 ** 20;

export async function hashFile(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path, { highWaterMark: readBytes })) hash.update(chunk);
  return hash.digest('hex');
}

/** Share of a file system that large files must leave free for the database, the log and other files. */
const freeShareMin = 0.1;
const freeBytesMax = 1 << 30;

/** Free space that stored audio and models must leave on a file system of this size. */
export const freeBytesMin = ({ sizeBytes }: { sizeBytes: number }): number =>
  Math.min(freeShareMin * sizeBytes, freeBytesMax);
