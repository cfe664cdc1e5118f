// Tests what a visitor to the console expects, in Chromium, such as that speech continues while other pages are open.
// Covers keyboard and phone use, voices in the visitor's language, drafts, the location of errors, guides, and sign-in.
import { describe, expect, onTestFinished, test } from 'vitest';
import { isInstalled } from '../../programs.ts';
import { openSignInGateway } from '../http/oidc-server.ts';
import { openPage } from './chromium.ts';
import { useConsole } from './open-console.ts';

describe.skipIf(!isInstalled('chromium'))('a visitor of the console', { timeout: 120_000 }, () => {
  const opened = useConsole();

  const speak = async (text: string) => {
    const { page, find, typeText } = opened.consolePage;
    await typeText('#text', text);
    const before = await page.run<string>(`document.querySelector('.speeches .name')?.innerText ?? ''`);
    const expression = `${find('.speak-button')}.click()`;
    await page.send('Runtime.evaluate', { expression, userGesture: true });
    if (before !== text) await opened.consolePage.untilText('.speeches .name', text.slice(0, 40));
  };
  const untilDone = () =>
    opened.consolePage.page.until(`${opened.consolePage.find('.sound')}?.dataset.state === 'done'`);

  test('hears speech go on while other pages are open, and finds the last speeches again', async () => {
    const { page, find, findings, click, textOf, untilText, go, inspect, setDisplay } = opened.consolePage;
    await go('#/speak', 'Speak');
    await speak('The first one is short.');
    await untilDone();
    await speak('The second text is longer, so that it still plays while another page is open. '.repeat(3).trim());
    await untilDone();
    await page.until(`${find('.sound')}.dataset.played > 0`);
    const played = await page.run<number>(`Number(${find('.sound')}.dataset.played)`);
    await go('#/voices', 'Voices');
    await page.until(`Number(${find('.dock .sound')}?.dataset.played) > ${played}`);
    expect(await findings()).toEqual([]);
    await setDisplay('dark', 390, 844);
    expect(await findings('color-contrast')).toEqual([]);
    expect(await page.run('document.documentElement.scrollWidth')).toBe(390);
    await setDisplay('light');
    await click('.dock a');
    await untilText('.speeches', 'The first one is short.');
    expect(await page.run(`${find('.dock')}.hidden`)).toBe(true);
    expect(await page.run(`Boolean(${find('.player .waveform')})`)).toBe(true);
    const items = await page.run<string[]>(
      `[...document.querySelectorAll('.speeches .name')].map(({ innerText }) => innerText)`,
    );
    expect(items).toEqual([expect.stringContaining('The second text'), 'The first one is short.']);

    // The earlier speech is played, shared with captions, and used again.
    const first = '.speeches > li:last-child';
    await page.send('Runtime.evaluate', { expression: `${find(`${first} button`)}.click()`, userGesture: true });
    await page.until(`${find(`${first} button`)}.ariaLabel.startsWith('Pause')`);
    await click(`${first} summary`);
    await click(`${first} .share`);
    await page.until(find(`${first} .links a`));
    const links = await page.run<string[]>(
      `[...document.querySelectorAll('${first} .links a')].map(({ href }) => href)`,
    );
    expect(links.map((href) => href.replace(/^.*\./, ''))).toEqual(['wav', 'srt', 'vtt']);
    expect(await page.run(`${find(`${first} .links`)}.textContent.trim()`)).toBe(
      'Link to the WAV Link to the SRT Link to the VTT',
    );
    for (const href of links) expect((await fetch(href)).status).toBe(200);
    expect(await (await fetch(links[1]!)).text()).toContain('The first one is short.');
    await page.run(
      `[...document.querySelectorAll('${first} button')].find((each) => each.innerText === 'Use again').click()`,
    );
    expect(await page.run(`${find('#text')}.value`)).toBe('The first one is short.');
    await inspect('speeches');

    // Signing out removes the earlier speeches.
    await page.run(`[...document.querySelectorAll('#about-key button')].at(-1).click()`);
    await page.until(find('#api-key'));
    expect(await page.run(`${find('.dock')}.hidden`)).toBe(true);
    await opened.consolePage.useKey(opened.service.key);
    await go('#/speak', 'Speak');
    expect(await textOf('.speeches')).toBe('');
  });

  test('reaches the text and the voices with a few presses of Tab', async () => {
    const { page, find, go, setDisplay } = opened.consolePage;
    await setDisplay('light');
    await go('#/speak', 'Speak');
    await page.run('document.activeElement.blur(); document.getElementById("skip").focus()');
    const tabsTo = async (expression: string) => {
      for (let presses = 0; presses < 50; presses++) {
        if (await page.run<boolean>(expression)) return presses;
        await page.press('Tab');
      }
      return Infinity;
    };
    // The link "Skip to content" passes over the links of the header. From there, one press is enough.
    expect(await tabsTo(`document.activeElement.id === 'text'`)).toBeLessThanOrEqual(11);
    await page.run(`document.getElementById('main').focus()`);
    expect(await tabsTo(`document.activeElement.id === 'text'`)).toBe(1);
    expect(await tabsTo(`document.activeElement.name === 'voice'`)).toBeLessThanOrEqual(5);
    expect(await tabsTo(`document.activeElement.id === 'speed'`)).toBeLessThanOrEqual(4);
    await go('#/voices', 'Voices');
    await page.until(`document.querySelectorAll('.voice-list li').length > 5`);
    await page.run(`${find('.voice-list button')}.focus()`);
    await page.press('ArrowDown');
    expect(
      await page.run(`[...document.querySelectorAll('.voice-list li')].indexOf(document.activeElement.closest('li'))`),
    ).toBe(1);
    expect(await page.run(`document.querySelectorAll('.voice-list [tabindex="0"]').length`)).toBe(2);
  });

  test('sees voices in the own language first, with favourites before them, on a phone', async () => {
    const { page, find, findings, click, go, setDisplay, typeText, untilText } = opened.consolePage;
    await setDisplay('light', 390, 844);
    await go('#/usage', 'Usage');
    await go('#/speak', 'Speak');
    await speak('Short.');
    await untilDone();
    // The player is in view, wherever the page is scrolled to.
    for (const top of [0, 10_000]) {
      await page.run(`scrollTo(0, ${top})`);
      const { y, bottom } = await page.run<{ y: number; bottom: number }>(
        `${find('.player .toggle')}.getBoundingClientRect().toJSON()`,
      );
      expect(y > 0 && bottom <= 844, `${top}: ${y} to ${bottom}`).toBe(true);
    }
    expect(await findings()).toEqual([]);
    await click('.settings summary');
    const names = () =>
      page.run<string[]>(`[...document.querySelectorAll('.voices-found .name')].map(({ innerText }) => innerText)`);
    const abouts = await page.run<string[]>(
      `[...document.querySelectorAll('.voices-found .about')].map(({ innerText }) => innerText)`,
    );
    expect(abouts[0]).toContain('English');
    expect(abouts.filter((each) => /-x-|_/.test(each))).toEqual([]);
    const last = (await names()).at(-1)!;
    await page.run(`${find('.voices-found .voice:last-child .favourite')}.click()`);
    await typeText('[aria-label="Search voices"]', 'zzz');
    await untilText('.settings .hint', '0 of');
    await typeText('[aria-label="Search voices"]', ' ');
    await untilText('.voices-found', 'Favourites');
    expect((await names())[0]).toBe(last);
    await page.run(`${find('.favourite')}.click()`);
    await setDisplay('light');
  });

  test('finds the caret at the fault of a document, and the title of each page', async () => {
    const { page, find, textOf, go, untilText } = opened.consolePage;
    await go('#/usage', 'Usage');
    await go('#/speak', 'Speak');
    const text = '<speak>Good 🎙\n morning <b></speak>';
    await page.run(
      `(() => { const field = ${find('#text')}; field.value = ${JSON.stringify(text)}; field.dispatchEvent(new Event('input')); })()`,
    );
    await page.run(`${find('.speak-button')}.click()`);
    await untilText('.cut-off', 'Line 2, column');
    expect(await textOf('.cut-off')).not.toContain('text_chunks');
    expect(await page.run('document.activeElement.id')).toBe('text');
    const column = Number(/column (\d+)/.exec(await textOf('.cut-off'))![1]);
    expect(await page.run(`${find('#text')}.selectionStart`)).toBe(text.indexOf('\n') + column);
    expect(await page.run('document.title')).toBe('Speak · Sonant');
    for (const [hash, title] of [
      ['#/voices/+lexicons', 'Lexicons'],
      ['#/voices/arthur', 'Arthur'],
      ['#/keys', 'Keys'],
    ] as const) {
      await go(hash, title);
      await page.until(`document.title === '${title} · Sonant'`);
    }
  });

  test('reads why a voice could not be installed, without an address', async () => {
    const { page, go, textOf, untilText, useKey } = opened.consolePage;
    await useKey(await opened.service.makeKey(['admin', 'voices:read', 'speech:stream', 'keys:read']));
    const failure = { message: 'https://models.example.com/a/b.tar.bz2?x=1 cannot be reached' };
    const install = { state: 'failed', failure };
    const facts = { languages: ['en'], voices: 1, voice_ids: [], best_voice_id: null, bytes: 9, installed: false };
    const licence = { licence: 'CC0-1.0', licence_source: null, library: { installed: true } };
    const models = [{ name: 'amy', title: 'Amy', install, manual_commands: ['curl x'], ...facts, ...licence }];
    await page.run(`(() => { const real = fetch; fetch = (url, init) => String(url).endsWith('/api/models')
      ? Promise.resolve(Response.json(${JSON.stringify({ models, suggested: 'amy', can_install: true })})) : real(url, init); })()`);
    await go('#/voices', 'Voices');
    await go('#/speak', 'Speak');
    await untilText('.model-offer', 'models.example.com cannot be reached');
    expect(await textOf('.model-offer')).not.toContain('http');
    await useKey(opened.service.key);
  });

  test('keeps the changes of a lexicon while other pages are open', async () => {
    const { page, find, click, go, typeText, untilText } = opened.consolePage;
    const { body } = await opened.service.send('POST', '/api/lexicons', {
      name: 'Names',
      entries: [{ grapheme: 'Siobhan', alias: 'Shivawn' }],
    });
    await go(`#/voices/+lexicons/${body.lexicon_id}`, 'Names');
    await typeText('.said', 'Shi vawn');
    await go('#/voices', 'Voices');
    await go(`#/voices/+lexicons/${body.lexicon_id}`, 'Names');
    await untilText('.page', 'Your changes are not stored yet.');
    expect(await page.run(`${find('.said')}.value`)).toBe('Shi vawn');
    await click('.card.row button');
    await page.until(`${find('.said')}?.value === 'Shivawn'`);
    await go('#/voices', 'Voices');
    await go(`#/voices/+lexicons/${body.lexicon_id}`, 'Names');
    expect(await page.run(`${find('.page')}.innerText.includes('not stored yet')`)).toBe(false);
    await go('#/voices', 'Voices');
    await opened.service.send('DELETE', `/api/lexicons/${body.lexicon_id}`);
  });

  test('is asked before a voice is switched off for everybody, and can undo it', async () => {
    const { page, find, click, go, untilText, useKey } = opened.consolePage;
    await useKey(await opened.service.makeKey(['admin', 'voices:read', 'voices:write', 'keys:read']));
    const statusOf = async () => (await opened.service.send('GET', '/api/voices/nora')).body.status;
    await go('#/voices/nora', 'Nora');
    await click('.endings button');
    await untilText('dialog', 'Switch off Nora?');
    await click('dialog [value=no]');
    await page.until(`!${find('dialog')}`);
    expect(await statusOf()).toBe('ready');
    await click('.endings button');
    await click('dialog [value=yes]');
    await untilText('#status', 'Nora is switched off.');
    expect(await statusOf()).toBe('disabled');
    await click('#status button');
    await untilText('#status', 'Nora can speak again.');
    expect(await statusOf()).toBe('ready');
    await useKey(opened.service.key);
  });

  test('reads which commands make cloning possible, and the guide that the service serves', async () => {
    const { page, find, findings, go, untilText } = opened.consolePage;
    await go('#/voices', 'Voices');
    await page.run(`(() => { const real = fetch; fetch = (url, init) => String(url).endsWith('/api/cloning')
      ? Promise.resolve(Response.json({ engines: [] })) : real(url, init); })()`);
    await go('#/voices/+clone', 'Clone a voice');
    await untilText('.page pre', 'sonant voice get zipvoice');
    expect(await findings()).toEqual([]);
    const address = await page.run<string>(`${find('.page a[href*=guide], .page a[href*="/docs/"]')}.href`);
    const guide = await fetch(address);
    expect([guide.status, guide.headers.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8']);
    expect(await guide.text()).toContain('## Cloning a person');
    expect((await fetch(`${opened.service.url}/docs/none.md`)).status).toBe(404);
  });

  test('who signs in arrives in the console, in every tab, and signs out of all', async () => {
    const gateway = await openSignInGateway({ keyScopes: ['speech:stream', 'voices:read', 'keys:read', 'keys:write'] });
    const page = await openPage(onTestFinished);
    await page.send('Page.enable');
    await page.goTo(`${gateway.url}/console`);
    await page.until(`document.querySelector('.welcome a.button')`);
    await page.run(`document.querySelector('.welcome a.button').click()`);
    await page.until(`document.querySelector('input[name=login]')`);
    await page.run(`document.querySelector('input[name=login]').value = 'ada';
      document.querySelector('input[name=password]').value = 'any'; document.forms[0].submit()`);
    await page.until(`document.querySelector('input[name=prompt]')?.value === 'consent'`);
    await page.run('document.forms[0].submit()');
    await page.until(`location.pathname === '/console' && document.querySelector('.page.keys #key-form')`);
    const key = await page.run<string>(`localStorage.getItem('sonant-key')`);
    const headers = { 'X-API-Key': key };
    const answer = await fetch(`${gateway.url}/api/auth/api-keys/self`, { headers });
    const self = (await answer.json()) as { scopes: string[]; expires_at: string };
    expect(self.scopes).toEqual(['speech:stream', 'voices:read', 'keys:read']);
    expect(Date.parse(self.expires_at) - Date.now()).toBeLessThanOrEqual(86_400_000);
    // The session alone, without its token, manages no keys.
    expect(await page.run<number>(`fetch('api/auth/api-keys').then(({ status }) => status)`)).toBe(401);

    // Signs out in another document of this browser.
    await page.run(`{ const frame = document.createElement('iframe'); document.body.append(frame);
      frame.contentWindow.localStorage.removeItem('sonant-key'); }`);
    await page.until(`document.querySelector('#api-key')`);
  });
});
