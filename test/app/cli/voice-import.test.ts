// Tests that the operator's voices are imported completely, from a folder or an archive, or not at all.
import { mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { commandLine } from '../../../src/app/cli/command.ts';
import { voiceCommand } from '../../../src/app/cli/voice.ts';
import { importVoice } from '../../../src/app/cli/voice-models.ts';
import { findLibrary } from '../../../src/engines/sherpa-onnx/sherpa-library.ts';
import { makeTinyVoice, tinyVoiceFiles } from '../../engines/tiny-supertonic.ts';
import { newFolder } from '../../new-folder.ts';
import { runSonant } from './sonant-program.ts';

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
