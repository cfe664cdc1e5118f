// Tests that a model is installed by name, URL or file and can speak, or is refused and leaves nothing behind. As a
// program, the best voice becomes the default of a running service, and models are downloaded through a proxy.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type CommandLine, commandLine } from '../../../src/app/cli/command.ts';
import { voiceCommand } from '../../../src/app/cli/voice.ts';
import { findLibrary } from '../../../src/engines/sherpa-onnx/sherpa-library.ts';
import { makeTinyPocket } from '../../engines/tiny-pocket.ts';
import { tinyVoiceFiles } from '../../engines/tiny-supertonic.ts';
import { openConnectProxy } from '../../library/models/connect-proxy.ts';
import { type Mirror, openMirror, sha256Of } from '../../library/models/model-mirror.ts';
import { newFolder } from '../../new-folder.ts';
import { bzip2, tarOf, writeZip } from '../../platform/archives/archive-writer.ts';
import { isInstalled } from '../../programs.ts';
import { testCertificate } from '../../transports/rpc/test-certificate.ts';
import { runMain } from './run-main.ts';
import { serve } from './serving-program.ts';
import { main, runSonant } from './sonant-program.ts';

let place: string;
let mirror: Mirror;
const root = newFolder(afterAll);
beforeEach(async (context) => {
  context.skip(!findLibrary(''), 'the package sherpa-onnx-node was not found');
  place = await mkdtemp(join(root, 'case-'));
  mirror = await openMirror({ 'tts-models/vits-amy.tar.bz2': archive, 'vocoder-models/vocos.onnx': part });
});
afterEach(() => mirror[Symbol.asyncDispose]());

const files: Record<string, string | Uint8Array> = { ...tinyVoiceFiles(), MODEL_CARD: 'License: CC0' };
const archive = bzip2(tarOf('vits-amy', files));
const part = randomBytes(10_000);
const pinOf = (bytes: Uint8Array) => ({ bytes: bytes.length, sha256: sha256Of(bytes) });
const elsewhere = 'https://models.invalid/releases/download';
const row = {
  name: 'amy',
  title: 'Amy',
  url: `${elsewhere}/tts-models/vits-amy.tar.bz2`,
  ...pinOf(archive),
  languages: ['en'],
  voices: 1,
  licence: 'CC0-1.0',
  licence_source: 'https://example.com/amy',
  commercial: true,
};

/** Settings of a program that finds these models at the mirror. */
async function settingsFor(models: object[], modelsUrl = mirror.url) {
  const modelsFile = join(place, 'models.json');
  await writeFile(modelsFile, JSON.stringify({ models }));
  return { SONANT_MODELS: modelsFile, SONANT_MODELS_URL: modelsUrl, NO_PROXY: '127.0.0.1' };
}

interface Run {
  table?: object[];
  modelsUrl?: string;
  ask?: CommandLine['ask'];
}

/** Runs the command and returns its output. */
async function voice(args: string[], { table = [row], modelsUrl = mirror.url, ask }: Run = {}): Promise<string> {
  const { SONANT_MODELS: modelsFile } = await settingsFor(table);
  const printed: string[] = [];
  const settings = { dataDir: join(place, 'data'), modelsFile, modelsUrl };
  const line: CommandLine = {
    ...commandLine,
    args,
    signal: new AbortController().signal,
    loadConfig: () => ({ ...commandLine.loadConfig(), ...settings }),
    print: (text) => printed.push(text),
  };
  delete line.ask;
  expect(await voiceCommand.run(ask ? { ...line, ask } : line)).toBe(0);
  return printed.join('\n');
}

const there = async (folder = '') =>
  (await readdir(join(place, 'data/models', folder)).catch(() => [])).filter((name) => name !== '.locks').sort();
const downloads = () => there('.downloads');
const nothing = async () => {
  const names = await there();
  expect(names.filter((name) => name !== '.downloads')).toEqual([]);
};

