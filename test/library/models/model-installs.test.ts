// Tests the progress of installations, with an engine that only copies files. Cases: a library that is installed first,
// an unreachable source, a full disk, and a service that stops.
import { once } from 'node:events';
import { statfsSync, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, truncate, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { patienceDefault } from '../../../src/library/models/download.ts';
import {
  createModelInstalls,
  type ModelInstallsOptions,
  toInstallFailure,
} from '../../../src/library/models/model-installs.ts';
import { type ModelEngine, parseRows, toOffered } from '../../../src/library/models/model-table.ts';
import { Failure } from '../../../src/platform/errors.ts';
import { defineTone } from '../../engines/tone-engine.ts';
import { newFolder } from '../../new-folder.ts';
import { type Mirror, openMirror } from './model-mirror.ts';

let dataDir: string;
let mirror: Mirror;
const root = newFolder(afterAll);
beforeEach(async () => {
  dataDir = await mkdtemp(join(root, 'case-'));
  mirror = await openMirror({ 'tts-models/amy.tar.gz': Buffer.alloc(50_000), 'more/vocos.onnx': Buffer.alloc(30_000) });
});

const rows = parseRows({
  models: [
    { name: 'amy', url: 'https://models.invalid/tts-models/amy.tar.gz' },
    {
      ...{ name: 'two', url: 'https://models.invalid/tts-models/amy.tar.gz' },
      parts: [{ url: 'https://models.invalid/more/vocos.onnx', as: 'vocos.onnx' }],
    },
  ],
});

/** Copies a model without checks, once the library exists. */
function engineOf(prepare: () => Promise<void>): ModelEngine {
  let isHere = false;
  return {
    ...defineTone(),
    async importVoice({ name, dataDir: data }) {
      await mkdir(join(data, 'models', name!));
      await writeFile(join(data, 'models', name!, 'model'), '');
      return [name!];
    },
    models: {
      kinds: [],
      folder: (data) => join(data, 'models'),
      library: { name: 'library@1', licence: 'GPL-3.0', isHere: () => isHere },
      async prepare({ signal }) {
        await prepare();
        signal.throwIfAborted();
        isHere = true;
      },
    },
  };
}

function open(options: Partial<ModelInstallsOptions> = {}, prepare = async () => {}) {
  const engine = engineOf(prepare);
  const events: string[] = [];
  const installs = createModelInstalls({
    offered: rows.map((row) => ({ row, engine })),
    engines: [engine],
    dataDir,
    modelsUrl: mirror.url,
    isOffline: false,
    leaveFree: () => 0,
    isOffered: () => true,
    onEvent: (message, facts, failure) => events.push(`${message} ${JSON.stringify(facts)} ${failure?.reason ?? ''}`),
    patience: { ...patienceDefault, pauseMs: 1, pauseMsMax: 4, attemptsMax: 3 },
    ...options,
  });
  onTestFinished(async () => {
    await installs.close();
    await mirror[Symbol.asyncDispose]();
  });
  const ended = async (name: string) => {
    for (;;) {
      const { install, isInstalled } = await installs.find(name);
      if (install && ['done', 'failed', 'cancelled'].includes(install.state)) return { ...install, isInstalled };
      await sleep(20);
    }
  };
  return { installs, events, ended };
}

test('what runs the models is installed first, and is told with its licence', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const { installs, ended } = open({}, () => promise);
  expect(await installs.find('amy')).toMatchObject({ library: { licence: 'GPL-3.0', isInstalled: false } });
  await installs.install('amy', 'a test');
  expect((await installs.find('amy')).install).toMatchObject({ state: 'preparing', bytesDone: 0 });
  expect(mirror.requests).toEqual([]);
  resolve();
  expect(await ended('amy')).toMatchObject({ state: 'done', isInstalled: true });
  expect((await installs.find('amy')).library.isInstalled).toBe(true);
});

