// `sonant voice import` of a voice or a model of an engine. Each engine decides whether it can import the file.
import { stat } from 'node:fs/promises';
import type { BroughtVoice } from '../engines/engine.ts';
import { registry } from '../engines/registry.ts';
import { UsageError } from './command.ts';

/**
 * The ids of its voices, none if it is for cloning only; undefined if no engine can import it. Throws a Failure with all
 * that is wrong with it.
 */
export async function importVoice(source: BroughtVoice): Promise<readonly string[] | undefined> {
  const { path, print } = source;
  await stat(path).catch((error: Error) => {
    throw new UsageError(`cannot read ${path}: ${error.message}`);
  });
  for (const engine of registry) {
    const voiceIds = await engine.importVoice?.(source);
    if (!voiceIds) continue;
    print(voiceIds.length > 0 ? `taken in for ${engine.name}:` : `taken in for ${engine.name}, to clone with`);
    for (const voiceId of voiceIds) print(`  ${voiceId}`);
    return voiceIds;
  }
  return undefined;
}
