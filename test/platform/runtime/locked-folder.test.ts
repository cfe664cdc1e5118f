// Tests that leftover folders of a killed process are removed, and nothing else.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openLockedFolder, removeLeftFolders } from '../../../src/platform/runtime/locks.ts';
import { serve } from '../../app/cli/serving-program.ts';
import { newFolder } from '../../new-folder.ts';

/** Another process with a temporary folder, and a file in it. */
async function startHolder(folder: string) {
  const script = `
    import { writeFileSync } from 'node:fs';
    import { openTemporaryFolder } from ${JSON.stringify(join(import.meta.dirname, '../../../src/platform/runtime/files.ts'))};
    const { path } = await openTemporaryFolder();
    writeFileSync(path + '/data', 'x'.repeat(1000));
    console.log(path);
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    env: { ...process.env, TMPDIR: folder },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [path] = await once(child.stdout.setEncoding('utf8'), 'data');
  return { child, path: String(path).trim() };
}

test('a service that starts removes what killed ones have left in the folder for temporary files, and no more', async () => {
  const folder = newFolder();
  const living = await startHolder(folder);
  const killed = await startHolder(folder);
  killed.child.kill('SIGKILL');
  await once(killed.child, 'exit');
  const foreign = join(folder, 'sonant-process-of-others');
  mkdirSync(foreign);
  writeFileSync(join(foreign, 'data'), 'Without a lock.');
  expect(existsSync(join(killed.path, 'data'))).toBe(true);
  await serve([], { TMPDIR: folder });
  await expect.poll(() => existsSync(killed.path)).toBe(false);
  expect([existsSync(join(living.path, 'data')), existsSync(foreign)]).toEqual([true, true]);
});

test('a folder that is no longer held is removed, with what is in it, and a held one is not', async () => {
  const folder = newFolder();
  const held = await openLockedFolder(folder, 'stage-');
  const other = await openLockedFolder(folder, 'stage-');
  writeFileSync(join(held.path, 'data'), 'Held.');
  await removeLeftFolders(folder, 'stage-');
  expect(await readdir(folder)).toHaveLength(2);
  await other.remove();
  await held.remove();
  expect(await readdir(folder)).toEqual([]);
  await removeLeftFolders(join(folder, 'nothing'), 'stage-');
});
