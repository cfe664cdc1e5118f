// Installs the newest Python clients of other vendors (requirements.txt), or the generators of clients, into a virtual
// environment beside the packages of tools/, once for each list of versions, and runs programs with them. Tests are
// skipped where Python or the packages cannot be had.
import { execFile, execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { toolFolder } from '../../tool-packages.ts';

const here = import.meta.dirname;

/** Path of the interpreter with the packages of a list; undefined if they cannot be installed. */
export function findPython(list = 'requirements.txt'): string | undefined {
  const requirements = join(here, list);
  const version = createHash('sha256').update(readFileSync(requirements)).digest('hex').slice(0, 12);
  const folder = join(toolFolder, `.python-clients-${version}`);
  const python = join(folder, 'bin/python');
  const isReady = join(folder, 'ready');
  if (existsSync(isReady)) return python;
  const run = (program: string, ...args: string[]) => execFileSync(program, args, { stdio: 'pipe' });
  try {
    rmSync(folder, { recursive: true, force: true });
    run('python3', '-m', 'venv', folder);
    run(python, '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '-r', requirements);
    writeFileSync(isReady, '');
    return python;
  } catch (error) {
    console.log(`The Python clients are not installed, so their tests are skipped: ${error}`);
    return undefined;
  }
}

/** Runs a program of this folder with a JSON input. Returns its JSON output. */
export function runPython<Output>(python: string, program: string, args: string[], input: unknown): Promise<Output> {
  return new Promise((resolve, reject) => {
    const options = { timeout: 300_000, maxBuffer: 2 ** 26 };
    const child = execFile(python, [join(here, program), ...args], options, (error, stdout, stderr) => {
      if (error) reject(new Error(`${program} failed: ${stderr.slice(-4000)}`));
      else resolve(JSON.parse(stdout.trim().split('\n').at(-1)!) as Output);
    });
    child.stdin!.end(JSON.stringify(input));
  });
}
