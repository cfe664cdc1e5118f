// Locks between processes. A lock is a file that one process holds until it releases the lock or exits for any reason.
// Node has no file locks, so each file is an empty SQLite database that is locked. A locked folder contains such a
// file, which shows whether the process that created the folder still runs, even in another container.
import { existsSync } from 'node:fs';
import { lstat, mkdtemp, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';

const pollMs = 250;

export interface FileLock {
  release(): void;
}

/** Acquires the lock; returns undefined if another process holds it. */
function tryLock(path: string): FileLock | undefined {
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
 * Whether any process holds the lock; false if the file cannot be opened. The check writes nothing, but it holds a
 * shared lock, so a `tryLock` at that moment may fail.
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

/** Waits for the lock. Calls `onWait` once if it has to wait. */
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
  /** Removes the folder with its contents. */
  remove(): Promise<void>;
}

/** Creates and locks a folder in `parent`. The folder's name begins with `prefix`. */
export async function openLockedFolder(parent: string, prefix: string): Promise<LockedFolder> {
  for (let tries = 1; ; tries++) {
    const path = await mkdtemp(join(parent, prefix));
    const lock = tryLock(join(path, lockName));
    const remove = async () => {
      lock?.release();
      await rm(path, { recursive: true, force: true });
    };
    if (lock) return { path, remove };
    // Another process that removes abandoned folders may have locked this folder right after its creation.
    await remove();
    if (tries === triesMax) throw new Error(`other processes take the folders ${prefix} in ${parent}`);
  }
}

/** Removes the folders whose processes have ended. Leaves folders of other users and folders without a lock. */
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