test('a model is got by its name, listed, found to be here, and removed', async () => {
  const told = await voice(['get', 'amy']);
  expect(told).toMatch(/^Amy. Licence: CC0-1.0, https:\/\/example.com\/amy\n/);
  expect(told).toMatch(/amy is installed, with these voices:\n {2}amy\nLicence: CC0-1.0/);
  expect(await there()).toEqual(['.downloads', 'amy']);
  expect(await downloads()).toEqual([]);
  expect(await there('amy')).toEqual([...Object.keys(files), 'sonant-gain.json', 'sonant-source.json'].sort());
  const source = JSON.parse(await readFile(join(place, 'data/models/amy/sonant-source.json'), 'utf8'));
  expect(source).toMatchObject({ url: row.url, licence: 'CC0-1.0', commercial: true, sha256: row.sha256 });
  expect(mirror.requests.map(({ path }) => path)).toEqual(['tts-models/vits-amy.tar.bz2']);

  expect(await voice(['get', 'vits-amy'])).toMatch(/amy is already installed/);
  expect(JSON.parse(await voice(['get', 'amy', '--json']))).toMatchObject({ model: 'amy', is_new: false });
  expect(mirror.requests).toHaveLength(1);
  expect(await voice(['models', '--language', 'en'])).toMatch(
    /^amy +ready +en +1 +0 MB +SHA-256 +yes +CC0-1.0 +not known$/m,
  );
  expect(await voice(['remove', 'amy'])).toBe('amy is removed');
  await nothing();
  await expect(voice(['remove', 'amy'])).rejects.toThrow('model amy is not installed');
});

test('the command of the program speaks with it', async () => {
  const modelsFile = join(place, 'models.toml');
  const toml = Object.entries(row).map(([key, value]) => `${key} = ${JSON.stringify(value)}`);
  await writeFile(modelsFile, `[[models]]\n${toml.join('\n')}\n`);
  const env = { SONANT_MODELS: modelsFile, SONANT_MODELS_URL: mirror.url, NO_PROXY: '127.0.0.1' };
  const got = await runSonant(place, ['voice', 'get', 'amy', '--json'], '', env);
  expect(got).toMatchObject({ code: 0, err: '' });
  expect(JSON.parse(got.out)).toEqual({
    ...{ model: 'amy', is_new: true, voice_ids: ['amy'] },
    ...{ licence: 'CC0-1.0', licence_source: 'https://example.com/amy', commercial: true },
  });
  const said = await runSonant(place, ['say', 'Hello there.', '-v', 'amy', '-o', 'amy.wav', '--json'], '', env);
  expect(said).toMatchObject({ code: 0, err: '' });
});

test('parts from another release are fetched along, each with its licence, and put in their place', async () => {
  const parts = [{ url: `${elsewhere}/vocoder-models/vocos.onnx`, as: 'extra.bin', licence: 'MIT', ...pinOf(part) }];
  expect(await voice(['get', 'amy'], { table: [{ ...row, parts }] })).toMatch(/; extra.bin: MIT/);
  expect((await readFile(join(place, 'data/models/amy/extra.bin'))).equals(part)).toBe(true);
});

test('what was fetched is kept when a part is missing, and not fetched again', async () => {
  const parts = [{ url: `${elsewhere}/vocoder-models/none.onnx`, as: 'extra.bin' }];
  await expect(voice(['get', 'amy'], { table: [{ ...row, parts }] })).rejects.toThrow('does not exist (404)');
  await nothing();
  expect(await there('.downloads/amy')).toEqual(['vits-amy.tar.bz2']);
  await voice(['get', 'amy']);
  expect(mirror.requests.filter(({ path }) => path.endsWith('.bz2'))).toHaveLength(1);
});

