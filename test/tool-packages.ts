// Loads the packages of tools/, which `npm run check` installs. Tests that need a missing one are skipped.
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const tools = join(import.meta.dirname, '../tools');

/** The folder of the packages. */
export const toolFolder = join(tools, 'node_modules');

export const hasTool = (name: string): boolean => existsSync(join(toolFolder, name));

/** Path of a program of a package. */
export const toolProgram = (name: string): string => join(toolFolder, '.bin', name);

/** Path of a file in a package. */
export const toolFile = (path: string): string => createRequire(join(tools, 'package.json')).resolve(path);

/** Imports a package. It has no type, because type checks run without it. */
export const loadTool = async (name: string): Promise<any> =>
  (await import(new URL('../tools/load-package.js', import.meta.url).href)).load(name);
