// Runs tasks in a thread or forked process of a host (host.ts). The host sends the data first, then one task at a time.
// A process exits when its parent does.
import { existsSync, readlinkSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import type { WorkerReply } from './host.ts';

export interface ThreadStart {
  /** Id of the cancelled task, in shared memory because a busy thread reads no messages. */
  cancelledTask: Int32Array;
  isBackground: boolean;
}

export type ChildMessage<Task> = { id: number; task: Task } | { cancelledTask: number };

export interface TaskControl<Piece> {
  /** Whether the task was cancelled. A task must check this often, and return soon after it was cancelled. */
  isCancelled(): boolean;
  /** Sends parts of the result. A thread transfers the memory of `buffers`. */
  send(pieces: readonly Piece[], buffers?: ArrayBuffer[]): void;
}

/** Runs a task. Throws if the task fails. */
type Work<Task, Piece> = (task: Task, control: TaskControl<Piece>) => void | Promise<void>;

/** Serves tasks until this thread or process is killed. */
export function serveTasks<Data, Task, Piece>(
  createWork: (data: Data) => Work<Task, Piece> | Promise<Work<Task, Piece>>,
): void {
  const port = parentPort ? openThreadPort(parentPort) : openProcessPort();
  let work: Work<Task, Piece> | undefined;
  port.listen(async (message) => {
    if (!work) {
      work = await createWork(message as Data);
      port.reply({ is: 'ready', facts: undefined });
      return;
    }
    const { id, task } = message as { id: number; task: Task };
    try {
      await work(task, {
        isCancelled: () => port.cancelledTask() === id,
        send: (pieces, buffers) => port.reply({ is: 'pieces', pieces }, buffers),
      });
      port.reply({ is: 'done', end: undefined });
    } catch (error) {
      port.reply({ is: 'failed', message: String((error as Error)?.message ?? error) });
    }
  });
}

interface Port {
  listen(onMessage: (message: unknown) => void): void;
  reply(message: WorkerReply<unknown>, buffers?: ArrayBuffer[]): void;
  cancelledTask(): number;
}

function openThreadPort(port: MessagePort): Port {
  const { cancelledTask, isBackground } = workerData as ThreadStart;
  if (isBackground) lowerPriority();
  return {
    listen: (onMessage) => void port.on('message', onMessage),
    reply: (message, buffers = []) => port.postMessage(message, buffers),
    cancelledTask: () => Atomics.load(cancelledTask, 0),
  };
}

/** Lowers the priority of this thread, if the system has priorities for threads. */
function lowerPriority(): void {
  if (process.platform !== 'linux' || !existsSync('/proc/thread-self')) return;
  const threadId = Number(readlinkSync('/proc/thread-self').split('/').at(-1));
  try {
    setPriority(threadId, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch (error) {
    // The system does not allow a lower priority.
    if ((error as NodeJS.ErrnoException).code !== 'ERR_SYSTEM_ERROR') throw error;
  }
}

function openProcessPort(): Port {
  let cancelledTask = 0;
  // A normal exit would wait for threads of native libraries.
  const end = () => void process.kill(process.pid, 'SIGKILL');
  process.on('disconnect', end);
  process.on('uncaughtException', (error) => {
    process.stderr.write(`${error.message}\n`);
    end();
  });
  return {
    listen(onMessage) {
      process.on('message', (message: object) => {
        if ('cancelledTask' in message) cancelledTask = message.cancelledTask as number;
        else onMessage(message);
      });
    },
    reply: (message) => void process.send!(message),
    cancelledTask: () => cancelledTask,
  };
}