describe('a licence that forbids commercial use', () => {
  const table = [{ ...row, licence: 'CC-BY-NC-4.0', commercial: false }];
  test('is not accepted by nobody', async () => {
    await expect(voice(['get', 'amy'], { table })).rejects.toThrow(/CC-BY-NC-4.0.*add --accept-licence/);
    await expect(voice(['get', 'amy'], { table, ask: async () => 'y' })).rejects.toThrow('you did not accept it');
    expect(mirror.requests).toEqual([]);
  });
  test('is accepted at a terminal', async () => {
    expect(await voice(['get', 'amy'], { table, ask: async () => 'yes' })).toMatch('amy is installed');
  });
  test.skipIf(!isInstalled('script'))('is asked for, with progress, where there is a terminal', async () => {
    const { PATH, NODE_COMPILE_CACHE } = process.env;
    const env = { PATH, NODE_COMPILE_CACHE, TERM: 'xterm', ...(await settingsFor(table)) };
    for (const [answer, code, told] of [
      ['no\n', 1, 'you did not accept it'],
      ['yes\n', 0, 'amy is installed'],
    ] as const) {
      const command = `${process.execPath} ${main} voice get amy`;
      const child = spawn('script', ['-qec', command, '/dev/null'], { cwd: place, env });
      let shown = '';
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        if (!shown.includes('Type "yes"') && (shown + text).includes('Type "yes"')) child.stdin.write(answer);
        shown += text;
      });
      expect(await new Promise((resolve) => child.once('close', resolve))).toBe(code);
      expect(shown).toContain(told);
      if (code === 0) expect(shown).toMatch(/\[#+-*\] *\d+ % +vits-amy.tar.bz2, 0.0 of 0.0 MB/);
    }
  });
  test('is accepted by a flag', async () => {
    expect(await voice(['get', 'amy', '--accept-licence'], { table })).toMatch('amy is installed');
  });
});

describe('a model is refused, and nothing of it is left,', () => {
  test.each<[what: string, change: object, told: RegExp]>([
    [
      'with other weights',
      { files: { 'voice.bin': '0'.repeat(64) } },
      /voice.bin must have the SHA-256 0000.*, and has [0-9a-f]{64}/,
    ],
    [
      'without its weights',
      { files: { 'other.onnx': '0'.repeat(64) } },
      /other.onnx must have .* none, because it is missing/,
    ],
  ])('%s', async (_, change, told) => {
    await expect(voice(['get', 'amy'], { table: [{ ...row, ...change }] })).rejects.toThrow(told);
    await nothing();
  });

  test('that cannot be heard, or whose archive is hostile', async () => {
    const broken = bzip2(tarOf('vits-amy', { ...files, 'voice.bin': 'a b c' }));
    const hostile = bzip2(tarOf('../vits-amy', files));
    for (const [bytes, told] of [
      [broken, /voice.bin does not begin with two shapes/],
      [hostile, /would write outside/],
    ] as const) {
      mirror.files.set('tts-models/vits-amy.tar.bz2', bytes);
      await expect(voice(['get', 'amy'], { table: [{ ...row, ...pinOf(bytes) }] })).rejects.toThrow(told);
      await nothing();
    }
  });
});

test('one of several known builds will do', async () => {
  const table = [{ ...row, bytes: 1, sha256: '1'.repeat(64), other_builds: [pinOf(archive)] }];
  expect(await voice(['get', 'amy'], { table })).toMatch('amy is installed');
});

test('what nobody has pinned is checked by the list of its release, or told to be unchecked', async () => {
  const { bytes: _, sha256: __, ...unpinned } = row;
  const list = (hash: string) => Buffer.from(`vits-other.tar.bz2\t${'2'.repeat(64)}\nvits-amy.tar.bz2\t${hash}\n`);
  mirror.files.set('tts-models/checksum.txt', list('3'.repeat(64)));
  await expect(voice(['get', 'amy'], { table: [unpinned] })).rejects.toThrow(/must have the SHA-256 3333/);
  mirror.files.set('tts-models/checksum.txt', list(row.sha256));
  expect(await voice(['get', 'amy'], { table: [unpinned] })).toMatch('checked against the checksum.txt of its source');
  await voice(['remove', 'amy']);
  mirror.files.delete('tts-models/checksum.txt');
  expect(await voice(['get', 'amy'], { table: [unpinned] })).toMatch('vits-amy.tar.bz2 has no known SHA-256');
});

