// The processes of the models that are in use: each model has one at most, there are so many at most, and one that has had
// nothing to say for a while is ended. Requests for a model wait in its line, urgent ones first. A model whose process
// dies again and again before it has said anything is left alone for a while.
import { Failure } from '../../errors.ts';
import type { SpokenPcm } from '../engine.ts';
import { createWaitingLine, type WaitingLine } from '../waiting-line.ts';
import type { ModelRequest } from './model-child.ts';
import type { Model } from './model-folder.ts';
import { type ModelProcess, type ModelProcessOptions, startModelProcess } from './model-process.ts';
import { toLibraryConfig } from './model-request.ts';

export interface ModelPool {
  speak(
    model: Model,
    asked: { request: ModelRequest; urgent: boolean },
    signal: AbortSignal,
  ): AsyncGenerator<SpokenPcm>;
  /** Ends every process. What was running, and what is asked later, fails with `engine_unavailable`. */
  close(): Promise<void>;
}

export interface ModelPoolOptions {
  /** How many models are in memory at once. */
  processesMax: number;
  threads: number;
  idleMsMax?: number;
  start?(options: ModelProcessOptions): ModelProcess;
}

const idleMsUsual = 600_000;
/** Processes that die one after the other before their model is loaded. */
const deadStartsMax = 3;
const restMs = 60_000;

interface Place {
  line: WaitingLine;
  process: ModelProcess | undefined;
  isBusy: boolean;
  usedAt: number;
  deadStarts: number;
  restsUntil: number;
  idleTimer: NodeJS.Timeout | undefined;
}

export function createModelPool(options: ModelPoolOptions): ModelPool {
  const { processesMax, threads, idleMsMax = idleMsUsual, start = startModelProcess } = options;
  const places = new Map<string, Place>();
  const allPlaces = createWaitingLine(processesMax);
  const closing = new AbortController();

  const placeOf = ({ folder }: Model): Place => {
    const place = places.get(folder) ?? {
      line: createWaitingLine(1),
      process: undefined,
      isBusy: false,
      usedAt: 0,
      deadStarts: 0,
      restsUntil: 0,
      idleTimer: undefined,
    };
    places.set(folder, place);
    return place;
  };

  const endIdle = async (place: Place): Promise<void> => {
    const { process } = place;
    place.process = undefined;
    await process?.kill();
  };

  /** The model's process, in the place of the one that has been idle longest where there are too many. */
  async function processOf(model: Model, place: Place): Promise<ModelProcess> {
    if (place.process && !place.process.isGone()) return place.process;
    const restMsLeft = place.restsUntil - Date.now();
    if (restMsLeft > 0) {
      const cause = new Error(
        `the process of ${model.modelId} died ${place.deadStarts} times while it loaded the model`,
      );
      throw new Failure('engine_unavailable', { retryAfterSeconds: Math.ceil(restMsLeft / 1000) }, cause);
    }
    place.process = undefined;
    const alive = [...places.values()].filter(({ process }) => process && !process.isGone());
    const idle = alive.filter(({ isBusy }) => !isBusy).sort((one, other) => one.usedAt - other.usedAt);
    for (const each of idle.slice(0, Math.max(0, alive.length + 1 - processesMax))) await endIdle(each);
    closing.signal.throwIfAborted();
    place.process = start({ config: toLibraryConfig(model, threads) });
    return place.process;
  }

  /** Gives the place back when the process has nothing to do any more, which may be after its reader has left. */
  async function release(place: Place, process: ModelProcess | undefined, leave: () => void): Promise<void> {
    await process?.settled();
    if (process?.wasReady()) place.deadStarts = 0;
    else if (process?.isGone() && !closing.signal.aborted) {
      place.deadStarts++;
      if (place.deadStarts >= deadStartsMax) place.restsUntil = Date.now() + restMs;
    }
    place.isBusy = false;
    place.usedAt = performance.now();
    place.idleTimer = setTimeout(() => void endIdle(place), idleMsMax);
    place.idleTimer.unref();
    leave();
  }

  async function enter(place: Place, urgent: boolean, signal: AbortSignal): Promise<() => void> {
    const leaveLine = await place.line.enter(urgent, signal);
    try {
      const leaveAll = await allPlaces.enter(urgent, signal);
      clearTimeout(place.idleTimer);
      place.isBusy = true;
      return () => {
        leaveAll();
        leaveLine();
      };
    } catch (error) {
      leaveLine();
      throw error;
    }
  }

  return {
    async *speak(model, { request, urgent }, callersSignal) {
      const signal = AbortSignal.any([callersSignal, closing.signal]);
      signal.throwIfAborted();
      const place = placeOf(model);
      const leave = await enter(place, urgent, signal);
      let process: ModelProcess | undefined;
      try {
        signal.throwIfAborted();
        process = await processOf(model, place);
        yield* process.speak(request, signal);
      } finally {
        void release(place, process, leave);
      }
    },
    async close() {
      closing.abort(new Failure('engine_unavailable'));
      for (const { idleTimer } of places.values()) clearTimeout(idleTimer);
      await Promise.all([...places.values()].map(({ process }) => process?.kill()));
    },
  };
}
