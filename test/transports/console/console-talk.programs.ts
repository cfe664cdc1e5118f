// Tests the console's Talk page in Chromium: text is spoken while it is typed, words are marked as they are played, an
// interruption stops the audio and reports the played position to the service, and lost connections are reopened.
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { isInstalled } from '../../programs.ts';
import { openTestGateway } from '../http/open-gateway.ts';
import { axeFindings } from './axe-findings.ts';
import { openPage, type Page } from './chromium.ts';

const long = 'It was a bright day, and the harbour was full of boats that came in with the tide. '.repeat(6).trim();
/** Records what the page sends over WebSocket and to its audio output, and what it receives. */
const spy = `
  window.log = [];
  const { send } = WebSocket.prototype;
  WebSocket.prototype.send = function (text) {
    if (!this.isSpied) this.addEventListener('message', ({ data }) =>
      typeof data === 'string' && log.push({ received: JSON.parse(data) }));
    this.isSpied = true;
    log.push({ sent: JSON.parse(text) });
    send.call(this, text);
  };
  const { postMessage } = MessagePort.prototype;
  MessagePort.prototype.postMessage = function (message, ...rest) {
    if (message?.begin > 0) log.push({ discarded: true });
    return postMessage.call(this, message, ...rest);
  };`;

interface Logged {
  sent?: Record<string, unknown> & { type: string };
  received?: Record<string, unknown> & { type: string };
  discarded?: true;
}

