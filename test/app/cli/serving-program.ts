// Starts the service as an operator does: `sonant serve` in a new folder on free ports, until the test finishes or
// `onClose` is called.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { main } from './sonant-program.ts';

export async function serve(
  flags: string[] = [],
  more: Record<string, string> = {},
  onClose: (close: () => Promise<void>) => void = onTestFinished,
  program = main,
) {
  const folder = mkdtempSync(join(tmpdir(), 'sonant-serve-'));
  const addresses = { SONANT_HTTP_ADDR: '127.0.0.1:0', SONANT_GRPC_ADDR: '127.0.0.1:0' };
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const env = { PATH, NODE_COMPILE_CACHE, SONANT_FETCH_VOICE: 'off', ...addresses, ...more };
  const child = spawn(process.execPath, [program, 'serve', ...flags], { cwd: folder, env });
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
  onClose(async () => {
    child.kill('SIGKILL');
    await ended;
    rmSync(folder, { recursive: true });
  });
  const said = await greeting(child);
  const ports = [...said.matchAll(/127\.0\.0\.1:(\d+)/g)].map(([, port]) => Number(port));
  const keyFile = more.SONANT_FIRST_KEY_FILE ?? join(folder, 'data/first-key');
  const key = readFileSync(keyFile, 'utf8').trim();
  return { folder, child, ended, said, ports, url: `http://127.0.0.1:${ports[0]}`, key };
}

/** The output of a first run, whose last line is a curl command. */
function greeting(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = '';
    child.stdout!.on('data', (bytes) => {
      said += bytes;
      if (said.includes('-o hello.wav\n')) resolve(said);
    });
    child.stderr!.on('data', (bytes) => {
      said += bytes;
    });
    child.once('exit', () => reject(new Error(`it ended: ${said}`)));
  });
}
