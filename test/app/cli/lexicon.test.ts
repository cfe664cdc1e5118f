// Tests `sonant lexicon` and `sonant say --lexicon`.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newFolder } from '../../new-folder.ts';
import { runMain } from './run-main.ts';

const folder = newFolder(afterAll);
beforeAll(() => {
  writeFileSync(join(folder, 'names.json'), JSON.stringify([{ grapheme: 'AWS', alias: 'Amazon Web Services' }]));
  writeFileSync(
    join(folder, 'greens.pls'),
    '<lexicon version="1.0" alphabet="ipa" xml:lang="en"><meta name="title" content="Greens"/>\n<lexeme><grapheme>tomato</grapheme><phoneme>təˈmɑːtəʊ</phoneme></lexeme></lexicon>',
  );
  writeFileSync(join(folder, 'broken.pls'), '<lexicon>\n<lexeme></lexicon>');
});

const run = (...args: string[]) => runMain(folder, args, '', { SONANT_DATA_DIR: 'data' });

test('lexicons are put, listed, shown, spoken with, replaced and removed', { timeout: 120_000 }, async () => {
  const put = await run('lexicon', 'put', 'names.json', '--json');
  const { lexicon_id: id, name } = JSON.parse(put.out);
  expect(name).toBe('names');
  expect((await run('lexicon', 'put', 'greens.pls')).out).toMatch(/^lex_\w+ \(Greens\) has 1 entry\.\n$/);
  expect((await run('lexicon', 'list')).out).toContain(`${id}  names `);
  expect(JSON.parse((await run('lexicon', 'show', id)).out)).toMatchObject({
    entries: [{ grapheme: 'AWS', alias: 'Amazon Web Services' }],
  });
  const say = (...more: string[]) => run('say', 'I use AWS now.', '-v', 'clara', '-o', 'said.wav', '--json', ...more);
  const plain = JSON.parse((await say()).out);
  const stored = JSON.parse((await say('--lexicon', id)).out);
  const ofFile = JSON.parse((await say('--lexicon', 'names.json', '--lexicon', 'greens.pls')).out);
  expect(stored.seconds).toBeGreaterThan(plain.seconds + 0.2);
  expect(stored.chars).toBe('I use Amazon Web Services now.'.length);
  expect(ofFile.seconds).toBe(stored.seconds);
  expect((await run('lexicon', 'put', 'greens.pls', '--id', id, '--name', 'Both')).out).toBe(
    `${id} (Both) has 1 entry.\n`,
  );
  const shown = (await run('lexicon', 'show', id, '--pls', '--language', 'en')).out;
  expect(Buffer.from(shown, 'latin1').toString()).toContain('<phoneme>təˈmɑːtəʊ</phoneme>');
  expect((await run('lexicon', 'remove', id)).out).toBe(`${id} is deleted.\n`);
  expect(await run('lexicon', 'show', id)).toMatchObject({ code: 1 });
  expect(await say('--lexicon', id)).toMatchObject({
    code: 2,
    err: expect.stringContaining('--lexicon: is not a lexicon'),
  });
});

test('what is wrong with a file is told with its place', async () => {
  const broken = await run('lexicon', 'put', 'broken.pls');
  expect(broken).toMatchObject({ code: 1, err: expect.stringMatching(/broken\.pls: line 2, column \d+: /) });
});
