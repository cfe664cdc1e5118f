// Finds this engine's library. Its package is not a dependency in production, since its binary contains eSpeak NG
// (GPL): a checkout has it for development, and `addLibrary` installs it into `libraries/` in the data folder. The
// binary for this platform must exist; it is not loaded here.

import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { arch, platform } from 'node:os';
import { join, resolve } from 'node:path';
import { Failure } from '../../platform/errors.ts';
import { makeFolder } from '../../platform/runtime/files.ts';
import { takeLock } from '../../platform/runtime/locks.ts';
import { runClient } from '../../platform/runtime/package-client.ts';
import { shellWord } from '../../platform/runtime/shell-word.ts';
import { reasonOf } from '../../platform/runtime/system-errors.ts';
import type { PrepareOptions } from '../engine.ts';
import pins from './sherpa-library.json' with { type: 'json' };

const packageName = 'sherpa-onnx-node';

/** Package and version to install. The engine is tested with this version. */
export const librarySpec = `${packageName}@${pins.version}`;
export const libraryLicence = 'GPL-3.0, because it contains eSpeak NG';

/**
 * Path of the module to load: the package that `ownModule` resolves, or else the one in the data folder. Undefined if
 * neither exists.
 */
export const findLibrary = (dataDir: string, ownModule = import.meta.url): string | undefined =>
  findOwn(ownModule) ?? findWhole(() => createRequire(import.meta.url).resolve(installedFolder(dataDir)));

const findOwn = (ownModule: string): string | undefined =>
  findWhole(() => createRequire(ownModule).resolve(packageName));

/** Version of the library. A package beside Sonant takes precedence over the data folder, and is used in any version. */
function findVersion(dataDir: string): string | undefined {
  if (findOwn(import.meta.url)) return pins.version;
  try {
    return (
      findLibrary(dataDir) && JSON.parse(readFileSync(join(installedFolder(dataDir), 'package.json'), 'utf8')).version
    );
  } catch {
    // Node still finds a library whose folder has been deleted.
    return undefined;
  }
}

/** The package with the binary for this platform. */
const binaryName = `sherpa-onnx-${platform() === 'win32' ? 'win' : platform()}-${arch()}`;

function findWhole(resolveEntry: () => string): string | undefined {
  try {
    const entry = resolveEntry();
    createRequire(entry).resolve(`${binaryName}/package.json`);
    return entry;
  } catch {
    return undefined;
  }
}

/** How the operator can install a missing library. */
export const explainMissingLibrary = (dataDir: string): string =>
  `neural models need ${packageName}, which is not installed: sonant voice get NAME installs it, or run npm install --prefix ${shellWord(librariesFolder(dataDir))} ${librarySpec}; ` +
  'it contains eSpeak NG under GPL-3.0';

const librariesFolder = (dataDir: string): string => resolve(dataDir, 'libraries');
const installedFolder = (dataDir: string): string => join(librariesFolder(dataDir), 'node_modules', packageName);

const stageName = '.libraries-';

interface LibraryTools {
  /** Version of the library in use; undefined if it is not installed. */
  findVersion(dataDir: string): string | undefined;
  /** The program that installs packages. Default: that of the machine. */
  npm?: string;
}

const tools: LibraryTools = { findVersion };

/** Installs the library, or replaces a version that an earlier release installed. */
export async function addLibrary(
  { dataDir, isOffline = false, signal, print }: PrepareOptions,
  { findVersion, npm }: LibraryTools = tools,
): Promise<void> {
  const isCurrent = () => findVersion(dataDir) === pins.version;
  if (isCurrent() || (isOffline && findVersion(dataDir))) return;
  if (isOffline) throw refuse(explainMissingLibrary(dataDir));
  makeFolder(dataDir);
  const lock = await takeLock(join(dataDir, '.libraries.lock'), signal, () =>
    print('another process is installing the library'),
  );
  try {
    if (isCurrent()) return;
    const version = findVersion(dataDir);
    const replacing = version ? ` in place of ${version}` : '';
    print(
      `installing ${librarySpec}${replacing}, which runs neural models, with npm; its licence is ${libraryLicence}`,
    );
    // Folders left by killed installations; the lock ensures that no other installation is running.
    const left = (await readdir(dataDir)).filter((name) => name.startsWith(stageName));
    for (const name of left) await rm(join(dataDir, name), { recursive: true, force: true });
    const stage = await mkdtemp(join(dataDir, stageName));
    try {
      await install(npm, stage, signal);
      await replaceFolder(stage, join(dataDir, 'libraries'));
    } catch (error) {
      if (!version || signal.aborted) throw error;
      print(`${(error as Error).message}; Sonant continues to use version ${version}`);
      return;
    } finally {
      await rm(stage, { recursive: true, force: true });
    }
    if (!isCurrent()) throw refuse(`${librarySpec} was installed, but does not support this system`);
  } finally {
    lock.release();
  }
}

const refuse = (message: string, cause?: unknown) => new Failure('engine_unavailable', { message }, cause);

/** With few retries, an unreachable registry fails soon. */
const npmOptions =
  '--ignore-scripts --no-audit --no-fund --no-update-notifier --fetch-retries=1 --fetch-retry-mintimeout=500';

/**
 * Writes a lock file, so that npm checks the integrity of the packages. The file has no URLs, so npm uses the registry
 * in its own configuration.
 */
async function writeLock(folder: string): Promise<void> {
  const { version, integrity } = pins;
  const wanted = Object.entries(integrity).filter(([name]) => name === packageName || name === binaryName);
  if (wanted.length < 2) throw refuse(`${librarySpec} does not support this system`);
  const dependencies = Object.fromEntries(wanted.map(([name]) => [name, version]));
  const locked = wanted.map(([name, integrity]) => [`node_modules/${name}`, { version, integrity }]);
  const packages = { '': { dependencies }, ...Object.fromEntries(locked) };
  await writeFile(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies }));
  await writeFile(join(folder, 'package-lock.json'), JSON.stringify({ lockfileVersion: 3, requires: true, packages }));
}

async function install(npm: string | undefined, folder: string, signal: AbortSignal): Promise<void> {
  await writeLock(folder);
  // The home folder may be read-only.
  const cache = join(folder, '.npm');
  const args = ['ci', '--prefix', folder, '--cache', cache, ...npmOptions.split(' ')];
  const byHand = `npm install --prefix DATA/libraries ${librarySpec}`;
  const run = runClient({ client: 'npm', args, signal, ...(npm !== undefined && { commands: [[npm]] }) });
  const { code, said } = await run.catch((error) => {
    signal.throwIfAborted();
    throw refuse(`the library cannot be installed: ${reasonOf(error)}; install it yourself: ${byHand}`, error);
  });
  if (code === 0) return rm(cache, { recursive: true, force: true });
  const lines = said.split('\n').filter((line) => /^npm (error|ERR!)/.test(line));
  const why = reasonOf({ code: /code (\w+)/.exec(lines[0] ?? '')?.[1], message: '' });
  throw refuse(
    `the library cannot be installed: npm exited with ${code}${why && `: ${why}`}; install it yourself: ${byHand}`,
    new Error(lines.slice(0, linesShown).join('\n') || said),
  );
}

/** The first lines contain the reason; a stack trace and the path of a log may follow. */
const linesShown = 4;

/** Replaces a folder that was left by an earlier attempt, another system or an earlier release. */
async function replaceFolder(from: string, to: string): Promise<void> {
  const old = `${from}-old`;
  if (existsSync(to)) await rename(to, old);
  await rename(from, to);
  await rm(old, { recursive: true, force: true });
}
