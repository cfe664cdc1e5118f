// Neural voices that the operator imports: models in folders of `models/` in the data folder, run by sherpa-onnx, which the
// operator installs, since it contains eSpeak NG, which is GPL. It is never loaded in our process, since it exits the process on
// odd text or a bad model: each model has a child process of its own, started when it is first needed. A broken model is
// left out and reported by `sonant doctor`; the others speak.
import { availableParallelism } from 'node:os';
import { Failure } from '../../errors.ts';
import { integerSetting } from '../../setting.ts';
import { defineEngine, type Engine, type EngineReport, type Segment, type SpokenPcm } from '../engine.ts';
import { addLibrary } from './add-library.ts';
import { auditionFault, auditionModel, tryOutModel } from './audition.ts';
import { importModel } from './import-model.ts';
import { explainMissingLibrary, findLibrary } from './library.ts';
import type { Model } from './model.ts';
import { modelsFolder, readModels } from './model-folder.ts';
import { ModelPool, type SpokenBy } from './model-pool.ts';
import { toModelText } from './model-text.ts';
import { type Speaker, speakersOf } from './model-voices.ts';
import models from './models.json' with { type: 'json' };
import { createZeroShotCloning, parseReference } from './reference.ts';

const name = 'sherpa-onnx';
const speakingRates = { min: 1, max: 1 };
/** A large model may have to be read from a slow disk before it speaks. */
const timeoutMs = { firstSound: 90_000, stall: 60_000 };

export interface SherpaOnnxOptions {
  dataDir: string;
  threads: number;
  /** How many models are in memory at once. */
  modelsMax: number;
}

/** Opens the models; undefined where none can speak. Throws where there are models, and the library is not installed. */
export async function openSherpaOnnx({ dataDir, threads, modelsMax }: SherpaOnnxOptions): Promise<Engine | undefined> {
  const read = await readModels(dataDir);
  if (read.length === 0) return undefined;
  const library = findLibrary(dataDir);
  if (!library) throw new Failure('engine_unavailable', {}, new Error(explainMissingLibrary(dataDir)));
  const whole = read.flatMap(({ model }) => model ?? []);
  if (whole.length === 0) return undefined;
  const pool = new ModelPool({ library, processesMax: modelsMax, threads });
  const tried = await auditionAll(whole, pool);
  const models = tried.filter(({ fault }) => fault === undefined);
  if (models.length > 0) return createEngine(models, pool, modelsMax);
  await pool.close();
  return undefined;
}

interface AuditionedModel {
  model: Model;
  speakers: readonly Speaker[];
  fault?: string;
}

/** One after the other: each may need all cores, and most have stored measurements. */
async function auditionAll(models: readonly Model[], pool: ModelPool, isThorough = false): Promise<AuditionedModel[]> {
  const tried: AuditionedModel[] = [];
  for (const model of models) {
    try {
      if (isThorough) await tryOutModel(model, pool);
      const gains = await auditionModel(model, pool);
      tried.push({ model, speakers: speakersOf(model, (sid) => gains[sid] ?? 0) });
    } catch (error) {
      tried.push({ model, speakers: [], fault: auditionFault(model, error) });
    }
  }
  return tried;
}

function createEngine(tried: readonly AuditionedModel[], pool: ModelPool, modelsMax: number): Engine {
  const own = new Map<string, { model: Model; speaker: Speaker }>();
  for (const { model, speakers } of tried) {
    for (const speaker of speakers)
      if (!own.has(speaker.voice.voiceId)) own.set(speaker.voice.voiceId, { model, speaker });
  }
  const cloners = tried.map(({ model }) => model).filter(({ zeroShot }) => zeroShot);

  const spokenBy = ({ voice, clone }: Segment): Omit<SpokenBy, 'text'> => {
    if (!clone) {
      const found = own.get(voice.voiceId);
      if (!found) throw new Failure('engine_error', {}, new Error(`there is no voice ${voice.voiceId} here`));
      return found;
    }
    const reference = parseReference(clone);
    const model = cloners.find(({ modelId }) => modelId === reference.modelId);
    if (!model) throw new Failure('engine_unavailable', {}, new Error(`the model ${reference.modelId} is not here`));
    return { model, reference };
  };

  return {
    name,
    voices: [...own.values()].map(({ speaker }) => speaker.voice),
    capabilities: {
      speakingRates,
      timings: false,
      readsNumbers: false,
      segmentCharsMax: 240,
      segmentsAtOnce: 2,
      speakersFailAlone: true,
      segmentsSpokenMax: Math.min(modelsMax, tried.length),
      firstSoundMsMax: timeoutMs.firstSound,
      stallMsMax: timeoutMs.stall,
    },
    ...(cloners[0] && { cloning: createZeroShotCloning(cloners[0]) }),
    async *speak(segment, signal): AsyncGenerator<SpokenPcm> {
      const by = spokenBy(segment);
      const text = await toModelText(segment.text, by.model);
      if (text !== '') yield* pool.speak({ ...by, text }, signal);
    },
    resourceOf: ({ voice, clone }) =>
      clone ? parseReference(clone).modelId : (own.get(voice.voiceId)?.model.modelId ?? ''),
    close: () => pool.close(),
  };
}

async function inspect(
  { threads, modelsMax }: Omit<SherpaOnnxOptions, 'dataDir'>,
  dataDir: string,
): Promise<EngineReport> {
  try {
    const read = await readModels(dataDir);
    if (read.length === 0) return { state: 'absent', message: 'there are no models; "sonant voice get" brings one' };
    const library = findLibrary(dataDir);
    if (!library) return { state: 'broken', message: explainMissingLibrary(dataDir) };
    const pool = new ModelPool({ library, processesMax: modelsMax, threads });
    const tried = await auditionAll(
      read.flatMap(({ model }) => model ?? []),
      pool,
      true,
    ).finally(() => pool.close());
    const faults = read.flatMap((each) => each.faults.map((fault) => `${each.modelId}: ${fault}`));
    faults.push(...tried.flatMap(({ fault }) => fault ?? []));
    if (faults.length > 0) return { state: 'broken', message: faults.join('; ') };
    const voices = tried.reduce((sum, { speakers }) => sum + speakers.length, 0);
    return { state: 'ready', message: `${tried.length} models, ${voices} voices` };
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
      help: 'Threads that a neural model of your own computes with. Default: one for each core, four at most',
      min: 1,
      max: 64,
      fallback: Math.min(4, availableParallelism()),
    }),
    modelsMax: integerSetting({
      name: 'SONANT_SHERPA_MODELS_MAX',
      help: 'Neural models of your own that are in memory at once, each in a process of its own',
      min: 1,
      max: 64,
      fallback: 2,
    }),
  },
  inspect,
  open: ({ threads, modelsMax }, dataDir) => openSherpaOnnx({ threads, modelsMax, dataDir }),
  importVoice: (brought) => importModel(brought),
  models: { table: models, folder: modelsFolder, prepare: (options) => addLibrary(options) },
});
