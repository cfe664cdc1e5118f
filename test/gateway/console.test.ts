// The console in a real browser: from a pasted key to the first sound of a long text, heard without a gap and sample for
// sample as REST gives it, with its words lit; the file to take along; what goes wrong; and nothing for axe to find, in the
// light, in the dark and on a phone. The pictures in docs/console are made here where SCREENSHOTS names a folder.
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { isInstalled } from '../programs.ts';
import { axeFindings } from './axe-findings.ts';
import { openPage, type Page } from './chromium.ts';
import { bytesOf, openTestGateway } from './open-gateway.ts';

const { SCREENSHOTS = '' } = process.env;
const sentence = 'It was a bright day, and the harbour was full of boats that came in with the tide. ';
const longText = sentence.repeat(25).slice(0, 2000).trim();
const asked = { voice_id: 'tone-low', language_code: 'en', sample_rate: 24_000 };
const theme = (value: 'light' | 'dark') => ({ features: [{ name: 'prefers-color-scheme', value }] });

/** FNV-1a over samples, as the line of sound in the page counts what came out of it. */
function checksumOf(pcm: Buffer, count: number): number {
  let checksum = 0x811c9dc5;
  for (let i = 0; i < count; i++) checksum = Math.imul(checksum ^ pcm.readInt16LE(2 * i), 0x01000193);
  return checksum;
}

/** The body up to where it is enough; the rest is not waited for. */
async function readUntil(answer: Response, isEnough: (bytes: Buffer) => boolean): Promise<Buffer> {
  let bytes = Buffer.alloc(0);
  for await (const piece of answer.body!) {
    bytes = Buffer.concat([bytes, piece]);
    if (isEnough(bytes)) break;
  }
  return bytes;
}

