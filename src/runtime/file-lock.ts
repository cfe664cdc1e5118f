// A lock between processes: a file that one process holds. The operating system releases the lock when the process ends,
// however it ends. Node has no file locks, so this is SQLite's lock of an empty database.
import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';

const pollMs = 250;

export interface FileLock {
  release(): void;
}

/** Returns undefined if another process holds the lock. */
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
 * Whether any process holds the lock; false if the file cannot be opened. Writes nothing. Holds a shared lock while it
 * checks, so `tryLock` may fail at that moment.
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