test('a model is got from a URL, whatever its archive is', async () => {
  mirror.files.set('a/eve.tar.gz', gzipSync(tarOf('eve', files)));
  mirror.files.set(
    'a/ada.zip',
    writeZip(Object.entries(files).map(([name, content]) => ({ name: `any/${name}`, content }))),
  );
  const none = { modelsUrl: 'http://127.0.0.1:1' };
  expect(await voice(['get', `${mirror.url}/a/eve.tar.gz`], none)).toMatch(/Licence: not known[\s\S]*eve is installed/);
  expect(await voice(['get', `${mirror.url}/a/ada.zip?version=2`, '--name', 'ada-b'], none)).toMatch(
    'ada-b is installed',
  );
  expect(await there()).toEqual(['.downloads', 'ada-b', 'eve']);
  await expect(voice(['get', 'http://models.example.com/a/eve.tar.gz'])).rejects.toThrow('must begin with https:');
});

test('a name that would lead out of the folder is refused', async () => {
  for (const name of ['../amy', '.amy', 'a/b', '']) {
    await expect(voice(['get', 'amy', '--name', name])).rejects.toThrow('is not a valid name of a model');
    await expect(voice(['remove', name])).rejects.toThrow('is not installed');
  }
  await expect(voice(['get', `${mirror.url}/`])).rejects.toThrow('is not a valid name of a model');
  expect(mirror.requests).toEqual([]);
});

test('a model is got from files, and fetches nothing with --offline', async () => {
  const folder = join(place, 'usb');
  await mkdir(folder);
  const path = join(folder, 'vits-amy.tar.bz2');
  await writeFile(path, archive);
  const offline = { modelsUrl: 'http://127.0.0.1:1' };
  await expect(voice(['get', 'amy', '--offline'], offline)).rejects.toThrow(
    /vits-amy.tar.bz2 is needed. .*: curl -LO https:\S+; .*: sonant voice get amy --offline vits-amy.tar.bz2$/,
  );
  const other = [{ ...row, sha256: '0'.repeat(64) }];
  await expect(voice(['get', 'amy', path, '--offline'], { ...offline, table: other })).rejects.toThrow('it must have');
  expect(await voice(['get', 'amy', path, '--offline'], offline)).toMatch('amy is installed, with these voices');
  expect(await voice(['get', path], offline)).toMatch('vits-amy');
  expect(await there()).toEqual(['.downloads', 'amy', 'vits-amy']);
  await expect(voice(['get', 'nobody'], offline)).rejects.toThrow('there is no model or file nobody');
});

test('a model that clones has no voices of its own', async () => {
  const folder = await makeTinyPocket(join(place, 'hum'));
  const hum: Record<string, Uint8Array> = {};
  for (const name of await readdir(folder)) hum[name] = await readFile(join(folder, name));
  const bytes = gzipSync(tarOf('hum', hum));
  mirror.files.set('tts-models/hum.tar.gz', bytes);
  const table = [{ name: 'hum', url: `${elsewhere}/tts-models/hum.tar.gz`, ...pinOf(bytes) }];
  expect(await voice(['get', 'hum'], { table })).toMatch(
    /^hum is installed and can clone voices.\nLicence: not known$/m,
  );
});

test('two at once do not collide: one fetches, the other waits and finds it', async () => {
  mirror.pace = { bytes: 2_000, ms: 100 };
  const told = await Promise.all([voice(['get', 'amy']), voice(['get', 'amy'])]);
  const [first, second] = told.sort((one) => (one.includes('already installed') ? 1 : -1));
  expect(first).toMatch('amy is installed, with these voices');
  expect(second).toMatch(/another process is busy with amy; waiting for it[\s\S]*amy is already installed/);
  expect(mirror.requests).toHaveLength(1);
});

