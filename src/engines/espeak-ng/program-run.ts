// One run of a program that is not trusted to behave: bytes in, bytes out, and no process left behind. It promises that
// - the program sees its arguments, its input and three environment variables, nothing else;
// - at most `bufferedBytesMax` are buffered for a reader that has stopped, and then the program blocks;
// - a program that keeps its reader waiting for longer than `waitMsMax` in all is killed, with all processes it started;
// - the beginning of its stderr goes into the cause of the failure, and nowhere else.
import { spawn } from 'node:child_process';
import { PassThrough, pipeline } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { Failure } from '../../errors.ts';

/** About 24 s of sound at 22 050 Hz, so that a slow reader seldom blocks a run. */
const bufferedBytesMax = 1_048_576;
const stderrCharsMax = 500;
const stderrWaitMsMax = 30;

export interface ProgramOptions {
  program: string;
  args: readonly string[];
  input: string;
  waitMsMax: number;
}

/** A process group lasts as long as any of its processes, and its number is not reused before. */
function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // No process of the group is left.
  }
}

export function startProgram({ program, args, input, waitMsMax }: ProgramOptions) {
  const { PATH, HOME, ESPEAK_DATA_PATH } = process.env;
  const env = { PATH, HOME, ESPEAK_DATA_PATH };
  const child = spawn(program, args, { detached: true, env, stdio: 'pipe' });
  let unstarted: Error | undefined;
  child.once('error', (error) => {
    unstarted = error;
  });
  // When file descriptors run out, the child has no streams, whatever its type says.
  if (!child.stdout) throw new Failure('engine_error', {}, new Error(`${program}: no file descriptors are left`));
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr = (stderr + text).slice(0, stderrCharsMax);
  });
  // A program that exits before it has read its input is judged by its exit code.
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  const buffered = new PassThrough({ readableHighWaterMark: bufferedBytesMax });
  // An error is thrown where `buffered` is read, if it is.
  buffered.on('error', () => {});
  pipeline(child.stdout, buffered, () => {});

  const gone = new Promise<void>((resolve) => {
    child.once('error', () => resolve());
    child.once('exit', () => {
      killGroup(child.pid);
      resolve();
    });
  });
  const closed = new Promise((resolve) => child.once('close', resolve));
  const isGone = (): boolean => unstarted !== undefined || child.exitCode !== null || child.signalCode !== null;

  /** Undefined after exit code 0. */
  const fault = (): Error | undefined => {
    if (unstarted || child.exitCode === 0) return unstarted;
    return new Error(`${program} ended with ${child.signalCode ?? child.exitCode}: ${stderr}`);
  };

  /** Kills the program; fulfilled when it has exited. */
  const kill = async (): Promise<void> => {
    if (!isGone()) killGroup(child.pid);
    buffered.destroy(new Error(`${program} was ended`));
    await gone;
    // The last of stderr may still arrive; a process that escaped and holds it open is not waited for.
    await Promise.race([closed, sleep(stderrWaitMsMax, undefined, { ref: false })]);
    child.stderr.destroy();
  };

  /** What it writes, to be read once. Throws `engine_error` or `engine_timeout` unless the program exits with 0. */
  async function* output(): AsyncGenerator<Buffer> {
    const chunks: AsyncIterator<Buffer> = buffered[Symbol.asyncIterator]();
    const limit = createWaitLimit(waitMsMax, () => void kill());
    try {
      for (let next = await limit.wait(chunks.next()); !next.done; next = await limit.wait(chunks.next()))
        yield next.value;
      await limit.wait(gone);
      if (fault()) throw fault();
    } catch (error) {
      await kill();
      throw new Failure(limit.isOver ? 'engine_timeout' : 'engine_error', {}, fault() ?? error);
    } finally {
      await kill();
    }
  }

  return { output, kill };
}

/** Limits how long a reader waits in all. */
function createWaitLimit(msMax: number, onOver: () => void) {
  let leftMs = msMax;
  let isOver = false;
  return {
    get isOver(): boolean {
      return isOver;
    },
    async wait<T>(work: Promise<T>): Promise<T> {
      const sinceMs = performance.now();
      const end = () => {
        isOver = true;
        onOver();
      };
      const timer = setTimeout(end, Math.max(0, leftMs));
      try {
        return await work;
      } finally {
        clearTimeout(timer);
        leftMs -= performance.now() - sinceMs;
      }
    },
  };
}
