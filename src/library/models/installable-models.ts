// The models that can be installed or are installed: models in the tables, and models in the folder that are in no
// table. Each model has its state in the folder.
import type { EngineLibrary } from '../../engines.ts';
import { Failure } from '../../platform/errors.ts';
import { didYouMean } from '../../platform/runtime/nearest-name.ts';
import { fetchedBytes, installedBy, isBusy, listInstalled, rowOfInstalled } from './get-model.ts';
import { createInstallProgress, type InstallStatus, isUnderWay } from './install-progress.ts';
import { bytesOfRow, type ModelEngine, type ModelRow, type OfferedModel } from './model-table.ts';
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
  ...createInstallProgress(row).status(),
  state: 'elsewhere',
  bytesDone: fetched,
});
