// What a thread of a ThreadPool runs, and the words between the two: one job at a time, pieces of its result as they are
// made, and an end. A job that is called off is told through shared memory, since a thread at work reads no messages:
// whoever works asks `isCancelled` whenever it can.
import { parentPort, workerData } from 'node:worker_threads';

/** What a thread is born with. The first message that it gets is its data; every other is a job. */
export interface ThreadBirth {
  /** The id of the job that is called off. */
  cancelledJob: Int32Array;
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

export interface Turn<Piece> {
  isCancelled(): boolean;
  /** Hands over pieces, and with them the memory of `buffers`. */
  send(pieces: Piece[], buffers: ArrayBuffer[]): void;
}

/** Takes jobs until the thread is ended. `work` throws where it fails; of a job that is called off nobody minds the end. */
export function serveJobs<Data, Task, Piece>(
  createWork: (data: Data) => (task: Task, turn: Turn<Piece>) => void,
): void {
  const port = parentPort!;
  const { cancelledJob } = workerData as ThreadBirth;
  const reply = (words: ThreadReply<Piece>, buffers: ArrayBuffer[] = []) => port.postMessage(words, buffers);
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
