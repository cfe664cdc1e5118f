// Caches the library's metadata in the data folder, so that Sonant starts without loading the library. The metadata is
// valid until the library, its data or one of the searched folders changes. A missing library is cached too; other
// faults are not, since they may be gone at the next startup.
//     espeak-ng.json   { "key": "<settings and system>", "state": "<digest>", "facts": {...} }     or "fault": "<why not>"
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { LibraryFacts } from './library-frames.ts';

const foundName = 'espeak-ng.json';
const bytesMax = 1_048_576;

interface FoundLibrary {
  facts?: LibraryFacts;
  /** The reason why the library does not speak. */
  fault?: string;
}

interface StoredLibrary extends FoundLibrary {
  key: string;
  state: string;
}

export type FoundLibraries = ReturnType<typeof openFoundLibraries>;

/** Folders that the system's loader searches. Installing a package changes one of them. */
const searched = ['/etc/ld.so.cache', '/lib', '/usr/lib', '/usr/lib64', '/usr/local/lib', '/opt/homebrew/lib'];

/** Whether this message of the system's loader means that a library is not installed. */
export const isMissing = (fault: string): boolean => /no such file|image not found/i.test(fault);

const stampOf = (path: string): string => {
  const found = statSync(path, { throwIfNoEntry: false });
  return found ? `${path} ${found.ino} ${found.size} ${found.mtimeMs}` : path;
};

function* within(path: string): Generator<string> {
  yield path;
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) return;
  for (const name of readdirSync(path).sort()) yield* within(join(path, name));
}

/** Hash of the searched folders and, if the metadata is known, of the state of the library's files. */
function stateOf(facts: LibraryFacts | undefined, paths: string): string {
  const hash = createHash('sha256');
  for (const path of [...searched, ...paths.split(':').filter(Boolean)]) hash.update(`${stampOf(path)}\n`);
  for (const file of facts?.files ?? []) for (const path of within(file)) hash.update(`${stampOf(path)}\n`);
  return hash.digest('base64url');
}

/** Opens the cache in this data folder. `loader` is the path of the module that loads the library. */
export function openFoundLibraries(dataDir: string, library: string, loader: string) {
  const { ESPEAK_DATA_PATH, LD_LIBRARY_PATH = '', HOME } = process.env;
  const { version, platform, arch } = process;
  const key = JSON.stringify([library, loader, version, platform, arch, ESPEAK_DATA_PATH, LD_LIBRARY_PATH, HOME]);
  const path = join(dataDir, foundName);
  return {
    /** Reads the cached metadata; undefined if nothing valid is cached. */
    read(): FoundLibrary | undefined {
      try {
        if (statSync(path).size > bytesMax) return undefined;
        const stored = JSON.parse(readFileSync(path, 'utf8')) as StoredLibrary;
        const { facts, fault } = stored;
        if (stored.key !== key || stored.state !== stateOf(facts, LD_LIBRARY_PATH)) return undefined;
        return { ...(facts && { facts }), ...(fault && { fault }) };
      } catch {
        // The file was never written or is damaged.
        return undefined;
      }
    },
    keep(found: FoundLibrary): void {
      if (!found.facts && !isMissing(found.fault ?? '')) return;
      const stored: StoredLibrary = { key, state: stateOf(found.facts, LD_LIBRARY_PATH), ...found };
      const draft = `${path}.${process.pid}.new`;
      try {
        writeFileSync(draft, `${JSON.stringify(stored)}\n`);
        renameSync(draft, path);
      } catch {
        // If the folder is missing or not writable, the library is inspected again at each startup.
        rmSync(draft, { force: true });
      }
    },
    /** Called when the cached metadata has turned out to be wrong. */
    forget: (): void => rmSync(path, { force: true }),
  };
}
