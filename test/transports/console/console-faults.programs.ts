// Tests the console's pages in Chromium when something is missing (a scope, an engine that clones, the service); each
// fault is shown once.
import { describe, expect, test } from 'vitest';
import { isInstalled } from '../../programs.ts';
import { useConsole } from './open-console.ts';

describe.skipIf(!isInstalled('chromium'))('the console', () => {
  const opened = useConsole();
  const keysUrl = '/api/auth/api-keys';

  test('missing scopes, missing cloning engines and an unreachable service are reported', async () => {
    const { page, findings, find, untilText, go, useKey } = opened.consolePage;
    const { body: narrow } = await opened.service.send('POST', keysUrl, { name: 'narrow', scopes: ['voices:read'] });
    await useKey(narrow.key);
    await go('#/keys', 'Keys');
    await untilText('.missing-scope', 'It lacks the scope keys:write');
    await untilText('.page', 'narrow');
    await go('#/usage', 'Usage');
    await untilText('#main', 'It lacks the scope usage:read');
    expect(await page.run(`${find('.missing-scope a')}.hash`)).toBe('#/keys');
    await go('#/voices/arthur', 'Arthur');
    await untilText('.page', 'It lacks the scope voices:write');
    for (const [place, title] of [
      ['+clone', 'Clone a voice'],
      ['+new', 'New voice'],
    ] as const) {
      await go(`#/voices/${place}`, title);
      await untilText('.page', 'It lacks the scope voices:write');
    }
    await go('#/keys', 'Keys');
    await useKey(opened.service.key);
    await page.run(`(() => { const real = fetch; fetch = (url, init) => String(url).endsWith('/api/cloning')
      ? Promise.resolve(Response.json({ engines: [] })) : real(url, init); })()`);
    await go('#/voices/+clone', 'Clone a voice');
    await untilText('.page', 'Voice cloning is not available');
    await page.run(`(() => { const real = fetch; fetch = (url, init) => String(url).includes('/api/usage')
      ? Promise.reject(new TypeError('gone')) : real(url, init); })()`);
    await page.run(`location.hash = '#/usage'`);
    await untilText('#errors', 'The service cannot be reached.');
    await untilText('.page', 'Try again');
    expect(await findings()).toEqual([]);
    expect(await page.run(`sessionStorage.getItem('violations')`)).toBe(null);
  });

  test('a fault is said once, with the seconds to wait as a whole number', async () => {
    const { page, find, go, useKey } = opened.consolePage;
    await useKey(opened.service.key);
    await go('#/voices', 'Voices');
    const open = async (hash: string, body: object) => {
      await page.run(`fetch = () => Promise.resolve(Response.json(${JSON.stringify(body)}, { status: 400 }))`);
      await page.run(`location.hash = '${hash}'`);
      await page.until(`${find('.error-notice')} && ${find('.page.usage')}`);
      return page.run<string>(`${find('.error-notice')}.innerText`);
    };
    const facts = { status: 400, request_id: 'req_1' };
    const details = ['must be a day', 'must be a day.'].map((message) => ({
      field: 'from',
      reason: 'format',
      message,
    }));
    const invalid = { error: 'invalid_request', message: 'Every fault is listed in details.', ...facts, details };
    expect(await open('#/usage', invalid)).toBe('From must be a day.\n\ninvalid_request · req_1');
    const busy = { error: 'overloaded', message: 'Busy; try again.', ...facts, retry_after: 6.925953433999999 };
    expect(await open('#/usage/7', busy)).toBe('Busy; try again.\n\noverloaded · retry after 7 s · req_1');
  });
});
