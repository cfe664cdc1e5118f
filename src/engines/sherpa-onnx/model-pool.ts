// The processes of loaded models. The pool decides how many each model has, and which processes end to make room for
// other models. A model that was removed from the folder still serves running requests; its processes end afterwards.

import { cp, type FileHandle, open } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Failure } from '../../platform/errors.ts';
import { openTemporaryFolder } from '../../platform/runtime/files.ts';
import { Host, type HostedWorker, type WorkerLink } from '../../platform/runtime/host.ts';
import { processLink } from '../../platform/runtime/worker-links.ts';
import type { SpokenPcm } from '../engine.ts';
import { soundFault } from '../sound-check.ts';
import type { BlendedStyle, LibraryOptions, Model, StyleFile } from './model.ts';
import type { ModelPiece, ModelRequest, ModelStart } from './model-child.ts';
import { type SpokenBy, toLibraryConfig, toLibraryRequest } from './model-request.ts';
import { memoryBytesOf } from './model-voices.ts';

// Temporary files of one model process: the styles of blended speakers, or a copy of eSpeak NG's data. They are removed
// with the process.

interface ProcessFiles {
  /** The model that uses these files. */
  model: Model;
  remove(): Promise<void>;
}

const prepareFiles = (model: Model): Promise<ProcessFiles> =>
  model.blended ? writeBlends(model) : copySpeechData(model);

const withOptions = (model: Model, options: LibraryOptions): Model => ({
  ...model,
  config: { ...model.config, [model.kind]: { ...model.config[model.kind], ...options } },
});

/**
 * Copies eSpeak NG's data (about 18 MB) for the process, because the process reads the data again for each text, and
 * the model's folder may be removed during requests. If the copy fails, the original is used.
 */
async function copySpeechData(model: Model): Promise<ProcessFiles> {
  const original = { model, remove: async () => {} };
  const from = model.config[model.kind]?.dataDir;
  const folder = from === undefined ? undefined : await openTemporaryFolder().catch(() => undefined);
  if (folder === undefined) return original;
  const dataDir = join(folder.path, 'espeak-ng-data');
  try {
    await cp(String(from), dataDir, { recursive: true, dereference: true });
  } catch {
    await folder.remove();
    return original;
  }
  return { model: withOptions(model, { dataDir }), remove: folder.remove };
}

/**
 * Writes the styles of blends. The library requires as many styles as the model has speakers, so blends have a separate
 * file of the same size and a separate process. Each blend takes the place of a speaker and is the weighted sum of its
 * parts; unused places are zeros.
 */
async function writeBlends(model: Model): Promise<ProcessFiles> {
  const { path, remove } = await openTemporaryFolder();
  const styles = model.styles!;
  const voiceStyle = join(path, basename(styles.path));
  try {
    await writeStyleFile(styles, model.blended!.styles, voiceStyle);
  } catch (error) {
    await remove();
    throw new Failure('engine_unavailable', {}, error);
  }
  return { model: withOptions(model, { voiceStyle }), remove };
}

async function writeStyleFile(
  { path, sections }: StyleFile,
  styles: readonly (BlendedStyle | undefined)[],
  target: string,
): Promise<void> {
  await using from = await open(path);
  await using to = await open(target, 'wx');
  const { size } = await from.stat();
  await to.truncate(size);
  await to.write(await readBytes(from, 0, sections[0]!.offset), 0, sections[0]!.offset, 0);
  for (const { offset, bytesPerSpeaker } of sections) {
    for (const [place, style] of styles.entries()) {
      if (!style) continue;
      const sum = new Float64Array(bytesPerSpeaker / 4);
      for (const { sid, weight } of style.parts) {
        const bytes = await readBytes(from, offset + sid * bytesPerSpeaker, bytesPerSpeaker);
        const floats = new Float32Array(bytes.buffer);
        for (let i = 0; i < sum.length; i++) sum[i]! += weight * floats[i]!;
      }
      const blend = Float32Array.from(sum);
      await to.write(new Uint8Array(blend.buffer), 0, bytesPerSpeaker, offset + place * bytesPerSpeaker);
    }
  }
}

async function readBytes(from: FileHandle, at: number, length: number): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(length);
  const { bytesRead } = await from.read(bytes, 0, length, at);
  if (bytesRead < length) throw new Error('the file with the styles is shorter than it was');
  return bytes;
}

export type ModelLink = WorkerLink<ModelRequest, ModelPiece>;

export interface ModelPoolOptions {
  /** Returns the path of the library's module. */
  findLibrary(): string | undefined;
  processesMax: number;
  threadsPerProcess: number;
  idleMsMax?: number;
  /** How long a process may work on a cancelled request before it is killed. */
  stopMsMax?: number;
  /** Called before a process is started for the model, with the current number of processes. */
  onLoad?(model: Model, processes: number): void;
  onStart?(link: ModelLink): void;
  /** Memory that processes may still use. */
  freeBytes?(): number;
}

