// Tests an installation of the library for neural models in the data folder, since a production install lacks it. The
// tests imitate a production install: a copy of the sources and of all other packages, and a small package as library.

import { createHash } from 'node:crypto';
import {
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import { arch, platform } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import packageFile from '../../package.json' with { type: 'json' };
import pins from '../../src/engines/sherpa-onnx/sherpa-library.json' with { type: 'json' };
import { explainMissingLibrary, findLibrary, librarySpec } from '../../src/engines/sherpa-onnx/sherpa-library.ts';
import toolsFile from '../../tools/package.json' with { type: 'json' };
import lockFile from '../../tools/package-lock.json' with { type: 'json' };
import { serve } from '../app/cli/serving-program.ts';
import { runSonant } from '../app/cli/sonant-program.ts';
import { listen } from '../free-port.ts';
import { type Mirror, openMirror, sha256Of } from '../library/models/model-mirror.ts';
import { newFolder } from '../new-folder.ts';
import { bzip2, tarOf } from '../platform/archives/archive-writer.ts';
import { makeTinyVoice, tinyVoiceFiles } from './tiny-supertonic.ts';

interface NpmRegistry extends AsyncDisposable {
  url: string;
  /** Integrity of each package, as in a lock file. */
  integrity: Readonly<Record<string, string>>;
  requests: string[];
  /** Contents that are served instead of the packages. */
  forged: Map<string, Buffer>;
}

const tarballOf = (name: string, version: string, files: Readonly<Record<string, string>>): Buffer =>
  gzipSync(tarOf('package', { 'package.json': JSON.stringify({ name, version, main: 'main.js' }), ...files }));

async function openNpmRegistry(
  version: string,
  packages: Readonly<Record<string, Readonly<Record<string, string>>>>,
): Promise<NpmRegistry> {
  const tarballs = new Map(Object.entries(packages).map(([name, files]) => [name, tarballOf(name, version, files)]));
  const integrityOf = (bytes: Buffer) => `sha512-${createHash('sha512').update(bytes).digest('base64')}`;
  const forged = new Map<string, Buffer>();
  const requests: string[] = [];
  const server = createServer(({ url: path = '' }, response) => {
    requests.push(path);
    const name = /^\/([^/]+)/.exec(path)?.[1] ?? '';
    const bytes = forged.get(name) ?? tarballs.get(name);
    if (!bytes) return void response.writeHead(404).end();
    if (path.endsWith('.tgz')) return void response.end(bytes);
    const dist = { tarball: `${url}/${name}/-/${name}.tgz`, integrity: integrityOf(bytes) };
    response.setHeader('Content-Type', 'application/json');
    response.end(JSON.stringify({ name, versions: { [version]: { name, version, dist } } }));
  });
  const url = `http://127.0.0.1:${await listen(server)}`;
  return {
    url,
    integrity: Object.fromEntries([...tarballs].map(([name, bytes]) => [name, integrityOf(bytes)])),
    requests,
    forged,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const checkout = join(import.meta.dirname, '../..');
const binaryName = `sherpa-onnx-${platform() === 'win32' ? 'win' : platform()}-${arch()}`;

const root = newFolder(afterAll);

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
const newCase = () => mkdtempSync(join(root, 'case-'));

describe('the library', () => {
  test('is that of the checkout, or else that of the data folder, or is missing', () => {
    const [own, dataDir] = [newCase(), newCase()];
    const find = () => findLibrary(dataDir, pathToFileURL(join(own, 'src/library.ts')).href);
    expect(find()).toBeUndefined();
    layLibrary(join(dataDir, 'libraries/node_modules'));
    expect(find()).toBe(join(dataDir, 'libraries/node_modules/sherpa-onnx-node/main.js'));
    layLibrary(join(own, 'node_modules'));
    expect(find()).toBe(join(own, 'node_modules/sherpa-onnx-node/main.js'));
  });

  test('is missing where it has no binary for this platform', () => {
    const dataDir = newCase();
    layPackages(join(dataDir, 'libraries/node_modules'), ['sherpa-onnx-node', 'sherpa-onnx-plan9-pdp11']);
    expect(findLibrary(dataDir, pathToFileURL(join(dataDir, 'library.ts')).href)).toBeUndefined();
  });

  test('is installed in the version that the tests use, which no production install contains', () => {
    const { dependencies, optionalDependencies } = packageFile;
    expect(librarySpec).toBe(`sherpa-onnx-node@${toolsFile.dependencies['sherpa-onnx-node']}`);
    expect({ ...dependencies, ...optionalDependencies }).not.toHaveProperty('sherpa-onnx-node');
  });

  test('is installed with the hashes of the lock file, on every platform that it supports', () => {
    const locked = Object.entries(
      lockFile.packages as object as Record<string, { version: string; integrity?: string }>,
    )
      .map(([path, { version, integrity }]) => ({ name: path.replace('node_modules/', ''), version, integrity }))
      .filter(({ name }) => name.startsWith('sherpa-onnx'));
    expect(pins.integrity).toEqual(Object.fromEntries(locked.map(({ name, integrity }) => [name, integrity])));
    expect(new Set(locked.map(({ version }) => version))).toEqual(new Set([pins.version]));
  });

  test('is asked for in words that a shell takes', () => {
    expect(explainMissingLibrary('/srv/data')).toBe(
      'neural models need sherpa-onnx-node, which is not installed: sonant voice get NAME installs it, or run npm install --prefix /srv/data/libraries ' +
        'sherpa-onnx-node@1.13.8; it contains eSpeak NG under GPL-3.0',
    );
    expect(explainMissingLibrary("/srv/my data's")).toContain(`--prefix '/srv/my data'\\''s/libraries' sherpa`);
  });
});

describe('an install without the library', { timeout: 120_000 }, () => {
  let main: string;
  let model: string;
  let registry: NpmRegistry;
  afterAll(() => registry[Symbol.asyncDispose]());
  beforeAll(async () => {
    const install = newCase();
    mkdirSync(join(install, 'node_modules'));
    for (const path of globSync('node_modules/*', { cwd: checkout }))
      if (!basename(path).startsWith('sherpa-onnx')) symlinkSync(join(checkout, path), join(install, path));
    symlinkSync(join(checkout, 'gen'), join(install, 'gen'));
    for (const name of ['src', 'package.json']) cpSync(join(checkout, name), join(install, name), { recursive: true });
    const library = { 'main.js': fakeLibrary };
    registry = await openNpmRegistry(pins.version, { 'sherpa-onnx-node': library, [binaryName]: library });
    const own = { version: pins.version, integrity: registry.integrity };
    writeFileSync(join(install, 'src/engines/sherpa-onnx/sherpa-library.json'), JSON.stringify(own));
    main = join(install, 'src/main.ts');
    model = await makeTinyVoice(join(install, 'tiny'));
  });

  const run = (dataDir: string, args: string[], env: Record<string, string> = {}) =>
    runSonant(dirname(dataDir), args, '', { SONANT_DATA_DIR: dataDir, ...env }, main);
  const newDataDir = () => join(newCase(), 'data');
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

  describe('gets it with the first model', () => {
    const files = { ...tinyVoiceFiles() };
    const archive = bzip2(tarOf('vits-amy', files));
    const url = 'https://models.invalid/tts-models/vits-amy.tar.bz2';
    const row = {
      name: 'amy',
      kind: 'supertonic',
      url,
      licence: 'CC0-1.0',
      bytes: archive.length,
      sha256: sha256Of(archive),
    };

    let mirror: Mirror;
    let table: string;
    beforeAll(async () => {
      mirror = await openMirror({ 'tts-models/vits-amy.tar.bz2': archive });
      table = join(newCase(), 'models.json');
      writeFileSync(table, JSON.stringify({ models: [row] }));
    });
    afterAll(() => mirror[Symbol.asyncDispose]());

    /** Registries on loopback, and no home folder, as in the image. */
    const settings = () => ({
      ...{ SONANT_MODELS: table, SONANT_MODELS_URL: mirror.url, HOME: '/proc/none', NO_PROXY: '127.0.0.1' },
      npm_config_registry: registry.url,
    });
    const get = (dataDir: string, flags: string[], more: Record<string, string> = {}) =>
      run(dataDir, ['voice', 'get', 'amy', ...flags], { ...settings(), ...more });
    const left = (dataDir: string) => globSync('{libraries,.libraries-*,models/*}', { cwd: dataDir });

    test('after its licence is accepted, and speaks', async () => {
      const dataDir = newDataDir();
      const refused = await get(dataDir, []);
      expect(refused).toMatchObject({
        code: 1,
        err: `sonant: ${librarySpec}, which runs the model, is under GPL-3.0, because it contains eSpeak NG; if you accept it, add --yes\n`,
      });
      expect([registry.requests, left(dataDir)]).toEqual([[], []]);
      const got = await get(dataDir, ['--yes']);
      expect(got).toMatchObject({
        code: 0,
        err: '',
        out: expect.stringContaining('amy is installed, with these voices:'),
      });
      expect(got.out).toContain(
        `installing ${librarySpec}, which runs neural models, with npm; its licence is GPL-3.0`,
      );
      expect(left(dataDir).sort()).toEqual(['libraries', 'models/amy']);
      expect(readdirSync(join(dataDir, 'libraries')).filter((name) => name.startsWith('.'))).toEqual([]);
      expect(await run(dataDir, ['say', 'Hello.', '-v', 'amy', '-o', 'amy.wav'])).toMatchObject({ code: 0, err: '' });
    });

    test('from the running service, by a key that may install, and speaks', async () => {
      const { url, key, folder } = await serve([], settings(), onTestFinished, main);
      const headers = { 'X-API-Key': key, 'Content-Type': 'application/json' };
      const call = async (path: string, more: RequestInit = {}) =>
        JSON.parse(await (await fetch(`${url}/api/${path}`, { headers, ...more })).text());
      expect(await call('models/amy')).toMatchObject({
        library: { name: librarySpec, licence: 'GPL-3.0, because it contains eSpeak NG', installed: false },
      });
      const body = JSON.stringify({ scopes: ['voices:read', 'voices:write', 'speech:stream'] });
      const { key: other } = await call('auth/api-keys', { method: 'POST', body });
      const refused = await call('models/amy', { method: 'POST', headers: { 'X-API-Key': other } });
      expect([refused.error, left(join(folder, 'data'))]).toEqual(['insufficient_scope', []]);
      await call('models/amy', { method: 'POST', headers: { 'X-API-Key': key } });
      const state = async () => (await call('models/amy')).install?.state;
      await expect.poll(state, { timeout: 60_000, interval: 200 }).toBe('done');
      expect(await call('models/amy')).toMatchObject({ library: { installed: true }, voice_ids: ['amy'] });
      const speech = JSON.stringify({ voice_id: 'amy', text: 'Hello.', return_format: 'buffer' });
      const spoken = await fetch(`${url}/api/audio/speech`, { method: 'POST', headers, body: speech });
      expect([spoken.status, (await spoken.bytes()).length > 10_000]).toEqual([200, true]);
    });

    test('for a model that is there already, too', async () => {
      const dataDir = newDataDir();
      cpSync(model, join(dataDir, 'models/amy'), { recursive: true });
      const got = await get(dataDir, ['--yes']);
      expect(got).toMatchObject({ code: 0, out: expect.stringContaining('amy is already installed') });
      expect(left(dataDir)).toContain('libraries');
    });

    test('or nothing of either, if the registry serves another package', async () => {
      const dataDir = newDataDir();
      registry.forged.set(binaryName, Buffer.from('another package'));
      onTestFinished(() => void registry.forged.clear());
      const refused = await get(dataDir, ['--yes']);
      expect([refused.code, left(dataDir)]).toEqual([1, []]);
      expect(refused.err).toMatch(/the library cannot be installed: npm exited with 1.*\n.*EINTEGRITY/);
    });

    test('or nothing of either, if no registry is reached, within seconds', async () => {
      const dataDir = newDataDir();
      const began = performance.now();
      const refused = await get(dataDir, ['--yes'], { npm_config_registry: 'http://127.0.0.1:1' });
      expect([refused.code, left(dataDir)]).toEqual([1, []]);
      expect(refused.err).toMatch(/the library cannot be installed: npm exited with 1: the connection was refused; /);
      expect(performance.now() - began).toBeLessThan(20_000);
    });
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
