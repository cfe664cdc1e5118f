// Finds this engine's library. Its package is not a dependency in production, since its binary contains eSpeak NG
// (GPL): a checkout has it for development, and an operator installs it into `libraries/` in the data folder. The
// binary for this platform must exist; it is not loaded here.

import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { arch, platform } from 'node:os';
import { join, resolve } from 'node:path';
import { text as readAll } from 'node:stream/consumers';
import { Failure } from '../../errors.ts';
import { makeFolder } from '../../runtime/files.ts';
import { takeLock } from '../../runtime/locks.ts';
import { reasonOf } from '../../runtime/system-errors.ts';
import type { PrepareOptions } from '../engine.ts';

const packageName = 'sherpa-onnx-node';

/** Package and version to install. The engine is tested with this version. */
export const librarySpec = `${packageName}@1.13.8`;

/**
 * Path of the module to load: the package that `ownModule` resolves, or else the one in the data folder. Undefined if
 * neither exists.
 */
export function findLibrary(dataDir: string, ownModule = import.meta.url): string | undefined {
  const { resolve: resolveOwn } = createRequire(ownModule);
  const installed = join(librariesFolder(dataDir), 'node_modules', packageName);
  return findWhole(() => resolveOwn(packageName)) ?? findWhole(() => resolveOwn(installed));
}

function findWhole(resolveEntry: () => string): string | undefined {
  const system = platform() === 'win32' ? 'win' : platform();
  try {
    const entry = resolveEntry();
    createRequire(entry).resolve(`sherpa-onnx-${system}-${arch()}/package.json`);
    return entry;
  } catch {
    return undefined;
  }
}

/** How the operator can install a missing library. */
export const explainMissingLibrary = (dataDir: string): string =>
  `neural models need ${packageName}, which is not installed: run npm install --prefix ${quote(librariesFolder(dataDir))} ${librarySpec}; ` +
  'it contains eSpeak NG under GPL-3.0';

const librariesFolder = (dataDir: string): string => resolve(dataDir, 'libraries');

/** Quotes a path for a shell. */
const quote = (path: string): string => (/^[\w./@:+-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`);

const stageName = '.libraries-';

interface LibraryTools {
  isInstalled(dataDir: string): boolean;
  /** The program that installs packages. */
  npm: string;
}

const tools: LibraryTools = { isInstalled: (dataDir) => findLibrary(dataDir) !== undefined, npm: 'npm' };

export async function addLibrary(
  { dataDir, isOffline = false, signal, print }: PrepareOptions,
  { isInstalled, npm }: LibraryTools = tools,
): Promise<void> {
  if (isInstalled(dataDir)) return;
  if (isOffline) throw refuse(explainMissingLibrary(dataDir));
  makeFolder(dataDir);
  const lock = await takeLock(join(dataDir, '.libraries.lock'), signal, () =>
    print('another process is installing the library'),
  );
  try {
    if (isInstalled(dataDir)) return;
    print(
      `neural voices need ${librarySpec}, which contains eSpeak NG and is therefore under GPL-3.0; installing it with npm`,
    );
    // Folders left by killed installations; the lock ensures that no other installation is running.
    const left = (await readdir(dataDir)).filter((name) => name.startsWith(stageName));
    for (const name of left) await rm(join(dataDir, name), { recursive: true, force: true });
    const stage = await mkdtemp(join(dataDir, stageName));
    try {
      await install(npm, stage, signal);
      await replaceFolder(stage, join(dataDir, 'libraries'));
    } finally {
      await rm(stage, { recursive: true, force: true });
    }
    if (!isInstalled(dataDir)) throw refuse(`${librarySpec} was installed, but does not support this system`);
  } finally {
    lock.release();
  }
}

const refuse = (message: string, cause?: unknown) => new Failure('engine_unavailable', { message }, cause);

/** Environment variables that npm needs to run and to reach the operator's registry. */
const npmVariables =
  /^(PATH|HOME|TMPDIR|LANG|NODE_EXTRA_CA_CERTS|SSL_CERT_(FILE|DIR)|(https?_|no_|all_)?proxy|npm_config_.+)$/i;

const npmEnvironment = (): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => npmVariables.test(name)));

async function install(npm: string, folder: string, signal: AbortSignal): Promise<void> {
  const args = ['install', '--prefix', folder, '--no-audit', '--no-fund', '--ignore-scripts', librarySpec];
  const byHand = `npm install --prefix DATA/libraries ${librarySpec}`;
  const child: ChildProcess = spawn(npm, args, { env: npmEnvironment(), stdio: ['ignore', 'ignore', 'pipe'], signal });
  const { promise, resolve, reject } = Promise.withResolvers<number | null>();
  child.once('error', reject);
  child.once('close', resolve);
  const [code, said] = await Promise.all([promise, readAll(child.stderr!)]).catch((error) => {
    signal.throwIfAborted();
    throw refuse(`the library cannot be installed: ${reasonOf(error)}; install it yourself: ${byHand}`, error);
  });
  signal.throwIfAborted();
  if (code === 0) return;
  const lines = said.split('\n').filter((line) => /^npm (error|ERR!)/.test(line));
  throw refuse(
    `the library cannot be installed: npm exited with ${code}; install it yourself: ${byHand}`,
    new Error(lines.join('\n') || said),
  );
}

/** Replaces the folder, whose content is unusable: it comes from an earlier attempt, or is for another system. */
async function replaceFolder(from: string, to: string): Promise<void> {
  const old = `${from}-old`;
  if (existsSync(to)) await rename(to, old);
  await rename(from, to);
  await rm(old, { recursive: true, force: true });
}
