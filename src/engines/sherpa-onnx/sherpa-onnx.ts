// Neural voices that the operator imports: models in the data folder's `models/`, run by sherpa-onnx. The operator
// installs the library, because it contains eSpeak NG (GPL). The library exits its process on odd text or a bad model,
// so it runs only in child processes. `sonant doctor` reports broken models; all other models still work.

import { availableParallelism } from 'node:os';
import { integerSetting } from '../../platform/runtime/setting-types.ts';
import { defineEngine, type EngineReport } from '../engine.ts';
import { auditionFault, tryOutModel } from './audition.ts';
import { importModel } from './import-model.ts';
import type { Model } from './model.ts';
import { modelKinds } from './model-card.ts';
import { isOwn, modelsFolder, readModels } from './model-folder.ts';
import { ModelPool } from './model-pool.ts';
import { countSpeakers, memoryBytesOf, toMegabytes } from './model-voices.ts';
import { openSherpaEngine } from './sherpa-engine.ts';
import { addLibrary, explainMissingLibrary, findLibrary, libraryLicence, librarySpec } from './sherpa-library.ts';

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
