// Tests that npm installs a missing library for neural voices completely, or not at all.

import { existsSync, readFileSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { addLibrary, librarySpec } from '../../src/engines/sherpa-onnx/sherpa-library.ts';
import { newFolder } from '../new-folder.ts';

let dataDir: string;
let printed: string[];
const root = newFolder(afterAll);
beforeEach(async () => {
  dataDir = join(await mkdtemp(join(root, 'case-')), 'data');
  printed = [];
});

/** Stands in for npm: records its arguments, or runs the script. */
async function writeNpm(script: string): Promise<string> {
  const path = join(dataDir, '../npm');
  await writeFile(path, `#!/bin/sh\n${script}\n`);
  await chmod(path, 0o755);
  return path;
}

const current = librarySpec.split('@')[1]!;
const installs = `echo "$@" >> "$0.args"; mkdir -p "$3/node_modules/sherpa-onnx-node"; echo ${current} > "$3/version"`;
const findVersion = (folder: string) => {
  const file = join(folder, 'libraries/version');
  return existsSync(file) ? readFileSync(file, 'utf8').trim() : undefined;
};
const add = (npm: string, signal = new AbortController().signal) =>
  addLibrary({ dataDir, signal, print: (line) => printed.push(line) }, { findVersion, npm });
const there = async () => (await readdir(dataDir)).filter((name) => name !== '.libraries.lock');

test('it is installed once, with a word about its licence, also when two ask for it', async () => {
  const npm = await writeNpm(installs);
  await Promise.all([add(npm), add(npm)]);
  await add(npm);
  expect(printed.filter((line) => /GPL-3.0/.test(line))).toHaveLength(1);
  expect(await there()).toEqual(['libraries']);
});

test('an earlier attempt is replaced', async () => {
  await mkdir(join(dataDir, 'libraries/half'), { recursive: true });
  await add(await writeNpm(installs));
  expect(await readdir(join(dataDir, 'libraries'))).toEqual([
    'node_modules',
    'package-lock.json',
    'package.json',
    'version',
  ]);
  expect(await there()).toEqual(['libraries']);
});

test('the library of an earlier release is replaced, and still used offline', async () => {
  await mkdir(join(dataDir, 'libraries'), { recursive: true });
  await writeFile(join(dataDir, 'libraries/version'), '1.0.0');
  const npm = await writeNpm(installs);
  const { signal } = new AbortController();
  await addLibrary({ dataDir, isOffline: true, signal, print() {} }, { findVersion, npm });
  expect(findVersion(dataDir)).toBe('1.0.0');
  await add(await writeNpm('exit 7'));
  expect(findVersion(dataDir)).toBe('1.0.0');
  expect(printed.at(-1)).toContain('npm exited with 7');
  expect(printed.at(-1)).toContain('continues to use version 1.0.0');
  await add(await writeNpm(installs));
  expect(findVersion(dataDir)).toBe(current);
  expect(printed.at(-1)).toContain(`installing ${librarySpec} in place of 1.0.0`);
});

test('a failure of npm, or none of npm at all, is told, and leaves nothing', async () => {
  await expect(add(await writeNpm('echo "npm error network" >&2; exit 7'))).rejects.toMatchObject({
    message: expect.stringMatching(
      /npm exited with 7; install it yourself: npm install --prefix DATA\/libraries sherpa-onnx-node@/,
    ),
    cause: new Error('npm error network'),
  });
  await expect(add(join(root, 'none'))).rejects.toThrow('cannot be installed');
  await expect(add(await writeNpm('exit 0'))).rejects.toThrow('does not support this system');
});

test('an interruption ends npm', async () => {
  const interrupted = new AbortController();
  const added = add(await writeNpm('sleep 60'), interrupted.signal);
  setTimeout(() => interrupted.abort(new Error('enough')), 300);
  await expect(added).rejects.toThrow('enough');
  expect(findVersion(dataDir)).toBe(undefined);
});

test('npm gets what it needs to reach a registry, but no secret of the service', async () => {
  onTestFinished(() => void vi.unstubAllEnvs());
  const secrets = ['SONANT_MASTER_KEY', 'SONANT_DATABASE_URL', 'AWS_SECRET_ACCESS_KEY'];
  for (const name of secrets) vi.stubEnv(name, 'secret');
  const wanted = ['https_proxy', 'NO_PROXY', 'NODE_EXTRA_CA_CERTS', 'npm_config_registry', 'TMPDIR', 'LANG'];
  for (const name of wanted) vi.stubEnv(name, 'wanted');
  await add(await writeNpm(`env > "$0.env"; ${installs}`));
  const names = (await readFile(join(dataDir, '../npm.env'), 'utf8')).split('\n').map((line) => line.split('=')[0]);
  expect(names).toEqual(expect.arrayContaining([...wanted, 'PATH', 'HOME']));
  expect(names.filter((name) => name!.startsWith('SONANT_') || secrets.includes(name!))).toEqual([]);
});

test('offline, npm is not run, and a library that is missing is refused with what to do', async () => {
  const { signal } = new AbortController();
  const added = addLibrary(
    { dataDir, isOffline: true, signal, print() {} },
    { findVersion, npm: await writeNpm(installs) },
  );
  await expect(added).rejects.toMatchObject({
    reason: 'engine_unavailable',
    message: expect.stringMatching(/run npm install --prefix .*data\/libraries sherpa-onnx-node@/),
  });
  expect(existsSync(dataDir)).toBe(false);
});
