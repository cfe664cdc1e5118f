// Tests the content of a production install: only permitted licences, pinned packages, all packages in the bill of
// materials and in NOTICE, and an error message for an old version of Node.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { readInstalled, toSbom } from '../.ci/sbom.ts';
import packageFile from '../package.json' with { type: 'json' };
import { versionText } from '../src/platform/runtime/installation.ts';
import toolsFile from '../tools/package.json' with { type: 'json' };
import { newFolder } from './new-folder.ts';

const root = join(import.meta.dirname, '..');
const check = (folder: string) => {
  const { status, stderr } = spawnSync(process.execPath, [join(root, '.ci/licences.ts'), folder], { encoding: 'utf8' });
  return { status, faults: stderr.split('\n').filter((line) => line !== '') };
};

/** Writes a folder with a lock file of packages and their files. */
function layInstall(packages: Record<string, object>, files: readonly string[] = []): string {
  const folder = newFolder();
  const own = { name: 'fake', version: '1.0.0', license: 'MIT', dependencies: {} };
  const locked = Object.entries(packages).map(([path, more]) => [path, { version: '1.0.0', ...more }]);
  const lock = { lockfileVersion: 3, packages: { '': own, ...Object.fromEntries(locked) } };
  writeFileSync(join(folder, 'package.json'), JSON.stringify(own));
  writeFileSync(join(folder, 'package-lock.json'), JSON.stringify(lock));
  for (const file of files) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), 'any');
  }
  return folder;
}

test('a production install has only licences that are allowed', () => {
  expect(check(root)).toEqual({ status: 0, faults: [] });
});

test.each<[what: string, packages: Record<string, object>, files: readonly string[], fault: string]>([
  ['a package under the GPL', { 'node_modules/a': { license: 'GPL-3.0' } }, [], 'a@1.0.0 is under GPL-3.0, which'],
  ['one of another package', { 'node_modules/b/node_modules/a': { license: 'AGPL-3.0-only' } }, [], 'a@1.0.0 is under'],
  ['a package without a licence', { 'node_modules/a': {} }, [], 'a@1.0.0 states no licence'],
  ['a licence that nobody knows', { 'node_modules/a': { license: 'SEE LICENSE IN x' } }, [], 'a@1.0.0 is under SEE'],
  ['one of two that both apply', { 'node_modules/a': { license: '(MIT AND GPL-2.0-only)' } }, [], 'a@1.0.0 is under'],
  ['the LGPL of any package', { 'node_modules/a': { license: 'LGPL-3.0-or-later' } }, [], 'a@1.0.0 is under LGPL'],
  [
    'GPL code in a package that states another licence',
    { 'node_modules/sherpa-onnx-node': { license: 'Apache-2.0' } },
    [],
    'espeak-ng in sherpa-onnx-node@1.0.0 is under GPL-3.0-or-later, which is not allowed',
  ],
  [
    'a binary of which nothing is known',
    { 'node_modules/a': { license: 'MIT' } },
    ['node_modules/a/dist/fast.wasm'],
    'a@1.0.0 contains dist/fast.wasm: state in',
  ],
])('%s is refused', (_, packages, files, fault) => {
  expect(check(layInstall(packages, files))).toEqual({ status: 1, faults: [expect.stringContaining(fault)] });
});

test('development packages, one of two licences to choose from, and named LGPL packages are accepted', () => {
  const packages = {
    'node_modules/a': { license: 'GPL-3.0', dev: true },
    'node_modules/b': { license: '(GPL-2.0-only OR (MIT AND ISC))' },
    'node_modules/codec-parser': { license: 'LGPL-3.0-or-later' },
  };
  expect(check(layInstall(packages))).toEqual({ status: 0, faults: [] });
});

