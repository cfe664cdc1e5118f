// Reads a model's folder in the layout of sherpa-onnx's releases. The model is recognised by its files and checked
// before it is loaded, because the library exits its process on invalid input. All faults are reported at once, by
// file. Only the size and both ends of the weights are read.
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { open, readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { cardName as voiceCardName } from '../onnx/voice-folders.ts';
import type { LibraryOptions, Model, ModelFacts } from './model.ts';
import { cardName, type ModelKind, modelKinds } from './model-card.ts';
import { ModelFaults } from './model-fault.ts';
import { findPart, type ModelFiles, readModelFiles } from './model-files.ts';
import { readSupertonicModel } from './supertonic-model.ts';
import { readPocketModel, readZipvoiceModel } from './zero-shot-models.ts';

interface ReadModel {
  modelId: string;
  /** Absent if there are faults. */
  model?: Model;
  faults: readonly string[];
}

const versionChars = 16;
const hashedEndBytes = 65_536;

export const modelsFolder = (dataDir: string): string => join(dataDir, 'models');

/** Whether the name is valid for a model and its voices. */
export const isModelId = (name: string): boolean => /^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$/.test(name);

/** Folders that may contain a model, by name; empty if there is no models folder. Voices of the engine onnx are not. */
export async function modelNames(dataDir: string): Promise<string[]> {
  const entries = await readdir(modelsFolder(dataDir), { withFileTypes: true }).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return [];
      throw error;
    },
  );
  const names = entries.flatMap((entry) => (entry.name.startsWith('.') || entry.isFile() ? [] : entry.name));
  return names.filter((name) => isOwn(join(modelsFolder(dataDir), name))).sort();
}

export const isOwn = (folder: string): boolean => !existsSync(join(folder, voiceCardName));

/** All models in the data folder, complete or not. */
export async function readModels(dataDir: string): Promise<ReadModel[]> {
  const names = await modelNames(dataDir);
  return Promise.all(names.map((name) => readModel(join(modelsFolder(dataDir), name))));
}

export async function readModel(folder: string): Promise<ReadModel> {
  const modelId = basename(folder);
  const faults = new ModelFaults();
  if (!isModelId(modelId)) {
    faults.add(modelId, 'must have a name of letters, digits, ".", "_" and "-": callers use it in ids of voices');
  }
  const files = await faults.catch(modelId, () => readModelFiles(folder, faults));
  const found = files && (await identify(files));
  if (!files || !found) return { modelId, faults: faults.all };
  const { kind, facts } = found;
  const { card } = files;
  const chosen = chooseOptions(card.options ?? {}, kind, (fault) => faults.add(cardName, fault));
  if (faults.all.length > 0) return { modelId, faults: faults.all };
  const config = Object.fromEntries(
    Object.entries(facts.config).map(([key, given]) => [key, { ...given, ...chosen.config }]),
  );
  const model: Model = {
    ...facts,
    ...(chosen.steps !== undefined && { steps: chosen.steps }),
    config,
    extra: chosen.extra,
    modelId,
    folder,
    kind,
    card,
    languageCodes: card.languageCodes ?? facts.languageCodes,
    fileBytes: loadedBytes(files),
    version: await hash(files),
  };
  return { modelId, model, faults: [] };
}

/** Upper estimate of the loaded bytes: if a model has two sizes, only one of them is loaded. */
const loadedBytes = ({ sizes }: ModelFiles): number =>
  sizes.entries().reduce((sum, [name, size]) => (/\.(onnx|bin|fst|far|txt|json)$/.test(name) ? sum + size : sum), 0);

const readers: Readonly<Record<ModelKind, (files: ModelFiles) => Promise<ModelFacts>>> = {
  zipvoice: readZipvoiceModel,
  pocket: readPocketModel,
  supertonic: readSupertonicModel,
};

/** The kind of a model, from its card or its file names. */
async function identify(files: ModelFiles): Promise<{ kind: ModelKind; facts: ModelFacts } | undefined> {
  const kind = files.card.kind ?? kindOf(files);
  if (kind) return { kind, facts: await readers[kind](files) };
  files.faults.add(basename(files.folder), explainOther(files));
  return undefined;
}

function kindOf(files: ModelFiles): ModelKind | undefined {
  const has = (beginning: string) => findPart(files, beginning) !== undefined;
  if (has('duration_predictor') || has('vector_estimator')) return 'supertonic';
  if (has('lm_main') || has('lm_flow')) return 'pocket';
  return has('encoder') && has('decoder') ? 'zipvoice' : undefined;
}

