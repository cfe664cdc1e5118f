// A pool of worker threads for work that never pauses to listen. Each thread does one job at a time; jobs wait in one
// line, urgent ones first. It promises that
// - a job called off leaves the line at once, and if it is at work is over within moments, its thread ended if need be;
// - a thread that crashes or hangs is replaced, and its job tried once more if nothing of it was heard yet;
// - idle threads do not keep the process alive, and jobs do.
import { Worker } from 'node:worker_threads';
import { Failure } from '../../errors.ts';
import { PoolJob } from './pool-job.ts';
import type { ThreadBirth, ThreadReply } from './thread-work.ts';

/** How long a thread has to answer that it heard of an abort, before it is ended. */
const answerMsUsual = 25;
const attemptsMax = 2;
/** Threads that die one after the other before they are ready: something is wrong with all of them. */
const deadStartsMax = 3;
/** An id is shared with threads as a 32-bit integer. */
const jobIdMax = 0x7fff_ffff;

export interface ThreadPoolOptions {
  /** A module that calls `serveJobs`. */
  file: URL;
  /** What every thread is given. It may come later: a thread takes a while to start. */
  data: Promise<unknown>;
  threadsMax: number;
  answerMsMax?: number;
}

export interface JobOptions<Task> {
  task: Task;
  urgent: boolean;
  /** How long it may take from when a thread begins it. */
  timeoutMs: number;
}

interface Thread<Task, Piece> {
  worker: Worker;
  cancelledJob: Int32Array;
  isReady: boolean;
  job: PoolJob<Task, Piece> | undefined;
  timer: NodeJS.Timeout | undefined;
  /** Why it is to end. */
  fault: unknown;
}

export class ThreadPool<Task, Piece> {
  readonly #options: ThreadPoolOptions;
  readonly #threads = new Set<Thread<Task, Piece>>();
  readonly #jobs = new Set<PoolJob<Task, Piece>>();
  #waiting: PoolJob<Task, Piece>[] = [];
  #jobCount = 0;
  #deadStarts = 0;
  #isClosed = false;

  constructor(options: ThreadPoolOptions) {
    this.#options = options;
    this.#addThread();
  }

