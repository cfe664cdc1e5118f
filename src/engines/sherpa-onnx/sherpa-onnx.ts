// Neural voices that the operator imports: models in the data folder's `models/`, run by sherpa-onnx. The operator
// installs the library, because it contains eSpeak NG (GPL). The library exits its process on odd text or a bad model,
// so it runs only in child processes. `sonant doctor` reports broken models; all other models still work.

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
import { integerSetting } from '../../platform/runtime/setting-types.ts';
import { type BroughtVoice, defineEngine, type EngineReport } from '../engine.ts';
import { auditionFault, auditionModel, tryOutModel } from './audition.ts';
import type { Model } from './model.ts';
import { modelKinds } from './model-card.ts';
import { isModelId, isOwn, modelsFolder, readModel, readModels } from './model-folder.ts';
import { ModelPool } from './model-pool.ts';
import { countSpeakers, memoryBytesOf, speakersOf, toMegabytes } from './model-voices.ts';
import { openSherpaEngine } from './sherpa-engine.ts';
import { addLibrary, explainMissingLibrary, findLibrary, libraryLicence, librarySpec } from './sherpa-library.ts';

// Imports a model: copies it into a staging folder, checks it, tests its speech, and only then renames it into
// place. A refused model leaves nothing behind.

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

const name = 'sherpa-onnx';
const cores = availableParallelism();
/**
 * More processes give more throughput than more threads. If there are enough cores for both, two
 * threads shorten the time to the first audio of a large model.
 */
const threadsUsual = cores >= 4 ? 2 : 1;
const modelProcessesUsual = Math.max(1, Math.floor(cores / threadsUsual));

/** Tests the models one after another, since each may need all cores. */
async function tryOutAll(models: readonly Model[], library: string, threads: number): Promise<string[]> {
  const pool = new ModelPool({ findLibrary: () => library, processesMax: 1, threadsPerProcess: threads });
  const faults: string[] = [];
  for (const model of models) {
    await tryOutModel(model, pool).catch((error: unknown) => faults.push(auditionFault(model, error)));
  }
  await pool.close();
  return faults;
}

async function inspect({ threads }: { threads: number }, dataDir: string): Promise<EngineReport> {
  try {
    const read = await readModels(dataDir);
    if (read.length === 0)
      return { state: 'absent', message: 'no models are installed; install one with "sonant voice get"' };
    const library = findLibrary(dataDir);
    if (!library) return { state: 'broken', message: explainMissingLibrary(dataDir) };
    const models = read.flatMap(({ model }) => model ?? []);
    const faults = read.flatMap((each) => each.faults.map((fault) => `${each.modelId}: ${fault}`));
    faults.push(...(await tryOutAll(models, library, threads)));
    if (faults.length > 0) return { state: 'broken', message: faults.join('; ') };
    const voices = models.reduce((sum, model) => sum + countSpeakers(model), 0);
    const memory = models.map((model) => `${model.modelId} ${toMegabytes(memoryBytesOf(model))}`).join(', ');
    return { state: 'ready', message: `${models.length} models, ${voices} voices; in memory about: ${memory}` };
  } catch (error) {
    return { state: 'broken', message: (error as Error).message };
  }
}

export const sherpaOnnx = defineEngine({
  name,
  isOptional: true,
  settings: {
    threads: integerSetting({
      name: 'SONANT_SHERPA_THREADS',
      help: 'Threads of each process of a neural model. Default: one, or two with four or more cores',
      range: [1, 64],
      fallback: threadsUsual,
    }),
    modelProcessesMax: integerSetting({
      name: 'SONANT_SHERPA_PROCESSES',
      help: 'Processes of one neural model at once, while memory allows. Default: cores divided by threads',
      range: [1, 64],
      fallback: modelProcessesUsual,
    }),
    processesMax: integerSetting({
      name: 'SONANT_SHERPA_MODELS_MAX',
      help: 'Processes of all neural models together, each with a model in memory. Default: one more than for one model',
      range: [1, 64],
      fallback: modelProcessesUsual + 1,
    }),
    idleSeconds: integerSetting({
      name: 'SONANT_SHERPA_IDLE_SECONDS',
      help: 'Seconds after which an unused neural model is unloaded',
      range: [1, 86_400],
      fallback: 600,
    }),
    steps: integerSetting({
      name: 'SONANT_SHERPA_STEPS',
      help: 'Refinement steps of Supertonic, ZipVoice and Pocket: more steps sound better and take longer. 0: the default of each model',
      range: [0, 64],
      fallback: 0,
    }),
  },
  inspect,
  open: (settings, dataDir, log) => openSherpaEngine({ ...settings, dataDir, log }),
  importVoice: (brought) => importModel(brought),
  models: {
    kinds: modelKinds,
    folder: modelsFolder,
    library: {
      name: librarySpec,
      licence: libraryLicence,
      isHere: (dataDir) => findLibrary(dataDir) !== undefined,
    },
    prepare: (options) => addLibrary(options),
    isOwn,
  },
});
