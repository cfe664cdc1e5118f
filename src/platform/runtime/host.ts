// Runs tasks in workers: threads or processes (worker-links.ts), one task at a time in each. The host promises that
// - a run ends when its worker is free or gone. If an aborted worker does not stop, it is killed after `stopMsMax`;
// - a worker that exits fails its run, which may be tried again. If the worker exits during startup and another worker
//   is ready, the run waits for a ready worker. Aborting a run does not stop the startup of its worker;
// - background runs have workers of their own, with the same maximum number as other runs;
// - idle workers do not keep the process alive; runs and closing do.
import { Failure } from '../errors.ts';
import { PushQueue } from './push-queue.ts';

/** A message from a worker. A worker runs one task at a time, so a reply does not name its task. */
export type WorkerReply<Piece, Facts = unknown, End = unknown> =
  | { is: 'ready'; facts: Facts }
  | { is: 'pieces'; pieces: readonly Piece[] }
  | { is: 'done'; end: End; isWorn?: boolean }
  | { is: 'failed'; message: string };

export interface WorkerLink<Task, Piece, Facts = unknown, End = unknown> {
  readonly pid: number | undefined;
  /** Whether the worker has exited or was killed. */
  readonly isGone: boolean;
  /** Settles when the worker has exited, with the reason. */
  readonly exited: Promise<unknown>;
  onReply: (reply: WorkerReply<Piece, Facts, End>) => void;
  send(task: Task): void;
  /** Asks the worker to finish its task soon; any reply is accepted. */
  cancel(): void;
  kill(): void;
  /** Makes the worker keep this process alive. */
  ref(): void;
  unref(): void;
  /** Blocks a worker whose pieces are not read; absent if it cannot be blocked. */
  pause?(): void;
  resume?(): void;
}

export interface WorkerStart {
  group: string;
  isBackground: boolean;
}

export interface HostedWorker extends WorkerStart {
  readonly pid: number | undefined;
  /** Time of the last use, by `performance.now`. */
  readonly usedAtMs: number;
}

export interface HostOptions<Task, Piece, Facts = unknown, End = unknown> {
  open(start: WorkerStart): WorkerLink<Task, Piece, Facts, End> | Promise<WorkerLink<Task, Piece, Facts, End>>;
  /** Maximum number of workers per group, and also of background workers per group. Further runs wait. */
  workersMax: number;
  startMsMax: number;
  /** How long a worker may continue a cancelled task before it is killed. */
  stopMsMax: number;
  /** Like `stopMsMax`, for background workers. Default: `stopMsMax`. */
  backgroundStopMsMax?: number;
  /** How long an idle worker is kept. Default: until the host is closed. */
  idleMsMax?: number | undefined;
  /** Whether a group may have a further worker. Called again whenever a worker is free or gone. */
  mayGrow?(group: string): boolean;
  /** Chooses the idle workers to stop before another worker starts. */
  makeRoom?(idle: readonly HostedWorker[]): readonly HostedWorker[];
}

interface Run<Task, Piece, Facts, End> {
  start: WorkerStart;
  task: Task;
  pieces: PushQueue<Piece>;
  /** Pieces that the reader has not read yet. */
  unread: number;
  end: End | undefined;
  isCancelled: boolean;
  /** Whether the worker chosen for this run failed to start. Such a run starts no worker while others exist. */
  isReturned: boolean;
  /** Undefined while the run waits, and after it has ended. */
  worker: Worker<Task, Piece, Facts, End> | undefined;
  over: PromiseWithResolvers<void>;
}

class Worker<Task, Piece, Facts, End> implements HostedWorker {
  readonly group: string;
  readonly isBackground: boolean;
  readonly ready = Promise.withResolvers<Facts>();
  /** Fulfilled when the worker has exited. */
  gone: Promise<void> = Promise.resolve();
  link: WorkerLink<Task, Piece, Facts, End> | undefined;
  isReady = false;
  /** Whether `Host.open` waits for this worker. */
  isAwaited = false;
  /** Whether the worker receives no more tasks and is killed once it is idle. */
  isLeaving = false;
  run: Run<Task, Piece, Facts, End> | undefined;
  usedAtMs = performance.now();
  /** Timer for the current phase: startup, idle time or stop. */
  timer: NodeJS.Timeout | undefined;

  constructor({ group, isBackground }: WorkerStart) {
    this.group = group;
    this.isBackground = isBackground;
    this.ready.promise.catch(() => {});
  }

  get pid(): number | undefined {
    return this.link?.pid;
  }

  get isUsable(): boolean {
    return !this.isLeaving && !this.link?.isGone;
  }

  kill(): Promise<void> {
    this.isLeaving = true;
    this.updateRef();
    this.link?.kill();
    return this.gone;
  }

