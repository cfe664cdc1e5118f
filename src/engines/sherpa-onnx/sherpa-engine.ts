// The engine for neural models: offers the voices of the models in the folder, adds and removes models while it runs,
// and speaks with them in child processes. The model with which a request began speaks the whole request.

import { type FSWatcher, watch } from 'node:fs';
import { Failure } from '../../platform/errors.ts';
import { oncePer } from '../../platform/runtime/once-per.ts';
import type {
  Cloning,
  Engine,
  EngineCapabilities,
  EngineLog,
  Segment,
  SpeakerCapabilities,
  SpokenPcm,
  Voice,
} from '../engine.ts';
import { openVoiceList } from '../voice-list.ts';
import { BlendedVoices } from './blended-voices.ts';
import type { Model } from './model.ts';
import { modelsFolder, readModels } from './model-folder.ts';
import { ModelPool, type ModelPoolOptions } from './model-pool.ts';
import { type SpokenBy, toModelText } from './model-request.ts';
import { memoryBytesOf } from './model-voices.ts';
import { type FoundVoice, type ModelChange, OfferedModels } from './offered-models.ts';
import { createZeroShotCloning, parseReference } from './reference.ts';
import { explainMissingLibrary, findLibrary } from './sherpa-library.ts';
import { referenceOf } from './voice-samples.ts';

export interface SherpaOnnxOptions {
  dataDir: string;
  /** Threads per process. */
  threads: number;
  /** Largest number of processes in total, and per model. */
  processesMax: number;
  modelProcessesMax: number;
  idleSeconds: number;
  /** Number of refinement steps; 0 for each model's own number. */
  steps: number;
  log?: EngineLog | undefined;
  /** Called with each process that is started for speech. */
  onStart?: ModelPoolOptions['onStart'];
}

const name = 'sherpa-onnx';
const speakingRates = { min: 1, max: 1 };
/** A large model may have to be read from a slow disk before it speaks. */
const timeoutMs = { firstSound: 90_000, stall: 60_000 };
const pollMs = 5_000;
/** How long a folder must be unchanged before it is read. */
const settleMs = 300;
const segmentChars = { max: 300, first: 60 };
/** Languages in which a character is a syllable or a word. */
const denseLanguages = ['zh', 'yue', 'ja', 'ko'];
const dense = 0.4;

export async function openSherpaEngine(options: SherpaOnnxOptions): Promise<Engine> {
  const { dataDir, threads, processesMax, idleSeconds, log = () => {} } = options;
  const onLoad = (model: Model, processes: number) =>
    log('info', 'model loaded', { model: model.modelId, memory_bytes: memoryBytesOf(model), processes });
  const find = () => findLibrary(dataDir);
  const pool = new ModelPool({
    findLibrary: find,
    processesMax,
    threadsPerProcess: threads,
    idleMsMax: idleSeconds * 1000,
    onLoad,
    ...(options.onStart && { onStart: options.onStart }),
  });
  const { models, blends } = createModels(options, pool);
  let list: Awaited<ReturnType<typeof openVoiceList>> | undefined;
  const warnOnce = createLibraryWarning(dataDir, log);
  const lookAgain = () => void list?.refresh();
  const watcher = watchFolder(modelsFolder(dataDir), lookAgain);
  list = await openVoiceList({
    async load() {
      watcher.ensure();
      const hasLibrary = find() !== undefined;
      if (!hasLibrary) await warnOnce();
      const isChanging = hasLibrary && (await models.refresh());
      if (isChanging) setTimeout(lookAgain, settleMs).unref();
      return models.voices;
    },
    refreshMs: pollMs,
    mayBeEmpty: true,
  });
  const opened = list;
  const findVoice = (voice: Voice) => blends.find(voice) ?? models.find(voice);
  const speaking = createSpeaking(models, findVoice, pool);
  return {
    ...speaking,
    name,
    get voices() {
      return opened.voices();
    },
    get cloning() {
      return speaking.cloning();
    },
    get blending() {
      return blends.blending;
    },
    capabilities: capabilitiesOf(options),
    async close() {
      opened.close();
      watcher.close();
      await pool.close();
    },
  };
}

/** The offered models and their blends: loaded and dropped as they change. */
function createModels(options: SherpaOnnxOptions, pool: ModelPool) {
  const { dataDir, steps, log = () => {} } = options;
  const setModels = () => pool.setModels([...models.current.map(({ model }) => model), ...blends.pages]);
  const blends = new BlendedVoices(setModels);
  const models = new OfferedModels({
    dataDir,
    steps,
    onChange(change) {
      reportChange(change, log);
      blends.setModels(models.current);
      setModels();
    },
  });
  return { models, blends };
}

/** Logs once if there are models but the library that runs them is missing. */
function createLibraryWarning(dataDir: string, log: EngineLog) {
  let isLogged = false;
  return async () => {
    if (isLogged || (await readModels(dataDir)).length === 0) return;
    isLogged = true;
    log('warn', 'neural models cannot run, because the library is not installed', {
      fault: explainMissingLibrary(dataDir),
    });
  };
}