test('the bill of materials lists every production package, with what is compiled into it, and no other', () => {
  const { components, dependencies, metadata } = toSbom(root);
  const names = components.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(Object.keys(packageFile.dependencies)));
  // Development packages also need these packages.
  expect(names).toEqual(expect.arrayContaining(['jose', 'ajv']));
  expect(
    names.filter((name) => name in packageFile.devDependencies && name !== 'ajv' && name !== 'ajv-formats'),
  ).toEqual([]);
  const encoders = components.find(({ name }) => name === 'wasm-media-encoders');
  expect(encoders).toMatchObject({
    purl: `pkg:npm/wasm-media-encoders@${packageFile.dependencies['wasm-media-encoders']}`,
    hashes: [{ alg: 'SHA-512', content: expect.stringMatching(/^[0-9a-f]{128}$/) }],
    components: expect.arrayContaining([
      expect.objectContaining({ name: 'lame', licenses: [{ license: { id: 'LGPL-2.0-or-later' } }] }),
    ]),
  });
  const refs = new Set(components.map((component) => component['bom-ref']));
  expect(refs.size).toBe(components.length);
  expect(dependencies.flatMap(({ dependsOn }) => dependsOn).filter((ref) => !refs.has(ref))).toEqual([]);
  expect(metadata.component).toMatchObject({ name: 'sonant', version: packageFile.version, type: 'application' });
});

test('every package is pinned, with its checksum, and npm runs no script of a package', () => {
  const { dependencies, optionalDependencies, devDependencies, allowScripts } = packageFile;
  const wanted = Object.entries({
    ...dependencies,
    ...optionalDependencies,
    ...devDependencies,
    ...toolsFile.dependencies,
  });
  expect(wanted.filter(([, version]) => !/^\d[\w.-]*$/.test(version))).toEqual([]);
  for (const folder of [root, join(root, 'tools')]) {
    const { packages } = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8'));
    const locked = Object.entries<{ integrity?: string }>(packages).filter(([path]) => path !== '');
    expect(locked.filter(([, { integrity }]) => !integrity?.startsWith('sha512-')).map(([path]) => path)).toEqual([]);
  }
  expect(Object.values({ ...allowScripts, ...toolsFile.allowScripts }).filter(Boolean)).toEqual([]);
});

test('npm run sbom prints it', () => {
  const printed = execFileSync('npm', ['run', '-s', 'sbom'], { cwd: root, encoding: 'utf8' });
  expect(JSON.parse(printed).components).toHaveLength(readInstalled(root).length);
});

test('NOTICE names every direct dependency and everything compiled into a package', () => {
  const notice = readFileSync(join(root, 'NOTICE'), 'utf8').toLowerCase();
  const { dependencies, optionalDependencies } = packageFile;
  const contained = readInstalled(root).flatMap(({ name, contains }) =>
    contains ? [name, ...contains.map((work) => work.name)] : [],
  );
  const named = [...Object.keys({ ...dependencies, ...optionalDependencies }), ...contained, 'sherpa-onnx-node'];
  expect([...new Set(named)].filter((name) => !notice.includes(name.toLowerCase()))).toEqual([]);
});

const system = process.env.PATH!.split(':').filter((folder) => !folder.includes('node_modules'));
const oldNode = system
  .map((folder) => join(folder, 'node'))
  .find((node) => /^v(18|20|22)\./.test(spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout ?? ''));

test.skipIf(!oldNode)('a Node that is too old is told so in one line', () => {
  const { status, stdout, stderr } = spawnSync(oldNode!, [join(root, packageFile.bin.sonant), 'serve'], {
    encoding: 'utf8',
  });
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
  expect(stderr).toMatch(/^sonant: Node 24 or newer is needed, but this is v\d+\.\d+\.\d+; [^\n]*\n$/);
});

test('npm starts the program by the file that checks Node', () => {
  const { scripts, bin } = packageFile;
  // npm's shell does not pass on signals, so `exec` replaces it.
  expect([scripts.start, scripts.sonant]).toEqual([`exec node ${bin.sonant} serve`, `node ${bin.sonant}`]);
  const run = spawnSync(process.execPath, [join(root, bin.sonant), '--version'], { encoding: 'utf8' });
  expect(run).toMatchObject({ status: 0, stdout: `${versionText()}\n` });
});
