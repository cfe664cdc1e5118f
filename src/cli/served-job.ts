// Which job of a service makes a file, kept in the work folder beside it, so that the same command finds it again.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface ServedJob {
  /** Of the service. */
  url: string;
  id: string;
  /** Of the book and the flags that it was made from. */
  fingerprint: string;
}

const fileIn = (folder: string) => join(folder, 'job.json');

/** Undefined where there is none. */
export function servedJobIn(folder: string): ServedJob | undefined {
  const file = fileIn(folder);
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined;
}

export function keepServedJob(folder: string, job: ServedJob): void {
  const file = fileIn(folder);
  writeFileSync(`${file}.new`, JSON.stringify(job));
  renameSync(`${file}.new`, file);
}

/** The same book with the same flags has the same, in whatever order they are given. */
export function fingerprintOf(book: Uint8Array, flags: object): string {
  const sorted = Object.entries(flags).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return createHash('sha256').update(book).update(JSON.stringify(sorted)).digest('hex');
}
