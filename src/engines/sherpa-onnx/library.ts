// Where the library of this engine is. Its package is no dependency of a production install, since its binary contains
// eSpeak NG, which is GPL: a checkout has it for development, and an operator installs it into `libraries/` in the data
// folder. It is looked for with the binary for this platform, and not loaded.
import { createRequire } from 'node:module';
import { arch, platform } from 'node:os';
import { join, resolve } from 'node:path';

const packageName = 'sherpa-onnx-node';

/** What npm is told to install: the version that the engine is tested with. */
export const librarySpec = `${packageName}@1.13.8`;

/**
 * The path of the module to load: the package that `ownModule` finds by itself, or else the one in the data folder.
 * Undefined if neither is there.
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

/** What the operator does about a library that is missing. */
export const explainMissingLibrary = (dataDir: string): string =>
  `neural models need ${packageName}, which is not installed: run npm install --prefix ${quote(librariesFolder(dataDir))} ${librarySpec}; ` +
  'it contains eSpeak NG under GPL-3.0';

const librariesFolder = (dataDir: string): string => resolve(dataDir, 'libraries');

/** For a shell. */
const quote = (path: string): string => (/^[\w./@:+-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`);
