// A lock between processes: a file that one of them holds. The operating system takes it back from a process that ends,
// however it ends. It is SQLite's lock of a database that has nothing in it, since Node has none of its own.
import { existsSync } from 'node:fs';
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