describe.skipIf(!isInstalled('chromium'))('the console', () => {
  let door: Awaited<ReturnType<typeof openTestGateway>>;
  let page: Page;
  const closes: (() => Promise<void>)[] = [];

  const size = (width: number, height: number, deviceScaleFactor = 1) =>
    page.send('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor, mobile: width < 600 });
  const look = async (name: string) => {
    if (SCREENSHOTS === '') return;
    const { data } = await page.send('Page.captureScreenshot');
    writeFileSync(join(SCREENSHOTS, `${name}.png`), Buffer.from(String(data), 'base64'));
  };
  const findings = (options = {}) => axeFindings(page, options);
  /** In the light, and what the dark changes. */
  const findingsOfBoth = async () => {
    await page.send('Emulation.setEmulatedMedia', theme('dark'));
    const inTheDark = await findings({ runOnly: ['color-contrast'] });
    await page.send('Emulation.setEmulatedMedia', theme('light'));
    return [...(await findings()), ...inTheDark];
  };
  const textOf = (selector: string) => page.run<string>(`document.querySelector('${selector}')?.textContent ?? ''`);
  const click = async (selector: string) => {
    const at = await page.run<object>(`(() => {
      const element = document.querySelector('${selector}');
      element.scrollIntoView({ block: 'nearest' });
      const { left, top, width, height } = element.getBoundingClientRect();
      return { x: left + width / 2, y: top + height / 2 };
    })()`);
    for (const type of ['mousePressed', 'mouseReleased'])
      await page.send('Input.dispatchMouseEvent', { type, ...at, button: 'left', clickCount: 1 });
  };
  const open = (url = door.url) => page.goTo(`${url}/console`);
  const openSpeaking = async (url = door.url) => {
    await open(url);
    await page.run(`localStorage.setItem('sonant-voice', 'tone-low');
      sessionStorage.setItem('sonant-key', '${door.key}')`);
    await open(url);
    await page.until(`document.querySelector('#text')`);
  };
  const write = async (text: string) => {
    await page.run(`document.getElementById('text').select(); document.getElementById('text').focus()`);
    await page.send('Input.insertText', { text });
  };
  interface Sound {
    state: string;
    played: number;
    checksum: number;
    underruns: number;
    over: boolean;
  }
  const sound = () =>
    page.run<Sound>(`Object.fromEntries(Object.entries(document.querySelector('.sound').dataset)
      .map(([name, value]) => [name, /^[a-z]*$/.test(value) && value !== 'true' && value !== 'false' ? value : JSON.parse(value)]))`);

  beforeAll(async () => {
    door = await openTestGateway({ isLimited: false }, (close) => closes.push(close));
    page = await openPage((close) => closes.push(close));
    await page.send('Page.enable');
    await page.send('Page.addScriptToEvaluateOnNewDocument', {
      source: `addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) =>
        (window.violations ??= []).push(violatedDirective + ' ' + blockedURI))`,
    });
  });
  afterAll(async () => {
    for (const close of closes.reverse()) await close();
  });
  beforeEach(async () => {
    door.tone.trouble = {};
    await page.send('Emulation.setEmulatedMedia', theme('light'));
    await size(1200, 860);
  });

  test('from a pasted key to the sound of a long text, without a gap and as REST gives it', async () => {
    await open();
    await page.until(`document.activeElement?.id === 'api-key'`);
    const transferred = await page.run<number>(
      `performance.getEntries().reduce((sum, { encodedBodySize = 0 }) => sum + encodedBodySize, 0)`,
    );
    expect(transferred).toBeGreaterThan(10_000);
    expect(transferred).toBeLessThan(100_000);
    await look('welcome-light');
    expect(await findingsOfBoth()).toEqual([]);
    await page.press(...'snt_no', 'Enter');
    await page.until(`document.querySelector('.field-error code')`);
    expect(await textOf('.field-error')).toMatch(/no longer valid.*invalid_api_key · req_/);
    await page.run(`document.querySelector('#api-key').value = ''`);
    await page.send('Input.insertText', { text: door.key });
    await page.press('Enter');
    await page.until(`document.querySelector('#text')`);
    expect(await page.run('[sessionStorage.length, localStorage.length]')).toEqual([1, 0]);

    await click('[name=voice][value=tone-low]');
    await write(longText);
    expect(await textOf('#count')).toBe('2,000 of 50,000');
    const hear = async () => {
      await click('.speak-button');
      await page.until(`document.querySelector('.sound')?.dataset.played > 24000`);
      await page.until(`document.querySelector('.highlighted-text').dataset.word`);
      const early = await page.run<number>(`Number(document.querySelector('.highlighted-text').dataset.word)`);
      await page.until(`document.querySelector('.sound').dataset.played > 72000`);
      return { early, ...(await sound()) };
    };
    let heard = await hear();
    // Where other tests leave the service no turn for a moment, nothing comes to be heard; it has two more chances.
    for (let tries = 1; tries < 3 && heard.underruns > 0; tries++) {
      await page.press('Escape');
      await page.until(`document.querySelector('.sound').dataset.state !== 'streaming'`);
      heard = await hear();
    }
    expect(heard.underruns).toBe(0);
    const [first] = await page.run<number[]>(
      `performance.getEntriesByName('sonant:time-to-first-sound').map(({ duration }) => duration)`,
    );
    expect(first).toBeGreaterThan(0);
    console.log(`console: the first sound of ${longText.length} characters after ${Math.round(first!)} ms`);

    const spoken = await door.speak({ ...asked, method: 'streaming', text_chunks: [longText], output_format: 'pcm' });
    const pcm = await readUntil(spoken, (bytes) => bytes.length >= 2 * heard.played);
    expect(heard.checksum).toBe(checksumOf(pcm, heard.played));

    // The lit word is the one that is spoken.
    const [late, seconds] = await page.run<[number, number]>(
      `[Number(document.querySelector('.highlighted-text').dataset.word), Number(document.querySelector('.waveform').ariaValueNow)]`,
    );
    const told = await door.ask('/api/audio/speech/sse', { body: { ...asked, text: longText, timestamps: 'word' } });
    const wordsIn = (events: Buffer) =>
      [...events.toString().matchAll(/^data: (\{"type":"speech.audio.timestamps".*\})$/gm)].flatMap(
        ([, data]) => (JSON.parse(data!) as { words: { start: number }[] }).words,
      );
    const words = wordsIn(await readUntil(told, (events) => (wordsIn(events).at(-1)?.start ?? 0) > seconds + 1));
    expect(late).toBeGreaterThan(heard.early);
    expect(Math.abs(late - words.findLastIndex(({ start }) => start <= seconds))).toBeLessThanOrEqual(1);

    // On to the end by keyboard, once all is there.
    await page.until(`document.querySelector('.sound').dataset.state === 'done'`);
    const { underruns } = await sound();
    await page.run(`document.querySelector('.waveform').focus()`);
    await page.press('End', 'ArrowLeft');
    await page.until(`document.querySelector('.sound').dataset.over === 'true'`);
    expect((await sound()).underruns).toBe(underruns);
    expect(await page.run('window.violations ?? []')).toEqual([]);
  });

  test('the file that is downloaded is the one that REST gives', async () => {
    await openSpeaking();
    await page.send('Browser.setDownloadBehavior', { behavior: 'allow', downloadPath: door.folder });
    await write('Take this along.');
    await page.press('Tab');
    await click('.speak-button');
    await page.until(`!document.querySelector('.export').hidden`);
    const formats = await page.run<string[]>(
      `[...document.querySelector('.joined select').options].map(({ value }) => value)`,
    );
    expect(formats).toEqual(expect.arrayContaining(['wav', 'pcm', 'mp3']));
    for (const format of formats) {
      await page.run(`document.querySelector('.joined select').value = '${format}'`);
      await click('.download');
      const body = { ...asked, text: 'Take this along.', output_format: format, return_format: 'buffer' };
      const expected = await bytesOf(await door.speak(body));
      const file = join(door.folder, `tone-low.${format}`);
      let saved = Buffer.alloc(0);
      while (saved.length !== expected.length) {
        await sleep(20);
        try {
          saved = readFileSync(file);
        } catch {}
      }
      expect(saved.equals(expected), format).toBe(true);
    }
    await click('.code summary');
    await page.until(`document.querySelector('.code pre').textContent !== ''`);
    expect(await textOf('.code pre')).toContain(`curl -sSf ${door.url}/api/audio/speech`);
    expect(await textOf('.code pre')).not.toContain(door.key.slice(4));
    expect(await findingsOfBoth()).toEqual([]);
    await size(360, 740, 2);
    expect(await page.run('document.documentElement.scrollWidth')).toBe(360);
    expect(await findings()).toEqual([]);
    await look('speak-phone-light');
    expect(await page.run('window.violations ?? []')).toEqual([]);
  });

  test('what goes wrong is said, before the first sound and after it', async () => {
    await openSpeaking();
    door.tone.trouble = { failsAfterSegments: 0 };
    await write('Nobody will hear this.');
    await click('.speak-button');
    await page.until(`document.querySelector('.sound')?.dataset.state === 'failed'`);
    expect(await textOf('.cut-off')).toMatch(/engine_error · req_/);
    expect(await textOf('.cut-off')).not.toContain('Cut off');
    await look('speak-error-light');

    door.tone.trouble = { failsAfterPieces: 4 };
    await write('Some of this is heard, and then no more of it.');
    await click('.speak-button');
    await page.until(`document.querySelector('.cut-off strong')`);
    expect(await textOf('.cut-off')).toMatch(/^Cut off after \d+\.\d seconds\..*engine_error · req_/);
    expect(await findingsOfBoth()).toEqual([]);
    await look('speak-cut-off-light');
  });

  test('a connection that is lost is taken up again where it broke', async () => {
    const sockets = new Set<Socket>();
    const line = createServer((socket) => {
      sockets.add(socket);
      door.gateway.accept(socket);
    });
    await once(line.listen(0, '127.0.0.1'), 'listening');
    onTestFinished(() => void line.close());
    await openSpeaking(`http://127.0.0.1:${(line.address() as AddressInfo).port}`);
    door.tone.trouble = { pieceDelayMs: 60 };
    const text = sentence.repeat(2).trim();
    await write(text);
    await click('.speak-button');
    await page.until(`document.querySelector('.sound')?.dataset.played > 0`);
    expect((await sound()).state).toBe('streaming');
    for (const socket of sockets) socket.destroy();
    door.tone.trouble = {};
    await page.until(`document.querySelector('.sound').dataset.state !== 'streaming'`);
    expect((await sound()).state).toBe('done');
    expect(door.requests.filter(({ method, route }) => method === 'GET' && route.endsWith('/sse/:id'))).toHaveLength(1);
    const whole = await bytesOf(await door.speak({ ...asked, text, output_format: 'pcm', return_format: 'buffer' }));
    const seconds = await page.run(`Number(document.querySelector('.waveform').ariaValueMax)`);
    expect(seconds).toBeCloseTo(whole.length / 48_000, 1);
  });

  test('a text of any length is cut into chunks that the service takes, and its words are found in them', async () => {
    await openSpeaking();
    const found = await page.run<{ lengths: number[]; isWhole: boolean; from: boolean; at: number }[]>(`(async () => {
      const { toChunks, countChars, createIndexOf } = await import('./console/text-chunks.js');
      const paragraph = 'A sentence that ends. '.repeat(120) + '\\n\\n';
      const texts = ['short', paragraph.repeat(9), 'Sentence after sentence. '.repeat(1000), 'word '.repeat(3000), '🎙'.repeat(7001), 'x'.repeat(5000), '海は静かだ。'.repeat(1000)];
      return texts.map((text) => {
        const chunks = toChunks(text);
        return {
          lengths: chunks.map(({ text }) => countChars(text)),
          isWhole: chunks.map(({ text }) => text).join('') === text,
          from: chunks.every(({ text: chunk, from }) => text.startsWith(chunk, from)),
          at: createIndexOf('🎙a🎙b')(3),
        };
      });
    })()`);
    for (const { lengths, ...rest } of found) {
      expect(rest).toEqual({ isWhole: true, from: true, at: 5 });
      expect(Math.max(...lengths)).toBeLessThanOrEqual(5000);
    }
    expect(found.map(({ lengths }) => lengths.length)).toEqual([1, 9, 5, 3, 2, 1, 2]);
    // Where no space stands between sentences, too.
    expect(found.at(-1)!.lengths).toEqual([4998, 1002]);
  });

  test('stop is silence at once, and the service goes on to something else', async () => {
    await openSpeaking();
    door.tone.trouble = { pieceDelayMs: 100 };
    await write(sentence.repeat(4));
    await click('.speak-button');
    await page.until(`document.querySelector('.sound')?.dataset.played > 0`);
    await page.press('Escape');
    await page.until(`document.querySelector('.sound').dataset.state === 'stopped'`);
    while (door.tone.counts.running > 0) await sleep(20);
    expect(door.tone.counts.aborted).toBeGreaterThan(0);
  });
});
