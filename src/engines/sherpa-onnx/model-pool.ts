// The processes of loaded models. The pool decides how many each model has, and which processes end to make room for
// other models. A model that was removed from the folder still serves running requests; its processes end afterwards.
import { Failure } from '../../platform/errors.ts';
import { Host, type HostedWorker, type WorkerLink } from '../../platform/runtime/host.ts';
import { processLink } from '../../platform/runtime/worker-links.ts';
import type { SpokenPcm } from '../engine.ts';
import { soundFault } from '../sound-check.ts';
import type { Model } from './model.ts';
import type { ModelPiece, ModelRequest, ModelStart } from './model-child.ts';
import { type SpokenBy, toLibraryConfig, toLibraryRequest } from './model-request.ts';
import { memoryBytesOf } from './model-voices.ts';
import { prepareFiles } from './process-files.ts';

export type ModelLink = WorkerLink<ModelRequest, ModelPiece>;

export interface ModelPoolOptions {
  /** Returns the path of the library's module. */
  findLibrary(): string | undefined;
  /** Largest number of processes. */
  processesMax: number;
  threadsPerProcess: number;
  idleMsMax?: number;
  /** How long a process may work on a cancelled request before it is killed. */
  stopMsMax?: number;
  /** Called before a process is started for the model, with the current number of processes. */
  onLoad?(model: Model, processes: number): void;
  /** Called with each process that is started. */
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
  /** Number of running requests. */
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
    const { config, remove } = await prepareFiles(model, toLibraryConfig(model, threadsPerProcess));
    const { PATH, LD_LIBRARY_PATH, DYLD_LIBRARY_PATH, NODE_COMPILE_CACHE } = process.env;
    const link: ModelLink = processLink({
      name: "the model's process",
      file: new URL('./model-child.ts', import.meta.url),
      env: { PATH, LD_LIBRARY_PATH, DYLD_LIBRARY_PATH, NODE_COMPILE_CACHE },
      data: { library, config } satisfies ModelStart,
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
