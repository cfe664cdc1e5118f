// A process reads eSpeak NG's data again with each text. For a model whose folder is removed while requests are under way,
// each process therefore has a copy of its own, of some 18 MB, in the folder for temporary files.
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { openTemporaryFolder } from '../../runtime/temporary-folder.ts';
import type { LibraryOptions } from './model.ts';

export type LibraryConfig = { model?: Readonly<Record<string, LibraryOptions | string | number | boolean>> };

/** Files that a process of a model has for itself while it lives. */
export interface ProcessFiles {
  /** The library's configuration, with these files in it. */
  config: object;
  remove(): Promise<void>;
}

/** Where nothing can be copied, the data is used where it is. */
export async function copySpeechData(config: object): Promise<ProcessFiles> {
  const { model = {} } = config as LibraryConfig;
  const found = Object.entries(model).find(([, part]) => typeof part === 'object' && 'dataDir' in part);
  if (!found) return { config, remove: async () => {} };
  const [kind, part] = found as [string, LibraryOptions];
  const folder = await openTemporaryFolder().catch(() => undefined);
  if (folder === undefined) return { config, remove: async () => {} };
  const { path, remove } = folder;
  const dataDir = join(path, 'espeak-ng-data');
  try {
    await cp(String(part.dataDir), dataDir, { recursive: true, dereference: true });
  } catch {
    await remove();
    return { config, remove: async () => {} };
  }
  return { config: { ...config, model: { ...model, [kind]: { ...part, dataDir } } }, remove };
}
