// Imports a voice file: it speaks in a staging folder, and is then moved to the other voices.
import { existsSync } from 'node:fs';
import { copyFile, rename, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Failure } from '../../errors.ts';
import { makeFolder } from '../../runtime/folder.ts';
import { openLockedFolder, removeLeftFolders } from '../../runtime/locked-folder.ts';
import type { BroughtVoice } from '../engine.ts';
import { voiceFileEnding } from './voice-files.ts';

const stageName = '.import-';

/** `tryOut` opens the engine on a data folder and throws where a voice in it cannot be used. */
export async function importVoiceFile(
  { path, dataDir, name = basename(path, voiceFileEnding), signal, print }: BroughtVoice,
  tryOut: (dataDir: string) => Promise<void>,
): Promise<readonly string[] | undefined> {
  if (!path.endsWith(voiceFileEnding) || !(await stat(path)).isFile()) return undefined;
  const folder = join(dataDir, 'voices');
  makeFolder(folder);
  const file = basename(name) + voiceFileEnding;
  const taken = `there is a voice ${name} already, in ${folder}; remove it, or give another name with --name`;
  if (existsSync(join(folder, file))) throw new Failure('invalid_request', { message: taken });
  await removeLeftFolders(folder, stageName);
  const stage = await openLockedFolder(folder, stageName);
  try {
    const staged = join(stage.path, 'voices');
    makeFolder(staged);
    await copyFile(path, join(staged, file));
    print(`${name} is heard`);
    await tryOut(stage.path);
    signal.throwIfAborted();
    await rename(join(staged, file), join(folder, file));
  } finally {
    await stage.remove();
  }
  return [basename(name)];
}
