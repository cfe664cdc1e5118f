// Tests the table of installable models: it is complete, unknown values are printed as unknown, and the operator's own
// rows are checked.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { commandLine } from '../../../src/app/cli/command.ts';
import { voiceCommand } from '../../../src/app/cli/voice.ts';
import { registry } from '../../../src/engines/registry.ts';
import { loadModels, modelEngines } from '../../../src/library/models/model-table.ts';
import { newFolder } from '../../new-folder.ts';

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
