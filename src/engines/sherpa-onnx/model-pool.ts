// The processes of loaded models: one for each model at most, so many in all, ended after a time without requests. Requests
// come one at a time for a model, and no more at once than there may be processes; the caller sees to that. A model whose
// process exits again and again while it loads is not started for a while.
import { Failure } from '../../errors.ts';
import type { SpokenPcm } from '../engine.ts';
import type { ModelRequest } from './model-child.ts';
import type { Model } from './model-facts.ts';
import { ModelProcess, type ModelProcessOptions } from './model-process.ts';
import { toLibraryConfig } from './model-request.ts';

export interface ModelPoolOptions {
  /** How many models are in memory at once. */
  processesMax: number;
  threads: number;
  idleMsMax?: number;
  start?(options: ModelProcessOptions): ModelProcess;
}

const idleMsUsual = 600_000;
/** So many processes in a row may exit before they have loaded the model. */
const deadStartsMax = 3;
const restMs = 60_000;

/** The state of one model. */
interface Entry {
  process: ModelProcess | undefined;
  isBusy: boolean;
  usedAtMs: number;
  deadStarts: number;
  restsUntilMs: number;
  idleTimer: NodeJS.Timeout | undefined;
}

export class ModelPool {
  readonly #options: ModelPoolOptions;
  readonly #entries = new Map<string, Entry>();
  #isClosed = false;

  constructor(options: ModelPoolOptions) {
    this.#options = options;
  }

  async *speak(model: Model, request: ModelRequest, signal: AbortSignal): AsyncGenerator<SpokenPcm> {
    const entry = this.#entryOf(model);
    clearTimeout(entry.idleTimer);
    entry.isBusy = true;
    try {
      const process = await this.#processOf(model, entry);
      signal.throwIfAborted();
      yield* process.speak(request, signal);
    } finally {
      this.#release(entry);
    }
  }

  /** Ends every process. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { idleTimer } of this.#entries.values()) clearTimeout(idleTimer);
    await Promise.all([...this.#entries.values()].map(({ process }) => process?.kill()));
  }

  #entryOf({ folder }: Model): Entry {
    const unused = { process: undefined, isBusy: false, usedAtMs: 0, deadStarts: 0, restsUntilMs: 0 };
    const entry = this.#entries.get(folder) ?? { ...unused, idleTimer: undefined };
    this.#entries.set(folder, entry);
    return entry;
  }

  /** The model's process, started if need be, after the process that has been idle longest was ended to make room. */
  async #processOf(model: Model, entry: Entry): Promise<ModelProcess> {
    if (entry.process && !entry.process.isGone) return entry.process;
    const restMsLeft = entry.restsUntilMs - Date.now();
    if (restMsLeft > 0) {
      const cause = new Error(
        `the process of ${model.modelId} died ${entry.deadStarts} times while it loaded the model`,
      );
      throw new Failure('engine_unavailable', { retryAfterSeconds: Math.ceil(restMsLeft / 1000) }, cause);
    }
    entry.process = undefined;
    const { processesMax, threads, start = (options) => new ModelProcess(options) } = this.#options;
    const alive = [...this.#entries.values()].filter(({ process }) => process && !process.isGone);
    const idle = alive.filter(({ isBusy }) => !isBusy).sort((one, other) => one.usedAtMs - other.usedAtMs);
    for (const each of idle.slice(0, Math.max(0, alive.length + 1 - processesMax))) await this.#endIdle(each);
    if (this.#isClosed) throw new Failure('engine_unavailable');
    entry.process = start({ config: toLibraryConfig(model, threads) });
    return entry.process;
  }

  async #endIdle(entry: Entry): Promise<void> {
    const { process } = entry;
    entry.process = undefined;
    await process?.kill();
  }

  #release(entry: Entry): void {
    const { process } = entry;
    if (process?.wasReady) entry.deadStarts = 0;
    else if (process?.isGone && !this.#isClosed) {
      entry.deadStarts++;
      if (entry.deadStarts >= deadStartsMax) entry.restsUntilMs = Date.now() + restMs;
    }
    entry.isBusy = false;
    entry.usedAtMs = performance.now();
    if (this.#isClosed) return;
    entry.idleTimer = setTimeout(() => void this.#endIdle(entry), this.#options.idleMsMax ?? idleMsUsual);
    entry.idleTimer.unref();
  }
}
