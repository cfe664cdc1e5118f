// Runs an example to completion, as a user would.
import { spawn } from 'node:child_process';
import { text as readAll } from 'node:stream/consumers';

export async function runProgram(args: readonly string[], cwd: string, env: Record<string, string> = {}) {
  const child = spawn(process.execPath, args, { cwd, env: { ...process.env, NODE_OPTIONS: '', ...env } });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  const [out, err, code] = await Promise.all([readAll(child.stdout), readAll(child.stderr), ended]);
  return { out, err, code };
}
