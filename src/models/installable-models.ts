// The models that can be installed or are installed: those of the table, and those that are in the folder and in no table,
// each with what the folder tells of it.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { EngineLibrary } from '../engines/engine.ts';
import { Failure } from '../errors.ts';
import { didYouMean } from '../runtime/nearest-name.ts';
import { fetchedBytes, isBusy, listInstalled, rowOfInstalled } from './get-model.ts';
import { type InstallStatus, isUnderWay } from './install-progress.ts';
import { bytesOfRow, type ModelEngine, type ModelRow, type OfferedModel } from './model-table.ts';

export interface InstallableModel {
  row: ModelRow;
  /** Of the engine that speaks it. */
  engine: string;
  library: EngineLibrary & { isInstalled: boolean };
  isInstalled: boolean;
  /** What was fetched of it so far, by whomever; a new attempt goes on from there. */
  fetchedBytes: number;
  /** The latest installation that is known of. */
  install: InstallStatus | undefined;
}

export interface InstallableModelsOptions {
  /** The table. */
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
    /** Those of the table in its order, then the others. */
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
    async describe({ row, engine }: OfferedModel, latest: InstallStatus | undefined): Promise<InstallableModel> {
      const { library, folder } = engine.models;
      const fetched = await fetchedBytes(engine, row.name, dataDir);
      const isInstalled = existsSync(join(folder(dataDir), row.name));
      const install = (): InstallStatus | undefined => {
        if (latest && isUnderWay(latest)) return withFetched(latest, fetched);
        if (isBusy(engine, row.name, dataDir)) return elsewhere(row, fetched);
        // Another process may have installed or removed it since.
        return (latest?.state === 'done') === isInstalled ? latest : undefined;
      };
      return {
        row,
        engine: engine.name,
        library: { ...library, isInstalled: library.isHere(dataDir) },
        isInstalled,
        fetchedBytes: fetched,
        install: install(),
      };
    },
  };
}

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
