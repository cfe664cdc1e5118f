// Installs models of the table while the service runs: one after the other, a few more may wait, and whoever asked may
// leave. Who asks for one that is under way joins it. What another process does in the same folder is told as far as the
// folder tells it. `close` ends what is under way; nothing is half-installed then, and what was fetched is kept.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SlotQueue } from '../concurrency/slot-queue.ts';
import type { EngineLibrary } from '../engines/engine.ts';
import { Failure } from '../errors.ts';
import type { Patience } from './download.ts';
import {
  fetchedBytes,
  type GetOptions,
  getModel,
  isBusy,
  listInstalled,
  removeModel,
  rowOfInstalled,
} from './get-model.ts';
import { toInstallFailure } from './install-failure.ts';
import {
  bytesOfRow,
  createInstallProgress,
  type InstallProgress,
  type InstallStatus,
  isUnderWay,
} from './install-progress.ts';
import type { ModelRow } from './model-row.ts';
import type { ModelEngine, OfferedModel } from './model-table.ts';

/** How many wait for the one that is under way. */
export const installsWaitingMax = 8;
/** How long a running engine may take to offer the voices of a new model. */
const offerMsMax = 15_000;
const offerPollMs = 50;

export interface InstallableModel {
  row: ModelRow;
  /** Of the engine that speaks it. */
  engine: string;
  library: EngineLibrary & { isInstalled: boolean };
  isInstalled: boolean;
  /** What was fetched of it so far, by whomever; a new attempt goes on from there. */
  fetchedBytes: number;
  /** The latest installation that this process knows of. */
  install: InstallStatus | undefined;
}

export interface ModelInstallsOptions {
  /** The table. */
  offered: readonly OfferedModel[];
  engines: readonly ModelEngine[];
  dataDir: string;
  /** A mirror; empty for the sources themselves. */
  modelsUrl: string;
  /** Whether nothing may be fetched. */
  isOffline: boolean;
  leaveFree: NonNullable<GetOptions['leaveFree']>;
  /** Whether the voices of a model can speak. */
  isOffered(engine: string, voiceIds: readonly string[]): boolean;
  onEvent(message: string, facts: Readonly<Record<string, unknown>>, failure?: Failure): void;
  patience?: Patience | undefined;
}

