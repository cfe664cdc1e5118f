// The models that are offered: what is in the folder now, read again when it changes. A folder counts when it is whole and
// has not changed since it was last looked at, so that one which is being copied is not read half. A model that did not
// speak when it was heard is left out until it does.
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Voice } from '../engine.ts';
import { type Gains, gainName, gainOf, readGains } from './gains.ts';
import type { Model } from './model.ts';
import { modelNames, modelsFolder, readModel } from './model-folder.ts';
import { type Speaker, speakersOf } from './model-voices.ts';

export interface OfferedModel {
  model: Model;
  gains: Gains;
  speakers: readonly Speaker[];
}

/** A voice with the model and the speaker that it is. */
export interface FoundVoice {
  model: Model;
  speaker: Speaker;
  position: number;
  isHeard: boolean;
}

export interface ModelChange {
  offered: readonly OfferedModel[];
  withdrawn: readonly OfferedModel[];
  /** Folders that hold no model that can be used, and why. */
  faults: readonly { modelId: string; faults: readonly string[] }[];
}

/** What is known of one folder. */
interface Folder {
  signature: string;
  gainsSignature: string;
  /** Undefined while it is not known, or faulty. */
  offered: OfferedModel | undefined;
  isRead: boolean;
  isSilent: boolean;
}

interface OfferedModelsOptions {
  dataDir: string;
  /** Steps of models that refine; 0: their own. */
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

  /** By name. */
  get current(): OfferedModel[] {
    return this.#sorted().flatMap(({ offered, isSilent }) => (offered && !isSilent ? offered : []));
  }

  /** Models with those that are left out because they did not speak. */
  get all(): OfferedModel[] {
    return this.#sorted().flatMap(({ offered }) => offered ?? []);
  }

  /** The voice as it was when it was listed, also after its model has changed or gone. */
  find(voice: Voice): FoundVoice | undefined {
    return this.#found.get(voice) ?? this.#byId.get(voice.voiceId);
  }

  setGains(model: Model, gains: Gains): void {
    this.#change(model, (folder) => {
      folder.offered = toOffered(model, gains);
      folder.isSilent = false;
    });
  }

  setSilent(model: Model): void {
    this.#change(model, (folder) => {
      folder.isSilent = true;
    });
  }

  /** Looks at the folder. The result is whether something in it is changing, so that it is to be looked at again. */
  async refresh(): Promise<boolean> {
    const before = this.current;
    const names = await modelNames(this.#options.dataDir);
    for (const name of this.#folders.keys()) if (!names.includes(name)) this.#folders.delete(name);
    const seen: { isUnsettled: boolean; faults: readonly string[]; modelId: string }[] = [];
    for (const name of names) {
      // A folder may go while it is read.
      const looked = await this.#look(name).catch(() => ({ isUnsettled: true, faults: [] }));
      seen.push({ ...looked, modelId: name });
    }
    this.#isFirst = false;
    const faults = seen.filter((each) => each.faults.length > 0);
    this.#publish(before, faults);
    return seen.some(({ isUnsettled }) => isUnsettled);
  }

  #sorted(): Folder[] {
    return [...this.#folders.keys()].sort().map((name) => this.#folders.get(name)!);
  }

  async #look(name: string): Promise<{ isUnsettled: boolean; faults: readonly string[] }> {
    const path = join(modelsFolder(this.#options.dataDir), name);
    const { files, gains: gainsSignature } = await signatureOf(path);
    const known = this.#folders.get(name);
    const isChanged = known?.signature !== files;
    const folder: Folder =
      known && !isChanged
        ? known
        : { signature: files, gainsSignature, offered: known?.offered, isRead: false, isSilent: false };
    this.#folders.set(name, folder);
    if (isChanged && !this.#isFirst) return { isUnsettled: true, faults: [] };
    if (!folder.isRead) {
      const { model: read, faults } = await readModel(path);
      const model = read && withSteps(read, this.#options.steps);
      folder.isRead = true;
      folder.offered = model && toOffered(model, await readGains(model));
      return { isUnsettled: false, faults };
    }
    if (folder.gainsSignature !== gainsSignature && folder.offered) {
      folder.gainsSignature = gainsSignature;
      folder.offered = toOffered(folder.offered.model, await readGains(folder.offered.model));
    }
    return { isUnsettled: false, faults: [] };
  }

  #publish(before: readonly OfferedModel[], faults: ModelChange['faults']): void {
    const now = this.current;
    const isSame = now.length === before.length && now.every((each, i) => each === before[i]);
    if (isSame && faults.length === 0) return;
    this.#byId = new Map();
    for (const { model, speakers, gains } of now) {
      for (const [position, speaker] of speakers.entries()) {
        const { voice } = speaker;
        const found = { model, speaker, position, isHeard: gains[position] !== undefined };
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

  /** Changes what is known of the folder of a model, where it is still that model. */
  #change(model: Model, make: (folder: Folder) => void): void {
    const folder = [...this.#folders.values()].find(({ offered }) => offered?.model === model);
    if (!folder) return;
    const before = this.current;
    make(folder);
    this.#publish(before, []);
  }
}

/** The model's card goes before the setting. */
function withSteps(model: Model, steps: number): Model {
  if (steps === 0 || model.steps === undefined || model.card.options?.steps !== undefined) return model;
  return { ...model, steps, version: `${model.version} ${steps} steps` };
}

/** Where a speaker is not heard yet, its version tells so: clips of it are out of date when it is. */
function toOffered(model: Model, gains: Gains): OfferedModel {
  const speakers = speakersOf(model, (position) => gainOf(gains, position)).map((speaker, position): Speaker => {
    const { voice } = speaker;
    if (gains[position] !== undefined) return speaker;
    return { ...speaker, voice: { ...voice, version: `${voice.version} ${voice.gainDb} dB` } };
  });
  return { model, gains, speakers };
}

/** Changes with every file of the model; the gains, which are measured, are told apart. */
async function signatureOf(folder: string): Promise<{ files: string; gains: string }> {
  const parts: string[] = [];
  let gains = '';
  for (const name of (await readdir(folder)).sort()) {
    const { size, mtimeMs, ino } = await stat(join(folder, name));
    if (name === gainName) gains = `${size} ${mtimeMs} ${ino}`;
    else if (!name.startsWith(`${gainName}.`)) parts.push(`${name} ${size} ${mtimeMs}`);
  }
  return { files: parts.join('\n'), gains };
}
