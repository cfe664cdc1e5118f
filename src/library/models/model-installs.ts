// Installs models from the tables while the service runs: one at a time, with a short queue. A request for a model that
// is being installed joins that installation, which continues if its callers leave. `close` stops the running
// installation; no model is left half-installed, and downloads are kept.
import { setTimeout as sleep } from 'node:timers/promises';
import { Failure, toFailure } from '../../platform/errors.ts';
import { SlotQueue } from '../../platform/runtime/slot-queue.ts';
import type { Patience } from './download.ts';
import { type GetOptions, getModel, installedBy, isBusy, removeModel } from './get-model.ts';
import { createInstallProgress, type InstallProgress } from './install-progress.ts';
import { createInstallableModels, type InstallableModel, type InstallableModelsOptions } from './installable-models.ts';
import type { OfferedModel } from './model-table.ts';

/** Largest number of waiting installations. */
export const installsWaitingMax = 8;
/** How long a running engine may take to offer the voices of a new model. */
const offerMsMax = 15_000;
const offerPollMs = 50;

export interface ModelInstallsOptions extends InstallableModelsOptions {
  /** URL of a mirror; empty to use the original sources. */
  modelsUrl: string;
  /** Whether downloads are forbidden. */
  isOffline: boolean;
  leaveFree: NonNullable<GetOptions['leaveFree']>;
  /** Whether the engine offers all these voices. */
  isOffered(engine: string, voiceIds: readonly string[]): boolean;
  onEvent(message: string, facts: Readonly<Record<string, unknown>>, failure?: Failure): void;
  patience?: Patience | undefined;
}

