// Finds voices and lexicons in local copies of tables that other processes change. A lookup that misses a name reads
// the changes and is repeated, so that all replicas find a voice that one replica has created.
import { setTimeout as sleep } from 'node:timers/promises';
import { Failure } from '../platform/errors.ts';

/** Calls `find`. If `find` misses a name, reads the changes of other processes and calls `find` again. */
export type FindCurrent = <T>(find: () => T | Promise<T>) => Promise<T>;

/** Shortest interval between two reads, however many unknown names are requested. */
const readEveryMs = 20;

export function isMiss(error: unknown): boolean {
  if (!(error instanceof Failure)) return false;
  return [error, ...(error.facts.details ?? [])].some(({ reason }) => /^(voice_)?not_found$/.test(reason));
}

export function createFindCurrent(readChanges: () => Promise<unknown>): FindCurrent {
  let lastMs = -Infinity;
  let next: Promise<unknown> | undefined;
  const begin = async () => {
    await sleep(Math.max(0, lastMs + readEveryMs - performance.now()));
    // A miss after this point needs another read, because this read does not see later changes.
    next = undefined;
    lastMs = performance.now();
    await readChanges();
  };
  return async (find) => {
    try {
      return await find();
    } catch (error) {
      if (!isMiss(error)) throw error;
    }
    next ??= begin();
    await next;
    return find();
  };
}