describe.skipIf(!isInstalled('chromium'))('the Talk page', () => {
  let gateway: Awaited<ReturnType<typeof openTestGateway>>;
  let page: Page;
  const sockets: Socket[] = [];
  const closes: (() => Promise<void>)[] = [];

  const size = (width: number, height = 860) =>
    page.send('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: width < 600 });
  const theme = (value: string) =>
    page.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value }] });
  const textOf = (selector: string) => page.run<string>(`document.querySelector('${selector}')?.textContent ?? ''`);
  const last = (member = '') => `document.querySelector('.turns > li:last-child')${member}`;
  const untilState = (state: string) => page.until(`${last('?.dataset.state')} === '${state}'`);
  const untilConnection = (state: string) =>
    page.until(`document.querySelector('.connection')?.dataset.state === '${state}'`);
  const logged = () => page.run<Logged[]>('log');
  const sentTypes = async () => (await logged()).flatMap(({ sent }) => sent?.type ?? []);
  const open = async () => {
    const { port } = listener.address() as AddressInfo;
    await page.goTo(`http://127.0.0.1:${port}/console`);
    await page.run(`localStorage.setItem('sonant-voice', 'tone-low');
      sessionStorage.setItem('sonant-key', '${gateway.key}')`);
    await page.reload(`location.hash = '#/talk'`);
    await page.until(`document.querySelector('#talk-text')`);
    await page.run(`document.getElementById('talk-text').focus()`);
    await untilConnection('open');
  };
  const insert = (text: string) => page.send('Input.insertText', { text });
  const listener = createServer((socket) => {
    sockets.push(socket);
    gateway.gateway.accept(socket);
  });

  beforeAll(async () => {
    gateway = await openTestGateway({}, (close) => closes.push(close));
    await once(listener.listen(0, '127.0.0.1'), 'listening');
    page = await openPage((close) => closes.push(close));
    await page.send('Page.enable');
    await page.send('Emulation.setFocusEmulationEnabled', { enabled: true });
    await page.send('Page.addScriptToEvaluateOnNewDocument', { source: spy });
  });
  afterAll(async () => {
    listener.close();
    for (const close of closes.reverse()) await close();
  });
  beforeEach(async () => {
    gateway.tone.trouble = {};
    await theme('light');
    await size(1200);
    await open();
  });

  test('speaks while it is typed, marks each word as it is heard, and tells how soon the sound came', async () => {
    await page.press(...'Good morning to all. And');
    await page.until(`Number(${last('?.dataset.word')}) >= 0`);
    expect(await page.run(last('.dataset.state'))).toBe('open');
    expect(await textOf('.turns mark')).toMatch(/^(Good|morning|to|all)$/);
    await page.press(...' good night', 'Enter');
    const seen = new Set<string>();
    for (;;) {
      const [state, word] = await page.run<string[]>(
        `[${last('.dataset.state')}, ${last()}.querySelector('mark').innerText]`,
      );
      if (word) seen.add(word);
      if (state === 'heard') break;
    }
    expect([...seen].join(' ')).toMatch(/And.* night$/);
    expect(await page.run(last(`.querySelector('.heard').textContent`))).toBe('Good morning to all. And good night');
    expect(await page.run(last('.innerText'))).toMatch(/First audio after \d+ ms/);
    const texts = (await logged()).flatMap(({ sent }) => (sent?.type === 'text' ? [sent.text] : []));
    expect(texts.join('')).toBe('Good morning to all. And good night');
    expect(texts.length).toBeGreaterThanOrEqual(7);
    expect(await sentTypes()).toEqual(['start', ...texts.map(() => 'text'), 'flush']);
    expect(await page.run(`document.getElementById('talk-text').value`)).toBe('');
  });

  test('Escape stops the sound at once, and what was heard is told and shown as the service has it', async () => {
    await page.press('A', ' ');
    await insert(long);
    await page.press('Enter');
    await page.until(`Number(${last('?.dataset.word')}) >= 6`);
    await page.press('Escape');
    await untilState('interrupted');
    await page.until(`log.some(({ received }) => received?.type === 'interrupted')`);
    const log = await logged();
    const at = log.findIndex(({ sent }) => sent?.type === 'interrupt');
    expect(log[at - 1]).toEqual({ discarded: true });
    const { played_ms: playedMs, turn } = log[at]!.sent as unknown as { played_ms: number; turn: number };
    expect(turn).toBe(0);
    const words = log.flatMap(({ received }) =>
      received?.type === 'timestamps' ? (received.words as { text: string; start: number }[]) : [],
    );
    const heard = words.filter(({ start }) => start < playedMs / 1000);
    expect(heard.length).toBeGreaterThanOrEqual(7);
    expect(heard.length).toBeLessThan(words.length);
    const { received } = log.find((each) => each.received?.type === 'interrupted')!;
    await page.until(`${last(`.querySelector('s').textContent`)} === ${JSON.stringify(received!.text_remaining)}`);
    expect(await page.run(last(`.querySelector('.heard').textContent`))).toBe(received!.text_spoken);
    expect(String(received!.text_spoken).endsWith(heard.at(-1)!.text)).toBe(true);
    expect(`${received!.text_spoken}${received!.text_remaining}`).toBe(`A ${long}`);
    expect(await page.run(last('.innerText'))).toMatch(/Interrupted after \d/);
    // The next turn is spoken as usual.
    await page.press(...'Well', 'Enter');
    await untilState('heard');
    expect(await page.run('document.querySelectorAll(".turns > li").length')).toBe(2);
    expect(await page.run('document.querySelector(".interrupt").disabled')).toBe(true);
  });

  test('a paste arrives in pieces, like the text of a language model, and is a turn of its own', async () => {
    const paste = (text: string) =>
      // Pastes as a user gesture, without which browsers play no audio.
      page.send('Runtime.evaluate', {
        userGesture: true,
        expression: `(() => {
        const clipboardData = new DataTransfer();
        clipboardData.setData('text/plain', ${JSON.stringify(text)});
        const event = new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true });
        document.getElementById('talk-text').dispatchEvent(event);
      })()`,
      });
    await page.run(`document.getElementById('paste-pace').value = 'model'`);
    await paste('Yes, of course. I can do that for you.');
    await untilState('heard');
    const types = await sentTypes();
    expect(types.filter((type) => type === 'text').length).toBeGreaterThan(8);
    expect(types.at(-1)).toBe('flush');
    expect(await page.run(last(`.querySelector('.heard').textContent`))).toBe('Yes, of course. I can do that for you.');
    await paste(long);
    await page.until(`${last('.innerText')}.length > 20`);
    await page.press('Escape');
    await untilState('interrupted');
    const count = (await sentTypes()).length;
    await page.press(...'No', 'Enter');
    await untilState('heard');
    expect((await sentTypes()).slice(count)).toEqual(['text', 'flush']);
  });

  test('what was sent cannot be changed', async () => {
    await page.press(...'One two');
    await page.run(`(() => {
      const field = document.getElementById('talk-text');
      field.value = 'Other two';
      field.dispatchEvent(new InputEvent('input'));
    })()`);
    expect(await textOf('#status')).toBe('Text that was sent cannot be changed.');
    expect(await page.run(`document.getElementById('talk-text').value`)).toBe('One ');
  });

  test('a failure is told in words, and typing connects again', async () => {
    gateway.tone.trouble = { failsAfterPieces: 0 };
    await page.press(...'Hello', 'Enter');
    await untilConnection('failed');
    expect(await textOf('[role=alert] .cut-off')).toMatch(/engine_error · req_/);
    await untilState('lost');
    expect(await page.run(last('.innerText'))).toContain('Cut off before playback');
    gateway.tone.trouble = {};
    await page.press(...'Again', 'Enter');
    await untilState('heard');
    expect(await textOf('.talk [role=alert]')).toBe('');
  });

  test('a lost connection is opened again with another ticket', async () => {
    await page.press(...'Hello', 'Enter');
    await untilState('heard');
    for (const socket of sockets.splice(0)) socket.destroy();
    await untilConnection('waiting');
    expect(await textOf('.connection')).toMatch(/The connection was lost\. Connecting again in 0\.5 s\./);
    await untilConnection('open');
    await page.press(...'Hello again', 'Enter');
    await page.until(`document.querySelectorAll('.turns > [data-state=heard]').length === 2`);
    const tickets = gateway.requests.filter(({ route }) => route.endsWith('/live/tickets'));
    expect(tickets.length).toBeGreaterThanOrEqual(2);
  });

  test('another voice begins with the next turn', async () => {
    await page.press(...'Hello', 'Enter');
    await untilState('heard');
    await page.run(`document.querySelector('[name=voice][value=tone-high]').click()`);
    await untilConnection('closed');
    await page.run(`document.getElementById('talk-text').focus()`);
    await page.press(...'Hello', 'Enter');
    await page.until(`document.querySelectorAll('.turns > [data-state=heard]').length === 2`);
    const starts = (await logged()).flatMap(({ sent }) => (sent?.type === 'start' ? [sent.voice_id] : []));
    expect(starts).toEqual(['tone-low', 'tone-high']);
  });

  test('has no faults of accessibility in light and dark, and fits a phone', async () => {
    await page.press('A', ' ');
    await insert(long);
    await page.press('Enter');
    await page.until(`Number(${last('?.dataset.word')}) >= 2`);
    expect(await axeFindings(page)).toEqual([]);
    await page.press('Escape');
    await untilState('interrupted');
    expect(await axeFindings(page)).toEqual([]);
    await theme('dark');
    expect(await axeFindings(page, { runOnly: ['color-contrast'] })).toEqual([]);
    await theme('light');
    await size(360, 740);
    expect(await page.run('document.documentElement.scrollWidth')).toBe(360);
    expect(await axeFindings(page)).toEqual([]);
  });
});
