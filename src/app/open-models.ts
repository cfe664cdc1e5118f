// Opens the installation of models while the service runs: the table of models, with the operator's own, and the folder.

import { freeBytesMin } from '../delivery/clip-room.ts';
import type { Engine } from '../engines/engine.ts';
import { createModelInstalls, type ModelInstalls } from '../models/model-installs.ts';
import { loadModels, modelEngines } from '../models/model-table.ts';
import { logEnd } from './log-end.ts';
import type { Opening } from './opening.ts';

export interface OpenModelsOptions extends Pick<Opening, 'config' | 'definitions' | 'log'> {
  /** Those that are open. */
  engines: readonly Engine[];
}

export async function openModels({ config, definitions, log, ...options }: OpenModelsOptions): Promise<ModelInstalls> {
  const { dataDir, modelsFile, modelsUrl, modelsOffline: isOffline } = config;
  const engines = modelEngines(definitions);
  return createModelInstalls({
    offered: await loadModels(modelsFile, engines),
    engines,
    dataDir,
    modelsUrl,
    isOffline,
    // What stored audio must leave free it does not have to make way for.
    leaveFree: freeBytesMin,
    isOffered(engineName, voiceIds) {
      const voices = options.engines.find(({ name }) => name === engineName)?.voices ?? [];
      const offered = new Set(voices.map(({ voiceId }) => voiceId));
      return voiceIds.every((voiceId) => offered.has(voiceId));
    },
    onEvent: (message, facts, failure) => logEnd(log, 'info', message, facts, failure),
  });
}