const idleMsUsual = 600_000;
const stopMsUsual = 3_000;
/** Loading a large model from a slow disk takes a minute. */
const loadMsMax = 180_000;

interface LoadedModel {
  model: Model;
  running: number;
}

const keyOf = ({ folder, version }: Model): string => `${folder}\0${version}`;

export class ModelPool {
  readonly #options: ModelPoolOptions;
  readonly #host: Host<ModelRequest, ModelPiece>;
  /** The loaded models by their keys, which are the names of the process groups. */
  readonly #loads = new Map<string, LoadedModel>();
  /** Number of requests that keep a model, by the model's key. */
  readonly #kept = new Map<string, number>();
  #current: ReadonlySet<string> | undefined;

  constructor(options: ModelPoolOptions) {
    const { processesMax, idleMsMax = idleMsUsual, stopMsMax = stopMsUsual } = options;
    const { freeBytes = () => process.availableMemory() } = options;
    this.#options = options;
    this.#host = new Host({
      open: ({ group }) => this.#load(this.#loads.get(group)!),
      workersMax: processesMax,
      startMsMax: loadMsMax,
      stopMsMax,
      idleMsMax,
      mayGrow: (group) => !this.#isRemoved(group) && freeBytes() > memoryBytesOf(this.#loads.get(group)!.model),
      makeRoom: (idle) => this.#chooseToEnd(idle),
    });
  }

  /**
   * Sets the existing models. The processes of all other models end after their running requests. Until the first call,
   * every model counts as existing.
   */
  setModels(models: readonly Model[]): void {
    this.#current = new Set(models.map(keyOf));
    this.#endRetired();
  }

  /** Keeps the model for a request, until the returned function is called. */
  keep(model: Model): () => void {
    const key = keyOf(model);
    this.#kept.set(key, (this.#kept.get(key) ?? 0) + 1);
    let isKept = true;
    return () => {
      if (!isKept) return;
      isKept = false;
      const left = this.#kept.get(key)! - 1;
      if (left > 0) this.#kept.set(key, left);
      else this.#kept.delete(key);
      this.#endRetired();
    };
  }

  async *speak(spokenBy: SpokenBy, signal: AbortSignal): AsyncGenerator<SpokenPcm> {
    const { model } = spokenBy;
    const group = keyOf(model);
    const load = this.#loads.get(group) ?? { model, running: 0 };
    this.#loads.set(group, load);
    load.running++;
    try {
      for await (const piece of this.#host.run(toLibraryRequest(spokenBy), signal, { group })) {
        if ('fault' in piece) throw soundFault(piece.fault);
        yield piece;
      }
    } finally {
      load.running--;
      this.#endRetired();
    }
  }

  /** Ends all processes. */
  close(): Promise<void> {
    return this.#host.close();
  }

  async #load({ model }: LoadedModel): Promise<ModelLink> {
    const { findLibrary, threadsPerProcess, onLoad, onStart } = this.#options;
    onLoad?.(model, this.#host.workers.length);
    const library = findLibrary();
    if (!library) throw new Failure('engine_unavailable', {}, new Error('the library is not installed'));
    const { model: prepared, remove } = await prepareFiles(model);
    const { PATH, LD_LIBRARY_PATH, DYLD_LIBRARY_PATH, NODE_COMPILE_CACHE } = process.env;
    const link: ModelLink = processLink({
      name: "the model's process",
      file: new URL('./model-child.ts', import.meta.url),
      env: { PATH, LD_LIBRARY_PATH, DYLD_LIBRARY_PATH, NODE_COMPILE_CACHE },
      data: { library, config: toLibraryConfig(prepared, threadsPerProcess) } satisfies ModelStart,
      afterExit: remove,
    });
    onStart?.(link);
    return link;
  }

  /**
   * Chooses processes to end, the least recently used first. Processes whose model cannot be loaded again, because its
   * files are gone, come last.
   */
  #chooseToEnd(idle: readonly HostedWorker[]): readonly HostedWorker[] {
    const excess = this.#host.workers.length + 1 - this.#options.processesMax;
    const inTurn = idle.toSorted(
      (one, other) =>
        Number(this.#isRemoved(one.group)) - Number(this.#isRemoved(other.group)) || one.usedAtMs - other.usedAtMs,
    );
    return inTurn.slice(0, Math.max(0, excess));
  }

  /** Whether the model of the group is no longer in the folder. */
  #isRemoved(group: string): boolean {
    return this.#current !== undefined && !this.#current.has(group);
  }

  #endRetired(): void {
    for (const [group, { running }] of this.#loads) {
      if (running > 0 || this.#kept.has(group) || !this.#isRemoved(group)) continue;
      this.#host.end(group);
      this.#loads.delete(group);
    }
  }
}