/** What to do with a folder that is not a model of this engine. Earlier versions spoke with some of them. */
function explainOther({ folder, sizes, onnxNames }: ModelFiles): string {
  if (onnxNames.some((name) => sizes.has(`${name}.json`))) {
    const where = `move the folder out of ${dirname(folder)}, and run sonant voice import FOLDER --name ${basename(folder)}`;
    return `has a voice of Piper, which an engine without a library speaks now: ${where}`;
  }
  if (onnxNames.length === 0) return 'does not contain a model: it has no ONNX file of a speech model';
  if (!sizes.has('tokens.txt')) return `is not a model of the kinds ${modelKinds.join(', ')}`;
  const kinds = 'Kokoro, Kitten, Matcha or VITS in the layout of sherpa-onnx';
  return `is a model of the kind ${kinds}, which Sonant no longer reads: sonant voice get kokoro installs Kokoro, and sonant voice models lists the other voices`;
}

/**
 * Hash of the name, the size and both ends of every file. The ends of different weights differ, because ONNX metadata
 * comes last.
 */
async function hash({ folder, sizes }: ModelFiles): Promise<string> {
  const sum = createHash('sha256');
  for (const [name, size] of sizes) {
    if (name.startsWith('sonant-') && name !== 'sonant-model.json') continue;
    sum.update(`${name}\0${size}\0`);
    await using handle = await open(join(folder, name));
    for (const at of [0, Math.max(0, size - hashedEndBytes)]) {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(hashedEndBytes), 0, hashedEndBytes, at);
      sum.update(buffer.subarray(0, bytesRead));
    }
  }
  return sum.digest('hex').slice(0, versionChars);
}

interface OptionRow {
  kinds: readonly ModelKind[];
  min: number;
  max: number;
  isInteger?: boolean;
  /** The library's name for the option: `config` in the request's configuration, or `extra` among its extra options. */
  config?: string;
  extra?: string;
}

const optionRows: Readonly<Record<string, OptionRow>> = {
  /** Number of refinement steps: more steps sound better but take longer. */
  steps: { kinds: ['zipvoice', 'pocket', 'supertonic'], min: 1, max: 64, isInteger: true },
  /** How closely speech follows the text and the sample. */
  guidance_scale: { kinds: ['zipvoice'], min: 0.01, max: 20, config: 'guidanceScale' },
  /** Smaller values spend more of the steps on the coarse shape of the audio. */
  t_shift: { kinds: ['zipvoice'], min: 0, max: 1, config: 'tShift' },
  /** Quieter samples are raised to this loudness; 1 is full scale. */
  target_rms: { kinds: ['zipvoice'], min: 0.001, max: 1, config: 'targetRms' },
  feat_scale: { kinds: ['zipvoice'], min: 0.001, max: 10, config: 'featScale' },
  /** Number of voices that stay prepared in memory. */
  voice_cache: { kinds: ['pocket'], min: 1, max: 10_000, isInteger: true, config: 'voiceEmbeddingCacheCapacity' },
  /** How much repeated readings differ. */
  temperature: { kinds: ['pocket'], min: 0.01, max: 2, extra: 'temperature' },
};

interface ChosenOptions {
  steps?: number;
  config: LibraryOptions;
  extra: LibraryOptions;
}

/** The card's options for this kind of model. Unsupported options are faults of the card. */
function chooseOptions(
  given: Readonly<Record<string, number>>,
  kind: ModelKind,
  addFault: (fault: string) => void,
): ChosenOptions {
  const config: Record<string, number> = {};
  const extra: Record<string, number> = {};
  for (const [name, value] of Object.entries(given)) {
    const row = optionRows[name];
    if (!row?.kinds.includes(kind)) {
      const own = Object.keys(optionRows).filter((each) => optionRows[each]!.kinds.includes(kind));
      addFault(
        `has the unknown option ${name}; a model of the kind ${kind} has the options ${own.join(', ') || 'none'}`,
      );
    } else if (value < row.min || value > row.max || (row.isInteger && !Number.isInteger(value))) {
      const what = row.isInteger ? 'a whole number' : 'a number';
      addFault(`has ${value} as ${name}; it must be ${what} from ${row.min} to ${row.max}`);
    } else {
      if (row.config !== undefined) config[row.config] = value;
      if (row.extra !== undefined) extra[row.extra] = value;
    }
  }
  return { ...(given.steps !== undefined && { steps: given.steps }), config, extra };
}
