// Opens the console in Chromium for a test, with a fake microphone that plays a file, and returns functions to operate
// and inspect its pages. If SCREENSHOTS names a folder, the screenshots of docs/console are saved there.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import { openCloning } from '../../contract/open-cloning.ts';
import { axeFindings } from './axe-findings.ts';
import { openPage } from './chromium.ts';

const { SCREENSHOTS = '' } = process.env;
const screenshotPages = ['voices', 'voice', 'clone', 'keys', 'usage'];

export interface ConsoleOptions {
  /** URL of the service. */
  url: string;
  /** A WAV file that the fake microphone plays in a loop. */
  microphone: Buffer;
}

type OnClose = (close: () => Promise<void>) => void;

/** Opens a page with a fake microphone that plays the WAV file. The page stores violations of its security policy. */
async function openPageWithMicrophone(microphone: Buffer, onClose: OnClose) {
  const folder = mkdtempSync(join(tmpdir(), 'sonant-microphone-'));
  onClose(async () => rmSync(folder, { recursive: true }));
  const file = join(folder, 'microphone.wav');
  writeFileSync(file, microphone);
  const page = await openPage(onClose, [
    '--use-fake-device-for-media-stream',
    '--use-fake-ui-for-media-stream',
    `--use-file-for-fake-audio-capture=${file}`,
  ]);
  await page.send('Page.enable');
  await page.send('Emulation.setFocusEmulationEnabled', { enabled: true });
  await page.send('Emulation.setScrollbarsHidden', { hidden: SCREENSHOTS !== '' });
  await page.send('Page.addScriptToEvaluateOnNewDocument', {
    source: `addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) =>
      sessionStorage.setItem('violations', (sessionStorage.getItem('violations') ?? '') + violatedDirective + blockedURI))`,
  });
  return page;
}

export async function openConsole({ url, microphone }: ConsoleOptions, onClose: OnClose) {
  const page = await openPageWithMicrophone(microphone, onClose);
  await page.goTo(`${url}/console`);

  const setDisplay = async (value: 'light' | 'dark', width = 1200, height = 800) => {
    await page.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value }] });
    const metrics = { width, height, deviceScaleFactor: 1, mobile: width < 600 };
    await page.send('Emulation.setDeviceMetricsOverride', metrics);
  };
  const takeScreenshot = async (name: string) => {
    if (SCREENSHOTS === '' || !screenshotPages.some((each) => name.startsWith(`${each}-`))) return;
    await page.run(`document.getElementById('status').textContent = ''`);
    // Screenshots are public, so keys are masked after their prefix.
    const secrets = `document.querySelectorAll('.secret')`;
    await page.run(`for (const each of ${secrets})
      [each.title, each.textContent] = [each.textContent, each.textContent.replace(/[^_]+$/, (rest) => '•'.repeat(rest.length))]`);
    const { data } = await page.send('Page.captureScreenshot');
    await page.run(`for (const each of ${secrets}) [each.textContent, each.title] = [each.title, '']`);
    writeFileSync(join(SCREENSHOTS, `${name}.png`), Buffer.from(String(data), 'base64'));
  };
  const findings = (only?: string) => axeFindings(page, only ? { runOnly: [only] } : {});
  /** Expects no axe findings in both themes and no overflow on a phone, and takes a screenshot of each. */
  const inspect = async (name: string) => {
    for (const theme of ['light', 'dark'] as const) {
      await setDisplay(theme);
      // Only colours differ from the light theme.
      expect(await findings(theme === 'dark' ? 'color-contrast' : undefined), `${name}, ${theme}`).toEqual([]);
      await takeScreenshot(`${name}-${theme}`);
    }
    await setDisplay('light', 360, 740);
    expect(await page.run('document.documentElement.scrollWidth'), name).toBe(360);
    await takeScreenshot(`${name}-phone`);
    await setDisplay('light');
  };
  const find = (selector: string) => `document.querySelector(${JSON.stringify(selector)})`;
  const click = async (selector: string) => {
    await page.until(`!(${find(selector)}?.disabled ?? true) || ${find(selector)}?.matches('a, summary')`);
    await page.run(`${find(selector)}.click()`);
  };
  const typeText = async (selector: string, text: string) => {
    await page.run(`${find(selector)}.select(); ${find(selector)}.focus()`);
    await page.send('Input.insertText', { text });
  };
  const textOf = (selector: string) => page.run<string>(`${find(selector)}?.innerText ?? ''`);
  const untilText = (selector: string, text: string) =>
    page.until(`${find(selector)}?.innerText.includes(${JSON.stringify(text)})`);
  const go = async (hash: string, title: string) => {
    await page.run(`location.hash = ${JSON.stringify(hash)}`);
    await page.until(`${find('h1')}?.innerText.startsWith(${JSON.stringify(title)}) && !${find('.loading')}`);
  };
  /** Reloads with another API key. */
  const useKey = async (key: string) => {
    await page.reload(`sessionStorage.setItem('sonant-key', ${JSON.stringify(key)})`);
    await page.until(`${find('h1')} && ${find('#pages a')}`);
  };

  return { page, setDisplay, findings, inspect, find, click, typeText, textOf, untilText, go, useKey };
}

/**
 * Opens the service with an engine that clones, and its console with a key, for the tests of a `describe`. The members
 * are set before the first test.
 */
export function useConsole() {
  const opened = {} as {
    service: Awaited<ReturnType<typeof openCloning>>;
    consolePage: Awaited<ReturnType<typeof openConsole>>;
  };
  const closes: (() => Promise<void>)[] = [];
  beforeAll(async () => {
    const service = await openCloning((close) => closes.push(close));
    const microphone = Buffer.from(await service.reference.arrayBuffer());
    const consolePage = await openConsole({ url: service.url, microphone }, (close) => closes.push(close));
    await consolePage.useKey(service.key);
    await consolePage.setDisplay('light');
    Object.assign(opened, { service, consolePage });
  });
  afterAll(async () => {
    for (const close of closes.reverse()) await close();
  });
  return opened;
}
