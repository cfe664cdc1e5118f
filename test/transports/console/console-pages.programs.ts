// Tests the Voices, Keys and Usage pages of the console in Chromium, with a running service and an engine that clones
// voices. Each page is also checked with axe in light and dark themes, and for overflow on a phone.
import { beforeEach, describe, expect, test } from 'vitest';
import { createUsageRows } from '../../../src/accounts/limits/usage-ledger.ts';
import { isInstalled } from '../../programs.ts';
import { useConsole } from './open-console.ts';

describe.skipIf(!isInstalled('chromium'))('the pages of the console', () => {
  const opened = useConsole();
  const keysUrl = '/api/auth/api-keys';
  beforeEach(() => opened.consolePage.setDisplay('light'));

  /** Records from the fake microphone, which plays a voice in a loop. */
  const record = async (name: string, seconds: number) => {
    const { page, click, find } = opened.consolePage;
    const root = `[data-field=${name}]`;
    await click(`${root} button:has(.icon-record)`);
    await page.until(`${find(root)}.classList.contains('live')`);
    await page.until(`${find(`${root} output`)}.value.split(' ')[0] >= ${seconds}`);
    await click(`${root} button:has(.icon-stop)`);
    await page.until(`!${find(root)}.classList.contains('live')`);
  };

  test('voices are searched, previewed, created, changed and deleted', async () => {
    const { page, findings, inspect, find, click, typeText, untilText, go, useKey } = opened.consolePage;
    await go('#/voices', 'Voices');
    await page.until(`document.querySelectorAll('.voice-list li').length > 5`);
    await inspect('voices');
    await typeText('[name=query]', 'robot');
    await untilText('.page [role=status]', 'of');
    const found = await page.run<string>(
      `[...document.querySelectorAll('.voice-list a')].map((a) => a.innerText).join()`,
    );
    expect(found).toBe('Milo,Otto');
    await click('.voice-list .preview');
    await page.until(`${find('.voice-list .preview[aria-pressed=true]')}`);
    const choose = (value: string) =>
      page.run(`(() => { const field = ${find('[name=kind]')}; field.value = '${value}';
        field.dispatchEvent(new Event('input', { bubbles: true })); })()`);
    await choose('natural');
    await untilText('.page [role=status]', 'No voice matches.');
    await choose('synthetic');
    await page.until(`document.querySelectorAll('.voice-list li').length === 2`);
    await typeText('[name=query]', 'no such voice');
    await untilText('.page [role=status]', 'No voice matches.');

    await go('#/voices/+new', 'New voice');
    await click('.page form [type=submit]');
    await untilText('[data-field=name] .field-error', 'Must be 1 to 200 characters.');
    expect(await page.run('document.activeElement.name')).toBe('name');
    await inspect('new-voice');
    await typeText('[name=name]', 'Our reader');
    await typeText('[name=voice_id]', 'reader');
    await click('.page form [type=submit]');
    await page.until(`location.hash === '#/voices/reader' && ${find('h1')}.innerText.includes('Our reader')`);
    await typeText('[name=description]', 'Reads the news.');
    await page.run(`${find('[name=access]')}.value = 'private'`);
    await click('.page form [type=submit]');
    await untilText('.lead', 'Reads the news.');
    await untilText('h1', 'private');
    await untilText('.page dl', 'Only keys of its owner’s account');
    await click('.endings button');
    await untilText('h1', 'switched off');
    expect((await opened.service.send('GET', '/api/voices/reader')).body).toMatchObject({ status: 'disabled' });
    await click('.endings .danger');
    await page.until(find('dialog[open]'));
    expect(await findings()).toEqual([]);
    await page.press('Escape');
    await page.until(`!${find('dialog')}`);
    await click('.endings .danger');
    await click('dialog [value=yes]');
    await page.until(`location.hash === '#/voices'`);
    // The message is shown on the page that follows.
    await untilText('h1', 'Voices');
    await untilText('#status', 'Our reader is deleted.');
    expect(await page.run('document.activeElement.id')).toBe('main');
    expect((await opened.service.send('GET', '/api/voices/reader')).status).toBe(404);

    // Admins change an engine's voice. It cannot be deleted, but its changes can be discarded.
    const scopes = ['voices:read', 'voices:write', 'speech:stream', 'keys:read'];
    await useKey(await opened.service.makeKey(scopes));
    await go('#/voices/nora', 'Nora');
    await untilText('.page', 'Only its owner, and keys with the scope admin, can change it.');
    expect(await page.run(`${find('.endings')} === null`)).toBe(true);
    await useKey(await opened.service.makeKey(['admin', ...scopes]));
    await go('#/voices/nora', 'Nora');
    await typeText('[name=name]', 'Norah');
    await click('.page form [type=submit]');
    await untilText('.endings', 'Discard changes');
    await click('.endings .danger');
    await click('dialog [value=yes]');
    await page.until(`location.hash === '#/voices'`);
    expect((await opened.service.send('GET', '/api/voices/nora')).body.name).toBe('Nora');
    await useKey(opened.service.key);
  });

  test('a double click on Speak starts one stream', async () => {
    const { page, find, click, typeText, go } = opened.consolePage;
    await go('#/speak', 'Speak');
    await typeText('#text', 'Once.');
    await click('.speak-button');
    await page.until(`${find('.sound')}?.dataset.state === 'done'`);
    await page.run(`(() => { const real = fetch; window.streams = 0; fetch = (url, init) =>
      ((window.streams += String(url).endsWith('/sse')), real(url, init)); })()`);
    // The second click arrives before the previous playback is closed.
    await page.run(`(() => { const say = ${find('.speak-button')}; say.click(); say.click(); })()`);
    await page.until(`window.streams > 0 && ${find('.sound')}?.dataset.state === 'done'`);
    expect(await page.run('window.streams')).toBe(1);
  });

  test('a speaker is recorded and cloned, and the voice stops speaking when the consent is withdrawn', async () => {
    const { page, inspect, find, click, typeText, textOf, untilText, go } = opened.consolePage;
    await go('#/voices/+clone', 'Clone a voice');
    expect(await textOf('.consent-sentence')).toBe('I agree that my voice becomes tones.');
    await click('.submit-progress button');
    await untilText('[data-field=reference_audio]', 'Record the speaker, or choose a file.');
    await untilText('[data-field=agreed]', 'Confirm this statement.');
    const file = Buffer.from(await opened.service.consent.arrayBuffer()).toString('base64');
    await page.run(`(() => {
      const given = new DataTransfer();
      given.items.add(new File([Uint8Array.from(atob('${file}'), (each) => each.charCodeAt(0))], 'consent.mp3'));
      const input = ${find('[data-field=consent_audio] [type=file]')};
      input.files = given.files;
      input.dispatchEvent(new Event('change'));
    })()`);
    await untilText('[data-field=consent_audio]', 'consent.mp3, ');
    // The API rejects a short recording; the error is shown at its field.
    await typeText('[name=speaker_name]', 'Ada Lovelace');
    await typeText('[name=name]', 'Ada');
    await click('#agreed');
    await record('reference_audio', 0.6);
    await record('consent_audio', 1.8);
    await click('.submit-progress button');
    await untilText(
      '[data-field=reference_audio] .field-error',
      'seconds without the silence around it; 2 to 30 seconds are needed.',
    );
    await record('reference_audio', 2.8);
    await inspect('clone');
    await click('.submit-progress button');
    await page.until(`location.hash.startsWith('#/voices/voc_') && ${find('h1')}.innerText.includes('Ada')`);
    await inspect('voice');

    const voiceId = (await page.run<string>('location.hash')).split('/')[2]!;
    const { body: voice } = await opened.service.send('GET', `/api/voices/${voiceId}`);
    expect(voice).toMatchObject({ kind: 'cloned', status: 'ready', consent: { speaker_name: 'Ada Lovelace' } });
    const spoken = await opened.service.speak({ voice_id: voiceId, text: 'Here I am.', return_format: 'buffer' });
    expect([spoken.status, spoken.bytes.length > 20_000]).toEqual([200, true]);
    await click('.preview');
    await page.until(find('.preview[aria-pressed=true]'));

    await page.run(`[...document.querySelectorAll('.endings .danger')].at(0).click()`);
    await untilText('dialog', 'Withdraw the consent of Ada Lovelace?');
    await click('dialog [value=yes]');
    await untilText('h1', 'consent withdrawn');
    expect((await opened.service.speak({ voice_id: voiceId, text: 'Here I am.' })).status).toBe(409);
  });

  test('a key is created, shown once, used, replaced and revoked', async () => {
    const { page, inspect, find, click, typeText, textOf, untilText, go } = opened.consolePage;
    for (const name of ['evening radio', 'newsletter']) await opened.service.send('POST', keysUrl, { name });
    await go('#/keys', 'Keys');
    await click('.page-head button');
    await page.press(...'laptop');
    await click('form summary');
    await typeText('[name="limits.concurrency"]', '500');
    await inspect('key-form');
    await page.run(`${find('[name=name]')}.focus()`);
    await page.press('Enter');
    await untilText(
      '[data-field="limits.concurrency"] .field-error',
      'Must be at most 20, the limit of the creating key.',
    );
    await typeText('[name="limits.concurrency"]', '5');
    await page.press('Enter');
    await page.until(find('.secret'));
    expect(await page.run('document.activeElement.id')).toBe('new-key-title');
    const key = await textOf('.secret');
    expect(key).toMatch(/^snt_[0-9A-Za-z]{10}_[0-9A-Za-z]{49}$/);
    await page.until(find('[aria-label="Revoke laptop"]'));
    await inspect('keys');
    const response = await fetch(`${opened.service.url}/api/audio/speech`, {
      method: 'POST',
      headers: { 'X-API-Key': key, 'Content-Type': 'application/json' },
      body: JSON.stringify({ voice_id: 'arthur', text: 'Hello.', return_format: 'buffer' }),
    });
    expect([response.status, (await response.arrayBuffer()).byteLength > 10_000]).toEqual([200, true]);

    await click('[aria-label="Replace laptop"]');
    await page.until(`${find('.secret')} && ${find('.secret')}.innerText !== ${JSON.stringify(key)}`);
    const second = await textOf('.secret');
    await page.until(`${find('.chip.ended')}?.innerText === 'replaced'`);
    await go('#/voices', 'Voices');
    await go('#/keys', 'Keys');
    await page.until(find('[aria-label="Revoke laptop"]'));
    expect(await page.run('document.documentElement.outerHTML')).not.toContain(second.slice(15, 58));

    const working = async () =>
      (await fetch(`${opened.service.url}${keysUrl}/self`, { headers: { 'X-API-Key': second } })).status;
    expect(await working()).toBe(200);
    // The browser's clock is behind; past events must not appear in the future.
    await page.run(`{ const now = Date.now; Date.now = () => now() - 600_000; }`);
    await click('[aria-label="Revoke laptop"]');
    await click('dialog [value=yes]');
    await untilText('#status', 'laptop is revoked, and with it 1 other key.');
    const ended = await page.run<string>(`[...document.querySelectorAll('.key-list li:has(.ended)')]
      .map((each) => each.textContent).find((text) => text.includes('revoked'))`);
    expect(ended).toMatch(/(never used|used just now) · revoked just now.*Revokedjust now$/);
    expect(ended).not.toContain('Expires');
    await page.reload();
    await page.until(find('#created-keys'));
    await page.run(`${find('#created-keys')}.focus()`);
    expect(await page.run('document.activeElement.id')).toBe('created-keys');
    expect(await working()).toBe(401);
  });

  const dayBefore = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10);
  /** Inserts usage for a month, lower on two days of each week. */
  const insertUsage = async () => {
    const { body: key } = await opened.service.send('GET', `${keysUrl}/self`);
    const rows = Array.from({ length: 30 }, (_, days) => {
      const characters = Math.round(days % 7 < 5 ? 9_000 + 4_000 * Math.sin(days) : 1_500 + 40 * days);
      const spoken = { keyId: key.id, day: dayBefore(days), requests: 1 + (characters >> 9), characters };
      const audioMs = 66 * characters;
      return ['arthur', 'clara'].map((voiceId, i) => ({ ...spoken, voiceId, audioMs, characters: characters >> i }));
    });
    await opened.service.kept.inStore((store) => createUsageRows(store).addAll(rows.flat()));
  };

  test('usage is shown by day, voice and key, and read with the arrow keys', async () => {
    const { page, inspect, find, click, textOf, go, setDisplay } = opened.consolePage;
    await insertUsage();
    const today = new Date().toISOString().slice(0, 10);
    const { body: usage } = await opened.service.send('GET', `/api/usage?from=${dayBefore(29)}&group_by=day`);
    await go('#/usage', 'Usage');
    await page.until(`document.querySelectorAll('.day').length === 60`);
    await inspect('usage');
    expect(await textOf('.totals strong')).toBe(usage.total.characters.toLocaleString('en-US'));
    const charactersOn = (day: string) =>
      usage.groups.find(({ group }: { group: string }) => group === day).characters.toLocaleString('en-US');
    // The charts are redrawn when the width has changed, which removes the focus.
    const tip = `${find('.tip')}?.innerText.includes('${charactersOn(today)} characters')`;
    await page.until(`(${find('.day[tabindex="0"]')}.focus(), ${tip})`);
    await page.press('ArrowLeft');
    await page.until(`${find('.tip')}.innerText.includes('${charactersOn(dayBefore(1))} characters')`);
    const named = await page.run('document.activeElement.getAttribute("aria-label")');
    expect(named).toMatch(new RegExp(`: ${charactersOn(dayBefore(1))} characters$`));
    const byVoice = await page.run<string>(`[...document.querySelectorAll('tbody')].at(-2).innerText`);
    expect(byVoice).toMatch(/Arthur.*Clara/s);
    await click('.tabs [value="90"]');
    await page.until(`document.querySelectorAll('.day').length === 180`);
    expect(await page.run('location.hash')).toBe('#/usage/90');
    for (const width of [320, 360]) {
      await setDisplay('light', width, 740);
      expect(await page.run('document.documentElement.scrollWidth')).toBe(width);
      // Every heading, name and figure is visible, and no word is broken.
      const cut = `[...document.querySelectorAll('.by-group, .by-group :is(th, td), .totals dd, .totals dt')].filter((each) =>
        each.scrollWidth > each.clientWidth || each.getBoundingClientRect().right > ${width}).map((each) => each.innerText)`;
      expect(await page.run(cut), `${width}`).toEqual([]);
    }
    await setDisplay('light');
  });
});
