// Looks up voices and lexicons in copies of tables that other processes change. A look-up that misses a name is repeated
// after the changes are read, so that what one replica has told a caller is found at every other.
import { setTimeout as sleep } from 'node:timers/promises';
import { Failure } from '../errors.ts';

/** Returns the result of `find`, which runs again with the changes of other processes where it misses a name. */
export type FindCurrent = <T>(find: () => T | Promise<T>) => Promise<T>;

/** Reads begin at least this far apart, however many names are asked for that do not exist. */
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
    // A miss from here on may be of a later change, which this read does not see.
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
