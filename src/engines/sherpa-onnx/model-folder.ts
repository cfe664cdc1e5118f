// Reads a model's folder in the layout of sherpa-onnx's releases. The model is recognised by its files and checked
// before it is loaded, because the library exits its process on invalid input. All faults are reported at once, by
// file. Only the size and both ends of the weights are read.
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { open, readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { cardName as voiceCardName } from '../onnx/voice-folders.ts';
import type { LibraryOptions, Model, ModelFacts, TextRules } from './model.ts';
import { cardName, type ModelKind } from './model-card.ts';
import { ModelFaults } from './model-fault.ts';
import { type ModelFiles, readModelFiles } from './model-files.ts';
import { findPart } from './model-parts.ts';
import { readKittenModel, readKokoroModel } from './style-models.ts';
import { readSupertonicModel } from './supertonic-model.ts';
import { isVocoder, readMatchaModel, readVitsModel } from './vits-model.ts';
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
  const stated = card.languageCodes ?? toLanguageCodes(facts.languageHints);
  if (stated.length === 0) {
    faults.add(modelId, 'does not state its language; add it to sonant-model.json: {"language_codes": ["en"]}');
  }
  const chosen = chooseOptions(card.options ?? {}, kind, (fault) => faults.add(cardName, fault));
  if (faults.all.length > 0) return { modelId, faults: faults.all };
  const also = card.languageCodes ? [] : (facts.alsoSpeaks ?? []).flatMap(withLanguage);
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
    languageCodes: [...new Set([...stated, ...also])],
    rules: findTextRules(folder, files.sizes.keys()),
    fileBytes: loadedBytes(files),
    version: await hash(files),
  };
  return { modelId, model, faults: [] };
}

/** Upper estimate of the loaded bytes: if a model has two sizes, only one of them is loaded. */
const loadedBytes = ({ sizes }: ModelFiles): number =>
  sizes.entries().reduce((sum, [name, size]) => (/\.(onnx|bin|fst|far|txt|json)$/.test(name) ? sum + size : sum), 0);

const readers: Readonly<Record<ModelKind, (files: ModelFiles, modelName: string) => Promise<ModelFacts>>> = {
  vits: readVitsModel,
  matcha: readMatchaModel,
  kokoro: readKokoroModel,
  kitten: readKittenModel,
  zipvoice: readZipvoiceModel,
  pocket: readPocketModel,
  supertonic: readSupertonicModel,
};
/** Kinds that are recognised by the names of several files. */
const kindsOfParts: readonly ModelKind[] = ['supertonic', 'pocket', 'zipvoice'];

/** The kind of a model, from its card, its file names or its metadata. */
async function identify(files: ModelFiles): Promise<{ kind: ModelKind; facts: ModelFacts } | undefined> {
  const { card, faults } = files;
  const kind = card.kind ?? kindOfParts(files);
  if (kind && kindsOfParts.includes(kind)) return { kind, facts: await readers[kind](files, '') };

  const name = findMain(files);
  if (name === undefined) {
    faults.add(basename(files.folder), 'does not contain a model: it has no ONNX file of a speech model');
    return undefined;
  }
  // An unreadable file is not checked further.
  if (!files.isReadable(name)) return undefined;
  const found = kind ?? kindOf(files, name);
  return { kind: found, facts: await readers[found](files, name) };
}

function kindOfParts(files: ModelFiles): ModelKind | undefined {
  const has = (beginning: string) => findPart(files, beginning) !== undefined;
  if (has('duration_predictor') || has('vector_estimator')) return 'supertonic';
  if (has('lm_main') || has('lm_flow')) return 'pocket';
  return has('encoder') && has('decoder') ? 'zipvoice' : undefined;
}

/** The main ONNX file: the one that the card names, or else one that is not a vocoder, preferably the full version. */
function findMain(files: ModelFiles): string | undefined {
  if (files.card.model !== undefined) {
    if (files.onnxNames.includes(files.card.model)) return files.card.model;
    files.faults.add(files.card.model, 'is missing, but sonant-model.json names it as the model');
    return undefined;
  }
  const speaking = files.onnxNames.filter((name) => !isVocoder(files, name));
  return speaking.find((name) => !name.includes('int8')) ?? speaking[0];
}

const statedKinds: Readonly<Record<string, ModelKind>> = {
  'matcha-tts': 'matcha',
  kokoro: 'kokoro',
  'kitten-tts': 'kitten',
};

function kindOf(files: ModelFiles, name: string): ModelKind {
  const stated = statedKinds[files.checkOnnx(name).text('model_type')];
  if (stated) return stated;
  return files.sizes.has('voices.bin') ? 'kokoro' : 'vits';
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

const letters = [...'abcdefghijklmnopqrstuvwxyz'];

/** Created only if a model exists, because creating it takes a large part of the startup time. */
let names: Intl.DisplayNames | undefined;
let codesByName: ReadonlyMap<string, string> | undefined;

function englishName(code: string): string | undefined {
  names ??= new Intl.DisplayNames('en', { type: 'language', fallback: 'none' });
  return names.of(code);
}

/** Two-letter codes by English name in lower case. */
function namedLanguages(): ReadonlyMap<string, string> {
  codesByName ??= new Map(
    letters.flatMap((first) =>
      letters.flatMap((second): [string, string][] => {
        const name = englishName(first + second);
        return name ? [[name.toLowerCase(), first + second]] : [];
      }),
    ),
  );
  return codesByName;
}

function toCode(hint: string): string | undefined {
  const named = namedLanguages().get(hint.trim().toLowerCase());
  if (named) return named;
  try {
    const [code] = Intl.getCanonicalLocales(hint.trim().replaceAll('_', '-'));
    return code && englishName(new Intl.Locale(code).language) ? code : undefined;
  } catch {
    return undefined;
  }
}

/** The code and its bare language: en-US, en. */
const withLanguage = (code: string): string[] => [...new Set([code, new Intl.Locale(code).language])];

/** The codes of the first hint that is understood; empty if no hint is understood. */
function toLanguageCodes(hints: readonly string[]): string[] {
  for (const hint of hints) {
    const codes = hint.split(/[+,/&]/).flatMap((part) => (part.trim() === '' ? [] : (toCode(part) ?? [])));
    if (codes.length > 0) return [...new Set(codes.flatMap(withLanguage))];
  }
  return [];
}

/** Order in which the rules apply, so that a telephone number is not read as a date, or a date as a number. */
const order = ['phone', 'date', 'number', 'new_heteronym'];

const ruleFile = /^([a-z_]+?)(?:-zh)?\.fst$/;

function findTextRules(folder: string, names: Iterable<string>): TextRules {
  const all = [...names].sort();
  const rankOf = (name: string) => order.indexOf(ruleFile.exec(name)?.[1] ?? '');
  const fsts = all.filter((name) => rankOf(name) >= 0).sort((one, other) => rankOf(one) - rankOf(other));
  const archives = all.filter((name) => name.endsWith('.far'));
  const toPaths = (files: readonly string[]) => files.map((name) => join(folder, name)).join(',');
  return { fsts: toPaths(fsts), archives: toPaths(archives) };
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
  noise_scale: { kinds: ['vits', 'matcha'], min: 0, max: 2, config: 'noiseScale' },
  noise_scale_w: { kinds: ['vits'], min: 0, max: 2, config: 'noiseScaleW' },
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
