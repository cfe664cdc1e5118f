// One run of a program that is not trusted to behave: bytes in, bytes out, and no process left behind. It promises that
// - the program sees its arguments, its input and three variables of the environment, nothing else;
// - at most `readAheadBytes` wait in memory for a reader who has stopped, and then the program waits too;
// - it is killed when it keeps a reader waiting for longer than `waitMsMax` in all, and with it whatever it started;
// - what it says on stderr is kept for the log, the beginning of it, and printed nowhere.
import { spawn } from 'node:child_process';
import { PassThrough, pipeline } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { Failure } from '../../errors.ts';

/** About 24 s of sound at 22 050 Hz: nearly every segment, so that a slow reader seldom holds up a run. */
const readAheadBytes = 1_048_576;
const complaintCharsMax = 500;
const complaintWaitMsMax = 30;

export interface ProgramAsked {
  program: string;
  args: readonly string[];
  input: string;
  waitMsMax: number;
}

export interface ProgramRun {
  /** What it writes, to be read once. Throws `engine_error` or `engine_timeout` unless it comes to a good end. */
  output(): AsyncGenerator<Buffer>;
  /** Ends it at once; fulfilled when it is gone. */
  kill(): Promise<void>;
  /** Fulfilled when it is gone, by itself or killed. */
  gone: Promise<void>;
}

const environment = (): NodeJS.ProcessEnv => {
  const { PATH, HOME, ESPEAK_DATA_PATH } = process.env;
  return { PATH, HOME, ESPEAK_DATA_PATH };
};

/** A process group outlives its leader while one of its processes does, and its number is not given out again before. */
function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // None of it is left.
  }
}

export function startProgram({ program, args, input, waitMsMax }: ProgramAsked): ProgramRun {
  const child = spawn(program, args, { detached: true, env: environment(), stdio: 'pipe' });
  let unstarted: Error | undefined;
  child.once('error', (error) => {
    unstarted = error;
  });
  // With no descriptor to spare, there is a child without streams, whatever its type says.
  if (!child.stdout) throw new Error(`${program} could not be started: no file descriptors are left`);
  let complaint = '';
  child.stderr.setEncoding('utf8').on('data', (said: string) => {
    complaint = (complaint + said).slice(0, complaintCharsMax);
  });
  // A program that ends before it has read its input is judged by its exit code.
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  const ahead = new PassThrough({ readableHighWaterMark: readAheadBytes });
  // A break shows where `ahead` is read, if it is.
  ahead.on('error', () => {});
  pipeline(child.stdout, ahead, () => {});

  const gone = new Promise<void>((resolve) => {
    child.once('error', () => resolve());
    child.once('exit', () => {
      killGroup(child.pid);
      resolve();
    });
  });
  const closed = new Promise((resolve) => child.once('close', resolve));
  const isGone = (): boolean => unstarted !== undefined || child.exitCode !== null || child.signalCode !== null;

  /** What is wrong with how it ended, if anything is. */
  const fault = (): Error | undefined => {
    if (unstarted || child.exitCode === 0) return unstarted;
    return new Error(`${program} ended with ${child.signalCode ?? child.exitCode}: ${complaint}`);
  };

  const kill = async (): Promise<void> => {
    if (!isGone()) killGroup(child.pid);
    ahead.destroy(new Error(`${program} was ended`));
    await gone;
    // The last of a complaint may still be under way; but what holds stderr open now has got away, and is not listened to.
    await Promise.race([closed, sleep(complaintWaitMsMax, undefined, { ref: false })]);
    child.stderr.destroy();
  };

  async function* output(): AsyncGenerator<Buffer> {
    const chunks: AsyncIterator<Buffer> = ahead[Symbol.asyncIterator]();
    let late = false;
    let waitedMs = 0;
    const waitFor = async <T>(work: Promise<T>): Promise<T> => {
      const since = performance.now();
      const timer = setTimeout(() => {
        late = true;
        void kill();
      }, waitMsMax - waitedMs);
      try {
        return await work;
      } finally {
        clearTimeout(timer);
        waitedMs += performance.now() - since;
      }
    };
    try {
      for (let next = await waitFor(chunks.next()); !next.done; next = await waitFor(chunks.next())) yield next.value;
      await waitFor(gone);
      if (fault()) throw fault();
    } catch (error) {
      await kill();
      throw new Failure(late ? 'engine_timeout' : 'engine_error', {}, fault() ?? error);
    } finally {
      await kill();
    }
  }

  return { output, kill, gone };
}
