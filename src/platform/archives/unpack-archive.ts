// Unpacks an archive into a new folder, in a worker thread. Writes only files and folders within that folder, and
// observes limits on number and size. A refused archive may leave files in the folder, but none outside.
import { basename } from 'node:path';
import { Failure } from '../errors.ts';
import { runInThread } from '../runtime/run-once.ts';
import type { UnpackingNews, UnpackingTask } from './unpacking-thread.ts';

/** Heap limit of the thread. A bzip2 block takes 4 MB, and the blocks that are read ahead take 8 MB. */
const heapMegabytesMax = 128;

interface Unpacking {
  archive: string;
  /** A folder that does not exist yet. */
  to: string;
  signal: AbortSignal;
  /** Receives the share of the archive that was read, from 0 to 1. */
  onProgress?(share: number): void;
}

export async function unpackArchive({ archive, to, signal, onProgress }: Unpacking): Promise<void> {
  const task: UnpackingTask = { archive, to };
  const answer = await runInThread<UnpackingNews>({
    file: new URL('./unpacking-thread.ts', import.meta.url),
    task,
    heapMegabytesMax,
    signal,
    isAnswer(news) {
      if ('share' in news) onProgress?.(news.share);
      return !('share' in news);
    },
  });
  if ('fault' in answer) throw new Failure('invalid_request', { message: `${basename(archive)} ${answer.fault}` });
}
