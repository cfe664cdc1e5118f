// The library of neural models is not in a production install: the operator installs it into the data folder. A copy of
// the sources and of all packages except that one stands for such an install, with a small package as the library.
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { arch, platform, tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import packageFile from '../../package.json' with { type: 'json' };
import { explainMissingLibrary, findLibrary, librarySpec } from '../../src/engines/sherpa-onnx/sherpa-library.ts';
import { runSonant } from '../cli/sonant-program.ts';
import { makeTinyVits } from './tiny-vits.ts';

const checkout = join(import.meta.dirname, '../..');
const binaryName = `sherpa-onnx-${platform() === 'win32' ? 'win' : platform()}-${arch()}`;

let root: string;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'sonant-library-'));
});
afterAll(() => rmSync(root, { recursive: true }));

/** Half a second of a tone for any text. */
const fakeLibrary = `
const samples = Float32Array.from({ length: 8000 }, (_, i) => 0.3 * Math.sin(i / 20));
const model = { sampleRate: 16000, async generateAsync({ onProgress }) { onProgress({ samples }); return { samples }; } };
module.exports = { OfflineTts: { createAsync: async () => model } };
`;

function layPackages(packages: string, names: readonly string[]): void {
  for (const name of names) {
    mkdirSync(join(packages, name), { recursive: true });
    writeFileSync(join(packages, name, 'package.json'), JSON.stringify({ name, main: 'main.js' }));
    writeFileSync(join(packages, name, 'main.js'), fakeLibrary);
  }
}
const layLibrary = (packages: string) => layPackages(packages, ['sherpa-onnx-node', binaryName]);
const newFolder = () => mkdtempSync(join(root, 'case-'));

describe('the library', () => {
  test('is that of the checkout, or else that of the data folder, or is missing', () => {
    const [own, dataDir] = [newFolder(), newFolder()];
    const find = () => findLibrary(dataDir, pathToFileURL(join(own, 'src/library.ts')).href);
    expect(find()).toBeUndefined();
    layLibrary(join(dataDir, 'libraries/node_modules'));
    expect(find()).toBe(join(dataDir, 'libraries/node_modules/sherpa-onnx-node/main.js'));
    layLibrary(join(own, 'node_modules'));
    expect(find()).toBe(join(own, 'node_modules/sherpa-onnx-node/main.js'));
  });

  test('is missing where it has no binary for this platform', () => {
    const dataDir = newFolder();
    layPackages(join(dataDir, 'libraries/node_modules'), ['sherpa-onnx-node', 'sherpa-onnx-plan9-pdp11']);
    expect(findLibrary(dataDir, pathToFileURL(join(dataDir, 'library.ts')).href)).toBeUndefined();
  });

  test('is installed in the version that the tests use, which no production install contains', () => {
    const { dependencies, optionalDependencies, devDependencies } = packageFile;
    expect(librarySpec).toBe(`sherpa-onnx-node@${devDependencies['sherpa-onnx-node']}`);
    expect({ ...dependencies, ...optionalDependencies }).not.toHaveProperty('sherpa-onnx-node');
  });

  test('is asked for in words that a shell takes', () => {
    expect(explainMissingLibrary('/srv/data')).toBe(
      'neural models need sherpa-onnx-node, which is not installed: run npm install --prefix /srv/data/libraries ' +
        'sherpa-onnx-node@1.13.8; it contains eSpeak NG under GPL-3.0',
    );
    expect(explainMissingLibrary("/srv/my data's")).toContain(`--prefix '/srv/my data'\\''s/libraries' sherpa`);
  });
});

describe('an install without the library', { timeout: 120_000 }, () => {
  let main: string;
  let model: string;
  beforeAll(async () => {
    const install = newFolder();
    mkdirSync(join(install, 'node_modules'));
    for (const path of globSync('node_modules/*', { cwd: checkout }))
      if (!basename(path).startsWith('sherpa-onnx')) symlinkSync(join(checkout, path), join(install, path));
    symlinkSync(join(checkout, 'gen'), join(install, 'gen'));
    for (const name of ['src', 'package.json']) cpSync(join(checkout, name), join(install, name), { recursive: true });
    main = join(install, 'src/main.ts');
    model = await makeTinyVits(join(install, 'tiny'));
  });

  const run = (dataDir: string, args: string[], env: Record<string, string> = {}) =>
    runSonant(dirname(dataDir), args, '', { SONANT_DATA_DIR: dataDir, ...env }, main);
  const newDataDir = () => join(newFolder(), 'data');
  const findingOf = (out: string) => out.split('\n').find((line) => line.includes('engine sherpa-onnx'));

  test('says in import, in doctor and at the start what to run, and under which licence it is', async () => {
    const dataDir = newDataDir();
    const advice = explainMissingLibrary(dataDir);
    expect(findingOf((await run(dataDir, ['doctor'])).out)).toMatch(/^absent/);
    const imported = await run(dataDir, ['voice', 'import', model]);
    expect(imported).toMatchObject({ code: 1, err: `sonant: ${advice}\n` });
    cpSync(model, join(dataDir, 'models/tiny'), { recursive: true });
    const doctor = await run(dataDir, ['doctor']);
    expect(doctor.code).toBe(1);
    expect(findingOf(doctor.out)).toContain(advice);
    const say = ['say', 'Hello.', '-o', 'hello.wav'];
    expect(await run(dataDir, say)).toMatchObject({ code: 0, err: '' });
  });

  test('speaks with the library that is installed in the data folder', async () => {
    const dataDir = newDataDir();
    layLibrary(join(dataDir, 'libraries/node_modules'));
    expect(await run(dataDir, ['voice', 'import', model])).toMatchObject({ code: 0, err: '' });
    expect(findingOf((await run(dataDir, ['doctor'])).out)).toMatch(/^ready .* 1 models, 1 voices; /);
    expect(await run(dataDir, ['say', 'Hello.', '-v', 'tiny', '-o', 'tiny.wav'])).toMatchObject({ code: 0, err: '' });
    expect(readFileSync(join(dirname(dataDir), 'tiny.wav')).length).toBeGreaterThan(10_000);
  });
});
