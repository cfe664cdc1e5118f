// The processes of the models that are in use: each model has one at most, there are so many at most, and one that has had
// nothing to say for a while is ended. Requests for a model wait in its line, urgent ones first. A model whose process
// dies again and again before it has loaded it is left alone for a while.
import { Failure } from '../../errors.ts';
import type { SpokenPcm } from '../engine.ts';
import { createWaitingLine, type WaitingLine } from '../waiting-line.ts';
import type { ModelRequest } from './model-child.ts';
import type { Model } from './model-folder.ts';
import { ModelProcess, type ModelProcessOptions } from './model-process.ts';
import { toLibraryConfig } from './model-request.ts';

export interface ModelPoolOptions {
  /** How many models are in memory at once. */
  processesMax: number;
  threads: number;
  idleMsMax?: number;
  start?(options: ModelProcessOptions): ModelProcess;
}

export interface AskedOfModel {
  request: ModelRequest;
  urgent: boolean;
}

const idleMsUsual = 600_000;
/** Processes that die one after the other before their model is loaded. */
const deadStartsMax = 3;
const restMs = 60_000;

/** What a model has here. */
interface Place {
  line: WaitingLine;
  process: ModelProcess | undefined;
  isBusy: boolean;
  usedAt: number;
  deadStarts: number;
  restsUntil: number;
  idleTimer: NodeJS.Timeout | undefined;
}

export class ModelPool {
  readonly #options: ModelPoolOptions;
  readonly #places = new Map<string, Place>();
  /** Before so many as may be at work at once, of all models. */
  readonly #line: WaitingLine;
  readonly #closing = new AbortController();

  constructor(options: ModelPoolOptions) {
    this.#options = options;
    this.#line = createWaitingLine(options.processesMax);
  }

  async *speak(model: Model, { request, urgent }: AskedOfModel, callersSignal: AbortSignal): AsyncGenerator<SpokenPcm> {
    const signal = AbortSignal.any([callersSignal, this.#closing.signal]);
    signal.throwIfAborted();
    const place = this.#placeOf(model);
    const leave = await this.#enter(place, urgent, signal);
    let process: ModelProcess | undefined;
    let sound: AsyncGenerator<SpokenPcm>;
    try {
      signal.throwIfAborted();
      process = await this.#processOf(model, place);
      signal.throwIfAborted();
      sound = process.speak(request, signal);
    } finally {
      // The place is given back when the work is done, not when all of it is heard.
      void this.#release(place, process, leave);
    }
    yield* sound;
  }

  /** Ends every process. What was running, and what is asked later, fails with `engine_unavailable`. */
  async close(): Promise<void> {
    this.#closing.abort(new Failure('engine_unavailable'));
    for (const { idleTimer } of this.#places.values()) clearTimeout(idleTimer);
    await Promise.all([...this.#places.values()].map(({ process }) => process?.kill()));
  }

  #placeOf({ folder }: Model): Place {
    const line = createWaitingLine(1);
    const unused = { line, process: undefined, isBusy: false, usedAt: 0, deadStarts: 0, restsUntil: 0 };
    const place = this.#places.get(folder) ?? { ...unused, idleTimer: undefined };
    this.#places.set(folder, place);
    return place;
  }

  async #enter(place: Place, urgent: boolean, signal: AbortSignal): Promise<() => void> {
    const leaveOwn = await place.line.enter(urgent, signal);
    try {
      const leaveAll = await this.#line.enter(urgent, signal);
      clearTimeout(place.idleTimer);
      place.isBusy = true;
      return () => {
        leaveAll();
        leaveOwn();
      };
    } catch (error) {
      leaveOwn();
      throw error;
    }
  }

  /** The model's process, in the place of one that has been idle longest where there are too many. */
  async #processOf(model: Model, place: Place): Promise<ModelProcess> {
    if (place.process && !place.process.isGone) return place.process;
    const restMsLeft = place.restsUntil - Date.now();
    if (restMsLeft > 0) {
      const cause = new Error(
        `the process of ${model.modelId} died ${place.deadStarts} times while it loaded the model`,
      );
      throw new Failure('engine_unavailable', { retryAfterSeconds: Math.ceil(restMsLeft / 1000) }, cause);
    }
    place.process = undefined;
    const { processesMax, threads, start = (options) => new ModelProcess(options) } = this.#options;
    const alive = [...this.#places.values()].filter(({ process }) => process && !process.isGone);
    const idle = alive.filter(({ isBusy }) => !isBusy).sort((one, other) => one.usedAt - other.usedAt);
    for (const each of idle.slice(0, Math.max(0, alive.length + 1 - processesMax))) await this.#endIdle(each);
    this.#closing.signal.throwIfAborted();
    place.process = start({ config: toLibraryConfig(model, threads) });
    return place.process;
  }

  async #endIdle(place: Place): Promise<void> {
    const { process } = place;
    place.process = undefined;
    await process?.kill();
  }

  async #release(place: Place, process: ModelProcess | undefined, leave: () => void): Promise<void> {
    await process?.settled();
    if (process?.wasReady) place.deadStarts = 0;
    else if (process?.isGone && !this.#closing.signal.aborted) {
      place.deadStarts++;
      if (place.deadStarts >= deadStartsMax) place.restsUntil = Date.now() + restMs;
    }
    place.isBusy = false;
    place.usedAt = performance.now();
    place.idleTimer = setTimeout(() => void this.#endIdle(place), this.#options.idleMsMax ?? idleMsUsual);
    place.idleTimer.unref();
    leave();
  }
}
