// Tests the key page in Chromium: sign-in through a real OpenID Connect server, then creating, replacing and revoking
// API keys. A new key is shown once and leaves no trace. Also checks keyboard use, axe findings and phone layout.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { axeFindings } from '../console/axe-findings.ts';
import { openPage, type Page } from '../console/chromium.ts';
import { isInstalled } from '../programs.ts';
import { openSignInGateway } from './oidc-server.ts';

const gateway = await openSignInGateway({}, {}, afterAll);
/** Folder for screenshots; if it is empty, no screenshots are taken. */
const { SCREENSHOTS = '' } = process.env;

async function takeScreenshot(page: Page, name: string): Promise<void> {
  if (SCREENSHOTS !== '') writeFileSync(join(SCREENSHOTS, `${name}.png`), await page.screenshot());
}

const setViewport = (page: Page, width: number, height: number, deviceScaleFactor: number) =>
  page.send('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor, mobile: width < 600 });

async function signIn(page: Page): Promise<void> {
  await page.goTo(`${gateway.url}/oauth/get-key`);
  await page.until(`document.querySelector('input[name=login]')`);
  await page.run(`document.querySelector('input[name=login]').value = 'ada';
    document.querySelector('input[name=password]').value = 'any'; document.forms[0].submit()`);
  await page.until(`document.querySelector('input[name=prompt]')?.value === 'consent'`);
  await page.run('document.forms[0].submit()');
  await page.until(`location.pathname === '/oauth/get-key' && document.getElementById('keys')`);
  await page.until(`document.getElementById('none').hidden === false || document.querySelector('#keys li')`);
}

/** Types a name, presses Enter, and returns the new key. */
async function createKey(page: Page, name: string): Promise<string> {
  await page.run(`document.getElementById('name').focus()`);
  await page.press(...name, 'Enter');
  await page.until(`!document.getElementById('new-key').hidden`);
  return textOf(page, 'new-key-secret');
}

const textOf = (page: Page, id: string) => page.run<string>(`document.getElementById('${id}').textContent`);

test.skipIf(!isInstalled('chromium'))('a key is created, shown once, replaced and revoked', async () => {
  const page = await openPage(onTestFinished);
  await page.send('Page.enable');
  await setViewport(page, 900, 900, 1);
  await signIn(page);
  await takeScreenshot(page, 'signed-in');
  expect(await axeFindings(page)).toEqual([]);

  // Enter in the name field creates the key.
  const key = await createKey(page, 'laptop');
  expect(key).toMatch(/^snt_[0-9A-Za-z]{10}_[0-9A-Za-z]{49}$/);
  expect(await page.run('document.activeElement.id')).toBe('new-key-title');
  expect(await textOf(page, 'new-key-curl')).toContain(`curl -sSf ${gateway.url}/api/audio/speech`);
  await page.until(`document.querySelector('#keys li h3')?.textContent === 'laptop'`);
  await takeScreenshot(page, 'created');
  expect(await axeFindings(page)).toEqual([]);

  const response = await gateway.speak({ text: 'Hello.', return_format: 'buffer' }, { headers: { 'X-API-Key': key } });
  expect([response.status, (await response.arrayBuffer()).byteLength > 10_000]).toEqual([200, true]);

  const secret = key.slice(15, 58);
  const stored = await gateway.storage.read();
  expect(stored.map(({ bytes }) => bytes.toString('latin1')).join('\n')).not.toContain(secret);
  expect(JSON.stringify([gateway.calls, gateway.requests, gateway.faults])).not.toContain(secret);

  // The key is gone after a reload, and after leaving the page and going back.
  await page.reload();
  await page.until(`document.querySelector('#keys li')`);
  expect(await page.run('document.documentElement.outerHTML')).not.toContain(secret);
  const second = (await createKey(page, 'phone')).slice(15, 58);
  await page.goTo(`${gateway.url}/docs`);
  await page.until(`location.pathname === '/docs'`);
  await page.run('history.back()');
  await page.until(`location.pathname === '/oauth/get-key' && document.querySelector('#keys li')`);
  expect(await page.run('document.documentElement.outerHTML')).not.toContain(second);

  // Replace needs no confirmation; revoke does.
  await page.run(`document.querySelector('[aria-label="Replace laptop"]').click()`);
  await page.until(`document.getElementById('status').textContent.includes('was replaced')`);
  await page.run(`document.querySelector('[aria-label="Revoke phone"]').click()`);
  await page.until(`document.getElementById('confirm').open`);
  await takeScreenshot(page, 'confirm');
  expect(await axeFindings(page)).toEqual([]);
  await page.press('Escape');
  await page.until(`!document.getElementById('confirm').open`);
  await page.run(`document.querySelector('[aria-label="Revoke phone"]').click()`);
  await page.run(`document.querySelector('#confirm button[value=yes]').click()`);
  await page.until(`document.getElementById('status').textContent === 'phone is revoked.'`);

  // No overflow on a narrow phone, no axe findings in dark.
  await setViewport(page, 320, 700, 2);
  await page.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: 'dark' }] });
  expect(await page.run('document.documentElement.scrollWidth')).toBe(320);
  expect(await axeFindings(page)).toEqual([]);
  await takeScreenshot(page, 'phone-dark');

  await page.run(`document.getElementById('sign-out').click()`);
  await page.until(`location.pathname === '/docs'`);
});
