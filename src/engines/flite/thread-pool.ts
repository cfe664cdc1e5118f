// A pool of worker threads for work that never yields to the event loop. Threads start with the first jobs that need
// them. Each does one job at a time; there are never more jobs than threads, which the caller sees to. It promises that
// - a job ends when its thread is free or gone: after an abort within moments, the thread terminated if need be;
// - jobs in the background have threads of their own, as many at most, which other jobs do not wait for;
// - a thread that crashes fails its job, as something that may succeed again, and the next job gets another;
// - idle threads do not keep the process alive, and jobs do.
import { Worker } from 'node:worker_threads';
import { Failure } from '../../errors.ts';
import { PushQueue } from '../../runtime/push-queue.ts';
import type { ThreadReply, ThreadStart } from './thread-work.ts';

const stopMsUsual = 25;
/** The same in the background, where there are others: to start a thread costs more than the rest of most jobs. */
const stopMsBackground = 2_000;
/** An id is shared with threads as a 32-bit integer. */
const jobIdMax = 0x7fff_ffff;
/** Another thread may succeed as soon as it is there. */
const retryAfterSeconds = 0;

export interface ThreadPoolOptions {
  /** A module that calls `serveJobs`. */
  file: URL;
  /** What every thread is given. It is asked for with the first job, and may arrive later than the thread starts. */
  data(): Promise<unknown>;
  threadsMax: number;
  /** How long a thread may take to react to an abort before it is terminated. */
  stopMsMax?: number;
}

interface Job<Task, Piece> {
  jobId: number;
  task: Task;
  pieces: PushQueue<Piece>;
  /** Settles when its thread is free or gone. */
  over: PromiseWithResolvers<void>;
}

interface Thread<Task, Piece> {
  worker: Worker;
  isBackground: boolean;
  cancelledJob: Int32Array;
  isReady: boolean;
  job: Job<Task, Piece> | undefined;
  stopTimer: NodeJS.Timeout | undefined;
  /** Why it is terminated. */
  fault: unknown;
}

export class ThreadPool<Task, Piece> {
  readonly #options: ThreadPoolOptions;
  readonly #threads = new Set<Thread<Task, Piece>>();
  #data: Promise<unknown> | undefined;
  #jobCount = 0;
  #isClosed = false;

  constructor(options: ThreadPoolOptions) {
    this.#options = options;
  }

  /** The pieces of a job's result. The job begins with the first read, and ends when the reader stops. */
  async *run(task: Task, signal: AbortSignal, { isBackground = false } = {}): AsyncGenerator<Piece> {
    signal.throwIfAborted();
    const thread = this.#freeThread(isBackground);
    const jobId = (this.#jobCount % jobIdMax) + 1;
    this.#jobCount = jobId;
    const job = { jobId, task, pieces: new PushQueue<Piece>(), over: Promise.withResolvers<void>() };
    thread.job = job;
    if (thread.isReady) thread.worker.postMessage({ jobId, task });
    this.#updateRefs();
    try {
      yield* job.pieces.pull(signal);
    } finally {
      if (thread.job === job) this.#cancel(thread, job);
      await job.over.promise;
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { worker, job } of this.#threads) {
      job?.pieces.abort(new Failure('engine_unavailable'));
      worker.ref();
    }
    await Promise.all([...this.#threads].map(({ worker }) => worker.terminate()));
  }

  #freeThread(isBackground: boolean): Thread<Task, Piece> {
    // One that is being terminated may have ended its job before, and be there for a moment.
    const own = [...this.#threads].filter((each) => each.isBackground === isBackground && !each.fault);
    const free = own.filter(({ job }) => !job);
    const thread = free.find(({ isReady }) => isReady) ?? free[0];
    if (thread) return thread;
    if (!this.#isClosed && own.length < this.#options.threadsMax) return this.#addThread(isBackground);
    throw new Failure('engine_unavailable', { retryAfterSeconds }, new Error('every thread is busy'));
  }

  /** The rest of the job is not wanted. */
  #cancel(thread: Thread<Task, Piece>, job: Job<Task, Piece>): void {
    if (!thread.isReady) {
      this.#free(thread);
      return;
    }
    Atomics.store(thread.cancelledJob, 0, job.jobId);
    const mayLast = thread.isBackground && this.#options.threadsMax > 1;
    const stopMs = this.#options.stopMsMax ?? (mayLast ? stopMsBackground : stopMsUsual);
    const terminate = () => {
      if (thread.job !== job) return;
      thread.fault = new Error('did not stop when cancelled');
      void thread.worker.terminate();
    };
    // This thread may be the late one: a reply that is there is read before.
    thread.stopTimer = setTimeout(() => setImmediate(terminate), stopMs);
  }

  #addThread(isBackground: boolean): Thread<Task, Piece> {
    const { file } = this.#options;
    this.#data ??= this.#options.data();
    const cancelledJob = new Int32Array(new SharedArrayBuffer(4));
    const workerData: ThreadStart = { cancelledJob, isBackground };
    const worker = new Worker(file, { workerData });
    const thread: Thread<Task, Piece> = {
      worker,
      isBackground,
      cancelledJob,
      isReady: false,
      job: undefined,
      stopTimer: undefined,
      fault: undefined,
    };
    this.#threads.add(thread);
    this.#data.then(
      (given) => worker.postMessage(given),
      (fault: unknown) => {
        this.#data = undefined;
        thread.fault = fault;
        void worker.terminate();
      },
    );
    worker.on('message', (reply: ThreadReply<Piece>) => this.#onReply(thread, reply));
    worker.on('error', (error) => {
      thread.fault ??= error;
    });
    worker.on('exit', () => this.#onExit(thread));
    this.#updateRefs();
    return thread;
  }

  #onReply(thread: Thread<Task, Piece>, reply: ThreadReply<Piece>): void {
    const { job } = thread;
    if (reply.kind === 'ready') {
      thread.isReady = true;
      if (job) thread.worker.postMessage({ jobId: job.jobId, task: job.task });
    } else if (job && reply.jobId === job.jobId) {
      if (reply.kind === 'pieces') job.pieces.push(...reply.pieces);
      if (reply.kind === 'done') job.pieces.end();
      if (reply.kind === 'failed') job.pieces.fail(new Failure('engine_error', {}, new Error(reply.message)));
      if (reply.kind !== 'pieces') this.#free(thread);
    }
  }

  #free(thread: Thread<Task, Piece>): void {
    clearTimeout(thread.stopTimer);
    thread.job?.over.resolve();
    thread.job = undefined;
    this.#updateRefs();
  }

  #onExit(thread: Thread<Task, Piece>): void {
    this.#threads.delete(thread);
    const { job, isReady, fault = new Error('the thread exited') } = thread;
    const reason = isReady ? 'engine_error' : 'engine_unavailable';
    job?.pieces.fail(new Failure(reason, { retryAfterSeconds }, fault));
    this.#free(thread);
  }

  #updateRefs(): void {
    // Closing keeps the process alive until the threads have exited.
    if (this.#isClosed) return;
    const isBusy = [...this.#threads].some(({ job }) => job);
    for (const { worker } of this.#threads) isBusy ? worker.ref() : worker.unref();
  }
}
