// Runs the command line in the test's process. Resembles `runSonant`, but starts no program, which would take a second.
// Signals, pipes, descriptors and Node's environment are tested with `runSonant`.
import { Readable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { vi } from 'vitest';
import { type Ended, main, withoutFetch, withoutProgress } from './sonant-program.ts';

const module = pathToFileURL(main.replace('sonant.js', 'main.ts'));
let runs = 0;
let last: Promise<unknown> = Promise.resolve();

/** Runs one command at a time: a process has one working directory and one environment. */
export function runMain(
  folder: string,
  args: string[],
  input: string | Uint8Array = '',
  env: Record<string, string> = {},
): Promise<Ended> {
  const ended = last.then(() => run(folder, args, input, env));
  last = ended.catch(() => {});
  return ended;
}

async function run(
  folder: string,
  args: string[],
  input: string | Uint8Array,
  env: Record<string, string>,
): Promise<Ended> {
  using restored = new DisposableStack();
  restoreProcess(restored);
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  setEnvironment({ PATH, NODE_COMPILE_CACHE, ...withoutFetch(args), ...env });
  process.chdir(folder);
  process.argv = [process.execPath, main, ...args];
  process.exitCode = undefined;
  const stdin = Readable.from(input.length === 0 ? [] : [Buffer.from(input)]);
  const reading = vi.spyOn(process, 'stdin', 'get').mockReturnValue(stdin as typeof process.stdin);
  restored.defer(() => reading.mockRestore());
  const out = capture('stdout', restored);
  const err = capture('stderr', restored);
  // main.ts runs its command when it is loaded. With a different query it is loaded again, but its imports are not.
  await import(/* @vite-ignore */ `${module}?run=${++runs}`);
  return {
    code: Number(process.exitCode),
    out: out().toString('latin1'),
    err: withoutProgress(err().toString('utf8')),
  };
}

function restoreProcess(restored: DisposableStack): void {
  const { argv, exitCode } = process;
  const [folder, env] = [process.cwd(), { ...process.env }];
  const listeners = (['SIGINT', 'SIGTERM', 'exit'] as const).map((name) => [name, process.rawListeners(name)] as const);
  const onError = process.stdout.rawListeners('error');
  restored.defer(() => {
    process.chdir(folder);
    setEnvironment(env);
    Object.assign(process, { argv, exitCode });
    for (const [name, before] of listeners)
      for (const each of process.rawListeners(name))
        if (!before.includes(each)) process.removeListener(name, each as () => void);
    for (const each of process.stdout.rawListeners('error'))
      if (!onError.includes(each)) process.stdout.removeListener('error', each as () => void);
  });
}

/** Changes process.env in place, because threads read the environment of the process itself. */
function setEnvironment(env: NodeJS.ProcessEnv): void {
  for (const name of Object.keys(process.env)) if (env[name] === undefined) delete process.env[name];
  for (const [name, value] of Object.entries(env)) if (value !== undefined) process.env[name] = value;
}

/** Captures the output of the stream. */
function capture(name: 'stdout' | 'stderr', restored: DisposableStack): () => Buffer {
  const pieces: Buffer[] = [];
  const writing = vi.spyOn(process[name], 'write').mockImplementation((piece, ...more) => {
    pieces.push(Buffer.from(piece as Uint8Array));
    const written = more.find((each) => typeof each === 'function');
    if (written) process.nextTick(written);
    return true;
  });
  restored.defer(() => writing.mockRestore());
  return () => Buffer.concat(pieces);
}
