// A person's way in a real browser: from /oauth/get-key through a real OpenID Connect server to a key that speaks, which
// is seen once and is nowhere else; by keyboard, on a phone, in the light and in the dark, with nothing for axe to find.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { isInstalled } from '../programs.ts';
import { axeFindings } from './axe-findings.ts';
import { openPage, type Page } from './chromium.ts';
import { openSignedDoor } from './oidc-server.ts';

const door = await openSignedDoor({}, {}, afterAll);
/** Where to leave pictures of the page, if anywhere. */
const { SCREENSHOTS = '' } = process.env;

async function look(page: Page, name: string): Promise<void> {
  if (SCREENSHOTS !== '') writeFileSync(join(SCREENSHOTS, `${name}.png`), await page.screenshot());
}

async function signIn(page: Page): Promise<void> {
  await page.goTo(`${door.url}/oauth/get-key`);
  await page.until(`document.querySelector('input[name=login]')`);
  await page.run(`document.querySelector('input[name=login]').value = 'ada';
    document.querySelector('input[name=password]').value = 'any'; document.forms[0].submit()`);
  await page.until(`document.querySelector('input[name=prompt]')?.value === 'consent'`);
  await page.run('document.forms[0].submit()');
  await page.until(`location.pathname === '/oauth/get-key' && document.getElementById('keys')`);
  await page.until(`document.getElementById('none').hidden === false || document.querySelector('#keys li')`);
}

const textOf = (page: Page, id: string) => page.run<string>(`document.getElementById('${id}').textContent`);

test.skipIf(!isInstalled('chromium'))('from signing in to a key that speaks, and is shown once', async () => {
  const page = await openPage(onTestFinished);
  await page.send('Page.enable');
  await page.send('Emulation.setDeviceMetricsOverride', {
    width: 900,
    height: 900,
    deviceScaleFactor: 1,
    mobile: false,
  });
  await signIn(page);
  await look(page, 'signed-in');
  expect(await axeFindings(page)).toEqual([]);

  // By keyboard alone: the name has a label, and Enter makes the key.
  await page.run(`document.getElementById('name').focus()`);
  await page.press(...'laptop', 'Enter');
  await page.until(`!document.getElementById('new-key').hidden`);
  const key = await textOf(page, 'new-key-secret');
  expect(key).toMatch(/^snt_[0-9A-Za-z]{10}_[0-9A-Za-z]{49}$/);
  expect(await page.run('document.activeElement.id')).toBe('new-key-title');
  expect(await textOf(page, 'new-key-curl')).toContain(`curl -sSf ${door.url}/api/audio/speech`);
  await page.until(`document.querySelector('#keys li h3')?.textContent === 'laptop'`);
  await look(page, 'made');
  expect(await axeFindings(page)).toEqual([]);

  const said = await door.speak({ text: 'Hello.', return_format: 'buffer' }, { headers: { 'X-API-Key': key } });
  expect([said.status, (await said.arrayBuffer()).byteLength > 10_000]).toEqual([200, true]);

  const secret = key.slice(15, 58);
  const kept = await door.storage.read();
  expect(kept.map(({ bytes }) => bytes.toString('latin1')).join('\n')).not.toContain(secret);
  expect(JSON.stringify([door.calls, door.requests, door.faults])).not.toContain(secret);

  // Gone with a reload, and not brought back by going elsewhere and back.
  await page.run('location.reload()');
  await page.until(`document.readyState === 'complete' && document.querySelector('#keys li')`);
  expect(await page.run('document.documentElement.outerHTML')).not.toContain(secret);
  await page.run(`document.getElementById('name').focus()`);
  await page.press(...'phone', 'Enter');
  await page.until(`!document.getElementById('new-key').hidden`);
  const second = (await textOf(page, 'new-key-secret')).slice(15, 58);
  await page.goTo(`${door.url}/docs`);
  await page.until(`location.pathname === '/docs'`);
  await page.run('history.back()');
  await page.until(`location.pathname === '/oauth/get-key' && document.querySelector('#keys li')`);
  expect(await page.run('document.documentElement.outerHTML')).not.toContain(second);

  // Replaced, and revoked once the person is sure.
  await page.run(`document.querySelector('[aria-label="Replace laptop"]').click()`);
  await page.until(`document.getElementById('status').textContent.includes('was replaced')`);
  await page.run(`document.querySelector('[aria-label="Revoke phone"]').click()`);
  await page.until(`document.getElementById('confirm').open`);
  await look(page, 'sure');
  expect(await axeFindings(page)).toEqual([]);
  await page.press('Escape');
  await page.until(`!document.getElementById('confirm').open`);
  await page.run(`document.querySelector('[aria-label="Revoke phone"]').click()`);
  await page.run(`document.querySelector('#confirm button[value=yes]').click()`);
  await page.until(`document.getElementById('status').textContent === 'phone is revoked.'`);

  // On the narrowest phone nothing hangs over the edge, and in the dark all can be read.
  await page.send('Emulation.setDeviceMetricsOverride', {
    width: 320,
    height: 700,
    deviceScaleFactor: 2,
    mobile: true,
  });
  await page.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: 'dark' }] });
  expect(await page.run('document.documentElement.scrollWidth')).toBe(320);
  expect(await axeFindings(page)).toEqual([]);
  await look(page, 'phone-dark');

  await page.run(`document.getElementById('sign-out').click()`);
  await page.until(`location.pathname === '/docs'`);
});