const capabilitiesOf = ({ processesMax, modelProcessesMax }: SherpaOnnxOptions): EngineCapabilities => ({
  speakingRates,
  timings: false,
  readsNumbers: false,
  segmentCharsMax: segmentChars.max,
  firstSegmentCharsMax: segmentChars.first,
  segmentsAtOnce: 2,
  segmentsPerResource: modelProcessesMax,
  speakersFailAlone: true,
  segmentsSpokenMax: processesMax,
  firstSoundMsMax: timeoutMs.firstSound,
  stallMsMax: timeoutMs.stall,
});

/** The parts of the engine that depend on the current models. */
function createSpeaking(models: OfferedModels, findVoice: (voice: Voice) => FoundVoice | undefined, pool: ModelPool) {
  const cloningOf = oncePer(createZeroShotCloning);
  const cloner = (modelId: string) => models.current.find(({ model }) => model.zeroShot && model.modelId === modelId);
  const modelOf = ({ voice, clone }: Pick<Segment, 'voice' | 'clone'>): Model | undefined =>
    clone ? cloner(parseReference(clone).modelId)?.model : findVoice(voice)?.model;

  const spokenBy = async ({ voice, clone, ...segment }: Segment): Promise<Omit<SpokenBy, 'text'>> => {
    const asked = {
      languageCode: segment.languageCode,
      speed: segment.speakingRate,
      isAgain: segment.isAgain ?? false,
      seed: segment.seed,
    };
    if (!clone) {
      const found = findVoice(voice);
      if (!found) throw new Failure('engine_error', {}, new Error(`voice ${voice.voiceId} does not exist`));
      const { model, speaker } = found;
      const { sample } = speaker;
      return { ...asked, model, speaker, ...(sample && { reference: await referenceOf(model, sample) }) };
    }
    const reference = parseReference(clone);
    const model = cloner(reference.modelId)?.model;
    if (!model)
      throw new Failure('engine_unavailable', {}, new Error(`the model ${reference.modelId} is not installed`));
    return { ...asked, model, reference };
  };

  return {
    cloning(): Cloning | undefined {
      const model = models.current.find((each) => each.model.zeroShot)?.model;
      return model && cloningOf(model);
    },
    capabilitiesOf(voice: Voice, languageCode: string): SpeakerCapabilities {
      const model = findVoice(voice)?.model;
      return model ? speakerCapabilities(model, languageCode) : {};
    },
    async *speak(segment: Segment, signal: AbortSignal): AsyncGenerator<SpokenPcm> {
      const by = await spokenBy(segment);
      const text = toModelText(segment.text, by.model);
      if (text !== '') yield* pool.speak({ ...by, text }, signal);
    },
    resourceOf(segment: Pick<Segment, 'voice' | 'clone'>): string {
      const model = modelOf(segment);
      return model ? `${model.modelId} ${model.version}` : '';
    },
    keep(voice: Voice, clone?: Uint8Array): () => void {
      const model = modelOf({ voice, ...(clone && { clone }) });
      return model ? pool.keep(model) : () => {};
    },
  };
}

function speakerCapabilities({ speakingRates: rates, isSeeded }: Model, code: string): SpeakerCapabilities {
  const share = denseLanguages.includes(new Intl.Locale(code).language) ? dense : 1;
  return {
    ...(rates && { speakingRates: rates }),
    ...(isSeeded && { seed: true }),
    segmentCharsMax: Math.round(share * segmentChars.max),
    firstSegmentCharsMax: Math.round(share * segmentChars.first),
  };
}

function reportChange({ offered, withdrawn, faults }: ModelChange, log: EngineLog): void {
  for (const { model, speakers } of offered) {
    const facts = { model: model.modelId, kind: model.kind, voices: speakers.length };
    log('info', 'model offered', { ...facts, memory_bytes: memoryBytesOf(model) });
  }
  for (const { model } of withdrawn) log('info', 'model no longer offered', { model: model.modelId });
  for (const { modelId, faults: all } of faults) {
    log('warn', 'model not offered, because it cannot be used', { model: modelId, faults: all });
  }
}

/** A change is reported after this time without further changes, so that several files cause one report. */
const quietMs = 100;

function watchFolder(folder: string, onChange: () => void) {
  let watcher: FSWatcher | undefined;
  let timer: NodeJS.Timeout | undefined;
  const drop = () => {
    watcher?.close();
    watcher = undefined;
  };
  return {
    /** Watches the folder, unless it is already watched. */
    ensure(): void {
      if (watcher) return;
      try {
        watcher = watch(folder, { persistent: false }, () => {
          clearTimeout(timer);
          timer = setTimeout(onChange, quietMs).unref();
        });
        watcher.on('error', drop);
      } catch {
        // The folder does not exist, or the system has no more watches.
        drop();
      }
    },
    close(): void {
      clearTimeout(timer);
      drop();
    },
  };
}
