// Makes a folder and those above it, one at a time. Node's own way of making them all never ends where a file system says
// that the one above is not there although it is, as /proc does.
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';

export function makeFolder(path: string, mode?: number): void {
  const make = () => mkdirSync(path, { ...(mode !== undefined && { mode }) });
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
