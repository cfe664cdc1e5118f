// Copies a folder with a model in it, within the limits of an archive.
import { constants, copyFile, mkdir, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Failure } from '../errors.ts';
import { contentLimits, tooLarge } from './entry-rules.ts';

/** Links are followed: the folder is the operator's own. */
export async function copyFolder(from: string, to: string, signal: AbortSignal): Promise<void> {
  const left = { files: contentLimits.files as number, bytes: contentLimits.bytes as number };
  const refuse = (what: string) => new Failure('invalid_request', { message: `${from} ${what}` });
  const copy = async (source: string, target: string, depth: number): Promise<void> => {
    if (depth > contentLimits.depth) throw refuse(`has folders ${depth} deep; that is no model`);
    await mkdir(target);
    for (const name of await readdir(source)) {
      signal.throwIfAborted();
      const found = await stat(join(source, name));
      if (found.isDirectory()) await copy(join(source, name), join(target, name), depth + 1);
      if (!found.isFile()) continue;
      left.files--;
      left.bytes -= found.size;
      if (left.files < 0 || left.bytes < 0) throw refuse(tooLarge);
      await copyFile(join(source, name), join(target, name), constants.COPYFILE_FICLONE);
    }
  };
  await copy(from, to, 0);
}
