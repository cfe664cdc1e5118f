// Copies a model that the operator imports, a folder or an archive, into a folder of our own: files and folders only, within
// limits of count and size. Archives are unpacked by the system's tar, after it has listed their entries.
import { execFile } from 'node:child_process';
import { constants, copyFile, mkdir, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Failure } from '../../errors.ts';

const run = promisify(execFile);

export const archiveEnding = /\.(tar|tar\.gz|tgz|tar\.bz2|tbz2?)$/i;

const limits = { files: 5_000, bytes: 8 * 2 ** 30, depth: 8 } as const;
const listingBytesMax = 8 * 2 ** 20;

const refuse = (message: string, cause?: unknown) => new Failure('invalid_request', { message }, cause);

/** Copies a folder, following links: it is the operator's own. */
export async function copyFolder(from: string, to: string, signal: AbortSignal): Promise<void> {
  const left: { files: number; bytes: number } = { ...limits };
  const copy = async (source: string, target: string, depth: number): Promise<void> => {
    if (depth > limits.depth) throw refuse(`${from} has folders ${depth} deep; that is no model`);
    await mkdir(target);
    for (const name of await readdir(source)) {
      signal.throwIfAborted();
      const found = await stat(join(source, name));
      if (found.isDirectory()) await copy(join(source, name), join(target, name), depth + 1);
      if (!found.isFile()) continue;
      left.files--;
      left.bytes -= found.size;
      if (left.files < 0 || left.bytes < 0) throw tooLarge(from);
      await copyFile(join(source, name), join(target, name), constants.COPYFILE_FICLONE);
    }
  };
  await copy(from, to, 0);
}

const tooLarge = (path: string) =>
  refuse(`${path} has more than ${limits.files} files or ${limits.bytes / 2 ** 30} GiB; that is no model`);

export async function unpackArchive(archive: string, to: string, signal: AbortSignal): Promise<void> {
  await checkListing(archive, signal);
  await mkdir(to);
  await tar(['-xf', archive, '-C', to, '--no-same-owner', '--no-same-permissions'], archive, signal);
}

async function tar(args: readonly string[], archive: string, signal: AbortSignal): Promise<string> {
  const { PATH } = process.env;
  try {
    const options = { env: { PATH, LC_ALL: 'C' }, maxBuffer: listingBytesMax, signal };
    return (await run('tar', args, options)).stdout;
  } catch (error) {
    signal.throwIfAborted();
    const { code, stderr = '' } = error as { code?: unknown; stderr?: string };
    if (code === 'ENOENT') throw refuse('there is no tar here to unpack it; unpack it yourself and import the folder');
    throw refuse(`${archive} cannot be unpacked: ${stderr.trim().split('\n')[0] || (error as Error).message}`, error);
  }
}

/** GNU's: mode owner/group size date name. BSD's: mode links owner group size month name. */
const sizeOf = (line: string): number =>
  Number((/^\S+\s+\S+\/\S+\s+(\d+)\s/.exec(line) ?? /^\S+\s+\d+\s+\S+\s+\S+\s+(\d+)\s/.exec(line))?.[1]);

async function checkListing(archive: string, signal: AbortSignal): Promise<void> {
  const entries = (await tar(['-tvf', archive], archive, signal)).split('\n').filter((line) => line !== '');
  const names = (await tar(['-tf', archive], archive, signal)).split('\n').filter((line) => line !== '');
  const odd = entries.find((line) => !/^[-d]/.test(line));
  if (odd) throw refuse(`${archive} has links or devices in it; a model has files and folders only`);
  const outside = names.find((name) => name.startsWith('/') || name.split('/').includes('..'));
  if (outside) throw refuse(`${archive} would write outside its folder: ${outside}`);
  const bytes = entries.reduce((sum, line) => sum + sizeOf(line), 0);
  if (entries.length > limits.files || !(bytes <= limits.bytes)) throw tooLarge(archive);
}
