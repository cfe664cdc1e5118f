// Runs the program as a user does, in a new folder.
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text as readAll } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';

export const main = join(import.meta.dirname, '../../../src/sonant.js');

export interface Ended {
  code: number | null;
  out: string;
  err: string;
}

/** Removes the lines of progress that a command prints every ten seconds on a slow machine. */
export const withoutProgress = (err: string): string => err.replace(/^sonant: \d+ %, .*\n/gm, '');

/** No service of a test fetches a voice by itself. */
export const withoutFetch = ([command]: readonly string[]): Record<string, string> =>
  command === 'serve' ? { SONANT_FETCH_VOICE: 'off' } : {};

export async function runSonant(
  folder: string,
  args: string[],
  input = '',
  env: Record<string, string> = {},
  program = main,
): Promise<Ended> {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const child = spawn(process.execPath, [program, ...args], {
    cwd: folder,
    env: { PATH, NODE_COMPILE_CACHE, ...withoutFetch(args), ...env },
  });
  child.stdin.end(input);
  child.stdout.setEncoding('latin1');
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  const [out, err, code] = await Promise.all([readAll(child.stdout), readAll(child.stderr), ended]);
  return { code, out, err: withoutProgress(err) };
}

/**
 * Waits until the program is idle: in four consecutive samples it is asleep and has used almost no CPU time in between.
 * Its earlier CPU use depends on the machine and shows nothing.
 */
export async function untilWaiting({ pid }: ChildProcess): Promise<void> {
  if (!existsSync('/proc/self/stat')) return sleep(5_000);
  const looksInARow = 4;
  const ticksToPoll = 2;
  let before = 0;
  for (let quiet = 0; quiet < looksInARow; ) {
    // The fields after the process name, which is in brackets.
    const [, state, fields] = /\) (\S) (.*)/s.exec(readFileSync(`/proc/${pid}/stat`, 'latin1'))!;
    const [userTicks, systemTicks] = fields!.split(' ').slice(10, 12).map(Number);
    const used = userTicks! + systemTicks!;
    quiet = state === 'S' && used <= before + ticksToPoll ? quiet + 1 : 0;
    before = used;
    await sleep(250);
  }
}
