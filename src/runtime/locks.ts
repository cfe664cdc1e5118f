// A lock between processes: a file that one of them holds. The operating system takes it back from a process that ends,
// however it ends. It is SQLite's lock of a database that has nothing in it, since Node has none of its own.

import { existsSync } from 'node:fs';
import { lstat, mkdtemp, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';

const pollMs = 250;

export interface FileLock {
  release(): void;
}

/** Undefined where another holds it. */
export function tryLock(path: string): FileLock | undefined {
  const database = new Database(path, { timeout: 0 });
  try {
    database.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    if ((error as { code?: unknown }).code === 'SQLITE_BUSY') return undefined;
    throw error;
  }
  return { release: () => void database.close() };
}

/**
 * Whether anybody holds it; nobody whom this process can see, where the file cannot be opened. Writes nothing, and holds a
 * shared lock while it looks, so that `tryLock` at that moment may fail.
 */
export function isLocked(path: string): boolean {
  if (!existsSync(path)) return false;
  let database: Database.Database | undefined;
  try {
    database = new Database(path, { readonly: true, timeout: 0 });
    database.prepare('SELECT count(*) FROM sqlite_master').get();
    return false;
  } catch (error) {
    const code = String((error as { code?: unknown }).code);
    if (code === 'SQLITE_BUSY') return true;
    if (code.startsWith('SQLITE_CANTOPEN')) return false;
    throw error;
  } finally {
    database?.close();
  }
}

/** Waits for it; `onWait` is called once if it has to. */
export async function takeLock(path: string, signal: AbortSignal, onWait: () => void): Promise<FileLock> {
  for (let waits = 0; ; waits++) {
    signal.throwIfAborted();
    const lock = tryLock(path);
    if (lock) return lock;
    if (waits === 0) onWait();
    await sleep(pollMs, undefined, { signal });
  }
}

const lockName = 'lock';
const triesMax = 3;

export interface LockedFolder {
  path: string;
  /** With all that is in it. */
  remove(): Promise<void>;
}

/** A new folder in `parent`, whose name begins with the prefix. */
export async function openLockedFolder(parent: string, prefix: string): Promise<LockedFolder> {
  for (let tries = 1; ; tries++) {
    const path = await mkdtemp(join(parent, prefix));
    const lock = tryLock(join(path, lockName));
    const remove = async () => {
      lock?.release();
      await rm(path, { recursive: true, force: true });
    };
    if (lock) return { path, remove };
    // A process that removes left folders has looked at it between the two steps.
    await remove();
    if (tries === triesMax) throw new Error(`other processes take the folders ${prefix} in ${parent}`);
  }
}

/** Removes the folders whose processes are gone; those of other users, and those without a lock, are left alone. */
export async function removeLeftFolders(parent: string, prefix: string): Promise<void> {
  const names = existsSync(parent) ? await readdir(parent) : [];
  for (const name of names) {
    if (!name.startsWith(prefix)) continue;
    const path = join(parent, name);
    const found = await lstat(path).catch(() => undefined);
    const isOurs = found?.isDirectory() && (process.getuid === undefined || found.uid === process.getuid());
    if (!isOurs || !existsSync(join(path, lockName))) continue;
    const lock = tryLock(join(path, lockName));
    lock?.release();
    if (lock) await rm(path, { recursive: true, force: true });
  }
}
