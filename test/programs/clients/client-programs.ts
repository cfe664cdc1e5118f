// Installs the newest clients of other vendors beside the packages of tools/, once for each list of versions, and runs
// programs with them. Clients for Python (requirements.txt) are installed in a virtual environment, clients for JavaScript
// from the lock file of an example. Tests are skipped if Python or the packages cannot be installed.
import { execFile, execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { toolFolder } from '../../tool-packages.ts';

const here = import.meta.dirname;

/** Path of the interpreter with the packages of a list; undefined if they cannot be installed. */
export function findPython(list = 'requirements.txt'): string | undefined {
  const requirements = join(here, list);
  const folder = installOnce('python-clients', requirements, (made) => {
    run('python3', ['-m', 'venv', made]);
    const options = ['--quiet', '--disable-pip-version-check', '-r', requirements];
    run(join(made, 'bin/python'), ['-m', 'pip', 'install', ...options]);
  });
  return folder && join(folder, 'bin/python');
}

/** The folder with the packages of an example that has its own lock file; undefined if they cannot be installed. */
export function findPackages(example: string): string | undefined {
  const source = join(here, '../../../examples', example);
  return installOnce(example, join(source, 'package-lock.json'), (made) => {
    mkdirSync(made);
    for (const file of ['package.json', 'package-lock.json']) cpSync(join(source, file), join(made, file));
    run('npm', ['ci', '--no-audit', '--no-fund', '--ignore-scripts'], made);
  });
}

const run = (program: string, args: string[], cwd?: string) => execFileSync(program, args, { stdio: 'pipe', cwd });

/**
 * Installs packages into a folder that gets its final name when it is complete, because another test file may install the
 * same list at the same time. Returns the folder.
 */
function installOnce(name: string, list: string, install: (folder: string) => void): string | undefined {
  const version = createHash('sha256').update(readFileSync(list)).digest('hex').slice(0, 12);
  const folder = join(toolFolder, `.${name}-${version}`);
  const isReady = join(folder, 'ready');
  if (existsSync(isReady)) return folder;
  const made = `${folder}-${process.pid}`;
  try {
    install(made);
    writeFileSync(join(made, 'ready'), '');
    if (!existsSync(isReady)) renameSync(made, folder);
    return folder;
  } catch (error) {
    // Another file has just installed it.
    if (existsSync(isReady)) return folder;
    console.log(`The packages of ${list} are not installed, so the tests that need them are skipped: ${error}`);
    return undefined;
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
}

/** Runs a program of this folder with a JSON input. Returns its JSON output. */
export function runProgram<Output>(
  interpreter: string,
  program: string,
  args: string[],
  input: unknown,
  env: Record<string, string> = {},
): Promise<Output> {
  return new Promise((resolve, reject) => {
    const options = { timeout: 300_000, maxBuffer: 2 ** 26, env: { ...process.env, ...env } };
    const child = execFile(interpreter, [join(here, program), ...args], options, (error, stdout, stderr) => {
      if (error) reject(new Error(`${program} failed: ${stderr.slice(-4000)}`));
      else resolve(JSON.parse(stdout.trim().split('\n').at(-1)!) as Output);
    });
    child.stdin!.end(JSON.stringify(input));
  });
}