  /** The pieces of a job's result. It begins when the first is asked for, and ends when the reader stops. */
  async *run({ task, urgent, timeoutMs }: JobOptions<Task>, signal: AbortSignal): AsyncGenerator<Piece> {
    signal.throwIfAborted();
    if (this.#isClosed) throw new Failure('engine_unavailable');
    this.#jobCount = (this.#jobCount % jobIdMax) + 1;
    const job = new PoolJob<Task, Piece>({ id: this.#jobCount, task, urgent, timeoutMs });
    const callOff = () => this.#callOff(job, signal.reason);
    signal.addEventListener('abort', callOff, { once: true });
    this.#jobs.add(job);
    this.#enqueue(job);
    try {
      yield* job.pieces();
    } finally {
      signal.removeEventListener('abort', callOff);
      this.#callOff(job, undefined);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const job of [...this.#jobs]) this.#end(job, new Failure('engine_unavailable'));
    this.#waiting = [];
    for (const { worker } of this.#threads) worker.ref();
    await Promise.all([...this.#threads].map(({ worker }) => worker.terminate()));
  }

  /** Puts a job in line: urgent ones before the others, and one that has been tried before ahead of its kind. */
  #enqueue(job: PoolJob<Task, Piece>): void {
    const isNext = (other: PoolJob<Task, Piece>) => job.attempts > 0 || (job.urgent && !other.urgent);
    const at = this.#waiting.findIndex(isNext);
    this.#waiting.splice(at < 0 ? this.#waiting.length : at, 0, job);
    this.#assign();
  }

  #assign(): void {
    const idle = [...this.#threads].filter(({ isReady, job, fault }) => isReady && !job && !fault);
    for (const thread of idle) {
      const job = this.#waiting.shift();
      if (!job) break;
      this.#begin(thread, job);
    }
    const starting = [...this.#threads].filter(({ isReady }) => !isReady).length;
    const room = this.#options.threadsMax - this.#threads.size;
    for (let n = Math.min(room, this.#waiting.length - starting); n > 0; n--) this.#addThread();
    this.#stayAlive();
  }

  #begin(thread: Thread<Task, Piece>, job: PoolJob<Task, Piece>): void {
    thread.job = job;
    job.attempts++;
    thread.timer = setTimeout(() => this.#endThread(thread, new Failure('engine_timeout')), job.timeoutMs);
    thread.worker.postMessage({ jobId: job.id, task: job.task });
  }

  /** Nobody wants the rest of the job. */
  #callOff(job: PoolJob<Task, Piece>, reason: unknown): void {
    if (!this.#jobs.has(job)) return;
    this.#waiting = this.#waiting.filter((other) => other !== job);
    this.#end(job, reason);
    const thread = [...this.#threads].find((each) => each.job === job);
    if (!thread) return;
    const { answerMsMax = answerMsUsual } = this.#options;
    Atomics.store(thread.cancelledJob, 0, job.id);
    clearTimeout(thread.timer);
    thread.timer = setTimeout(() => this.#endThread(thread, new Error('did not stop when told to')), answerMsMax);
    thread.timer.unref();
  }

  #end(job: PoolJob<Task, Piece>, error?: unknown): void {
    this.#jobs.delete(job);
    job.end(error);
    this.#stayAlive();
  }

  #addThread(): void {
    const { file, data } = this.#options;
    const cancelledJob = new Int32Array(new SharedArrayBuffer(4));
    const workerData: ThreadBirth = { cancelledJob };
    const worker = new Worker(file, { workerData });
    data.then(
      (given) => worker.postMessage(given),
      () => void worker.terminate(),
    );
    const thread: Thread<Task, Piece> = {
      worker,
      cancelledJob,
      isReady: false,
      job: undefined,
      timer: undefined,
      fault: undefined,
    };
    this.#threads.add(thread);
    worker.on('message', (reply: ThreadReply<Piece>) => this.#hear(thread, reply));
    worker.on('error', (error) => {
      thread.fault ??= error;
    });
    worker.on('exit', () => this.#mourn(thread));
    this.#stayAlive();
  }

  #hear(thread: Thread<Task, Piece>, reply: ThreadReply<Piece>): void {
    if (reply.kind === 'ready') {
      thread.isReady = true;
      this.#deadStarts = 0;
      this.#assign();
    } else if (reply.jobId === thread.job?.id) {
      if (reply.kind === 'pieces') thread.job.put(reply.pieces);
      else this.#finish(thread, reply.kind === 'failed' ? new Error(reply.message) : undefined);
    }
  }

  /** A thread is done with its job, and free for the next. */
  #finish(thread: Thread<Task, Piece>, error: Error | undefined): void {
    clearTimeout(thread.timer);
    this.#end(thread.job!, error && new Failure('engine_error', {}, error));
    thread.job = undefined;
    this.#assign();
  }

  /** Ends a thread that is no good; `#mourn` does the rest. */
  #endThread(thread: Thread<Task, Piece>, fault: unknown): void {
    thread.fault = fault;
    void thread.worker.terminate();
  }

  /** A thread is gone: its job is tried once more or failed, and another takes its place. */
  #mourn(thread: Thread<Task, Piece>): void {
    this.#threads.delete(thread);
    clearTimeout(thread.timer);
    if (this.#isClosed) return;
    const { job, fault = new Error('the thread ended itself') } = thread;
    const failure = fault instanceof Failure ? fault : new Failure('engine_error', {}, fault);
    if (!thread.isReady && ++this.#deadStarts >= deadStartsMax) {
      this.#deadStarts = 0;
      if ([...this.#threads].some(({ isReady }) => isReady)) return;
      for (const each of this.#waiting) this.#end(each, new Failure('engine_unavailable', {}, fault));
      this.#waiting = [];
      return;
    }
    this.#addThread();
    if (!job || !this.#jobs.has(job)) return;
    if (job.attempts < attemptsMax && !job.isHeard) this.#enqueue(job);
    else this.#end(job, failure);
  }

  #stayAlive(): void {
    // Those who wait for the end of the threads are kept waiting, not cut off.
    if (this.#isClosed) return;
    for (const { worker } of this.#threads) this.#jobs.size > 0 ? worker.ref() : worker.unref();
  }
}
