// Imports a model: copies it into a staging folder, checks it, tests its speech, and only then renames it into
// place. A refused model leaves nothing behind.
import { existsSync } from 'node:fs';
import { copyFile, readdir, rename, stat, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { archiveEnding } from '../../platform/archives/archive-file.ts';
import { copyFolder } from '../../platform/archives/entry-rules.ts';
import { unpackArchive } from '../../platform/archives/unpack-archive.ts';
import { Failure } from '../../platform/errors.ts';
import { onAbort } from '../../platform/runtime/abort.ts';
import { hashFile, makeFolder } from '../../platform/runtime/files.ts';
import { openLockedFolder, removeLeftFolders } from '../../platform/runtime/locks.ts';
import type { BroughtVoice } from '../engine.ts';
import { auditionFault, auditionModel } from './audition.ts';
import { isModelId, modelsFolder, readModel } from './model-folder.ts';
import { ModelPool } from './model-pool.ts';
import { speakersOf } from './model-voices.ts';
import { explainMissingLibrary, findLibrary } from './sherpa-library.ts';

/** File with the origin and licence of a model. */
const sourceName = 'sonant-source.json';

const refuse = (message: string, cause?: unknown) => new Failure('invalid_request', { message }, cause);

/** Returns the ids of the model's voices; undefined if `brought` is neither a folder nor an archive. */
export async function importModel(brought: BroughtVoice): Promise<readonly string[] | undefined> {
  const path = resolve(brought.path);
  const isFolder = (await stat(path)).isDirectory();
  if (!isFolder && !archiveEnding.test(path)) return undefined;
  const library = findLibrary(brought.dataDir);
  if (!library) throw refuse(explainMissingLibrary(brought.dataDir));
  const models = modelsFolder(brought.dataDir);
  makeFolder(models);
  await removeLeftFolders(models, stageName);
  const stage = await openLockedFolder(models, stageName);
  try {
    const unpacked = join(stage.path, 'unpacked');
    const { signal, onUnpacked } = brought;
    if (isFolder) await copyFolder(path, unpacked, signal);
    else await unpackArchive({ archive: path, to: unpacked, signal, ...(onUnpacked && { onProgress: onUnpacked }) });
    const root = isFolder ? unpacked : await findRoot(unpacked);
    return await importUnpacked({ ...brought, path, library }, models, stage.path, root);
  } finally {
    await stage.remove();
  }
}

const stageName = '.import-';

/** The only folder of an archive, or else the whole archive. */
async function findRoot(unpacked: string): Promise<string> {
  const entries = (await readdir(unpacked, { withFileTypes: true })).filter(({ name }) => !name.startsWith('.'));
  return entries.length === 1 && entries[0]!.isDirectory() ? join(unpacked, entries[0]!.name) : unpacked;
}

async function importUnpacked(
  brought: BroughtVoice & { library: string },
  models: string,
  stage: string,
  root: string,
): Promise<readonly string[]> {
  const { path, library, name, signal, print } = brought;
  const ownName = basename(root) === 'unpacked' ? basename(path).replace(archiveEnding, '') : basename(root);
  const modelId = name ?? ownName;
  if (!isModelId(modelId)) {
    throw refuse(
      `${modelId} is not a valid name of a model: use letters, digits, ".", "_" and "-"; choose another name with --name`,
    );
  }
  const target = join(models, modelId);
  if (existsSync(target))
    throw refuse(`model ${modelId} already exists in ${target}; remove it, or choose another name with --name`);
  const staged = join(stage, 'checked', modelId);
  makeFolder(join(stage, 'checked'));
  await rename(root, staged);
  await addParts(staged, brought);
  const { model, faults } = await readModel(staged);
  if (!model) throw refuse(`${path} was not imported:\n  ${faults.join('\n  ')}`);
  print(`${modelId} is a complete model of the kind ${model.kind}; testing it`);
  const pool = new ModelPool({
    findLibrary: () => library,
    processesMax: 1,
    threadsPerProcess: availableParallelism(),
  });
  using _ = onAbort(signal, () => void pool.close());
  try {
    await auditionModel(model, pool);
  } catch (error) {
    signal.throwIfAborted();
    throw refuse(`${path} was not imported:\n  ${auditionFault(model, error)}`, error);
  } finally {
    await pool.close();
  }
  signal.throwIfAborted();
  await rename(staged, target).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'ENOTEMPTY' || error.code === 'EEXIST' ? refuse(`model ${modelId} already exists`) : error;
  });
  return speakersOf(model, () => 0).map(({ voice }) => voice.voiceId);
}

/** Adds files that are not in the model's archive, and checks the hashes of its files. */
async function addParts(staged: string, { parts = [], files = {}, source }: BroughtVoice): Promise<void> {
  for (const { path, as } of parts) await copyFile(path, join(staged, as));
  for (const [name, wanted] of Object.entries(files)) {
    const found = existsSync(join(staged, name)) ? await hashFile(join(staged, name)) : 'none, because it is missing';
    if (found !== wanted) {
      throw refuse(`${name} must have the SHA-256 ${wanted}, and has ${found}; it is not the file that was expected`);
    }
  }
  if (source) await writeFile(join(staged, sourceName), `${JSON.stringify(source, null, 2)}\n`);
}