test('imports that were killed are cleaned up by the next one', async () => {
  const left = join(place, 'data/models/.import-killed');
  await mkdir(left, { recursive: true });
  await writeFile(join(left, 'lock'), '');
  await writeFile(join(left, 'voice.bin'), files['voice.bin']!);
  await voice(['get', 'amy']);
  expect(await there()).toEqual(['.downloads', 'amy']);
});

test('the best voice of a model becomes the default one, of a service that runs meanwhile too', async () => {
  const choir = bzip2(tarOf('choir', { ...files, ...tinyVoiceFiles({ speakers: 3 }) }));
  mirror.files.set('tts-models/choir.tar.bz2', choir);
  const url = `${elsewhere}/tts-models/choir.tar.bz2`;
  const table = [row, { ...row, name: 'choir', url, ...pinOf(choir), voices: 3, best_voice: '2' }];
  const env = await settingsFor(table);
  const service = await serve([], env);
  const spoken = async () => {
    const answer = await fetch(`${service.url}/v1/audio/speech`, {
      method: 'POST',
      headers: { 'X-API-Key': service.key, 'Content-Type': 'application/json' },
      body: JSON.stringify({ input: 'Hello there.', voice: 'alloy' }),
    });
    await answer.arrayBuffer();
    return answer.headers.get('X-Voice-Id');
  };
  expect(await spoken()).toBe('arthur');
  const got = await runMain(service.folder, ['voice', 'get', 'choir', '--default'], '', env);
  expect(got).toMatchObject({ code: 0, out: expect.stringMatching(/\nchoir-2 is the default voice \(chosen\)\.\n$/) });
  await expect.poll(spoken, { timeout: 30_000, interval: 100 }).toBe('choir-2');
  const other = await runMain(service.folder, ['voice', 'get', 'amy', '--default', '--json'], '', env);
  expect(JSON.parse(other.out)).toMatchObject({ is_new: true, voice_ids: ['amy'], chosen_voice_id: 'amy' });
  const again = await runMain(service.folder, ['voice', 'get', 'choir', '--default'], '', env);
  expect(again.out).toMatch(/choir is already installed.*\nchoir-2 is the default voice/);
  await runMain(service.folder, ['voice', 'remove', 'choir'], '', env);
  await expect.poll(spoken, { timeout: 30_000, interval: 100 }).toBe('arthur');
});

test('the program tells each time that it tries the source again', async () => {
  mirror.fault = (request, response) => request.count === 1 && !!response.writeHead(503).end();
  const env = await settingsFor([row]);
  const { code, err } = await runMain(place, ['voice', 'get', 'amy'], '', env);
  const { host } = new URL(mirror.url);
  const told = `sonant: cannot download from ${host}: it returned status 503; trying again in 0.5 s (attempt 2 of 7)\n`;
  expect([code, err]).toEqual([0, told]);
});

test('the program fetches over HTTPS through the proxy and with the certificates that the environment names', async () => {
  await using proxy = await openConnectProxy(mirror.url);
  const env = { ...(await settingsFor([row], 'https://localhost:9')), HTTPS_PROXY: `http://127.0.0.1:${proxy.port}` };
  const refused = await runSonant(place, ['voice', 'get', 'amy', '--json'], '', env);
  const told = /^sonant: \S*localhost:9\/\S+ cannot be fetched: .*self-signed certificate.*$/s;
  expect(refused).toMatchObject({ code: 1, err: expect.stringMatching(told) });
  expect([refused.err.includes('trying again'), mirror.requests]).toEqual([false, []]);
  const certificates = join(place, 'ca.pem');
  await writeFile(certificates, testCertificate.cert);
  const trusting = { ...env, NODE_EXTRA_CA_CERTS: certificates };
  const got = await runSonant(place, ['voice', 'get', 'amy', '--json'], '', trusting);
  expect(got).toMatchObject({ code: 0, err: '', out: expect.stringContaining('"voice_ids":["amy"]') });
  expect(new Set(proxy.asked)).toEqual(new Set(['localhost:9']));
}, 60_000);
