// Tests the console's lexicons in Chromium: created, filled, played, stored, bound to a voice, exported, imported and
// deleted. Checked with axe in light and dark themes, and for overflow on a phone.
import { describe, expect, test } from 'vitest';
import { isInstalled } from '../../programs.ts';
import { useConsole } from './open-console.ts';

describe.skipIf(!isInstalled('chromium'))('lexicons in the console', { timeout: 120_000 }, () => {
  const opened = useConsole();

  test('one is made, filled, heard, stored, bound to a voice and deleted', async () => {
    const { page, find, click, typeText, untilText, go, inspect } = opened.consolePage;
    await go('#/voices', 'Voices');
    await click('a[href="#/voices/+lexicons"]');
    await untilText('.page', 'There are no lexicons yet.');
    await inspect('lexicons');
    await click('.page form [type=submit]');
    await untilText('[data-field=name] .field-error', 'Is required.');
    await typeText('[name=name]', 'Products');
    await click('.page form [type=submit]');
    await page.until(`location.hash.startsWith('#/voices/+lexicons/lex_') && ${find('.lexicon-table')}`);
    const id = (await page.run<string>('location.hash')).split('/').at(-1)!;

    await page.run(
      `[...document.querySelectorAll('.page button')].find((each) => each.innerText === 'Add an entry').click()`,
    );
    await page.until(find('[aria-label=Written]'));
    await typeText('[aria-label=Written]', 'AWS');
    await click('.page form [type=submit]');
    await untilText('[data-field=entries] .field-error', 'Must have alias or phoneme.');
    await typeText('.said', 'Amazon & "friends"');
    await click('[aria-label="Any case"]');
    await page.run(`(() => { const real = fetch; window.asked = []; fetch = (url, init) =>
      (String(url).endsWith('/speech') && window.asked.push(JSON.parse(init.body).ssml), real(url, init)); })()`);
    await click('[aria-label="Hear it"]');
    await page.until(find('[aria-label="Hear it"][aria-pressed=true]'));
    await page.until(find('[aria-label="Hear it"][aria-pressed=false]'));
    expect(await page.run('window.asked')).toEqual([
      '<speak><sub alias="Amazon &amp; &quot;friends&quot;">AWS</sub></speak>',
    ]);
    await inspect('lexicon');
    await click('.page form [type=submit]');
    await untilText('#status', 'Products is stored.');
    expect((await opened.service.send('GET', `/api/lexicons/${id}`)).body.entries).toEqual([
      { grapheme: 'AWS', alias: 'Amazon & "friends"', case: 'insensitive' },
    ]);

    await page.run(`${find('select[aria-label=Voice]')}.value = 'arthur'`);
    await page.run(
      `[...document.querySelectorAll('.page button')].find((each) => each.innerText === 'Use it for this voice').click()`,
    );
    await untilText('.lexicon-voices', 'Arthur');
    expect((await opened.service.send('GET', '/api/voices/arthur')).body.lexicon_ids).toEqual([id]);
    await click('.lexicon-voices button');
    await untilText('.lexicon-voices', 'None.');
    await click('.page button.danger');
    await click('dialog [value=yes]');
    await untilText('.page', 'There are no lexicons yet.');
    expect((await opened.service.send('GET', `/api/lexicons/${id}`)).status).toBe(404);
  });

  test('a file is imported, and what is wrong with it is told', async () => {
    const { page, find, click, untilText, go } = opened.consolePage;
    await go('#/voices', 'Voices');
    await go('#/voices/+lexicons', 'Lexicons');
    const choose = (text: string) =>
      page.run(`(() => {
        const given = new DataTransfer();
        given.items.add(new File([${JSON.stringify(text)}], 'greens.pls'));
        ${find('[type=file]')}.files = given.files;
      })()`);
    const lexeme = '<lexeme><grapheme>tomato</grapheme><phoneme>təˈmɑːtəʊ</phoneme></lexeme>';
    await choose(`<lexicon>\n${lexeme}<lexicon>`);
    await click('.page form [type=submit]');
    await untilText('[data-field=body] .field-error', 'Line 2, column');
    await choose(`<lexicon xml:lang="en"><meta name="title" content="Greens"/>${lexeme}</lexicon>`);
    await click('.page form [type=submit]');
    await untilText('h1', 'Greens');
    expect(await page.run(`${find('.said')}.value`)).toBe('təˈmɑːtəʊ');
    await untilText('.page', 'PLS, en');
  });
});
