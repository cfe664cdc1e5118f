// The offered models: the current content of the folder, read again when it changes. A changed folder is read when it
// has stayed unchanged between two refreshes, so that a copy in progress is not read.
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Voice } from '../engine.ts';
import { gainOf, readGains } from './gains.ts';
import type { Model } from './model.ts';
import { modelNames, modelsFolder, readModel } from './model-folder.ts';
import { type Speaker, speakersOf } from './model-voices.ts';

export interface OfferedModel {
  model: Model;
  speakers: readonly Speaker[];
}

export interface FoundVoice {
  model: Model;
  speaker: Speaker;
}

export interface ModelChange {
  offered: readonly OfferedModel[];
  withdrawn: readonly OfferedModel[];
  /** Folders without a usable model, with the faults of each. */
  faults: readonly { modelId: string; faults: readonly string[] }[];
}

interface Folder {
  signature: string;
  /** The model; undefined while it is unknown or faulty. */
  offered: OfferedModel | undefined;
  isRead: boolean;
}

interface OfferedModelsOptions {
  dataDir: string;
  /** Number of refinement steps; 0 for each model's own number. */
  steps: number;
  onChange(change: ModelChange): void;
}

export class OfferedModels {
  readonly #options: OfferedModelsOptions;
  readonly #folders = new Map<string, Folder>();
  readonly #found = new WeakMap<Voice, FoundVoice>();
  #byId = new Map<string, FoundVoice>();
  #voices: readonly Voice[] = [];
  #isFirst = true;

  constructor(options: OfferedModelsOptions) {
    this.#options = options;
  }

  get voices(): readonly Voice[] {
    return this.#voices;
  }

  /** The offered models, sorted by name. */
  get current(): OfferedModel[] {
    return [...this.#folders.keys()].sort().flatMap((name) => this.#folders.get(name)!.offered ?? []);
  }

  /** Finds a voice as it was when it was listed, even if its model has changed or is gone. */
  find(voice: Voice): FoundVoice | undefined {
    return this.#found.get(voice) ?? this.#byId.get(voice.voiceId);
  }

  /** Reads the folder. Returns whether a model in it is changing, so that the folder must be read again. */
  async refresh(): Promise<boolean> {
    const before = this.current;
    const names = await modelNames(this.#options.dataDir);
    for (const name of this.#folders.keys()) if (!names.includes(name)) this.#folders.delete(name);
    const seen: { isUnsettled: boolean; faults: readonly string[]; modelId: string }[] = [];
    for (const name of names) {
      // A folder may disappear while it is read.
      const looked = await this.#look(name).catch(() => ({ isUnsettled: true, faults: [] }));
      seen.push({ ...looked, modelId: name });
    }
    this.#isFirst = false;
    const faults = seen.filter((each) => each.faults.length > 0);
    this.#publish(before, faults);
    return seen.some(({ isUnsettled }) => isUnsettled);
  }

  async #look(name: string): Promise<{ isUnsettled: boolean; faults: readonly string[] }> {
    const path = join(modelsFolder(this.#options.dataDir), name);
    const signature = await signatureOf(path);
    const known = this.#folders.get(name);
    const isChanged = known?.signature !== signature;
    const folder: Folder = known && !isChanged ? known : { signature, offered: known?.offered, isRead: false };
    this.#folders.set(name, folder);
    if (isChanged && !this.#isFirst) return { isUnsettled: true, faults: [] };
    if (!folder.isRead) {
      const { model: read, faults } = await readModel(path);
      const model = read && withSteps(read, this.#options.steps);
      folder.isRead = true;
      folder.offered = model && (await toOffered(model));
      return { isUnsettled: false, faults };
    }
    return { isUnsettled: false, faults: [] };
  }

  #publish(before: readonly OfferedModel[], faults: ModelChange['faults']): void {
    const now = this.current;
    const isSame = now.length === before.length && now.every((each, i) => each === before[i]);
    if (isSame && faults.length === 0) return;
    this.#byId = new Map();
    for (const { model, speakers } of now) {
      for (const speaker of speakers) {
        const { voice } = speaker;
        const found = { model, speaker };
        this.#found.set(voice, found);
        if (!this.#byId.has(voice.voiceId)) this.#byId.set(voice.voiceId, found);
      }
    }
    this.#voices = [...this.#byId.values()].map(({ speaker }) => speaker.voice);
    const has = (list: readonly OfferedModel[], { model }: OfferedModel) => list.some((each) => each.model === model);
    this.#options.onChange({
      offered: now.filter((each) => !has(before, each)),
      withdrawn: before.filter((each) => !has(now, each)),
      faults,
    });
  }
}

/** The model's card overrides the setting. */
function withSteps(model: Model, steps: number): Model {
  if (steps === 0 || model.steps === undefined || model.card.options?.steps !== undefined) return model;
  return { ...model, steps, version: `${model.version} ${steps} steps` };
}

async function toOffered(model: Model): Promise<OfferedModel> {
  const gains = await readGains(model);
  return { model, speakers: speakersOf(model, (position) => gainOf(gains, position)) };
}

/** Changes with every file of the model. */
async function signatureOf(folder: string): Promise<string> {
  const parts: string[] = [];
  for (const name of (await readdir(folder)).sort()) {
    const { size, mtimeMs } = await stat(join(folder, name));
    parts.push(`${name} ${size} ${mtimeMs}`);
  }
  return parts.join('\n');
}
