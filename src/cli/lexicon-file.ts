// A lexicon in a file: a PLS document, or JSON, the entries alone or in an object with a name.
import { readFile } from 'node:fs/promises';
import { basename, extname } from 'node:path';
import { Failure } from '../errors.ts';
import { checkLexicon, type LexiconFields } from '../lexicons/lexicon-fields.ts';
import { atOnce } from '../runtime/steps.ts';
import type { OfferedLexicon } from '../speech/lexicons.ts';
import { compileLexicon } from '../text/lexicon.ts';
import { CommandError, UsageError } from './command.ts';

/** Without a name where the file has none. */
export async function readLexiconFile(path: string): Promise<LexiconFields> {
  const text = await readFile(path, 'utf8').catch((error: Error) => {
    throw new UsageError(`cannot read ${path}: ${error.message}`);
  });
  const fields = { name: undefined, access: undefined };
  if (/^\s*\ufeff?</.test(text)) return { ...fields, content: { pls: text.replace(/^\ufeff/, ''), field: 'body' } };
  try {
    const value: unknown = JSON.parse(text);
    if (Array.isArray(value)) return { ...fields, content: { entries: value } };
    const { name, entries } = value as { name?: string; entries?: unknown };
    return { ...fields, name, content: { entries } };
  } catch (error) {
    throw new UsageError(`${path} is neither a PLS document nor JSON: ${(error as Error).message}`);
  }
}

/** The name of the lexicon where nothing else names it. */
export const nameOfFile = (path: string): string => basename(path, extname(path));

/** Runs `work` with a lexicon of that file; what is wrong with its entries is told with its path. */
export async function withFileFaults<Result>(path: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    const details = error instanceof Failure ? error.facts.details : undefined;
    if (!details) throw error;
    const faults = details.map(({ field, message }) => (field === 'body' ? message : `${field} ${message}`));
    throw new CommandError(`${path}: ${faults.join('\n  ')}`);
  }
}

/** A lexicon of a file, for requests that name it by its path. */
export const openLexiconFile = (path: string): Promise<OfferedLexicon> =>
  withFileFaults(path, async () => {
    const { entries, version } = atOnce(checkLexicon(await readLexiconFile(path)));
    const compiled = compileLexicon(JSON.parse(entries));
    return { lexiconId: path, ownerId: undefined, access: 'everyone', version, compile: () => compiled };
  });
