// The processes of loaded models: started when a text waits for them, so many for a model and so many in all, and ended
// after a time without requests. The caller sees to it that no more is spoken at once than there may be processes. A model
// that was removed from the folder speaks on for the requests that began before, and its processes end with the last.
import { Failure } from '../../errors.ts';
import type { SpokenPcm } from '../engine.ts';
import type { Model } from './model.ts';
import { ModelProcess, type ModelProcessOptions } from './model-process.ts';
import { isSpokenByRules, type SpokenBy, toLibraryConfig, toLibraryRequest } from './model-request.ts';
import { memoryBytesOf } from './model-voices.ts';
import { prepareFiles } from './process-files.ts';

export interface ModelPoolOptions {
  /** Finds the path of the library's module. */
  findLibrary(): string | undefined;
  /** How many processes there are at once. */
  processesMax: number;
  /** Threads of each. */
  threads: number;
  idleMsMax?: number;
  /** Whether its processes yield to all others of the machine. */
  isBackground?: boolean;
  start?(options: ModelProcessOptions): ModelProcess;
  /** Called before a process is started for the model. */
  onLoad?(model: Model, loaded: number): void;
  /** Memory that processes may still take, in bytes. */
  freeBytes?(): number;
}

const idleMsUsual = 600_000;

/** One process of a model. */
interface Worker {
  /** Undefined while it is being started. */
  process: ModelProcess | undefined;
  isBusy: boolean;
  usedAtMs: number;
  idleTimer: NodeJS.Timeout | undefined;
  /** Fulfilled when the process has exited and left nothing behind. */
  gone?: Promise<void>;
}

/** A model as it is loaded: with its rules, or without. */
interface Entry {
  modelKey: string;
  workers: Worker[];
  /** Called when one of its workers is free. */
  waiting: (() => void)[];
}

const keyOf = ({ folder, version }: Model): string => `${folder}\0${version}`;

export class ModelPool {
  readonly #options: ModelPoolOptions;
  readonly #entries = new Map<string, Entry>();
  /** Requests under way, by model. */
  readonly #kept = new Map<string, number>();
  #current: ReadonlySet<string> | undefined;
  #isClosed = false;

  constructor(options: ModelPoolOptions) {
    this.#options = options;
  }

  /** The models that are there. All others end with the requests that are under way; before the first call there are none. */
  setModels(models: readonly Model[]): void {
    this.#current = new Set(models.map(keyOf));
    this.#endRetired();
  }