export interface ModelInstalls {
  readonly isOffline: boolean;
  /** Those of the table in its order, and then those that are here and in no table. */
  list(): Promise<InstallableModel[]>;
  /** Throws `not_found`. */
  find(name: string): Promise<InstallableModel>;
  /** Begins to install it, unless it is here or under way. `by` is who wants it, for the log. */
  install(name: string, by: string): Promise<InstallableModel>;
  /** Cancels its installation; else removes it, and what was fetched of it. */
  remove(name: string, by: string, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

interface Job {
  progress: InstallProgress;
  abort: AbortController;
  over: Promise<void>;
}

export function createModelInstalls(options: ModelInstallsOptions): ModelInstalls {
  const { offered, engines, dataDir, isOffline, onEvent } = options;
  const queue = new SlotQueue({ slotsMax: 1 });
  const jobs = new Map<string, Job>();
  const closing = new AbortController();
  const running = () => jobs.values().filter(({ progress }) => progress.isUnderWay);

  const describe = async ({ row, engine }: OfferedModel): Promise<InstallableModel> => {
    const { library, folder } = engine.models;
    const job = jobs.get(row.name);
    const fetched = await fetchedBytes(engine, row.name, dataDir);
    const isInstalled = existsSync(join(folder(dataDir), row.name));
    const latest = job?.progress.status();
    // Another process may have installed or removed it since.
    const ended = (latest?.state === 'done') === isInstalled ? latest : undefined;
    return {
      row,
      engine: engine.name,
      library: { ...library, isInstalled: library.isHere(dataDir) },
      isInstalled,
      fetchedBytes: fetched,
      install:
        latest && isUnderWay(latest)
          ? withFetched(latest, fetched)
          : isBusy(engine, row.name, dataDir)
            ? elsewhere(row, fetched)
            : ended,
    };
  };
  const known = async (): Promise<OfferedModel[]> => {
    const names = new Set(offered.map(({ row }) => row.name));
    const own = engines.map(async (engine) =>
      (await listInstalled(engine, dataDir)).flatMap((name) =>
        names.has(name) ? [] : { row: rowOfInstalled(name), engine },
      ),
    );
    return [...offered, ...(await Promise.all(own)).flat()];
  };
  const lookUp = async (name: string): Promise<OfferedModel> => {
    const found = (await known()).find(({ row }) => row.name === name);
    if (found) return found;
    throw new Failure('not_found', { message: 'There is no such model; GET /api/models lists those there are.' });
  };
  const run = createRun(options, queue);

  return {
    isOffline,
    list: async () => Promise.all((await known()).map(describe)),
    find: async (name) => describe(await lookUp(name)),
    async install(name, by) {
      const model = await lookUp(name);
      const found = await describe(model);
      // Between this look and the entry of the job nothing is awaited: two callers at once begin one.
      if (found.isInstalled || jobs.get(name)?.progress.isUnderWay) return found;
      if (isOffline) throw new Failure('access_denied', { message: offlineMessage });
      closing.signal.throwIfAborted();
      if (running().toArray().length > installsWaitingMax) throw new Failure('overloaded', { message: queueMessage });
      const progress = createInstallProgress(model.row);
      const abort = new AbortController();
      onEvent('a model is to be installed', { model: name, by });
      jobs.set(name, { progress, abort, over: run(model, progress, abort.signal) });
      return describe(model);
    },
    async remove(name, by, signal) {
      const { engine, row } = await lookUp(name);
      const job = jobs.get(name);
      if (job?.progress.isUnderWay) {
        onEvent('the installation of a model is cancelled', { model: name, by });
        job.abort.abort(new Error('cancelled'));
        return job.over;
      }
      if (isBusy(engine, name, dataDir)) throw new Failure('overloaded', { message: busyMessage });
      const removed = await removeModel(engine, row.name, dataDir, { signal, print() {} }).catch((error) => {
        signal.throwIfAborted();
        throw toInstallFailure(error, dataDir);
      });
      jobs.delete(name);
      if (!removed) throw new Failure('not_found', { message: 'This model is not installed.' });
      onEvent('a model was removed', { model: name, by });
    },
    async close() {
      closing.abort(new Failure('overloaded', { message: 'The service is stopping; try again.' }));
      for (const { abort } of running()) abort.abort(closing.signal.reason);
      await Promise.all(jobs.values().map(({ over }) => over));
    },
  };
}

const offlineMessage =
  'The operator of this service has switched off fetching models (SONANT_MODELS_OFFLINE). sonant voice get takes files.';
const queueMessage = `${installsWaitingMax} models wait to be installed already; try again later.`;
const busyMessage = 'Another process gets this model at present; cancel it there, or wait.';

/** Carries one installation out. The result never rejects. */
const createRun =
  ({ dataDir, modelsUrl, leaveFree, isOffered, onEvent, patience }: ModelInstallsOptions, queue: SlotQueue) =>
  async (model: OfferedModel, progress: InstallProgress, signal: AbortSignal): Promise<void> => {
    const { name } = model.row;
    try {
      const release = await queue.take({ signal });
      try {
        const { voiceIds = [] } = await getModel(model, {
          dataDir,
          modelsUrl,
          leaveFree,
          signal,
          onStage: progress.enter,
          onProgress: progress.note,
          print: (line) => onEvent(line, { model: name }),
          ...(patience && { patience }),
        });
        const isAwaited = () => !signal.aborted && !isOffered(model.engine.name, voiceIds);
        for (let ms = 0; ms < offerMsMax && isAwaited(); ms += offerPollMs) await sleep(offerPollMs);
      } finally {
        release();
      }
      progress.end('done');
      onEvent('a model was installed', { model: name });
    } catch (error) {
      if (signal.aborted) return progress.end('cancelled');
      const failure = toInstallFailure(error, dataDir);
      progress.end('failed', failure);
      onEvent('a model could not be installed', { model: name }, failure);
    }
  };

/** While another process has the model, the folder tells how far that is. */
const withFetched = (status: InstallStatus, fetched: number): InstallStatus =>
  status.state === 'waiting' ? { ...status, bytesDone: fetched } : status;

const elsewhere = (row: ModelRow, fetched: number): InstallStatus => ({
  state: 'elsewhere',
  bytesDone: fetched,
  bytesTotal: bytesOfRow(row),
  bytesPerSecond: undefined,
  secondsLeft: undefined,
  unpacked: 0,
  failure: undefined,
});
