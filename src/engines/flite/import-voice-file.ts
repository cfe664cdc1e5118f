// Imports a voice file: it speaks in a staging folder, and is then moved to the other voices.
import { existsSync } from 'node:fs';
import { copyFile, mkdtemp, rename, rm, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Failure } from '../../errors.ts';
import { makeFolder } from '../../folder.ts';
import type { BroughtVoice } from '../engine.ts';
import { voiceFileEnding } from './voice-files.ts';

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
  const stage = await mkdtemp(join(folder, '.import-'));
  try {
    makeFolder(join(stage, 'voices'));
    await copyFile(path, join(stage, 'voices', file));
    print(`${name} is heard`);
    await tryOut(stage);
    signal.throwIfAborted();
    await rename(join(stage, 'voices', file), join(folder, file));
  } finally {
    await rm(stage, { recursive: true, force: true });
  }
  return [basename(name)];
}
