// The program as a person runs it, in a folder of its own.
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text as readAll } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';

export const main = join(import.meta.dirname, '../../src/sonant.js');

export interface Ended {
  code: number | null;
  out: string;
  err: string;
}

export async function runSonant(
  folder: string,
  args: string[],
  input = '',
  env: Record<string, string> = {},
  program = main,
): Promise<Ended> {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const child = spawn(process.execPath, [program, ...args], { cwd: folder, env: { PATH, NODE_COMPILE_CACHE, ...env } });
  child.stdin.end(input);
  child.stdout.setEncoding('latin1');
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  const [out, err, code] = await Promise.all([readAll(child.stdout), readAll(child.stderr), ended]);
  return { code, out, err };
}

/** Until the program waits for something: it has run, and runs no more. */
export async function untilWaiting({ pid }: ChildProcess): Promise<void> {
  if (!existsSync('/proc/self/stat')) return sleep(5_000);
  const ticks = () => {
    const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(' ');
    return Number(fields[13]) + Number(fields[14]);
  };
  let before = -1;
  for (let now = ticks(); now !== before || now < 20; now = ticks()) {
    before = now;
    await sleep(500);
  }
}
