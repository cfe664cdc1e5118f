// The three kinds of workers of a host (host.ts): a thread or a forked process that runs `serveTasks` of host-child.ts,
// and a process that uses its own format on standard input and output.
import { type ChildProcess, fork, type StdioOptions, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { constants, setPriority } from 'node:os';
import { stripVTControlCharacters } from 'node:util';
import { Worker } from 'node:worker_threads';
import type { WorkerLink, WorkerReply } from './host.ts';
import type { ChildMessage, ThreadStart } from './host-child.ts';

/** The error for an exited process quotes this many characters from the end of its error output. */
const stderrCharsMax = 500;
/** Maximum task id, because threads share the id as a 32-bit integer. */
const taskIdMax = 0x7fff_ffff;

interface ThreadOptions {
  /** A module that calls `serveTasks`. */
  file: URL;
  /** Data for `serveTasks`. The thread starts before the data is available. */
  data: Promise<unknown>;
  /** Whether other threads have priority. */
  isBackground: boolean;
}

/** A thread. Its task is cancelled through shared memory, because a busy thread reads no messages. */
export function threadLink<Task, Piece>({ file, data, isBackground }: ThreadOptions): WorkerLink<Task, Piece> {
  const cancelledTask = new Int32Array(new SharedArrayBuffer(4));
  const workerData: ThreadStart = { cancelledTask, isBackground };
  const worker = new Worker(file, { workerData });
  const exited = Promise.withResolvers<unknown>();
  let isGone = false;
  let fault: unknown = new Error('the thread exited');
  let id = 0;
  const kill = () => {
    isGone = true;
    void worker.terminate();
  };
  data.then(
    (given) => worker.postMessage(given),
    (error: unknown) => {
      fault = error;
      kill();
    },
  );
  worker.on('message', (reply: WorkerReply<Piece>) => link.onReply(reply));
  worker.on('error', (error) => {
    fault = error;
  });
  worker.on('exit', () => {
    isGone = true;
    exited.resolve(fault);
  });
  const link: WorkerLink<Task, Piece> = {
    pid: undefined,
    get isGone() {
      return isGone;
    },
    exited: exited.promise,
    onReply: () => {},
    send(task) {
      id = (id % taskIdMax) + 1;
      worker.postMessage({ id, task } satisfies ChildMessage<Task>);
    },
    cancel: () => void Atomics.store(cancelledTask, 0, id),
    kill,
    ref: () => worker.ref(),
    unref: () => worker.unref(),
  };
  return link;
}

interface ProcessOptions {
  /** Name of the process in the error that reports its exit. */
  name: string;
  /** The whole environment of the process; nothing is inherited. */
  env: NodeJS.ProcessEnv;
  /** Whether all other processes have priority. */
  isBackground?: boolean;
  /** Runs after the process has exited. The exit is complete only when this callback has finished. */
  afterExit?(): Promise<void>;
}

interface ForkOptions extends ProcessOptions {
  /** A module that calls `serveTasks`. */
  file: URL;
  /** Data for `serveTasks`. */
  data: unknown;
}

/** A Node process. Its output is discarded, except the end of its error output. */
export function processLink<Task, Piece>({ file, data, ...options }: ForkOptions): WorkerLink<Task, Piece> {
  const stdio: StdioOptions = ['ignore', 'ignore', 'pipe', 'ipc'];
  const child = fork(file, { detached, execArgv: [], env: options.env, serialization: 'advanced', stdio });
  // Send errors are ignored, because the exit of the child is reported separately.
  const send = (message: unknown) => void child.send(message as object, () => {});
  let id = 0;
  child.on('message', (reply: WorkerReply<Piece>) => link.onReply(reply));
  send(data);
  const link: WorkerLink<Task, Piece> = Object.assign(watchProcess(child, options), {
    onReply: () => {},
    send: (task: Task) => send({ id: ++id, task } satisfies ChildMessage<Task>),
    cancel: () => send({ cancelledTask: id } satisfies ChildMessage<Task>),
  });
  return link;
}

/** The format of tasks and replies in pipes. */
export interface PipeCodec<Task, Piece, Facts, End> {
  encode(task: Task): string;
  /** Message that asks the process to end its task. */
  cancel: string;
  /** Returns a parser of the process's output, which throws if the output is malformed. */
  createParser(onReply: (reply: WorkerReply<Piece, Facts, End>) => void): (bytes: Buffer) => void;
}

interface PipeOptions<Task, Piece, Facts, End> extends ProcessOptions {
  command: string;
  args: readonly string[];
  codec: PipeCodec<Task, Piece, Facts, End>;
}

/** A process that needs no event loop. The process blocks while its output is not read. */
export function pipeLink<Task, Piece, Facts, End>({
  command,
  args,
  codec,
  ...options
}: PipeOptions<Task, Piece, Facts, End>): WorkerLink<Task, Piece, Facts, End> {
  const child = spawn(command, args, { detached, env: options.env, stdio: 'pipe' });
  const watched = watchProcess(child, options);
  const { stdin, stdout } = child as ChildProcess;
  const parse = codec.createParser((reply) => link.onReply(reply));
  // Write errors are ignored, because the exit of the process is reported separately.
  stdin?.on('error', () => {});
  stdout?.on('data', (bytes: Buffer) => {
    try {
      parse(bytes);
    } catch (error) {
      watched.kill((error as Error).message);
    }
  });
  // The output must be read to its end; otherwise 'close' is not emitted.
  child.once('exit', () => stdout?.resume());
  const link: WorkerLink<Task, Piece, Facts, End> = Object.assign(watched, {
    onReply: () => {},
    send: (task: Task) => void stdin?.write(codec.encode(task)),
    cancel: () => void stdin?.write(codec.cancel),
    pause: () => void (watched.isGone || stdout?.pause()),
    resume: () => void stdout?.resume(),
  });
  return link;
}

/**
 * Gives a process its own group, so that a terminal's signal reaches only the service, which then stops the process.
 */
const detached = true;

/** Observes a process. If file descriptors run out, a child has no streams, although its type claims otherwise. */
function watchProcess(child: ChildProcess, { name, isBackground = false, afterExit }: ProcessOptions) {
  const exited = Promise.withResolvers<unknown>();
  const streams = [child.stdin, child.stdout, child.stderr] as (Partial<Socket> | null | undefined)[];
  let stderr = '';
  let isKilled = false;
  if (isBackground && child.pid !== undefined) lowerPriority(child.pid);
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr = (stderr + stripVTControlCharacters(text)).slice(-stderrCharsMax);
  });
  const leave = async (how: string) => {
    isKilled = true;
    await afterExit?.();
    exited.resolve(new Error(`${name} ended with ${how}: ${stderr.trim()}`));
  };
  child.once('error', (error) => void leave(error.message));
  child.once('close', (code, signal) => void leave(String(signal ?? code)));
  return {
    pid: child.pid,
    get isGone() {
      return isKilled || child.exitCode !== null || child.signalCode !== null;
    },
    exited: exited.promise,
    kill(reason?: string): void {
      isKilled = true;
      stderr = reason ?? stderr;
      child.kill('SIGKILL');
    },
    ref(): void {
      for (const each of [child, child.channel, ...streams]) each?.ref?.();
    },
    unref(): void {
      for (const each of [child, child.channel, ...streams]) each?.unref?.();
    },
  };
}

function lowerPriority(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_LOW);
  } catch {
    // The process has exited, or the system does not allow a lower priority.
  }
}
