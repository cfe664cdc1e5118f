// A model in a child process, seen from ours. It promises that
// - the child sees its messages and three variables of the environment, and prints nothing anywhere;
// - a request that nobody wants any more ends for its reader at once, and in the child soon, or the child is killed;
// - whoever waits on a child that dies is told how it ended, in a Failure.
import { type ChildProcess, fork } from 'node:child_process';
import { Failure } from '../../errors.ts';
import type { SpokenPcm } from '../engine.ts';
import type { FromChild, ModelRequest, ToChild } from './model-child.ts';
import { ModelJob } from './model-job.ts';

const stopMsUsual = 3_000;
/** A large model on a slow disk takes a minute. */
const loadMsMax = 180_000;
const complaintChars = 500;
/** Another process may do better, as soon as it is there. */
const retrySeconds = 0;

export interface ModelProcessOptions {
  /** What the library is told of the model. */
  config: object;
  /** How long a request that was called off may go on. */
  stopMsMax?: number;
}

export class ModelProcess {
  readonly #child: ChildProcess;
  readonly #stopMsMax: number;
  readonly #exited: Promise<void>;
  readonly #loaded = Promise.withResolvers<void>();
  #complaint = '';
  #isReady = false;
  #isGone = false;
  #count = 0;
  #job: ModelJob | undefined;

  constructor({ config, stopMsMax = stopMsUsual }: ModelProcessOptions) {
    const { PATH, LD_LIBRARY_PATH, DYLD_LIBRARY_PATH } = process.env;
    this.#stopMsMax = stopMsMax;
    this.#child = fork(new URL('./model-child.ts', import.meta.url), {
      execArgv: [],
      env: { PATH, LD_LIBRARY_PATH, DYLD_LIBRARY_PATH },
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    this.#child.stderr?.setEncoding('utf8').on('data', (said: string) => {
      const plain = said.replace(/\u001b\[[\d;]*m/g, '');
      this.#complaint = (this.#complaint + plain).slice(-complaintChars);
    });
    this.#child.on('message', (message: FromChild) => this.#hear(message));
    const loading = setTimeout(() => void this.kill(), loadMsMax);
    void this.#loaded.promise.then(() => clearTimeout(loading));
    this.#exited = new Promise((resolve) => {
      const leave = (how: string) => {
        clearTimeout(loading);
        this.#leave(how);
        resolve();
      };
      this.#child.once('error', (error) => leave(error.message));
      this.#child.once('close', (code, signal) => leave(String(signal ?? code)));
    });
    this.#send({ do: 'load', config });
  }

  /** Whether it has died, or is about to. */
  get isGone(): boolean {
    return this.#isGone || this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** Whether its model was loaded, be it dead since. */
  get wasReady(): boolean {
    return this.#isReady;
  }

  /** Fulfilled when nothing is at work in it, which may be long before all of it is read, or after its reader has left. */
  async settled(): Promise<void> {
    await this.#job?.settled;
  }

  /** Begins with the request, when it is settled with the one before; answers its sound as it is made. */
  speak(request: ModelRequest, signal: AbortSignal): AsyncGenerator<SpokenPcm> {
    const job = new ModelJob(++this.#count);
    this.#job = job;
    this.#send({ do: 'speak', id: job.id, request });
    return this.#read(job, signal);
  }

  /** Ends it; fulfilled when it is gone. */
  async kill(): Promise<void> {
    this.#isGone = true;
    this.#child.kill('SIGKILL');
    await this.#exited;
  }

  async *#read(job: ModelJob, signal: AbortSignal): AsyncGenerator<SpokenPcm> {
    try {
      yield* job.pieces(signal);
    } finally {
      this.#callOff(job);
    }
  }

  /** A message that finds no child is answered by its end. */
  #send(message: ToChild): void {
    this.#child.send(message, () => {});
  }

  #hear(message: FromChild): void {
    if (message.is === 'ready') {
      this.#isReady = true;
      this.#loaded.resolve();
    } else if (message.id === this.#job?.id) {
      const { samples, sampleRateHz } = message.is === 'piece' ? message : {};
      if (samples && sampleRateHz) this.#job.add({ samples, sampleRateHz });
      else this.#end(message.is === 'failed' ? new Failure('engine_error', {}, new Error(message.message)) : undefined);
    }
  }

  #end(fault?: Failure): void {
    const job = this.#job;
    this.#job = undefined;
    job?.end(fault);
  }

  #leave(how: string): void {
    this.#isGone = true;
    const cause = new Error(`the model's process ended with ${how}: ${this.#complaint.trim()}`);
    const reason = this.#isReady ? 'engine_error' : 'engine_unavailable';
    this.#end(new Failure(reason, { retryAfterSeconds: retrySeconds }, cause));
  }

  /** Nobody wants the rest. What is still being loaded is not ended for that: the next request will want it. */
  #callOff(job: ModelJob): void {
    if (this.#job !== job) return;
    this.#send({ do: 'stop', id: job.id });
    void this.#loaded.promise.then(() => {
      const timer = setTimeout(() => void this.kill(), this.#stopMsMax);
      void job.settled.then(() => clearTimeout(timer));
    });
  }
}
