// Tests the reference page /docs in Chromium: search, no axe findings in light and dark themes, no overflow on a phone,
// and no request to another host.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { isInstalled } from '../../programs.ts';
import { axeFindings } from '../console/axe-findings.ts';
import { openPage, type Page } from '../console/chromium.ts';
import { openTestGateway } from './open-gateway.ts';

const gateway = await openTestGateway({}, afterAll);
/** Folder for screenshots; if it is empty, no screenshots are taken. */
const { SCREENSHOTS = '' } = process.env;

async function takeScreenshot(page: Page, name: string): Promise<void> {
  if (SCREENSHOTS === '') return;
  const { data } = await page.send('Page.captureScreenshot');
  writeFileSync(join(SCREENSHOTS, `docs-${name}.png`), Buffer.from(String(data), 'base64'));
}

const setDisplay = (page: Page, colours: 'light' | 'dark', width: number) =>
  Promise.all([
    page.send('Emulation.setDeviceMetricsOverride', { width, height: 900, deviceScaleFactor: 1, mobile: width < 500 }),
    page.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: colours }] }),
  ]);

const shown = `[...document.querySelectorAll('.opblock')].map((each) => each.id.replace(/^operations-/, ''))`;

const search = (text: string) => `(() => {
  const input = document.querySelector('.operation-filter-input');
  Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(input, ${JSON.stringify(text)});
  input.dispatchEvent(new Event('input', { bubbles: true }));
})()`;

/** Opens operations with a query, without a body and with files, and the schemas. */
const openSamples = `(() => {
  for (const id of ['Voices-listVoices', 'Audio-deleteAudio', 'Lexicons-replaceLexicon'])
    document.querySelector('#operations-' + id + ' .opblock-summary-control').click();
  document.querySelector('.models-control').click();
})()`;
/** axe compares all pairs of elements. */
const removeOthers = `for (const each of [
  ...document.querySelectorAll('.opblock:not(.is-open)'),
  ...[...document.querySelectorAll('.models article')].slice(5),
]) each.remove()`;

test.skipIf(!isInstalled('chromium'))(
  'searches, is accessible in both themes, fits a phone, loads nothing else',
  async () => {
    const page = await openPage(onTestFinished);
    await page.send('Page.enable');
    await page.send('Page.addScriptToEvaluateOnNewDocument', {
      source: `window.refused = []; addEventListener('securitypolicyviolation', (event) => refused.push(event.blockedURI))`,
    });
    await setDisplay(page, 'light', 1440);
    await page.goTo(`${gateway.url}/docs`);
    await page.until(`${shown}.includes('Speech-synthesizeSpeech')`);
    await takeScreenshot(page, 'light');
    const count = await page.run<number>(`${shown}.length`);
    expect(count).toBeGreaterThan(50);

    // By the words of a summary, by a path, and by the name of a field in the body.
    for (const [text, found] of [
      ['turn text', 'Speech-synthesizeSpeech'],
      ['/api/audio/jobs', 'Jobs-putJob'],
      ['speaking_rate', 'Speech-synthesizeSpeech'],
    ] as const) {
      await page.run(search(text));
      await page.until(`${shown}.length < ${count / 2} && ${shown}.includes('${found}')`);
    }
    await takeScreenshot(page, 'search');
    await page.run(search('no such operation'));
    await page.until(`${shown}.length === 0`);
    await page.run(search(''));
    await page.until(`${shown}.length === ${count}`);

    await page.run(openSamples);
    await page.until(
      `document.querySelectorAll('.opblock.is-open').length === 3 && document.querySelectorAll('.models article').length > 5`,
    );
    await page.run(removeOthers);
    expect(await axeFindings(page)).toEqual([]);
    await setDisplay(page, 'dark', 1440);
    await page.until(`document.documentElement.classList.contains('dark-mode')`);
    await takeScreenshot(page, 'dark');
    await setDisplay(page, 'dark', 360);
    expect(await page.run('document.documentElement.scrollWidth')).toBe(360);
    expect(await axeFindings(page)).toEqual([]);
    await takeScreenshot(page, 'phone');
    await page.run(`document.getElementById('text_too_long').scrollIntoView()`);
    await takeScreenshot(page, 'phone-failures');

    expect(await page.run('refused')).toEqual([]);
    const hosts = `[...new Set(performance.getEntriesByType('resource').map(({ name }) => new URL(name).origin))]`;
    expect(await page.run(hosts)).toEqual([gateway.url]);
  },
);