  updateRef(): void {
    if (this.run || this.isAwaited || this.isLeaving) this.link?.ref();
    else this.link?.unref();
  }
}

/** Another worker may succeed as soon as it has started. */
const retryAfterSeconds = 0;
/** A worker is blocked while this many pieces are unread. */
const unreadMax = 3;

export class Host<Task, Piece, Facts = unknown, End = unknown> {
  readonly #options: HostOptions<Task, Piece, Facts, End>;
  readonly #workers = new Set<Worker<Task, Piece, Facts, End>>();
  #waiting: Run<Task, Piece, Facts, End>[] = [];
  #isClosed = false;

  constructor(options: HostOptions<Task, Piece, Facts, End>) {
    this.#options = options;
  }

  /** The workers that take tasks, including those that are still starting. */
  get workers(): readonly HostedWorker[] {
    return [...this.#workers].filter(({ isUsable }) => isUsable);
  }

  /** Starts a worker that is kept for later runs. */
  async open(group = ''): Promise<Facts> {
    const worker = this.#start({ group, isBackground: false });
    worker.isAwaited = true;
    try {
      return await worker.ready.promise;
    } finally {
      worker.isAwaited = false;
      worker.updateRef();
    }
  }

  /** Yields the pieces of a task's result as they arrive, then returns its `end`. The first read starts the task. */
  async *run(
    task: Task,
    signal: AbortSignal,
    { group = '', isBackground = false }: Partial<WorkerStart> = {},
  ): AsyncGenerator<Piece, End> {
    signal.throwIfAborted();
    if (this.#isClosed) throw new Failure('engine_unavailable');
    const run: Run<Task, Piece, Facts, End> = {
      start: { group, isBackground },
      task,
      pieces: new PushQueue(),
      unread: 0,
      end: undefined,
      isCancelled: false,
      isReturned: false,
      worker: undefined,
      over: Promise.withResolvers(),
    };
    if (!this.#place(run)) this.#waiting.push(run);
    try {
      for await (const piece of run.pieces.pull(signal)) {
        yield piece;
        run.unread--;
        if (run.unread < unreadMax) run.worker?.link?.resume?.();
      }
      return run.end as End;
    } finally {
      this.#cancel(run);
      await run.over.promise;
    }
  }

  /** Stops the workers of a group, each after its run. */
  end(group: string): void {
    for (const worker of this.#workers) {
      if (worker.group !== group) continue;
      worker.isLeaving = true;
      if (!worker.run) void worker.kill();
    }
  }

  /** Fails all runs and kills all workers. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const running = [...this.#workers].flatMap(({ run }) => run ?? []);
    for (const { pieces } of [...running, ...this.#waiting]) pieces.abort(new Failure('engine_unavailable'));
    await Promise.all([...this.#workers].map((worker) => worker.kill()));
  }

  /** Gives the run a worker, if one is free or may be started. */
  #place(run: Run<Task, Piece, Facts, End>): boolean {
    const { start, isReturned } = run;
    const own = this.#usableWorkers(start);
    const free = own.filter((each) => !each.run).sort(byUse);
    const mayStart = !isReturned || own.length === 0;
    const worker =
      free.find(({ isReady }) => isReady) ?? free[0] ?? (mayStart ? this.#startFurther(start, own.length) : undefined);
    if (!worker) return false;
    worker.run = run;
    run.worker = worker;
    worker.updateRef();
    if (worker.isReady) this.#begin(worker, run);
    return true;
  }

  /** The usable workers for runs of this group and priority. */
  #usableWorkers({ group, isBackground }: WorkerStart): Worker<Task, Piece, Facts, End>[] {
    return [...this.#workers].filter(
      (each) => each.isUsable && each.group === group && each.isBackground === isBackground,
    );
  }

  /** Starts the first worker of a group in any case, and further workers within the limits. */
  #startFurther(start: WorkerStart, count: number): Worker<Task, Piece, Facts, End> | undefined {
    const { workersMax, mayGrow } = this.#options;
    const canStart = count === 0 || (count < workersMax && (mayGrow?.(start.group) ?? true));
    return canStart ? this.#start(start) : undefined;
  }

  #start(start: WorkerStart): Worker<Task, Piece, Facts, End> {
    const idle = [...this.#workers].filter(({ isUsable, run, isAwaited }) => isUsable && !run && !isAwaited);
    const leaving = this.#options.makeRoom?.(idle) ?? [];
    const room = idle.filter((each) => leaving.includes(each)).map((each) => each.kill());
    const worker = new Worker<Task, Piece, Facts, End>(start);
    this.#workers.add(worker);
    worker.gone = this.#host(worker, room);
    return worker;
  }

  /** Supervises a worker from its start to its exit. */
  async #host(worker: Worker<Task, Piece, Facts, End>, room: readonly Promise<void>[]): Promise<void> {
    const fault = await this.#untilExit(worker, room).catch((error: unknown) => error);
    const reason = worker.isReady ? 'engine_error' : 'engine_unavailable';
    const failure = fault instanceof Failure ? fault : new Failure(reason, { retryAfterSeconds }, fault);
    this.#workers.delete(worker);
    clearTimeout(worker.timer);
    worker.ready.reject(failure);
    if (!worker.isReady && this.#usableWorkers(worker).some(({ isReady }) => isReady)) this.#returnRun(worker);
    worker.run?.pieces.fail(failure);
    endRun(worker);
    this.#placeWaiting();
  }

  /** If a worker did not start, returns its run to the front of the queue. */
  #returnRun(worker: Worker<Task, Piece, Facts, End>): void {
    const { run } = worker;
    if (!run || this.#isClosed) return;
    worker.run = undefined;
    run.worker = undefined;
    run.isReturned = true;
    this.#waiting.unshift(run);
  }

  /** Returns the reason for the worker's exit. */
  async #untilExit(worker: Worker<Task, Piece, Facts, End>, room: readonly Promise<void>[]): Promise<unknown> {
    await Promise.all(room);
    if (this.#isClosed || worker.isLeaving) throw new Failure('engine_unavailable');
    const link = await this.#options.open({ group: worker.group, isBackground: worker.isBackground });
    worker.link = link;
    link.onReply = (reply) => this.#onReply(worker, reply);
    worker.updateRef();
    worker.timer = setTimeout(() => link.kill(), this.#options.startMsMax).unref();
    if (worker.isLeaving) link.kill();
    return link.exited;
  }

  #onReply(worker: Worker<Task, Piece, Facts, End>, reply: WorkerReply<Piece, Facts, End>): void {
    const { run, link } = worker;
    if (reply.is === 'ready') {
      worker.isReady = true;
      worker.ready.resolve(reply.facts);
      if (run) this.#begin(worker, run);
      else this.#rest(worker);
    } else if (run && reply.is === 'pieces') {
      if (run.isCancelled) return;
      run.pieces.push(...reply.pieces);
      run.unread += reply.pieces.length;
      if (run.unread >= unreadMax) link?.pause?.();
    } else if (run && reply.is === 'failed') {
      run.pieces.fail(new Failure('engine_error', {}, new Error(reply.message)));
      this.#free(worker);
    } else if (run && reply.is === 'done') {
      run.end = reply.end;
      run.pieces.end();
      worker.isLeaving ||= reply.isWorn ?? false;
      this.#free(worker);
    }
  }

  #begin(worker: Worker<Task, Piece, Facts, End>, { task }: Run<Task, Piece, Facts, End>): void {
    clearTimeout(worker.timer);
    worker.link?.send(task);
  }

