// The models that can be fetched: those that engines state, and those of the operator (SONANT_MODELS), which go first.
import { readFile } from 'node:fs/promises';
import { parse as parseToml, TomlError } from 'smol-toml';
import type { EngineDefinition, EngineModels } from '../engines/engine.ts';
import { Failure } from '../errors.ts';
import { type ModelRow, parseRows, TableFault } from './model-row.ts';

/** A model, and the engine that speaks with it. */
export interface OfferedModel {
  row: ModelRow;
  engine: ModelEngine;
}

export type ModelEngine = EngineDefinition & { models: EngineModels };

/** The engines with models; the first one gets those that only have a URL or a file. */
export const modelEngines = (engines: readonly EngineDefinition[]): ModelEngine[] =>
  engines.filter((engine): engine is ModelEngine => engine.models !== undefined);

export async function loadModels(modelsFile: string, engines: readonly ModelEngine[]): Promise<OfferedModel[]> {
  const stated = engines.flatMap((engine) => parseRows(engine.models.table).map((row) => ({ row, engine })));
  if (modelsFile === '' || !engines[0]) return stated;
  const own = (await readOwn(modelsFile)).map((row) => ({ row, engine: engines[0]! }));
  const names = new Set(own.map(({ row }) => row.name));
  return [...own, ...stated.filter(({ row }) => !names.has(row.name))];
}

async function readOwn(path: string): Promise<ModelRow[]> {
  try {
    const text = await readFile(path, 'utf8');
    return parseRows(/\.toml$/i.test(path) ? parseToml(text) : JSON.parse(text));
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const isOfText = error instanceof SyntaxError || error instanceof TomlError || error instanceof TableFault;
    if (!isOfText && code === undefined) throw error;
    throw new Failure('invalid_request', { message: `SONANT_MODELS, ${path}: ${message}` }, error);
  }
}
