// Tests sign-in to the console in Chromium: through a real OpenID Connect server, then creating, replacing and revoking
// API keys on the Keys page. A new key is shown once and leaves no trace. Also checks axe findings and phone layout.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { isInstalled } from '../../programs.ts';
import { openSignInGateway } from '../http/oidc-server.ts';
import { axeFindings } from './axe-findings.ts';
import { openPage, type Page } from './chromium.ts';

const gateway = await openSignInGateway({}, {}, afterAll);
/** Folder for screenshots; if it is empty, no screenshots are taken. */
const { SCREENSHOTS = '' } = process.env;

/** Checks the page with axe in both themes, and takes a screenshot of each. */
async function inspect(page: Page, name: string): Promise<void> {
  for (const theme of ['light', 'dark']) {
    await page.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: theme }] });
    expect(await axeFindings(page)).toEqual([]);
    if (SCREENSHOTS !== '') writeFileSync(join(SCREENSHOTS, `${name}-${theme}.png`), await page.screenshot());
  }
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
  await page.until(`location.pathname + location.hash === '/console#/keys' && document.getElementById('created-keys')`);
}

/** Opens the form, types a name, presses Enter, and returns the new key. */
async function createKey(page: Page, name: string): Promise<string> {
  await page.run(`document.querySelector('[aria-controls=key-form]').click()`);
  await page.press(...name, 'Enter');
  await page.until(`document.querySelector('.new-key h2')?.textContent === 'Your new key: ${name}'`);
  return textOf(page, '.new-key .secret');
}

const textOf = (page: Page, selector: string) =>
  page.run<string>(`document.querySelector(${JSON.stringify(selector)}).textContent`);

test.skipIf(!isInstalled('chromium'))('a key is created, shown once, replaced and revoked', async () => {
  const page = await openPage(onTestFinished);
  await page.send('Page.enable');
  await setViewport(page, 900, 900, 1);
  await signIn(page);
  expect(await textOf(page, '.page .lead')).toContain('You are signed in as Ada <b>.');
  expect(await textOf(page, '#created-keys')).toBe('Your keys');
  await page.run(`document.querySelector('[aria-controls=key-form]').click()`);
  await inspect(page, 'signed-in');
  await page.run(`[...document.querySelectorAll('#key-form button')].at(-1).click()`);

  // Enter in the name field creates the key.
  const key = await createKey(page, 'laptop');
  expect(key).toMatch(/^snt_[0-9A-Za-z]{10}_[0-9A-Za-z]{49}$/);
  expect(await page.run('document.activeElement.id')).toBe('new-key-title');
  expect(await textOf(page, '.new-key pre')).toContain(`curl -sSf ${gateway.url}/api/audio/speech`);
  await page.until(`document.querySelector('.key-list strong')?.textContent === 'laptop'`);
  expect(await textOf(page, '.key-list .facts')).toContain('created by you');
  await inspect(page, 'created');

  const response = await gateway.speak({ text: 'Hello.', return_format: 'buffer' }, { headers: { 'X-API-Key': key } });
  expect([response.status, (await response.arrayBuffer()).byteLength > 10_000]).toEqual([200, true]);

  const secret = key.slice(15, 58);
  const stored = await gateway.storage.read();
  expect(stored.map(({ bytes }) => bytes.toString('latin1')).join('\n')).not.toContain(secret);
  expect(JSON.stringify([gateway.calls, gateway.requests, gateway.faults])).not.toContain(secret);

  // The key is gone after a reload, and after leaving the page and going back.
  await page.reload();
  await page.until(`document.querySelector('.key-list li')`);
  expect(await page.run('document.documentElement.outerHTML')).not.toContain(secret);
  const second = (await createKey(page, 'phone')).slice(15, 58);
  await page.goTo(`${gateway.url}/docs`);
  await page.until(`location.pathname === '/docs'`);
  await page.run('history.back()');
  await page.until(`location.pathname === '/console' && document.querySelector('.key-list li')`);
  expect(await page.run('document.documentElement.outerHTML')).not.toContain(second);

  // Replace needs no confirmation; revoke does.
  await page.run(`document.querySelector('[aria-label="Replace laptop"]').click()`);
  await page.until(`document.getElementById('status').textContent.includes('is replaced')`);
  await page.run(`document.querySelector('[aria-label="Revoke phone"]').click()`);
  await page.until(`document.querySelector('dialog')?.open`);
  await inspect(page, 'confirm');
  await page.press('Escape');
  await page.until(`!document.querySelector('dialog')`);
  await page.run(`document.querySelector('[aria-label="Revoke phone"]').click()`);
  await page.until(`document.querySelector('dialog')?.open`);
  await page.run(`document.querySelector('dialog [value=yes]').click()`);
  await page.until(`document.getElementById('status').textContent.includes('phone is revoked.')`);

  // No overflow on a narrow phone.
  await setViewport(page, 320, 700, 2);
  expect(await page.run('document.documentElement.scrollWidth')).toBe(320);
  await inspect(page, 'phone');

  // Signing out ends the session and revokes the key of the console.
  const own = await page.run<string>(`localStorage.getItem('sonant-key')`);
  await page.run(`[...document.querySelectorAll('#about-key button')].at(-1).click()`);
  await page.until(`document.querySelector('#api-key')`);
  expect(await page.run(`fetch('oauth/session').then(({ status }) => status)`)).toBe(204);
  const headers = { 'X-API-Key': own };
  expect((await fetch(`${gateway.url}/api/auth/api-keys/self`, { headers })).status).toBe(401);
});
