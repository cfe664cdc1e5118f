// A model in a child process, seen from ours. It promises that
// - the child sees its messages and three variables of the environment, and prints nothing anywhere;
// - a request that nobody wants any more ends for its reader at once, and in the child soon, or the child is killed;
// - whoever waits on a child that dies is told how it ended, in a Failure.
import { fork } from 'node:child_process';
import { Failure } from '../../errors.ts';
import type { SpokenPcm } from '../engine.ts';
import type { FromChild, ModelRequest, ToChild } from './model-child.ts';

export interface ModelProcess {
  /** The request's sound, as it is made. One at a time: only when `settled` is it another one's turn. */
  speak(request: ModelRequest, signal: AbortSignal): AsyncGenerator<SpokenPcm>;
  /** Fulfilled when nothing is at work in it. */
  settled(): Promise<void>;
  /** Whether it has died, or is about to. */
  isGone(): boolean;
  /** Whether the model was loaded before it died. */
  wasReady(): boolean;
  /** Ends it; fulfilled when it is gone. */
  kill(): Promise<void>;
}

export interface ModelProcessOptions {
  config: object;
  /** How long a request that was called off may go on. */
  stopMsMax?: number;
}

const stopMsUsual = 3_000;
/** A large model on a slow disk takes a minute. */
const loadMsMax = 180_000;
const complaintChars = 500;
const retrySeconds = 1;

interface Job {
  id: number;
  pieces: SpokenPcm[];
  isDone: boolean;
  fault: Failure | undefined;
  /** Called when there is something new. */
  wake(): void;
}

export function startModelProcess({ config, stopMsMax = stopMsUsual }: ModelProcessOptions): ModelProcess {
  const { PATH, LD_LIBRARY_PATH, DYLD_LIBRARY_PATH } = process.env;
  const child = fork(new URL('./model-child.ts', import.meta.url), {
    execArgv: [],
    env: { PATH, LD_LIBRARY_PATH, DYLD_LIBRARY_PATH },
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  let complaint = '';
  let ready = false;
  let gone = false;
  let count = 0;
  let job: Job | undefined;
  const loaded = Promise.withResolvers<void>();
  let settle = Promise.withResolvers<void>();
  settle.resolve();

  child.stderr?.setEncoding('utf8').on('data', (said: string) => {
    complaint = (complaint + said.replace(/\u001b\[[\d;]*m/g, '')).slice(-complaintChars);
  });
  // A message that finds no child is answered by its end.
  const send = (message: ToChild): void => void child.send(message, () => {});
  send({ do: 'load', config });
  const loading = setTimeout(() => void kill(), loadMsMax);

  const end = (fault?: Failure): void => {
    if (!job) return;
    job.isDone = true;
    job.fault = fault;
    job.wake();
    job = undefined;
    settle.resolve();
  };

  child.on('message', (message: FromChild) => {
    if (message.is === 'ready') {
      ready = true;
      clearTimeout(loading);
      loaded.resolve();
    } else if (message.id !== job?.id) return;
    else if (message.is === 'done') end();
    else if (message.is === 'failed') end(new Failure('engine_error', {}, new Error(message.message)));
    else {
      const { samples, sampleRateHz } = message;
      job.pieces.push({ samples, sampleRateHz });
      job.wake();
    }
  });

  const exited = new Promise<void>((resolve) => {
    const leave = (how: string): void => {
      gone = true;
      clearTimeout(loading);
      const cause = new Error(`the model's process ended with ${how}: ${complaint.trim()}`);
      end(new Failure(ready ? 'engine_error' : 'engine_unavailable', { retryAfterSeconds: retrySeconds }, cause));
      resolve();
    };
    child.once('error', (error) => leave(error.message));
    child.once('close', (code, signal) => leave(String(signal ?? code)));
  });

  const kill = async (): Promise<void> => {
    gone = true;
    child.kill('SIGKILL');
    await exited;
  };

  /** Nobody wants the rest. What is still being loaded is not ended for that: the next request will want it. */
  const callOff = (id: number): void => {
    if (job?.id !== id) return;
    send({ do: 'stop', id });
    void loaded.promise.then(() => {
      if (job?.id !== id) return;
      const timer = setTimeout(() => void kill(), stopMsMax);
      void settle.promise.then(() => clearTimeout(timer));
    });
  };

  async function* speak(request: ModelRequest, signal: AbortSignal): AsyncGenerator<SpokenPcm> {
    signal.throwIfAborted();
    let news = Promise.withResolvers<void>();
    const id = ++count;
    const own: Job = { id, pieces: [], isDone: false, fault: undefined, wake: () => news.resolve() };
    const wake = () => news.resolve();
    job = own;
    settle = Promise.withResolvers();
    signal.addEventListener('abort', wake, { once: true });
    send({ do: 'speak', id, request });
    try {
      while (true) {
        signal.throwIfAborted();
        const piece = own.pieces.shift();
        if (piece) yield piece;
        else if (own.isDone) break;
        else {
          await news.promise;
          news = Promise.withResolvers();
        }
      }
      if (own.fault) throw own.fault;
    } finally {
      signal.removeEventListener('abort', wake);
      callOff(id);
    }
  }

  return {
    speak,
    settled: () => settle.promise,
    isGone: () => gone || child.exitCode !== null || child.signalCode !== null,
    wasReady: () => ready,
    kill,
  };
}
