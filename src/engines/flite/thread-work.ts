// What a thread of a ThreadPool runs, and the messages between the two: one job at a time, pieces of its result as they are
// made, and an end. A job is cancelled through shared memory, since a busy thread reads no messages: the work calls
// `isCancelled` whenever it can. A thread for jobs in the background lets all others go first.
import { existsSync, readlinkSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';

const { priority } = constants;

/** What a thread starts with. The first message it receives is its data; every other is a job. */
export interface ThreadStart {
  /** The id of the job that is cancelled. */
  cancelledJob: Int32Array;
  isBackground: boolean;
}

export interface ThreadJob<Task> {
  jobId: number;
  task: Task;
}

export type ThreadReply<Piece> =
  | { kind: 'ready' }
  | { kind: 'pieces'; jobId: number; pieces: Piece[] }
  | { kind: 'done'; jobId: number }
  | { kind: 'failed'; jobId: number; message: string };

export interface JobControl<Piece> {
  isCancelled(): boolean;
  /** Sends pieces, and transfers the memory of `buffers`. */
  send(pieces: Piece[], buffers: ArrayBuffer[]): void;
}

/** Does jobs until the thread is terminated. `work` throws when it fails; how a cancelled job ends does not matter. */
export function serveJobs<Data, Task, Piece>(
  createWork: (data: Data) => (task: Task, control: JobControl<Piece>) => void,
): void {
  const port = parentPort!;
  const { cancelledJob, isBackground } = workerData as ThreadStart;
  if (isBackground) lowerPriority();
  const reply = (message: ThreadReply<Piece>, buffers: ArrayBuffer[] = []) => port.postMessage(message, buffers);
  port.once('message', (data: Data) => {
    const work = createWork(data);
    port.on('message', ({ jobId, task }: ThreadJob<Task>) => {
      try {
        work(task, {
          isCancelled: () => Atomics.load(cancelledJob, 0) === jobId,
          send: (pieces, buffers) => reply({ kind: 'pieces', jobId, pieces }, buffers),
        });
        reply({ kind: 'done', jobId });
      } catch (error) {
        reply({ kind: 'failed', jobId, message: String((error as Error)?.message ?? error) });
      }
    });
    reply({ kind: 'ready' });
  });
}

/** Of this thread, where it has a priority of its own. */
function lowerPriority(): void {
  if (process.platform !== 'linux' || !existsSync('/proc/thread-self')) return;
  const threadId = Number(readlinkSync('/proc/thread-self').split('/').at(-1));
  // Whoever may not change it goes without.
  try {
    setPriority(threadId, priority.PRIORITY_BELOW_NORMAL);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_SYSTEM_ERROR') throw error;
  }
}
