// `sonant voice import` of what an engine speaks by: a voice or a model. Which engine it is for, the engines tell.
import { stat } from 'node:fs/promises';
import type { BroughtVoice } from '../engines/engine.ts';
import { registry } from '../engines/registry.ts';
import { UsageError } from './command.ts';

/**
 * Its voices by id, none where it is for cloning only; undefined where no engine here speaks by such a thing. Throws a
 * Failure with all that is wrong with it.
 */
export async function importVoice(brought: BroughtVoice): Promise<readonly string[] | undefined> {
  const { path, print } = brought;
  await stat(path).catch((error: Error) => {
    throw new UsageError(`cannot read ${path}: ${error.message}`);
  });
  for (const engine of registry) {
    const voiceIds = await engine.importVoice?.(brought);
    if (!voiceIds) continue;
    print(voiceIds.length > 0 ? `taken in for ${engine.name}:` : `taken in for ${engine.name}, to clone with`);
    for (const voiceId of voiceIds) print(`  ${voiceId}`);
    return voiceIds;
  }
  return undefined;
}