test('a model of a kind that nobody has stated is imported by the first engine that knows it', async () => {
  const prepared: string[] = [];
  const known = engineOf(async () => void prepared.push('known'));
  const other = { ...engineOf(async () => void prepared.push('other')), importVoice: async () => undefined };
  const { installs, ended } = open({ offered: toOffered(rows[0]!, [other, known]) });
  await installs.install('amy', 'a test');
  expect(await ended('amy')).toMatchObject({ state: 'done', isInstalled: true });
  expect(prepared).toEqual(['other', 'known']);
});

test('a model of an earlier version, which its engine cannot use, is no installed model', async () => {
  const engine = engineOf(async () => {});
  await mkdir(join(dataDir, 'models/amy'), { recursive: true });
  const models = { ...engine.models, isOwn: () => false };
  const { installs, ended } = open({ offered: [{ row: rows[0]!, engine: { ...engine, models } }] });
  await installs.install('amy', 'a test');
  const { state, failure } = await ended('amy');
  expect([state, failure!.message]).toEqual([
    'failed',
    expect.stringMatching(/; remove it first: sonant voice remove amy/),
  ]);
  expect(mirror.requests).toEqual([]);
});

test('bytes of all files are told together, also where the table does not know them', async () => {
  const { installs, ended } = open();
  await installs.install('two', 'a test');
  expect(await ended('two')).toMatchObject({ state: 'done', bytesDone: 80_000, bytesTotal: 80_000 });
});

