// Runs one task in a new thread or process, within limits, and returns its answer. An abort ends the task at once.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { withAbort } from './abort.ts';

/** Thrown if a task exceeds its time or memory limit. */
export class LimitReached extends Error {
  readonly limit: 'time' | 'memory';

  constructor(limit: 'time' | 'memory') {
    super(`the task has reached its limit of ${limit}`);
    this.limit = limit;
  }
}

interface OnceOptions {
  /** The module that runs the task. */
  file: URL;
  /** Limit on the JavaScript heap; native memory is not limited. */
  heapMegabytesMax: number;
  signal: AbortSignal;
}

interface ThreadTask<News> extends OnceOptions {
  /** The `workerData` of the module, which sends its answer to `parentPort`. */
  task: unknown;
  msMax?: number;
  /** Whether a message is the answer. Default: the first message is the answer. */
  isAnswer?(news: News): boolean;
}

export async function runInThread<News>(options: ThreadTask<News>): Promise<News> {
  const { file, task, heapMegabytesMax, signal, msMax, isAnswer = () => true } = options;
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<News>();
  const resourceLimits = { maxOldGenerationSizeMb: heapMegabytesMax };
  const worker = new Worker(file, { workerData: task, resourceLimits });
  const timer = msMax === undefined ? undefined : setTimeout(() => reject(new LimitReached('time')), msMax);
  worker.on('message', (news: News) => isAnswer(news) && resolve(news));
  worker.on('error', (error: NodeJS.ErrnoException) =>
    reject(error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? new LimitReached('memory') : error),
  );
  worker.on('exit', () => reject(new Error('the thread exited without an answer')));
  try {
    return await withAbort(signal, promise);
  } finally {
    clearTimeout(timer);
    await worker.terminate();
  }
}

interface ProcessTask extends OnceOptions {
  /** The argument of the module, as JSON. The module sends its answer with `process.send`. */
  task: unknown;
  /** Standard input of the process. */
  input: Uint8Array;
  /** Limit on CPU time. Waiting for the CPU does not count. */
  cpuSecondsMax: number;
}

const stderrCharsMax = 500;

/**
 * Runs the task in a separate process. A thread is not enough: if a task's heap grows too fast, V8 ends the process.
 */
export async function runInProcess<Answer>(options: ProcessTask): Promise<Answer> {
  const { file, task, input, heapMegabytesMax, cpuSecondsMax, signal } = options;
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  // Only a shell can limit the CPU time of a process.
  const limitedNode = `ulimit -t ${cpuSecondsMax} && exec "$0" "$@"`;
  const flags = [`--max-old-space-size=${heapMegabytesMax}`, '--max-semi-space-size=8'];
  const args = ['-c', limitedNode, process.execPath, ...flags, fileURLToPath(file), JSON.stringify(task)];
  const child = spawn('/bin/sh', args, {
    env: { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE },
    serialization: 'advanced',
    stdio: ['pipe', 'ignore', 'pipe', 'ipc'],
  });
  let stderr = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr = (stderr + text).slice(-stderrCharsMax);
  });
  child.on('error', reject);
  child.on('close', (_, end) => reject(limitOf(end) ?? new Error(`the process exited without an answer: ${stderr}`)));
  child.on('message', (answer) => resolve(answer as Answer));
  // Write errors are ignored, because the close event reports the child's exit.
  child.stdin?.on('error', () => {}).end(input);
  try {
    return await withAbort(signal, promise);
  } finally {
    child.kill('SIGKILL');
  }
}

function limitOf(end: NodeJS.Signals | null): LimitReached | undefined {
  if (end === 'SIGXCPU' || end === 'SIGKILL') return new LimitReached('time');
  return end === 'SIGABRT' || end === 'SIGTRAP' ? new LimitReached('memory') : undefined;
}
