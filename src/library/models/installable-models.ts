// The models that can be installed or are installed: models in the tables, and models in the folder that are in no
// table. Each model has its state in the folder. `openModelFolder` finds, installs and removes models for commands,
// which work without the service.

import { basename } from 'node:path';
import type { EngineDefinition, EngineLibrary } from '../../engines.ts';
import { archiveEnding } from '../../platform/archives/archive-file.ts';
import { Failure } from '../../platform/errors.ts';
import { didYouMean } from '../../platform/runtime/nearest-name.ts';
import {
  fetchedBytes,
  type GetOptions,
  getModel,
  installedBy,
  isBusy,
  listInstalled,
  removeModel,
  rowOfInstalled,
  rowOfUrl,
  type Waiting,
} from './get-model.ts';
import { type InstallStatus, isUnderWay } from './install-progress.ts';
import {
  bytesOfRow,
  loadModels,
  type ModelEngine,
  type ModelRow,
  modelEngines,
  modelOfVoice,
  type OfferedModel,
  toOffered,
} from './model-table.ts';
import { commandsByHand } from './package-url.ts';

export interface InstallableModel {
  row: ModelRow;
  /** Name of the engine that speaks with the model. */
  engine: string;
  library: EngineLibrary & { isInstalled: boolean };
  isInstalled: boolean;
  /** Number of bytes that any process has downloaded so far. A new attempt continues from there. */
  fetchedBytes: number;
  /** The latest known installation. */
  install: InstallStatus | undefined;
  isUnderWay: boolean;
  /** Size of the download, if it is known. */
  bytes: number | undefined;
  /** Commands that install the model without this service. */
  manualCommands: readonly string[];
}

export interface InstallableModelsOptions {
  /** The models in the tables. */
  offered: readonly OfferedModel[];
  engines: readonly ModelEngine[];
  dataDir: string;
}

export function createInstallableModels({ offered, engines, dataDir }: InstallableModelsOptions) {
  const names = new Set(offered.map(({ row }) => row.name));
  const ownOf = async (engine: ModelEngine): Promise<OfferedModel[]> =>
    (await listInstalled(engine, dataDir)).flatMap((name) =>
      names.has(name) ? [] : { row: rowOfInstalled(name), engine },
    );
  const list = async () => [...offered, ...(await Promise.all(engines.map(ownOf))).flat()];
  return {
    /** Models in the tables, in table order, then installed models that are in no table. */
    list,
    async find(name: string): Promise<OfferedModel> {
      const all = await list();
      const found = all.find(({ row }) => row.name === name);
      if (found) return found;
      const meant =
        didYouMean(
          name,
          all.map(({ row }) => row.name),
        ) || ';';
      throw new Failure('not_found', {
        message: `Model not found${meant} GET /api/models lists the models.`,
      });
    },
    /** `latest` is the latest installation by this process. */
    async describe(offered: OfferedModel, latest: InstallStatus | undefined): Promise<InstallableModel> {
      const { row } = offered;
      const installer = installedBy(offered, dataDir);
      const engine = installer ?? offered.engine;
      const { library } = engine.models;
      const fetched = await fetchedBytes(engine, row.name, dataDir);
      const isInstalled = installer !== undefined;
      const findInstall = (): InstallStatus | undefined => {
        if (latest && isUnderWay(latest)) return withFetched(latest, fetched);
        if (isBusy(engine, row.name, dataDir)) return elsewhere(row, fetched);
        // Another process may have installed or removed the model in the meantime.
        return (latest?.state === 'done') === isInstalled ? latest : undefined;
      };
      const install = findInstall();
      const hasLibrary = library.isHere(dataDir);
      return {
        row,
        engine: engine.name,
        library: { ...library, isInstalled: hasLibrary },
        isInstalled,
        fetchedBytes: fetched,
        install,
        isUnderWay: install !== undefined && isUnderWay(install),
        bytes: bytesOfRow(row),
        manualCommands: [
          ...(hasLibrary ? [] : [`npm install --prefix libraries ${library.name}`]),
          ...(row.url === '' ? [] : commandsByHand(row)),
        ],
      };
    },
  };
}

/** While another process installs the model, its progress is read from the folder. */
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

export type ModelFolder = ReturnType<typeof openModelFolder>;

interface ModelFolderOptions {
  dataDir: string;
  /** The operator's table; empty if there is none. */
  modelsFile: string;
}

export function openModelFolder({ dataDir, modelsFile }: ModelFolderOptions, definitions: readonly EngineDefinition[]) {
  const engines = modelEngines(definitions);
  const offered = () => loadModels(modelsFile, engines);
  return {
    /** All models with their state: those in the tables, then installed models that are in no table. */
    async list() {
      const models = createInstallableModels({ offered: await offered(), engines, dataDir });
      return Promise.all((await models.list()).map((each) => models.describe(each, undefined)));
    },
    /** Finds a model by its name in the tables, or by the published name of its file. */
    find: async (wanted: string): Promise<OfferedModel | undefined> =>
      (await offered()).find(({ row }) => row.name === wanted || fileNameOf(row) === wanted),
    /** The names in the tables that resemble a name, as a question. */
    async suggest(wanted: string): Promise<string> {
      return didYouMean(
        wanted,
        (await offered()).map(({ row }) => row.name),
      );
    },
    ofUrl: (url: string): OfferedModel => toOffered(rowOfUrl(url), engines)[0]!,
    get: (model: OfferedModel, options: Omit<GetOptions, 'dataDir'>) => getModel(model, { ...options, dataDir }),
    /** Returns a function that tells whether a voice belongs to the installed model. */
    async ownerOf(model: OfferedModel, name: string): Promise<(voiceId: string) => boolean> {
      const installed = await listInstalled(installedBy(model, dataDir, name) ?? model.engine, dataDir);
      return (voiceId) => modelOfVoice(voiceId, installed) === name;
    },
    /** Removes a model and its downloads. Returns false if there was neither. */
    async remove(name: string, waiting: Waiting): Promise<boolean> {
      for (const engine of engines) if (await removeModel(engine, name, dataDir, waiting)) return true;
      return false;
    },
    installed: async (): Promise<string[]> =>
      (await Promise.all(engines.map((engine) => listInstalled(engine, dataDir)))).flat(),
  };
}

const fileNameOf = ({ url }: ModelRow): string => basename(new URL(url).pathname).replace(archiveEnding, '');
