// Creates a folder and its parents, one at a time. The recursive mkdir of Node never ends on a file system that reports
// ENOENT for a parent that exists, as /proc does.
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';

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