  /** Keeps the model for a request, until the result is called. */
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
    const entry = this.#entryOf(spokenBy);
    const worker = await this.#take(entry, spokenBy, signal);
    try {
      signal.throwIfAborted();
      yield* worker.process!.speak(toLibraryRequest(spokenBy), signal);
    } finally {
      worker.isBusy = false;
      worker.usedAtMs = performance.now();
      const { idleMsMax = idleMsUsual } = this.#options;
      if (this.#isRetired(keyOf(model))) void this.#end(worker);
      else if (!this.#isClosed) worker.idleTimer = setTimeout(() => void this.#end(worker), idleMsMax).unref();
      entry.waiting.shift()?.();
    }
  }

  /** Ends every process. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#workers().map((worker) => this.#end(worker)));
  }

  #entryOf(spokenBy: SpokenBy): Entry {
    const modelKey = keyOf(spokenBy.model);
    const key = `${modelKey}\0${isSpokenByRules(spokenBy)}`;
    const entry = this.#entries.get(key) ?? { modelKey, workers: [], waiting: [] };
    this.#entries.set(key, entry);
    return entry;
  }

  #workers(): Worker[] {
    return [...this.#entries.values()].flatMap(({ workers }) => workers);
  }

  /**
   * A process that is free, or a further one; where there is no memory for that, or the files are gone, the next that is
   * free.
   */
  async #take(entry: Entry, spokenBy: SpokenBy, signal: AbortSignal): Promise<Worker> {
    const { freeBytes = () => process.availableMemory() } = this.#options;
    for (;;) {
      if (this.#isClosed) throw new Failure('engine_unavailable');
      entry.workers = entry.workers.filter(({ process, isBusy }) => isBusy || (process && !process.isGone));
      const free = entry.workers.find(({ isBusy }) => !isBusy);
      if (free) {
        clearTimeout(free.idleTimer);
        free.isBusy = true;
        return free;
      }
      const mayGrow = () => !this.#isRemoved(entry.modelKey) && freeBytes() > memoryBytesOf(spokenBy.model);
      if (entry.workers.length === 0 || mayGrow()) return this.#start(entry, spokenBy);
      await this.#nextFree(entry, signal);
    }
  }

  #nextFree(entry: Entry, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        entry.waiting = entry.waiting.filter((each) => each !== wake);
        reject(signal.reason);
      };
      const wake = () => {
        signal.removeEventListener('abort', leave);
        resolve();
      };
      entry.waiting.push(wake);
      signal.addEventListener('abort', leave, { once: true });
    });
  }

  /** Starts a process, after those that have been idle longest were ended to make room. */
  async #start(entry: Entry, spokenBy: SpokenBy): Promise<Worker> {
    const { processesMax, threads, isBackground = false, onLoad } = this.#options;
    const { start = (options: ModelProcessOptions) => new ModelProcess(options) } = this.#options;
    const worker: Worker = { process: undefined, isBusy: true, usedAtMs: 0, idleTimer: undefined };
    entry.workers.push(worker);
    try {
      const alive = this.#workers().filter(({ process, isBusy }) => isBusy || (process && !process.isGone));
      const idle = alive.filter(({ isBusy }) => !isBusy).sort((one, other) => one.usedAtMs - other.usedAtMs);
      // One that cannot be loaded again, since its files are gone, goes last.
      const inTurn = [...idle.filter((each) => !this.#isGone(each)), ...idle.filter((each) => this.#isGone(each))];
      await Promise.all(inTurn.slice(0, Math.max(0, alive.length - processesMax)).map((each) => this.#end(each)));
      onLoad?.(spokenBy.model, alive.length);
      const config = toLibraryConfig(spokenBy.model, threads, isSpokenByRules(spokenBy));
      const library = this.#options.findLibrary();
      if (!library) throw new Failure('engine_unavailable', {}, new Error('the library is not installed'));
      const files = await prepareFiles(spokenBy.model, config);
      if (this.#isClosed) {
        await files.remove();
        throw new Failure('engine_unavailable');
      }
      worker.process = start({ library, config: files.config, isBackground });
      worker.gone = worker.process.exited.then(files.remove);
      return worker;
    } catch (error) {
      worker.isBusy = false;
      entry.waiting.shift()?.();
      throw error;
    }
  }

  /** Whether its model is no longer in the folder. */
  #isGone(worker: Worker): boolean {
    const entry = [...this.#entries.values()].find(({ workers }) => workers.includes(worker));
    return entry !== undefined && this.#isRemoved(entry.modelKey);
  }

  #isRemoved(modelKey: string): boolean {
    return this.#current !== undefined && !this.#current.has(modelKey);
  }

  #isRetired(modelKey: string): boolean {
    return this.#isRemoved(modelKey) && !this.#kept.has(modelKey);
  }

  #endRetired(): void {
    for (const [key, { modelKey, workers }] of this.#entries) {
      if (!this.#isRetired(modelKey)) continue;
      for (const worker of workers) if (!worker.isBusy) void this.#end(worker);
      if (workers.every(({ isBusy }) => !isBusy)) this.#entries.delete(key);
    }
  }

  async #end(worker: Worker): Promise<void> {
    const { process } = worker;
    clearTimeout(worker.idleTimer);
    worker.process = undefined;
    await process?.kill();
    await worker.gone;
  }
}