test('a source that is away is a failure in words, after a few attempts', async () => {
  mirror.fault = (_, response) => !!response.writeHead(503).end();
  const { installs, events, ended } = open();
  await installs.install('amy', 'a test');
  const { state, failure } = await ended('amy');
  expect({ state, reason: failure!.reason }).toEqual({ state: 'failed', reason: 'engine_unavailable' });
  expect(failure!.message).toMatch(/amy.tar.gz cannot be fetched: it returned status 503/);
  expect(events.join('\n')).toMatch(/not installed.*"fault":".*503.* engine_unavailable/);
});

test('no room on the disk is a failure, also where the size is known only from the source', async () => {
  let looks = 0;
  const { installs, ended } = open({ leaveFree: () => (looks++ === 0 ? 0 : 1e18) });
  await installs.install('amy', 'a test');
  expect((await ended('amy')).failure).toMatchObject({ reason: 'storage_full' });
  expect(looks).toBe(2);
  expect(mirror.requests).toHaveLength(2);
});

test('an installation that begins while the model is removed is not lost', async () => {
  const { installs, ended } = open();
  await installs.install('amy', 'a test');
  await ended('amy');
  // So many files that their removal takes a while.
  for (let i = 0; i < 2_000; i++) writeFileSync(join(dataDir, 'models/amy', `file-${i}`), '');
  const removed = installs.remove('amy', 'a test', new AbortController().signal);
  while ((await installs.find('amy')).isInstalled) await sleep(0);
  await installs.install('amy', 'a test');
  await removed;
  expect((await installs.find('amy')).install).toMatchObject({ state: expect.not.stringMatching('elsewhere') });
  expect(await ended('amy')).toMatchObject({ state: 'done', isInstalled: true });
});

test('an installation that is cancelled while its voices are awaited leaves no model', async () => {
  const { promise: awaited, resolve } = Promise.withResolvers<void>();
  const isOffered = () => {
    resolve();
    return false;
  };
  const { installs, events } = open({ isOffered });
  await installs.install('amy', 'a test');
  await awaited;
  expect(await installs.find('amy')).toMatchObject({ isInstalled: true, install: { state: 'unpacking' } });
  const { signal } = new AbortController();
  await Promise.all([1, 2].map(() => installs.remove('amy', 'a test', signal)));
  expect(await installs.find('amy')).toMatchObject({ isInstalled: false, install: undefined, fetchedBytes: 0 });
  expect(events.filter((event) => event.startsWith('model removed')).length).toBeGreaterThan(0);
  await expect(installs.remove('amy', 'a test', signal)).rejects.toMatchObject({ reason: 'not_found' });
});

test('what was fetched before needs no room again', async () => {
  const { bavail, bsize } = statfsSync(dataDir);
  const pinned = parseRows({
    models: [{ ...{ name: 'amy', url: rows[0]!.url }, bytes: 4e9, sha256: '0'.repeat(64) }],
  });
  const engine = engineOf(async () => {});
  const left = { leaveFree: () => bavail * bsize - 5e9 };
  const { installs, ended } = open({ ...left, offered: pinned.map((row) => ({ row, engine })) });
  await installs.install('amy', 'a test');
  expect((await ended('amy')).failure).toMatchObject({ reason: 'storage_full' });
  // A sparse file of ten GB.
  const downloads = join(dataDir, 'models/.downloads/amy');
  await writeFile(join(downloads, 'fetched'), '');
  await truncate(join(downloads, 'fetched'), 9.9e9);
  await installs.install('amy', 'a test');
  expect((await ended('amy')).failure!.message).toMatch(/has 50000 bytes/);
});

test('a row whose files would overwrite each other is refused', () => {
  const parts = [{ url: 'https://models.invalid/other/amy.tar.gz', as: 'other' }];
  const models = [{ name: 'amy', url: rows[0]!.url, parts }];
  expect(() => parseRows({ models })).toThrow('amy has two files of the same name');
});

test('a lock that cannot be opened hides no model', async () => {
  await mkdir(join(dataDir, 'models/.locks'), { recursive: true });
  // Nobody can open a socket as a file, not even root.
  const socket = createServer().listen(join(dataDir, 'models/.locks/amy'));
  await once(socket, 'listening');
  onTestFinished(() => void socket.close());
  const { installs } = open();
  expect((await installs.list()).map(({ row, install }) => [row.name, install])).toEqual([
    ['amy', undefined],
    ['two', undefined],
  ]);
});

test('the end of the service ends what is under way and what waits, and nothing begins any more', async () => {
  mirror.pace = { bytes: 1_000, ms: 50 };
  const { installs } = open();
  await installs.install('amy', 'a test');
  await installs.install('two', 'a test');
  expect((await installs.find('two')).install).toMatchObject({ state: 'queued' });
  await installs.close();
  expect((await installs.list()).map(({ install }) => install?.state)).toEqual(['cancelled', 'cancelled']);
  expect((await readdir(join(dataDir, 'models'))).filter((name) => !name.startsWith('.'))).toEqual([]);
  await expect(installs.install('amy', 'a test')).rejects.toMatchObject({ reason: 'overloaded' });
});

const told = (error: unknown) => {
  const { reason, message, cause } = toInstallFailure(error, '/srv/sonant/data');
  expect(cause).toBeDefined();
  return { reason, message };
};
const of = (message: string) => told(new Failure('invalid_request', { message })).message;

test('paths of the machine are left out', () => {
  expect(of('/srv/sonant/data/models/.downloads/amy/amy.tar.bz2 was not imported')).toBe(
    'amy.tar.bz2 was not imported',
  );
  expect(of('model amy already exists in /srv/sonant/data/models/amy')).toBe('model amy already exists in models/amy');
});

test('credentials in a URL are left out', () => {
  expect(of('https://user:secret@mirror.example/a/b.tar.bz2 answers 403')).toBe(
    'https://mirror.example/a/b.tar.bz2 answers 403',
  );
});

test('a password is left out whole, also where it contains what ends it', () => {
  expect(of('https://user:se@cr@et@mirror.example/a answers 403')).toBe('https://mirror.example/a answers 403');
});

test.each([
  ['EROFS', 'storage_unavailable', /cannot write to its folder of models/],
  ['EACCES', 'storage_unavailable', /cannot write to its folder of models/],
  ['SQLITE_CANTOPEN', 'storage_unavailable', /cannot write to its folder of models/],
  ['ENOSPC', 'storage_full', /disk has no space/],
])('%s of the file system is %s, in words', (code, reason, message) => {
  const error = Object.assign(new Error(`${code}: at /srv/sonant/data/models`), { code });
  expect(told(error)).toEqual({ reason, message: expect.stringMatching(message) });
});

test('anything else is an internal error, which only the log explains', () => {
  const { reason, message } = told(new Error('secret of the machine'));
  expect({ reason, isTold: message.includes('secret') }).toEqual({ reason: 'internal_error', isTold: false });
});
