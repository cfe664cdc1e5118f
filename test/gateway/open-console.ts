// The console in Chromium for a test, with a microphone that hears a file: gone through page by page as a person would, and
// inspected. Its pictures, those of docs/console, are left where SCREENSHOTS names a folder.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { axeFindings } from './axe-findings.ts';
import { openPage } from './chromium.ts';

const { SCREENSHOTS = '' } = process.env;
const pictured = ['voices', 'voice', 'clone', 'keys', 'usage'];

export interface ConsoleOptions {
  /** Of the service. */
  url: string;
  /** A WAV file, over and over. */
  heard: Buffer;
}

export async function openConsole({ url, heard }: ConsoleOptions, onClose: (close: () => Promise<void>) => void) {
  const folder = mkdtempSync(join(tmpdir(), 'sonant-heard-'));
  onClose(async () => rmSync(folder, { recursive: true }));
  const file = join(folder, 'heard.wav');
  writeFileSync(file, heard);
  const page = await openPage(onClose, [
    '--use-fake-device-for-media-stream',
    '--use-fake-ui-for-media-stream',
    `--use-file-for-fake-audio-capture=${file}`,
  ]);
  await page.send('Page.enable');
  await page.send('Emulation.setScrollbarsHidden', { hidden: SCREENSHOTS !== '' });
  await page.send('Page.addScriptToEvaluateOnNewDocument', {
    source: `addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) =>
      sessionStorage.setItem('violations', (sessionStorage.getItem('violations') ?? '') + violatedDirective + blockedURI))`,
  });
  await page.goTo(`${url}/console`);

  const dress = async (value: 'light' | 'dark', width = 1200, height = 800) => {
    await page.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value }] });
    const metrics = { width, height, deviceScaleFactor: 1, mobile: width < 600 };
    await page.send('Emulation.setDeviceMetricsOverride', metrics);
  };
  const look = async (name: string) => {
    if (SCREENSHOTS === '' || !pictured.some((each) => name.startsWith(`${each}-`))) return;
    await page.run(`document.getElementById('status').textContent = ''`);
    // A picture is for everybody; of a key it shows how it begins.
    const secrets = `document.querySelectorAll('.secret')`;
    await page.run(`for (const each of ${secrets})
      [each.title, each.textContent] = [each.textContent, each.textContent.replace(/[^_]+$/, (rest) => '•'.repeat(rest.length))]`);
    const { data } = await page.send('Page.captureScreenshot');
    await page.run(`for (const each of ${secrets}) [each.textContent, each.title] = [each.title, '']`);
    writeFileSync(join(SCREENSHOTS, `${name}.png`), Buffer.from(String(data), 'base64'));
  };
  const findings = (only?: string) => axeFindings(page, only ? { runOnly: [only] } : {});
  /** In both lights nothing for axe to find, on a phone nothing over the edge; and a picture of each. */
  const inspect = async (name: string) => {
    for (const light of ['light', 'dark'] as const) {
      await dress(light);
      // All but the colours is as it was in the light.
      expect(await findings(light === 'dark' ? 'color-contrast' : undefined), `${name}, ${light}`).toEqual([]);
      await look(`${name}-${light}`);
    }
    await dress('light', 360, 740);
    expect(await page.run('document.documentElement.scrollWidth'), name).toBe(360);
    await look(`${name}-phone`);
    await dress('light');
  };
  const find = (selector: string) => `document.querySelector(${JSON.stringify(selector)})`;
  const click = async (selector: string) => {
    await page.until(`!(${find(selector)}?.disabled ?? true) || ${find(selector)}?.matches('a, summary')`);
    await page.run(`${find(selector)}.click()`);
  };
  const write = async (selector: string, text: string) => {
    await page.run(`${find(selector)}.select(); ${find(selector)}.focus()`);
    await page.send('Input.insertText', { text });
  };
  const textOf = (selector: string) => page.run<string>(`${find(selector)}?.innerText ?? ''`);
  const saysThat = (selector: string, text: string) =>
    page.until(`${find(selector)}?.innerText.includes(${JSON.stringify(text)})`);
  const go = async (hash: string, title: string) => {
    await page.run(`location.hash = ${JSON.stringify(hash)}`);
    await page.until(`${find('h1')}?.innerText.startsWith(${JSON.stringify(title)}) && !${find('.loading')}`);
  };
  /** Comes back with another key in use. */
  const use = async (key: string) => {
    await page.run(`sessionStorage.setItem('sonant-key', ${JSON.stringify(key)}); location.reload()`);
    await page.until(`document.readyState === 'complete' && ${find('h1')} && ${find('#pages a')}`);
  };

  return { page, dress, findings, inspect, find, click, write, textOf, saysThat, go, use };
}
