// A child process in which eSpeak NG's library speaks, seen from the parent. It promises that
// - the child sees what it is to speak and a few environment variables, and prints nothing anywhere;
// - at most `bufferedBytesMax` are buffered for a reader that has stopped, and then the child blocks;
// - a segment that is given up ends when the child has stopped work on it, or was killed since it did not stop soon;
// - a segment whose child exits fails with how it exited as the cause, and may be tried again.
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { Failure } from '../../errors.ts';
import { PushQueue } from '../../runtime/push-queue.ts';
import {
  createFrameParser,
  type FrameKind,
  frameKinds,
  type LibraryFacts,
  type LibraryRequest,
  markBytes,
  type SoundMark,
} from './library-frames.ts';

const bufferedBytesMax = 131_072;
const stopMsUsual = 2_000;
const startMsMax = 30_000;
const stderrCharsMax = 500;
/** Another process may succeed as soon as it is there. */
const retrySeconds = 0;

export interface LibraryProcessOptions {
  library: string;
  /** How long a segment that is given up may go on. */
  stopMsMax?: number;
}

interface Job {
  pieces: PushQueue<Int16Array>;
  /** Bytes pushed and not pulled. */
  buffered: number;
  marks: SoundMark[];
  /** Whether nobody reads on: what still comes is dropped. */
  isLeft: boolean;
  /** Settles when the child does no more work on it. */
  over: PromiseWithResolvers<void>;
}

export class LibraryProcess {
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly #library: string;
  readonly #stopMsMax: number;
  readonly #exited: Promise<void>;
  readonly #ready = Promise.withResolvers<LibraryFacts>();
  #stderr = '';
  #isGone = false;
  #isWorn = false;
  #job: Job | undefined;

  constructor({ library, stopMsMax = stopMsUsual }: LibraryProcessOptions) {
    const { HOME, ESPEAK_DATA_PATH, LD_LIBRARY_PATH, NODE_COMPILE_CACHE } = process.env;
    this.#library = library;
    this.#stopMsMax = stopMsMax;
    const file = fileURLToPath(new URL('./library-child.ts', import.meta.url));
    this.#child = spawn(process.execPath, [...childFlags, file, library], {
      // A signal from a terminal to all of its processes is for the service, which stops when its requests have ended.
      detached: true,
      env: { HOME, ESPEAK_DATA_PATH, LD_LIBRARY_PATH, NODE_COMPILE_CACHE },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.#ready.promise.catch(() => {});
    this.#exited = this.#watchExit();
    // When file descriptors run out, the child has no streams, whatever its type says.
    if (!this.#child.stdout) return;
    // A child that is gone answers by its exit.
    this.#child.stdin.on('error', () => {});
    this.#child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr = (this.#stderr + text).slice(0, stderrCharsMax);
    });
    const parse = createFrameParser({
      onSound: (samples) => this.#onSound(samples),
      onFrame: (kind, payload) => this.#onFrame(kind, payload),
    });
    this.#child.stdout.on('data', (bytes: Buffer) => {
      try {
        parse(bytes);
      } catch (error) {
        this.#stderr = (error as Error).message;
        void this.kill();
      }
    });
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** What the library is; rejects where it does not work here. */
  get ready(): Promise<LibraryFacts> {
    return this.#ready.promise;
  }

  /** Whether it can speak another segment. */
  get isUsable(): boolean {
    return !this.#isGone && !this.#isWorn && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** The samples of a segment as they are made; returns its marks. One segment at a time. */
  async *speak(request: LibraryRequest, signal: AbortSignal): AsyncGenerator<Int16Array, SoundMark[]> {
    await this.#ready.promise;
    signal.throwIfAborted();
    const over = Promise.withResolvers<void>();
    const job: Job = { pieces: new PushQueue(), buffered: 0, marks: [], isLeft: false, over };
    if (!this.isUsable) throw this.#failure('engine_error');
    this.#job = job;
    this.#child.stdin.write(`${JSON.stringify(request)}\n`);
    try {
      for await (const samples of job.pieces.pull(signal)) {
        yield samples;
        job.buffered -= samples.byteLength;
        if (job.buffered < bufferedBytesMax) this.#child.stdout.resume();
      }
      return job.marks;
    } finally {
      this.#stop(job);
      await job.over.promise;
    }
  }

  /** Kills the child; fulfilled when it has exited. */
  async kill(): Promise<void> {
    this.#isGone = true;
    this.#child.kill('SIGKILL');
    await this.#exited;
  }

  #onSound(samples: Int16Array): void {
    const job = this.#job;
    if (!job || job.isLeft) return;
    job.pieces.push(samples);
    job.buffered += samples.byteLength;
    if (job.buffered >= bufferedBytesMax && !this.#isGone) this.#child.stdout.pause();
  }

  #onFrame(kind: FrameKind, payload: Buffer): void {
    if (kind === frameKinds.ready) this.#ready.resolve(JSON.parse(payload.toString('utf8')) as LibraryFacts);
    else if (kind === frameKinds.marks) this.#job?.marks.push(...toMarks(payload));
    else if (kind === frameKinds.done) {
      this.#isWorn = payload.readUInt32LE(0) !== 0;
      this.#end();
    }
  }

  #end(fault?: Failure): void {
    const job = this.#job;
    this.#job = undefined;
    if (fault) job?.pieces.fail(fault);
    else job?.pieces.end();
    job?.over.resolve();
  }

  #stop(job: Job): void {
    if (this.#job !== job) return;
    job.isLeft = true;
    this.#child.stdin.write('stop\n');
    this.#child.stdout.resume();
    const timer = setTimeout(() => void this.kill(), this.#stopMsMax);
    void job.over.promise.then(() => clearTimeout(timer));
  }

  #watchExit(): Promise<void> {
    const starting = setTimeout(() => void this.kill(), startMsMax);
    void this.#ready.promise.then(
      () => clearTimeout(starting),
      () => clearTimeout(starting),
    );
    return new Promise((resolve) => {
      const leave = (how: string) => {
        this.#isGone = true;
        this.#stderr = `${how}: ${this.#stderr.trim()}`;
        this.#ready.reject(this.#failure('engine_unavailable'));
        this.#end(this.#failure('engine_error'));
        resolve();
      };
      this.#child.once('error', (error) => leave(error.message));
      // What it has written is read, or it would never close.
      this.#child.once('exit', () => {
        this.#isGone = true;
        this.#child.stdout?.resume();
      });
      this.#child.once('close', (code, signal) => leave(String(signal ?? code)));
    });
  }

  #failure(reason: 'engine_error' | 'engine_unavailable'): Failure {
    const cause = new Error(`the process of ${this.#library} ended with ${this.#stderr}`);
    return new Failure(reason, { retryAfterSeconds: retrySeconds }, cause);
  }
}

/** It needs little memory for itself, and one thread. */
const childFlags = ['--max-semi-space-size=1', '--max-old-space-size=64', '--v8-pool-size=0'];

function toMarks(payload: Buffer): SoundMark[] {
  return Array.from({ length: Math.floor(payload.length / markBytes) }, (_, n) => ({
    position: payload.readInt32LE(n * markBytes),
    sample: payload.readInt32LE(n * markBytes + 4),
    audibleUntil: payload.readInt32LE(n * markBytes + 8),
  }));
}
