// The files by which English words are pronounced: lexicons, a dictionary, a tagger and a net for unknown words. A
// voice has its own, as tables (sorted-table.ts), which are written when it is imported.
import { runInThread } from '../../platform/runtime/run-once.ts';
import type { Accent } from './english-lexicon.ts';
import type { TableTask } from './english-tables-thread.ts';

export interface EnglishFile {
  is: TableTask['is'] | 'net';
  /** Name in a package. */
  source: string;
  /** Name of the table, or of the folder with the net. */
  as: string;
}

export function englishFiles(accent: Accent): EnglishFile[] {
  const code = accent.toLowerCase();
  return [
    { is: 'gold', source: `lexicon_${code}_gold.json.gz`, as: `${code}-gold.txt` },
    { is: 'silver', source: `lexicon_${code}_silver.json.gz`, as: `${code}-silver.txt` },
    { is: 'tagger', source: 'tagger.json.gz', as: 'tagger.txt' },
    { is: 'net', source: 'oov_bart_en_us.npz', as: 'spelling-net' },
    { is: 'dictionary', source: 'cmudict.js', as: 'cmudict.txt' },
  ];
}

const heapMegabytesMax = 512;

/** Parses the source in a thread, whose memory is free afterwards. */
export const writeTable = (task: TableTask, signal: AbortSignal): Promise<unknown> =>
  runInThread({ file: new URL('./english-tables-thread.ts', import.meta.url), task, heapMegabytesMax, signal });
