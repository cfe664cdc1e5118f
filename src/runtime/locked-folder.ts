// Folders that one process owns for a while. The process holds the file `lock` in its folder, so the folders of killed
// processes can be recognised, whatever their process id or container.
import { existsSync } from 'node:fs';
import { lstat, mkdtemp, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { tryLock } from './file-lock.ts';

const lockName = 'lock';
const triesMax = 3;

export interface LockedFolder {
  path: string;
  /** Removes the folder with its contents. */
  remove(): Promise<void>;
}

/** Creates a folder in `parent` whose name begins with the prefix. */
export async function openLockedFolder(parent: string, prefix: string): Promise<LockedFolder> {
  for (let tries = 1; ; tries++) {
    const path = await mkdtemp(join(parent, prefix));
    const lock = tryLock(join(path, lockName));
    const remove = async () => {
      lock?.release();
      await rm(path, { recursive: true, force: true });
    };
    if (lock) return { path, remove };
    // A process that removes abandoned folders may have checked this one between the two steps.
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
