// Tests the console's models in Chromium: a model is installed with progress, cancelled, refused, previewed and removed
// on the Models page, and is offered on the Speak page to users who may install it. Checked with axe in light and dark
// themes, and for overflow on phones.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { findLibrary } from '../../../src/engines/sherpa-onnx/sherpa-library.ts';
import { isInstalled } from '../../programs.ts';
import { archives, type Installing, openInstalling, table } from '../http/open-installing.ts';
import { openConsole } from './open-console.ts';

const scopes = ['voices:read', 'speech:stream', 'keys:read'];
const slow = { bytes: 5_000, ms: 50 };
const rows = [
  ...table,
  { ...table[0], name: 'dan', title: 'Dan, who was changed', recommended: false, sha256: '0'.repeat(64) },
];
const silence = Buffer.alloc(44 + 48_000);
silence.write(
  'RIFF\x24\xbb\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x80\xbb\x00\x00\x00\x77\x01\x00\x02\x00\x10\x00data\x00\xbb\x00\x00',
  'latin1',
);

const canRun = isInstalled('chromium') && findLibrary('') !== undefined;
describe.skipIf(!canRun)('models in the console', { timeout: 120_000 }, () => {
  let service: Installing;
  let consolePage: Awaited<ReturnType<typeof openConsole>>;
  const closes: (() => Promise<void>)[] = [];
  beforeAll(async () => {
    service = await openInstalling((close) => closes.push(close), { rows });
    consolePage = await openConsole({ url: service.url, microphone: silence }, (close) => closes.push(close));
    await consolePage.useKey(service.key);
  });
  afterAll(async () => {
    for (const close of closes.reverse()) await close();
  });
  beforeEach(async () => {
    await consolePage.setDisplay('light');
    service.mirror.pace = undefined;
    for (const name of ['amy', 'ben', 'cal']) {
      const { body } = await service.send('GET', `/api/models/${name}`);
      if (body.installed) await service.send('DELETE', `/api/models/${name}`);
    }
  });

  const card = (name: string, inside = '') => `[data-model=${name}] ${inside}`.trim();
  const button = (name: string, label: string) => card(name, `button[aria-label^="${label}"]:not([hidden])`);
  const openModels = async () => {
    await consolePage.go('#/voices', 'Voices');
    await consolePage.go('#/voices/+models', 'Models');
    await consolePage.page.until(consolePage.find(card('amy')));
  };
  const expectNoOverflow = async (name: string) => {
    await consolePage.setDisplay('light', 320, 640);
    expect(await consolePage.page.run('document.documentElement.scrollWidth'), name).toBe(320);
    await consolePage.setDisplay('light');
  };

  test('one is got with its progress, previewed, and removed', async () => {
    const { page, findings, find, click, textOf, untilText, go, inspect } = consolePage;
    service.mirror.pace = slow;
    await go('#/voices', 'Voices');
    await click('a[href="#/voices/+models"]');
    await untilText('h1', 'Models');
    await page.until(find(card('amy')));
    expect(await textOf(card('amy'))).toMatch(/recommended.*English · one voice · 0\.\d MB.*Licence: CC0-1\.0/s);
    expect(await page.run(`${find(card('amy', 'a'))}.href`)).toBe('https://example.com/amy');
    await page.run(`${find(button('amy', 'Install'))}.focus()`);
    await page.press('Enter');
    await page.until(`${find(card('amy', 'progress'))}?.value > 0 && ${find(card('amy', 'progress'))}.value < 1`);
    expect(await textOf(card('amy', '.install-bar'))).toMatch(/of 0\.\d MB/);
    // The focus moved from the removed button to the cancel button.
    expect(await page.run(`document.activeElement.getAttribute('aria-label')`)).toBe('Cancel Amy, a tiny voice');
    expect(await findings()).toEqual([]);
    await untilText('#status', 'Amy, a tiny voice is installed.');
    await untilText(card('amy', '.chips'), 'installed');
    await click(card('amy', '.preview'));
    await page.until(find(card('amy', '.preview[aria-pressed=true]')));
    await inspect('models');
    await expectNoOverflow('models');

    await click(card('amy', '[aria-label="Make default: amy"]'));
    await untilText('#status', 'amy is the default voice.');
    expect((await service.send('GET', '/api/default-voice')).body.voice_id).toBe('amy');

    await click(button('amy', 'Remove'));
    await page.until(find('dialog[open]'));
    expect(await textOf('dialog')).toMatch(/its voice will fail with “voice not found”/);
    expect(await findings()).toEqual([]);
    await page.press('Escape');
    await page.until(`!${find('dialog')}`);
    expect(await textOf(card('amy', '.chips'))).toContain('installed');
    await click(button('amy', 'Remove'));
    await click('dialog [value=yes]');
    await untilText('#status', 'Amy, a tiny voice is removed.');
    await page.until(find(button('amy', 'Install')));
  });

  test('one that is cancelled goes on where it was, or is discarded', async () => {
    const { page, click, find, textOf, untilText } = consolePage;
    service.mirror.pace = slow;
    await openModels();
    await click(button('amy', 'Install'));
    await page.until(`${find(card('amy', 'progress'))}.value > 0`);
    await click(button('amy', 'Cancel'));
    await untilText('#status', 'is cancelled');
    await page.until(find(button('amy', 'Continue')));
    expect(await textOf(card('amy', '.result'))).toMatch(/MB are already downloaded\.$/);
    await click(button('amy', 'Discard'));
    await click('dialog [value=yes]');
    await page.until(find(button('amy', 'Install')));
    expect((await service.send('GET', '/api/models/amy')).body.fetched_bytes).toBe(0);
  });

  test('a failure is told in words and can be tried again; a licence is asked for', async () => {
    const { page, click, find, findings, textOf, untilText, go } = consolePage;
    await openModels();
    await click(button('dan', 'Install'));
    await untilText(card('dan', '.result'), 'it must have');
    await page.until(find(button('dan', 'Try again')));
    await click(card('dan', '.by-hand summary'));
    expect(await textOf(card('dan', '.by-hand pre'))).toMatch(/^curl -LO http\S+\nsonant voice get dan --offline \S+$/);
    expect(await findings()).toEqual([]);
    await expectNoOverflow('a failure');

    await click(button('cal', 'Install'));
    await page.until(find('dialog[open]'));
    expect(await textOf('dialog')).toMatch(/does not allow commercial use\. Licence: CC-BY-NC-4\.0\./);
    expect(await findings()).toEqual([]);
    await click('dialog [value=no]');
    await page.until(`!${find('dialog')}`);
    expect((await service.send('GET', '/api/models/cal')).body.install).toBe(null);
    await click(button('cal', 'Install'));
    await click('dialog [value=yes]');
    await untilText(card('cal', '.chips'), 'installed');

    await click(button('ben', 'Install'));
    await untilText(card('ben', '.model-voices'), 'All 3 voices');
    expect(await textOf(card('ben', '.model-voices'))).toContain('ben-1');
    await go('#/voices/+search/ben', 'Voices');
    await page.until(`document.querySelectorAll('.voice-list li').length === 3`);
  });

  test('models are filtered by language and state', async () => {
    const { page } = consolePage;
    await openModels();
    const names = () =>
      page.run<string>(`[...document.querySelectorAll('.model-list > li')].map((li) => li.dataset.model).join()`);
    const choose = (name: string, value: string) =>
      page.run(`(() => { const field = document.querySelector('[name=${name}]'); field.value = '${value}';
        field.dispatchEvent(new Event('input', { bubbles: true })); })()`);
    await choose('language', 'en');
    expect(await names()).toMatch(/^amy,cal,dan,/);
    await choose('language', 'de');
    expect(await names()).toMatch(/^ben,/);
    await choose('language', 'en');
    await choose('state', 'commercial');
    expect(await names()).toMatch(/^amy,dan,/);
    await choose('state', 'installed');
    expect(await names()).toBe('');
  });

  test('a key without admin sees the models and how to get them, and no buttons', async () => {
    const { page, useKey, textOf, findings } = consolePage;
    await useKey(await service.makeKey(scopes));
    await openModels();
    expect(await textOf('.model-hint')).toMatch(/lacks the scope\s+admin.*sonant voice get NAME/s);
    expect(await page.run(`document.querySelectorAll('.model-list button:not([hidden])').length`)).toBe(0);
    expect(await findings()).toEqual([]);
    await consolePage.go('#/speak', 'Speak');
    await page.until(`document.querySelector('.speak-button')`);
    expect(await page.run(`document.querySelector('.model-offer').hidden`)).toBe(true);
    await useKey(service.key);
  });

  test('on the first visit one voice is offered, and is chosen when it is there', async () => {
    const { page, click, find, findings, textOf, go, typeText, inspect } = consolePage;
    service.mirror.pace = slow;
    await go('#/usage', 'Usage');
    await go('#/speak', 'Speak');
    await page.until(`${find('.model-offer')} && !${find('.model-offer')}.hidden`);
    const size = (archives.amy.length / 1e6).toFixed(1);
    expect(await textOf('.model-offer')).toContain(`Amy, a tiny voice: English, one voice.`);
    expect(await textOf('.model-offer')).toContain(`${size} MB to download. Licence: CC0-1.0`);
    await typeText('#text', 'all is well here');
    await inspect('offer');
    await expectNoOverflow('offer');
    await click('.model-offer .main');
    await page.until(`${find('.model-offer progress')}.value > 0`);
    expect(await findings()).toEqual([]);
    await page.until(`location.hash === '#/speak/amy' && ${find('[name=voice]:checked')}?.value === 'amy'`);
    expect(await page.run(`${find('#text')}.value`)).toBe('all is well here');
    expect(await page.run(`${find('.model-offer')}.hidden`)).toBe(true);
    await click('.speak-button');
    await page.until(`${find('.sound')}?.dataset.state === 'done'`);
  });

  test('an offer that is dismissed does not come back', async () => {
    const { page, click, find, go } = consolePage;
    await go('#/usage', 'Usage');
    await go('#/speak', 'Speak');
    await page.until(`!${find('.model-offer')}.hidden`);
    await click('.model-offer [aria-label="Do not show this again"]');
    expect(await page.run(`${find('.model-offer')}.hidden`)).toBe(true);
    await page.reload();
    await page.until(find('.speak-button'));
    await go('#/voices/+models', 'Models');
    await page.until(find(card('amy')));
    await go('#/speak', 'Speak');
    await page.until(find('.speak-button'));
    expect(await page.run(`${find('.model-offer')}.hidden`)).toBe(true);
    expect(await page.run(`sessionStorage.getItem('violations')`)).toBe(null);
  });
});
