// The thread that writes a table of English words; see english-tables.ts.
import { readFileSync, writeFileSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { gunzipSync } from 'node:zlib';
import type { Reading } from './english-lexicon.ts';
import { toTable } from './sorted-table.ts';

export interface TableTask {
  is: keyof typeof readers;
  /** Paths of the source and of the table. */
  from: string;
  to: string;
}

interface TaggerFile {
  tags: readonly string[];
  /** Words that nearly always have the same tag. */
  tagdict: Readonly<Record<string, string>>;
  /** Words that features may name; other words are named by their shape. */
  vocab: readonly string[];
  /** Weights by feature and tag. */
  weights: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

const readJson = (path: string) => JSON.parse(gunzipSync(readFileSync(path)).toString());

function readLexicon(path: string): [string, string][] {
  const entries = Object.entries<Reading>(readJson(path));
  return entries.map(([word, reading]) => [word, typeof reading === 'string' ? reading : JSON.stringify(reading)]);
}

function readTagger(path: string): [string, string][] {
  const { tagdict, vocab, weights, ...file }: TaggerFile = readJson(path);
  const tags = [...file.tags].sort();
  return [
    ['tags', tags.join(' ')],
    ...Object.entries(tagdict).map(([word, tag]): [string, string] => [`tag=${word}`, tag]),
    ...vocab.map((word): [string, string] => [`vocab=${word}`, '']),
    ...Object.entries(weights).map(([feature, byTag]): [string, string] => [feature, toPairs(byTag, tags)]),
  ];
}

const toPairs = (byTag: Readonly<Record<string, number>>, tags: readonly string[]): string =>
  JSON.stringify(Object.entries(byTag).flatMap(([tag, weight]) => [tags.indexOf(tag), weight]));

/** Reads lines such as `  "aachen": "AA1 K AH0 N # place",`. */
function readDictionary(path: string): [string, string][] {
  const lines = readFileSync(path, 'latin1').matchAll(/^ {2}"?([^"\n]+?)"?: "([^"#\n]*)/gm);
  return Array.from(lines, ([, word, symbols]) => [word!, symbols!.trim()]);
}

const readers = { gold: readLexicon, silver: readLexicon, tagger: readTagger, dictionary: readDictionary };
const { is, from, to } = workerData as TableTask;
writeFileSync(to, toTable(readers[is](from)));
parentPort!.postMessage('done');
