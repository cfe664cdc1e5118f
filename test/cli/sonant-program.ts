// The program as a person runs it, in a folder of its own.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { text as readAll } from 'node:stream/consumers';

export const main = join(import.meta.dirname, '../../src/main.ts');

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
): Promise<Ended> {
  const child = spawn(process.execPath, [main, ...args], { cwd: folder, env: { PATH: process.env.PATH, ...env } });
  child.stdin.end(input);
  child.stdout.setEncoding('latin1');
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  const [out, err, code] = await Promise.all([readAll(child.stdout), readAll(child.stderr), ended]);
  return { code, out, err };
}
