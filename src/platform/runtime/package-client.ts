// Runs the package clients of this machine, npm and pip, as child processes: without a shell, with only the variables
// that they need to run and to reach the operator's registry, and with a time limit. Only the start of their errors is kept.
import { spawn } from 'node:child_process';
import { delimiter, dirname } from 'node:path';
import { onAbort } from './abort.ts';

export type PackageClient = 'npm' | 'pip';

interface ClientRun {
  client: PackageClient;
  args: readonly string[];
  signal: AbortSignal;
  /** Folder for temporary files. Default: that of the environment. */
  temporary?: string;
  msMax?: number;
  /** The programs to try, in order. The first one that exists is used. */
  commands?: readonly (readonly string[])[];
}

interface ClientEnd {
  /** Exit code; null if the client was killed by a signal. */
  code: number | null;
  /** The start of what it wrote to standard error, for the log: it may contain addresses and credentials. */
  said: string;
}

const clientMsMax = 15 * 60_000;
const saidCharsMax = 16_384;

const variables = {
  any: /^(PATH|HOME|TMPDIR|LANG|SYSTEMROOT|USERPROFILE|APPDATA|LOCALAPPDATA|TEMP|NODE_EXTRA_CA_CERTS|SSL_CERT_(FILE|DIR)|(https?_|no_|all_)?proxy)$/i,
  npm: /^npm_config_(?!global|location).+$/i,
  pip: /^(REQUESTS_CA_BUNDLE|PIP_(?!REQUIRE_VIRTUALENV|LOG|VERBOSE|TARGET|USER).+)$/i,
};

function environmentOf(client: PackageClient, temporary: string | undefined): NodeJS.ProcessEnv {
  const isNeeded = (name: string) => variables.any.test(name) || variables[client].test(name);
  return {
    ...Object.fromEntries(Object.entries(process.env).filter(([name]) => isNeeded(name))),
    // The PATH of a service may lack npm, which is usually beside Node.
    PATH: [process.env.PATH, dirname(process.execPath)].filter(Boolean).join(delimiter),
    ...(temporary !== undefined && { TMPDIR: temporary, TEMP: temporary }),
  };
}

/** On Windows, npm is a script for a shell, so that its module is run instead; npm states its path to its scripts. */
export function commandsOf(
  client: PackageClient,
  { platform, env }: Pick<NodeJS.Process, 'platform' | 'env'> = process,
): readonly (readonly string[])[] {
  if (client === 'pip') return [['pip'], ['pip3'], ['python3', '-m', 'pip'], ['python', '-m', 'pip']];
  const { npm_execpath: module } = env;
  if (platform !== 'win32') return [['npm']];
  return module?.endsWith('npm-cli.js') ? [[process.execPath, module]] : [];
}

/** Runs the client. Throws if the machine has none, if the time is over, or if the signal aborts. */
export async function runClient(run: ClientRun): Promise<ClientEnd> {
  const { client, commands = commandsOf(client) } = run;
  for (const command of commands) {
    const ended = await runCommand(command, run);
    const isMissing = ended === undefined || (ended.code !== 0 && /No module named pip\b/.test(ended.said));
    if (!isMissing) return ended;
  }
  throw new Error(`${client} was not found`);
}

/** Returns undefined if there is no such program. */
async function runCommand(
  [program, ...first]: readonly string[],
  { client, args, signal, temporary, msMax = clientMsMax }: ClientRun,
): Promise<ClientEnd | undefined> {
  signal.throwIfAborted();
  const child = spawn(program!, [...first, ...args], {
    env: environmentOf(client, temporary),
    stdio: ['ignore', 'ignore', 'pipe'],
    // A group of its own, so that its children can be ended with it.
    detached: process.platform !== 'win32',
  });
  const { promise, resolve, reject } = Promise.withResolvers<number | null>();
  const end = () => {
    try {
      if (child.pid !== undefined && process.platform !== 'win32') process.kill(-child.pid, 'SIGKILL');
    } catch {
      // The group has ended.
    }
    child.kill('SIGKILL');
  };
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(0, saidCharsMax)));
  child.once('error', reject).once('close', resolve);
  using _ = onAbort(signal, end);
  let isOver = false;
  const timer = setTimeout(() => {
    isOver = true;
    end();
  }, msMax);
  try {
    const code = await promise;
    signal.throwIfAborted();
    if (isOver) throw new Error(`${client} took more than ${Math.ceil(msMax / 1000)} s`);
    return { code, said };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  } finally {
    clearTimeout(timer);
  }
}
