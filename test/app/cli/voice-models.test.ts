// Tests the table of installable models: it is complete, unknown values are printed as unknown, and the operator's own
// rows are checked; `sonant voice import`, which imports a folder or an archive completely or not at all; and `sonant voice
// default` and `sonant voice alias`: their output, the voice that speaks afterwards, and keys limited to an alias.
import { mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { commandLine } from '../../../src/app/cli/command.ts';
import { voiceCommand } from '../../../src/app/cli/voice.ts';
import { importVoice } from '../../../src/app/cli/voice-models.ts';
import { registry } from '../../../src/engines/registry.ts';
import { findLibrary } from '../../../src/engines/sherpa-onnx/sherpa-library.ts';
import { loadModels, modelEngines } from '../../../src/library/models/model-table.ts';
import { makeTinyVoice, tinyVoiceFiles } from '../../engines/tiny-supertonic.ts';
import { newFolder } from '../../new-folder.ts';
import { runMain } from './run-main.ts';
import { runSonant } from './sonant-program.ts';

const folder = newFolder(afterAll);

const engines = modelEngines(registry);
const row = { name: 'amy', url: 'https://example.com/tts-models/amy.tar.bz2' };

/** Runs the command and returns its output. */
async function voice(args: string[], { table }: { table: object[] }): Promise<string> {
  const modelsFile = join(folder, 'models.json');
  await writeFile(modelsFile, JSON.stringify({ models: table }));
  const printed: string[] = [];
  const loadConfig = () => ({ ...commandLine.loadConfig(), dataDir: join(folder, 'data'), modelsFile });
  const { signal } = new AbortController();
  await voiceCommand.run({ ...commandLine, args, signal, loadConfig, print: (text) => printed.push(text) });
  return printed.join('\n');
}

describe('the table of models', () => {
  test('has all kinds, and Piper voices of at least twelve languages, each with a licence or the word that it is not known', async () => {
    const rows = (await loadModels('', engines)).map(({ row: each }) => each);
    expect(new Set(rows.map(({ kind }) => kind))).toEqual(
      new Set(['hibari', 'kokoro', 'supertonic', 'pocket', 'zipvoice', 'piper']),
    );
    const piper = rows.filter(({ kind }) => kind === 'piper');
    expect(new Set(piper.map(({ languages }) => languages![0]!.slice(0, 2))).size).toBeGreaterThanOrEqual(12);
    const ofPackages = rows.filter(({ url }) => url.startsWith('pkg:'));
    expect(ofPackages.map(({ name, parts }) => [name, parts.length])).toEqual([
      ['hibari', 2],
      ['kokoro', 7],
      ['piper-en-joe', 3],
    ]);
    for (const { url, parts } of rows.filter((each) => !ofPackages.includes(each))) {
      expect(url).toMatch(
        /^https:\/\/github.com\/k2-fsa\/sherpa-onnx\/releases\/download\/tts-models\/[\w.-]+\.tar\.bz2$/,
      );
      for (const each of parts) expect(each.url).toMatch(/^pkg:|\/vocoder-models\/[\w.-]+\.onnx$/);
    }
    expect(rows.filter(({ kind, parts }) => kind === 'zipvoice' && parts.length === 0)).toEqual([]);
  });

  test('is printed with what is not known, and each row whole', async () => {
    const printed = await voice(['models'], { table: [] });
    expect(printed).toMatch(/^kokoro +absent +en,es,fr,hi and 2 more +41 +109 MB +SHA-256 +yes +Apache-2.0 /m);
    expect(printed).toMatch(/^zipvoice +absent +zh,en +clones +163 MB +SHA-256 +not known +not known /m);
    expect(printed).toMatch(/^piper-pt-faber .* not known +not pinned +yes +CC0-1.0/m);
    expect(printed).toMatch(/^pocket .* no +CC-BY-4.0, called non-commercial/m);
    expect(await voice(['models', 'supertonic'], { table: [] })).toMatch(
      /^licence_source +https:\/\/huggingface.co\/Supertone\/supertonic-3$/m,
    );
    expect(JSON.parse(await voice(['models', '--json'], { table: [row] })).models[0]).toMatchObject({
      name: 'amy',
      installed: false,
    });
    const portuguese = await voice(['models', '--language', 'pt-BR'], { table: [] });
    expect(portuguese).toMatch(/^piper-pt-faber /m);
    expect(portuguese).not.toMatch(/^zipvoice /m);
    expect(await voice(['models', '--language', 'english'], { table: [] })).not.toMatch(/^kokoro /m);
    await expect(voice(['models', 'nobody'], { table: [] })).rejects.toThrow('there is no model nobody');
  });

  test.each<[fault: RegExp, table: object[]]>([
    [/row 1: name must be letters/, [{ ...row, name: '../amy' }]],
    [/amy: url must be an http or https URL/, [{ ...row, url: 'ftp://a/b' }]],
    [/amy: url must be an http or https URL/, [{ ...row, url: `https://-${'1-'.repeat(10_000)}V/a` }]],
    [/amy: sha256 must be 64 hexadecimal digits/, [{ ...row, sha256: 'abc' }]],
    [/amy has the unknown member "sha512"; remove it/, [{ ...row, sha512: '' }]],
    [/amy: parts\[0\]: as must be a name of a file/, [{ ...row, parts: [{ url: row.url, as: '../x' }] }]],
    [/the table has amy twice/, [row, row]],
    [/amy: commercial must be true or false/, [{ ...row, commercial: 'yes' }]],
  ])('of the operator is checked: %s', async (fault, table) => {
    await expect(voice(['models'], { table })).rejects.toMatchObject({
      reason: 'invalid_request',
      message: expect.stringMatching(fault),
    });
  });
});

let dataDir: string;
const root = newFolder(afterAll);
beforeEach(async () => {
  dataDir = join(await mkdtemp(join(root, 'case-')), 'data');
});

const { signal } = new AbortController();
const bring = (path: string, name?: string) =>
  importVoice({ path, dataDir, ...(name !== undefined && { name }), signal, print() {} });
const listed = (folder: string) => readdir(join(dataDir, folder)).catch(() => []);

test('a file that is no model is ignored, and an unreadable one is an error', async () => {
  await writeFile(join(root, 'notes.txt'), 'hello');
  expect(await bring(join(root, 'notes.txt'))).toBeUndefined();
  await expect(bring(join(root, 'nothing'))).rejects.toThrow('cannot read');
  expect(await listed('models')).toEqual([]);
});

describe('a model', { timeout: 60_000 }, () => {
  beforeEach((context) => context.skip(!findLibrary(root), 'the package sherpa-onnx-node was not found'));

  test('in a folder is copied, tested and measured', async () => {
    const folder = await makeTinyVoice(join(root, 'choir'), { speakers: 2 });
    expect(await bring(folder)).toEqual(['choir-0', 'choir-1']);
    expect(await listed('models/choir')).toEqual([...Object.keys(tinyVoiceFiles()), 'sonant-gain.json'].sort());
    const { gains_db } = JSON.parse(await readFile(join(dataDir, 'models/choir/sonant-gain.json'), 'utf8'));
    expect(gains_db).toEqual([expect.any(Number), expect.any(Number)]);
    await expect(bring(folder)).rejects.toMatchObject({ message: /model choir already exists/ });
    expect(await bring(folder, 'choir-b')).toEqual(['choir-b-0', 'choir-b-1']);
    expect(await listed('models')).toEqual(['choir', 'choir-b']);
  });

  test.each<[what: string, make: (from: string) => Promise<string>, told: RegExp]>([
    [
      'with faults, all told',
      async (from) => {
        const folder = await makeTinyVoice(join(from, 'faulty'));
        await writeFile(join(folder, 'tts.json'), '{');
        await writeFile(join(folder, 'voice.bin'), 'a b c');
        return folder;
      },
      /faulty was not imported:\n {2}tts.json is not a JSON object\n {2}voice.bin does not begin with two shapes/,
    ],
    [
      'that looks whole and dies',
      (from) => makeTinyVoice(join(from, 'dying'), { deadly: 'abcdefghijklmnopqrstuvwxyz' }),
      /dying cannot be loaded or does not speak: .*SIGKILL/,
    ],
    ['in an empty folder', (from) => mkdtemp(join(from, 'empty')), /it has no ONNX file of a speech model/],
    [
      'in an archive that is none',
      async (from) => {
        await writeFile(join(from, 'torn.tar.gz'), 'no archive');
        return join(from, 'torn.tar.gz');
      },
      /torn.tar.gz is not a tar, gzip, bzip2 or zip archive/,
    ],
    [
      'with a name that none can have',
      (from) => makeTinyVoice(join(from, 'my model')),
      /choose another name with --name/,
    ],
  ])('%s is refused, and nothing of it is left', async (_, make, message) => {
    const path = await make(await mkdtemp(join(root, 'refused-')));
    await expect(bring(path)).rejects.toMatchObject({
      reason: 'invalid_request',
      message: expect.stringMatching(message),
    });
    expect(await listed('models')).toEqual([]);
  });

  test('is imported by the command, and speaks', async () => {
    const folder = await makeTinyVoice(join(root, 'sung'));
    const env = { SONANT_DATA_DIR: dataDir };
    const printed: string[] = [];
    const line = { ...commandLine, signal, loadConfig: () => ({ ...commandLine.loadConfig(), dataDir }) };
    const args = ['import', folder, '--name', 'tiny'];
    expect(await voiceCommand.run({ ...line, args, print: (text) => printed.push(text) })).toBe(0);
    expect(printed).toMatchObject(
      [/tiny is a complete model/, /^imported for/, '  tiny'].map((message) => expect.stringMatching(message)),
    );
    const said = await runSonant(
      root,
      ['say', 'On May 3rd, naturally.', '-v', 'tiny', '-o', 'sung.wav', '--json'],
      '',
      env,
    );
    expect(said).toMatchObject({ code: 0, err: '' });
  });
});

const sonant = (args: string[], env: Record<string, string> = {}) =>
  runMain(folder, args, '', { SONANT_DATA_DIR: 'data', ...env });
const tell = async (...args: string[]) => {
  const { code, out, err } = await sonant(['voice', ...args]);
  return code === 0 ? out.trimEnd() : err.trimEnd();
};
const says = async (env: Record<string, string> = {}, ...flags: string[]) => {
  const { out } = await sonant(['say', 'Hello.', '-o', 'hello.wav', '--json', ...flags], env);
  return (JSON.parse(out) as { voice_id: string }).voice_id;
};

test('the default voice is told, chosen, spoken with, and taken back', async () => {
  expect(await tell('default')).toBe('arthur is the default voice (the first voice, because none is chosen).');
  expect(await tell('default', 'clara')).toBe('clara is the default voice (chosen).');
  expect(await says()).toBe('clara');
  expect(JSON.parse(await tell('default', '--json'))).toEqual({
    voice_id: 'clara',
    source: 'choice',
    chosen_voice_id: 'clara',
  });
  const listed = await tell('list', '--json');
  expect(JSON.parse(listed)[0].voice_id).toBe('clara');
  expect(await tell('default', 'nobody')).toMatch(/^sonant: Voice nobody not found/);
  expect(await tell('default', '--remove')).toBe(
    'arthur is the default voice (the first voice, because none is chosen).',
  );
});

test('the setting goes before the choice, which is said', async () => {
  const env = { SONANT_DEFAULT_VOICE: 'angus' };
  const { out } = await sonant(['voice', 'default', 'clara'], env);
  expect(out).toBe('angus is the default voice: SONANT_DEFAULT_VOICE is angus and overrides the chosen voice clara.\n');
  expect([await says(env), await says()]).toEqual(['angus', 'clara']);
});

test('a voice gets aliases, speaks under them, and loses them', async () => {
  expect(await tell('alias')).toBe('No aliases.');
  expect(await tell('alias', 'clara', 'alloy', 'en-US-Chirp3-HD-Achernar')).toMatch(
    /^ALIAS +VOICE\nalloy +clara\nen-US-Chirp3-HD-Achernar +clara$/,
  );
  expect(await says({}, '--voice', 'alloy')).toBe('clara');
  expect(await tell('alias', 'alloy', 'nova')).toContain('nova');
  expect(await tell('alias', 'angus', 'nova', 'arthur')).toBe(
    'sonant: nova: is an alias of the voice clara\n  arthur: is the id of another voice',
  );
  expect(JSON.parse(await tell('alias', '--json'))).toContainEqual({
    voice_id: 'clara',
    aliases: ['alloy', 'en-US-Chirp3-HD-Achernar', 'nova'],
  });
  const made = await sonant(['key', 'create', '--voices', 'alloy, angus', '--json']);
  expect(JSON.parse(made.out).voice_ids).toEqual(['clara', 'angus']);
  const refused = await sonant(['key', 'create', '--voices', 'angus, nobody']);
  expect(refused).toMatchObject({ code: 2, err: 'sonant: --voices: nobody is not a voice that this key can use\n' });
  expect(await tell('alias', 'clara', 'echo', '--remove')).toMatch(/^sonant: clara has no alias echo; it has alloy/);
  expect(JSON.parse(await tell('alias', 'clara', 'alloy', 'nova', '--remove', '--json'))).toEqual({
    voice_id: 'clara',
    aliases: ['en-US-Chirp3-HD-Achernar'],
  });
  expect(await tell('record')).toMatch(/ update +clara$/m);
});
