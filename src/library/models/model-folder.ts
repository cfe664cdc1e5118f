// The models of a data folder, for commands that work without the service: finds a model by name or URL, installs it, and
// removes it.
import type { EngineDefinition } from '../../engines.ts';
import { didYouMean } from '../../platform/runtime/nearest-name.ts';
import {
  type GetOptions,
  getModel,
  installedBy,
  listInstalled,
  publishedName,
  removeModel,
  rowOfUrl,
  type Waiting,
} from './get-model.ts';
import { createInstallableModels } from './installable-models.ts';
import { loadModels, modelEngines, modelOfVoice, type OfferedModel, toOffered } from './model-table.ts';

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
      (await offered()).find(({ row }) => row.name === wanted || publishedName(row.url) === wanted),
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
