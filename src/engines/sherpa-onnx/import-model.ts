// Imports a model: copied into a staging folder beside the others, checked, made to speak, and only then moved under its
// name. Of a model that is refused, nothing is left behind.
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { Failure } from '../../errors.ts';
import { makeFolder } from '../../folder.ts';
import type { BroughtVoice } from '../engine.ts';
import { auditionFault, auditionModel } from './audition.ts';
import { explainMissingLibrary, findLibrary } from './library.ts';
import { isModelId, modelsFolder, readModel } from './model-folder.ts';
import { ModelPool } from './model-pool.ts';
import { speakersOf } from './model-voices.ts';
import { archiveEnding, copyFolder, unpackArchive } from './unpack.ts';

const refuse = (message: string, cause?: unknown) => new Failure('invalid_request', { message }, cause);

/** The ids of its voices; undefined where it is neither a folder nor an archive. */
export async function importModel(brought: BroughtVoice): Promise<readonly string[] | undefined> {
  const path = resolve(brought.path);
  const isFolder = (await stat(path)).isDirectory();
  if (!isFolder && !archiveEnding.test(path)) return undefined;
  const library = findLibrary(brought.dataDir);
  if (!library) throw refuse(explainMissingLibrary(brought.dataDir));
  const models = modelsFolder(brought.dataDir);
  makeFolder(models);
  const stage = await mkdtemp(join(models, '.import-'));
  try {
    const unpacked = join(stage, 'unpacked');
    await (isFolder ? copyFolder : unpackArchive)(path, unpacked, brought.signal);
    const root = isFolder ? unpacked : await findRoot(unpacked);
    return await importUnpacked({ ...brought, path, library }, models, stage, root);
  } finally {
    await rm(stage, { recursive: true, force: true });
  }
}

/** The only folder of an archive, or else the whole archive. */
async function findRoot(unpacked: string): Promise<string> {
  const entries = (await readdir(unpacked, { withFileTypes: true })).filter(({ name }) => !name.startsWith('.'));
  return entries.length === 1 && entries[0]!.isDirectory() ? join(unpacked, entries[0]!.name) : unpacked;
}

async function importUnpacked(
  { path, library, name, signal, print }: BroughtVoice & { library: string },
  models: string,
  stage: string,
  root: string,
): Promise<readonly string[]> {
  const ownName = basename(root) === 'unpacked' ? basename(path).replace(archiveEnding, '') : basename(root);
  const modelId = name ?? ownName;
  if (!isModelId(modelId)) {
    throw refuse(
      `${modelId} can be no name of a model: letters, digits, ".", "_" and "-" can; give another with --name`,
    );
  }
  const target = join(models, modelId);
  if (existsSync(target))
    throw refuse(`there is a model ${modelId} already, in ${target}; remove it, or give another name with --name`);
  const staged = join(stage, 'checked', modelId);
  makeFolder(join(stage, 'checked'));
  await rename(root, staged);
  // Gains measured elsewhere are measured again here.
  await rm(join(staged, 'sonant-gain.json'), { force: true });
  const { model, faults } = await readModel(staged);
  if (!model) throw refuse(`${path} is not taken in:\n  ${faults.join('\n  ')}`);
  print(`${modelId} is a model of the kind ${model.kind} and looks whole; now it is heard`);
  const pool = new ModelPool({ library, processesMax: 1, threads: availableParallelism() });
  const stop = () => void pool.close();
  signal.addEventListener('abort', stop, { once: true });
  try {
    await auditionModel(model, pool);
  } catch (error) {
    signal.throwIfAborted();
    throw refuse(`${path} is not taken in:\n  ${auditionFault(model, error)}`, error);
  } finally {
    signal.removeEventListener('abort', stop);
    await pool.close();
  }
  signal.throwIfAborted();
  await rename(staged, target);
  return speakersOf(model, () => 0).map(({ voice }) => voice.voiceId);
}
