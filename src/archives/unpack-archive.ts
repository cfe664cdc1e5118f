// Unpacks an archive into a new folder, in a worker thread, so that a service goes on meanwhile: files and folders only,
// inside that folder, within limits of count and size. A refused archive may leave a part behind; nothing is outside.
import { basename } from 'node:path';
import { Failure } from '../errors.ts';
import { runInThread } from '../runtime/run-once.ts';
import type { UnpackingNews, UnpackingTask } from './unpacking-thread.ts';

/** A block of bzip2 takes 4 MB, and the blocks read ahead 8 MB. */
const heapMegabytesMax = 128;

interface Unpacking {
  archive: string;
  /** A folder that is not there yet. */
  to: string;
  signal: AbortSignal;
  /** The share of the archive that was read, 0 to 1. */
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
