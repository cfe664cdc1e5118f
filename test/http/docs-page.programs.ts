// Tests the reference page /docs in Chromium: no axe findings in light and dark themes, and no overflow on a phone.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { openPage, type Page } from '../console/chromium.ts';
import { isInstalled } from '../programs.ts';
import { toolFile } from '../tool-packages.ts';
import { openTestGateway } from './open-gateway.ts';

const gateway = await openTestGateway({}, afterAll);
const axe = readFileSync(toolFile('axe-core/axe.min.js'), 'utf8');
/** Folder for screenshots; if it is empty, no screenshots are taken. */
const { SCREENSHOTS = '' } = process.env;

/** One sample of each kind of element. axe is slow on the whole page, since it compares all pairs of elements. */
const samples = [
  '.start',
  '#deleteAudio',
  '#createVoice',
  '#schema-Voice',
  '#schema-SpeechEvent',
  '#header-x-cache',
  '#grpc-StreamSpeech',
  '#grpc-SpeechInfo',
  '#grpc-VoiceKind',
  '.contents li:first-child',
].join();
const removeOthers = `for (const one of document.querySelectorAll('main .operation, main .schema, .fields > div, .contents li'))
  if (!one.matches('${samples}') && !one.closest('${samples}') && !one.querySelector('${samples}')) one.remove()`;

async function takeScreenshot(page: Page, name: string): Promise<void> {
  if (SCREENSHOTS === '') return;
  const { data } = await page.send('Page.captureScreenshot');
  writeFileSync(join(SCREENSHOTS, `docs-${name}.png`), Buffer.from(String(data), 'base64'));
}

async function findings(page: Page): Promise<string[]> {
  const { violations } = await page.run<{
    violations: { id: string; nodes: { html: string; failureSummary: string }[] }[];
  }>('axe.run(document)');
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html}: ${failureSummary}`),
  );
}

const setDisplay = (page: Page, colours: 'light' | 'dark', width: number) =>
  Promise.all([
    page.send('Emulation.setDeviceMetricsOverride', { width, height: 900, deviceScaleFactor: 1, mobile: width < 500 }),
    page.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: colours }] }),
  ]);

test.skipIf(!isInstalled('chromium'))('is accessible in light and dark, and fits a desktop and a phone', async () => {
  const page = await openPage(onTestFinished);
  await page.send('Page.enable');
  await setDisplay(page, 'light', 1440);
  await page.goTo(`${gateway.url}/docs`);
  await takeScreenshot(page, 'light');

  await setDisplay(page, 'dark', 1440);
  await page.run(`location.hash = 'createVoice'`);
  await takeScreenshot(page, 'dark');
  await page.run(`location.hash = 'grpc-StreamSpeech'`);
  await takeScreenshot(page, 'grpc');

  await setDisplay(page, 'light', 360);
  await page.run(`location.hash = 'synthesizeSpeech'`);
  expect(await page.run('document.documentElement.scrollWidth')).toBe(360);
  await takeScreenshot(page, 'phone');
  await page.run(`document.querySelector('.contents').open = true; scrollTo(0, 0)`);
  expect(await page.run('document.documentElement.scrollWidth')).toBe(360);
  await takeScreenshot(page, 'phone-contents');

  await page.run(`${removeOthers}; ${axe}; undefined`);
  expect(await findings(page)).toEqual([]);
  await setDisplay(page, 'dark', 1440);
  expect(await findings(page)).toEqual([]);
});
