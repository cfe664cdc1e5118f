// A model in a child process, seen from the parent. It promises that
// - the child sees its messages and three environment variables, and prints nothing anywhere;
// - a cancelled request ends when the child has stopped work on it, or was killed since it did not stop soon;
// - a request whose child exits fails with how it exited as the cause.
import { type ChildProcess, fork } from 'node:child_process';
import { constants, setPriority } from 'node:os';
import { Failure } from '../../errors.ts';
import { PushQueue } from '../../runtime/push-queue.ts';
import type { SpokenPcm } from '../engine.ts';
import { soundFault } from '../sound-fault.ts';
import type { FromChild, ModelRequest, ToChild } from './model-child.ts';

const stopMsUsual = 3_000;
/** A large model on a slow disk takes a minute. */
const loadMsMax = 180_000;
const stderrCharsMax = 500;
/** Another process may succeed as soon as it is there. */
const retrySeconds = 0;

export interface ModelProcessOptions {
  /** The path of the library's module. */
  library: string;
  /** The library's configuration of the model. */
  config: object;
  /** How long a cancelled request may go on. */
  stopMsMax?: number;
  /** Whether it yields to all other processes. */
  isBackground?: boolean;
}

interface Job {
  id: number;
  pieces: PushQueue<SpokenPcm>;
  /** Settles when the child does no more work on it. */
  over: PromiseWithResolvers<void>;
}

export class ModelProcess {
  readonly #child: ChildProcess;
  readonly #stopMsMax: number;
  readonly #exited: Promise<void>;
  readonly #loaded = Promise.withResolvers<void>();
  #stderr = '';
  #isReady = false;
  #isGone = false;
  #count = 0;
  #job: Job | undefined;

  constructor({ library, config, stopMsMax = stopMsUsual, isBackground = false }: ModelProcessOptions) {
    const { PATH, LD_LIBRARY_PATH, DYLD_LIBRARY_PATH, NODE_COMPILE_CACHE } = process.env;
    this.#stopMsMax = stopMsMax;
    this.#child = fork(new URL('./model-child.ts', import.meta.url), {
      execArgv: [],
      env: { PATH, LD_LIBRARY_PATH, DYLD_LIBRARY_PATH, NODE_COMPILE_CACHE },
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    if (isBackground && this.#child.pid !== undefined) yieldToOthers(this.#child.pid);
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      const plain = text.replace(/\u001b\[[\d;]*m/g, '');
      this.#stderr = (this.#stderr + plain).slice(-stderrCharsMax);
    });
    this.#child.on('message', (message: FromChild) => this.#onMessage(message));
    const loading = setTimeout(() => void this.kill(), loadMsMax);
    void this.#loaded.promise.then(() => clearTimeout(loading));
    this.#exited = new Promise((resolve) => {
      const leave = (how: string) => {
        clearTimeout(loading);
        this.#onExit(how);
        resolve();
      };
      this.#child.once('error', (error) => leave(error.message));
      this.#child.once('close', (code, signal) => leave(String(signal ?? code)));
    });
    this.#send({ do: 'load', library, config });
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Fulfilled when it has exited. */
  get exited(): Promise<void> {
    return this.#exited;
  }

  /** Whether it has exited, or is about to. */
  get isGone(): boolean {
    return this.#isGone || this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** The sound of a request as it is made. One request at a time: it ends when the child is free for the next, or gone. */
  async *speak(request: ModelRequest, signal: AbortSignal): AsyncGenerator<SpokenPcm> {
    const job = { id: ++this.#count, pieces: new PushQueue<SpokenPcm>(), over: Promise.withResolvers<void>() };
    this.#job?.over.resolve();
    this.#job = job;
    this.#send({ do: 'speak', id: job.id, request });
    try {
      yield* job.pieces.pull(signal);
    } finally {
      this.#cancel(job);
      await job.over.promise;
    }
  }

  /** Kills the child; fulfilled when it has exited. */
  async kill(): Promise<void> {
    this.#isGone = true;
    this.#child.kill('SIGKILL');
    await this.#exited;
  }

  /** A message that does not reach the child is answered by its exit. */
  #send(message: ToChild): void {
    this.#child.send(message, () => {});
  }

  #onMessage(message: FromChild): void {
    if (message.is === 'ready') {
      this.#isReady = true;
      this.#loaded.resolve();
    } else if (message.id === this.#job?.id) {
      const { samples, sampleRateHz } = message.is === 'piece' ? message : {};
      if (samples && sampleRateHz) this.#job.pieces.push({ samples, sampleRateHz });
      else if (message.is === 'faulty') this.#end(soundFault(message.message));
      else this.#end(message.is === 'failed' ? new Failure('engine_error', {}, new Error(message.message)) : undefined);
    }
  }

  #end(fault?: Failure): void {
    const job = this.#job;
    this.#job = undefined;
    if (fault) job?.pieces.fail(fault);
    else job?.pieces.end();
    job?.over.resolve();
  }

  #onExit(how: string): void {
    this.#isGone = true;
    const cause = new Error(`the model's process ended with ${how}: ${this.#stderr.trim()}`);
    const reason = this.#isReady ? 'engine_error' : 'engine_unavailable';
    this.#end(new Failure(reason, { retryAfterSeconds: retrySeconds }, cause));
  }

  /** A model that is still being loaded is not killed: the next request will need it. */
  #cancel(job: Job): void {
    if (this.#job !== job) return;
    this.#send({ do: 'stop', id: job.id });
    void this.#loaded.promise.then(() => {
      const timer = setTimeout(() => void this.kill(), this.#stopMsMax);
      void job.over.promise.then(() => clearTimeout(timer));
    });
  }
}

function yieldToOthers(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_LOW);
  } catch {
    // It has exited already, or the system does not allow it.
  }
}