  /** Ends a run whose reader has stopped reading. */
  #cancel(run: Run<Task, Piece, Facts, End>): void {
    const { worker } = run;
    if (!worker) {
      this.#waiting = this.#waiting.filter((each) => each !== run);
      run.over.resolve();
    } else if (!worker.isReady) {
      this.#free(worker);
    } else {
      run.isCancelled = true;
      worker.link?.resume?.();
      worker.link?.cancel();
      const { stopMsMax, backgroundStopMsMax = stopMsMax } = this.#options;
      const kill = () => {
        if (worker.run === run) void worker.kill();
      };
      // This process may cause the delay, so a reply that has already arrived is read before the worker is killed.
      worker.timer = setTimeout(() => setImmediate(kill), worker.isBackground ? backgroundStopMsMax : stopMsMax);
    }
  }

  /** Ends the run of a worker, which may then take another run. */
  #free(worker: Worker<Task, Piece, Facts, End>): void {
    endRun(worker);
    if (worker.isReady) this.#rest(worker);
    this.#placeWaiting();
  }

  #rest(worker: Worker<Task, Piece, Facts, End>): void {
    clearTimeout(worker.timer);
    if (worker.isLeaving) return void worker.kill();
    worker.updateRef();
    const { idleMsMax } = this.#options;
    if (idleMsMax !== undefined) worker.timer = setTimeout(() => void worker.kill(), idleMsMax).unref();
  }

  /** Assigns waiting runs to workers, in order of arrival. */
  #placeWaiting(): void {
    if (!this.#isClosed) this.#waiting = this.#waiting.filter((run) => !this.#place(run));
  }
}

function endRun<Task, Piece, Facts, End>(worker: Worker<Task, Piece, Facts, End>): void {
  const { run } = worker;
  worker.run = undefined;
  worker.usedAtMs = performance.now();
  if (!run) return;
  run.worker = undefined;
  run.over.resolve();
}

/** The worker that was used last comes first. */
const byUse = (one: HostedWorker, other: HostedWorker): number => other.usedAtMs - one.usedAtMs;
