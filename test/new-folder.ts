// Makes a folder for temporary files, which is removed after the test or, with `afterAll`, after the tests of the file.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

export function newFolder(onClose: (remove: () => void) => unknown = onTestFinished): string {
  const folder = mkdtempSync(join(tmpdir(), 'sonant-test-'));
  onClose(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