export interface ModelInstalls {
  readonly isOffline: boolean;
  /** Models in the tables, in table order, then installed models that are in no table. */
  list(): Promise<InstallableModel[]>;
  /** Throws `not_found` if there is no such model. */
  find(name: string): Promise<InstallableModel>;
  /** Begins an installation, unless the model is installed or being installed. `by` names the requester in the log. */
  install(name: string, by: string): Promise<InstallableModel>;
  /** Cancels the installation. If there is none, or it has already completed, removes the model and its downloads. */
  remove(name: string, by: string, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

interface Job {
  progress: InstallProgress;
  abort: AbortController;
  over: Promise<void>;
}

export function createModelInstalls(options: ModelInstallsOptions): ModelInstalls {
  const { dataDir, isOffline, onEvent } = options;
  const models = createInstallableModels(options);
  const jobs = new Map<string, Job>();
  const closing = new AbortController();
  const running = () => [...jobs.values()].filter(({ progress }) => progress.isUnderWay);
  const describe = (model: OfferedModel) => models.describe(model, jobs.get(model.row.name)?.progress.status());
  const run = createRun(options);
  const begin = (model: OfferedModel, by: string) => {
    const { name } = model.row;
    closing.signal.throwIfAborted();
    if (isOffline) throw new Failure('access_denied', { message: offlineMessage });
    if (running().length > installsWaitingMax) throw new Failure('overloaded', { message: queueMessage });
    const progress = createInstallProgress(model.row);
    const abort = new AbortController();
    onEvent('model installation requested', { model: name, by });
    jobs.set(name, { progress, abort, over: run(model, progress, abort.signal) });
  };
  return {
    isOffline,
    list: async () => Promise.all((await models.list()).map(describe)),
    find: async (name) => describe(await models.find(name)),
    async install(name, by) {
      const model = await models.find(name);
      const { isInstalled } = await describe(model);
      // Nothing is awaited between this check and `begin`, so that concurrent callers begin only one installation.
      if (!isInstalled && !jobs.get(name)?.progress.isUnderWay) begin(model, by);
      return describe(model);
    },
    async remove(name, by, signal) {
      const model = await models.find(name);
      const { engine } = model;
      const job = jobs.get(name);
      const isCancelled = job?.progress.isUnderWay ?? false;
      if (job && isCancelled) {
        onEvent('model installation cancelled', { model: name, by });
        job.abort.abort(new Error('cancelled'));
        await job.over;
        // The model is already installed if the installation was in its last stage, offering the voices.
        if (!(await describe(model)).isInstalled) return;
      } else if (isBusy(engine, name, dataDir)) throw new Failure('overloaded', { message: busyMessage });
      const isRemoved = await removeModel(engine, name, dataDir, { signal, print() {} }).catch((error) => {
        signal.throwIfAborted();
        throw toInstallFailure(error, dataDir);
      });
      // Another installation may have begun in the meantime.
      if (jobs.get(name) === job) jobs.delete(name);
      if (isRemoved) onEvent('model removed', { model: name, by });
      // If several callers cancel one installation, only one of them removes the model.
      else if (!isCancelled) throw new Failure('not_found', { message: 'This model is not installed.' });
    },
    async close() {
      closing.abort(new Failure('overloaded', { message: 'The service is stopping. Try again later.' }));
      for (const { abort } of running()) abort.abort(closing.signal.reason);
      await Promise.all([...jobs.values()].map(({ over }) => over));
    },
  };
}

const offlineMessage =
  'The operator has switched off downloads of models (SONANT_MODELS_OFFLINE). sonant voice get still installs files.';
const queueMessage = `${installsWaitingMax} models are already waiting to be installed. Try again later.`;
const busyMessage = 'Another process is installing this model. Cancel it there, or wait.';

/** Returns a function that waits for its turn and then runs an installation. Its promise never rejects. */
function createRun({ dataDir, modelsUrl, leaveFree, isOffered, onEvent, patience }: ModelInstallsOptions) {
  const queue = new SlotQueue({ slotsMax: 1 });
  const install = async (model: OfferedModel, progress: InstallProgress, signal: AbortSignal) => {
    const { engine, row } = model;
    const { voiceIds = [] } = await getModel(model, {
      dataDir,
      modelsUrl,
      leaveFree,
      signal,
      onStage: progress.enter,
      onProgress: progress.note,
      print: (line) => onEvent(line, { model: row.name }),
      patience,
    });
    const { name } = installedBy(model, dataDir) ?? engine;
    const isAwaited = () => !signal.aborted && !isOffered(name, voiceIds);
    for (let ms = 0; ms < offerMsMax && isAwaited(); ms += offerPollMs) await sleep(offerPollMs);
    return voiceIds;
  };
  return async (model: OfferedModel, progress: InstallProgress, signal: AbortSignal): Promise<void> => {
    const { name } = model.row;
    try {
      const release = await queue.take({ signal });
      const voices = await install(model, progress, signal).finally(release);
      progress.end('done');
      onEvent('model installed', { model: name, voices });
    } catch (error) {
      if (signal.aborted) return progress.end('cancelled');
      const failure = toInstallFailure(error, dataDir);
      progress.end('failed', failure);
      onEvent('model not installed', { model: name, fault: failure.message }, failure);
    }
  };
}

const readOnlyCodes = ['EACCES', 'EPERM', 'EROFS', 'SQLITE_READONLY', 'SQLITE_CANTOPEN'];
const fullCodes = ['ENOSPC', 'EDQUOT', 'SQLITE_FULL'];

const readOnlyMessage = 'The service cannot write to its folder of models. The operator has to make it writable.';
const fullMessage = 'The disk has no space for it.';

/** The failure of an installation. Its cause is the original error, for the log. */
export function toInstallFailure(error: unknown, dataDir: string): Failure {
  const { code } = error as { code?: string };
  if (code !== undefined && readOnlyCodes.includes(code))
    return new Failure('storage_unavailable', { message: readOnlyMessage }, error);
  if (code !== undefined && fullCodes.includes(code))
    return new Failure('storage_full', { message: fullMessage }, error);
  if (!(error instanceof Failure)) return toFailure(error);
  const { reason, facts, message } = error;
  return new Failure(reason, { ...facts, message: withoutPlaces(message, dataDir) }, error.cause ?? error);
}

/** Removes credentials from URLs, and the data folder and the temporary folder from paths. */
const withoutPlaces = (message: string, dataDir: string): string =>
  message
    .replace(/(https?:\/\/)[^\s/]*@/g, '$1')
    .replaceAll(`${dataDir}/`, '')
    .replaceAll(dataDir, 'the data folder')
    .replace(/models\/\.(?:downloads\/[^/\s]+|import-[^/\s]+)\//g, '');
