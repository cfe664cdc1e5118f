// Unpacks an archive into a new folder, in a worker thread, so that a service goes on meanwhile: files and folders only,
// inside that folder, within limits of count and size. A refused archive may leave a part behind; nothing is outside.
import { basename } from 'node:path';
import { Worker } from 'node:worker_threads';
import { Failure } from '../errors.ts';
import type { UnpackingNews, UnpackingTask } from './unpacking-thread.ts';

/** A block of bzip2 takes 4 MB, and the blocks read ahead 8 MB. */
const threadMegabytesMax = 128;

export interface Unpacking {
  archive: string;
  /** A folder that is not there yet. */
  to: string;
  signal: AbortSignal;
  /** The share of the archive that was read, 0 to 1. */
  onProgress?(share: number): void;
}

export async function unpackArchive({ archive, to, signal, onProgress }: Unpacking): Promise<void> {
  signal.throwIfAborted();
  const task: UnpackingTask = { archive, to };
  const worker = new Worker(new URL('./unpacking-thread.ts', import.meta.url), {
    workerData: task,
    resourceLimits: { maxOldGenerationSizeMb: threadMegabytesMax },
  });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const stop = () => reject(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  worker.once('error', reject);
  worker.once('exit', () => reject(new Error(`the thread that unpacks ${archive} has ended`)));
  worker.on('message', (news: UnpackingNews) => {
    if ('share' in news) onProgress?.(news.share);
    else if ('fault' in news) reject(refuse(`${basename(archive)} ${news.fault}`));
    else resolve();
  });
  try {
    await promise;
  } finally {
    signal.removeEventListener('abort', stop);
    await worker.terminate();
  }
}

const refuse = (message: string) => new Failure('invalid_request', { message });
